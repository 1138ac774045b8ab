/**
 * Where a page of Generations ended, as a string that only the gateway can create. It is signed together with the owner of
 * the list and the filters, so it is useless to anyone else, with other filters, and after a day.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';

/** The filters are always in the same places: null where there is none. */
export type CursorScope = readonly [owner: string, ...filters: (string | null)[]];

const version = 1;
const lifetimeMs = 24 * 60 * 60 * 1000;
/** The version, the time of expiry, and the UUID of the last Generation on the page. */
const payloadBytes = 1 + 8 + 16;
/** The length is a multiple of three bytes, so each cursor has exactly one encoding. */
const pattern = /^[A-Za-z0-9_-]{76}$/;

export function encodeCursor(
  position: string,
  scope: CursorScope,
  signingKey: Uint8Array,
  nowMs: number,
): string {
  const payload = Buffer.alloc(payloadBytes);
  payload.writeUInt8(version, 0);
  payload.writeBigUInt64BE(BigInt(nowMs + lifetimeMs), 1);
  payload.write(position.replaceAll('-', ''), 9, 'hex');
  return Buffer.concat([payload, sign(payload, scope, signingKey)]).toString('base64url');
}

/** The position, or null for a cursor that was altered, has expired, or belongs to another list or other filters. */
export function decodeCursor(
  text: string,
  scope: CursorScope,
  signingKey: Uint8Array,
  nowMs: number,
): string | null {
  if (!pattern.test(text)) return null;
  const bytes = Buffer.from(text, 'base64url');
  const payload = bytes.subarray(0, payloadBytes);
  const signature = bytes.subarray(payloadBytes);
  if (!timingSafeEqual(signature, sign(payload, scope, signingKey))) return null;
  if (payload.readUInt8(0) !== version || payload.readBigUInt64BE(1) <= BigInt(nowMs)) return null;
  return payload.toString('hex', 9).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

/** As JSON, the parts of the scope cannot run into one another, and null differs from every string. */
function sign(payload: Buffer, scope: CursorScope, signingKey: Uint8Array): Buffer {
  return createHmac('sha256', signingKey).update(payload).update(JSON.stringify(scope)).digest();
}
