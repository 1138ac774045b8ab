/**
 * Where a page of Generations ended, as a text that only the gateway can make. It is signed together with whose list it
 * is and the filters, so it is of no use to anyone else or with other filters, and after a day of none at all.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';

/** Whose list it is, and then each of its filters, always in the same places: null where there is none. */
export type CursorScope = readonly [owner: string, ...filters: (string | null)[]];

const version = 1;
const lifeMs = 24 * 60 * 60 * 1000;
/** The version, the time it expires at, and the UUID of the last Generation of the page. */
const payloadBytes = 1 + 8 + 16;
/** A multiple of three bytes: every character of the text counts in full, and no two texts mean the same. */
const pattern = /^[A-Za-z0-9_-]{76}$/;

export function encodeCursor(
  position: string,
  scope: CursorScope,
  signingKey: Uint8Array,
  nowMs: number,
): string {
  const payload = Buffer.alloc(payloadBytes);
  payload.writeUInt8(version, 0);
  payload.writeBigUInt64BE(BigInt(nowMs + lifeMs), 1);
  payload.write(position.replaceAll('-', ''), 9, 'hex');
  return Buffer.concat([payload, sign(payload, scope, signingKey)]).toString('base64url');
}

/** The position, or null when the cursor is altered, expired, or was made for another list or other filters. */
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

/** As JSON the parts of the scope cannot run into one another, and none differs from every text. */
function sign(payload: Buffer, scope: CursorScope, signingKey: Uint8Array): Buffer {
  return createHmac('sha256', signingKey).update(payload).update(JSON.stringify(scope)).digest();
}
