/** Replays stored responses. A long one is read and sent piece by piece, no faster than the client takes it. */
import type { SQL } from 'bun';
import { ApiError } from '../errors.ts';
import type { Log } from '../lib/log.ts';
import { within } from '../lib/within.ts';
import { type IdempotentRequest, identityOf, readPatienceMs, readStoredBytes } from './claim-store.ts';
import { EncryptedResponse, openingBytes } from './encryption.ts';
import type { KeySlots } from './key-slots.ts';

/** A stored response whose first piece has been read. */
type OpenedResponse = Readonly<{
  request: IdempotentRequest;
  requestId: string;
  encrypted: EncryptedResponse;
}>;

type Client = Readonly<{ isGone: boolean; write: (text: string) => undefined | Promise<void> }>;

/** Makes a response of status 200 that `produce` writes, even when the client has gone. Rejecting resets the connection. */
export type StreamResponse = (
  headers: Headers,
  signal: AbortSignal,
  produce: (client: Client) => Promise<void>,
) => Response;

/** Null when it has just expired. */
export async function openStored(
  sql: SQL,
  key: Buffer,
  request: IdempotentRequest,
  requestId: string,
): Promise<OpenedResponse | null> {
  const reading = readStoredBytes(sql, request, requestId, 0, openingBytes);
  const opening = await within(readPatienceMs, reading);
  if (opening === null) return null;
  try {
    const encrypted = new EncryptedResponse(opening.bytes, opening.totalBytes, key, identityOf(request));
    return { request, requestId, encrypted };
  } catch (cause) {
    // Nodes that do not share their secret cannot read each other's responses, which the operator has to fix.
    throw new ApiError('server_not_configured', { cause });
  }
}

/** The same response with the same request ID: it belongs to that request, and this one never ran. */
export function replay(
  sql: SQL,
  stored: OpenedResponse,
  slots: KeySlots,
  streamResponse: StreamResponse,
  signal: AbortSignal,
  log: Log,
): Response {
  const { head, beginning, pieceCount } = stored.encrypted;
  const headers = new Headers({
    ...head.headers,
    'idempotent-replayed': 'true',
    'x-service-request-id': head.requestId,
    'x-request-id': head.requestId,
  });
  // Only responses of status 200 are longer than one piece.
  if (pieceCount <= 1) return new Response(beginning.toString(), { status: head.status, headers });
  const leave = slots.take(stored.request.keyId);
  return streamResponse(headers, signal, (client) => writeLong(sql, stored, client, log).finally(leave));
}

/** When the response breaks off, this rejects without a reason: that is in the log. */
async function writeLong(sql: SQL, stored: OpenedResponse, client: Client, log: Log): Promise<void> {
  // A character may begin in one piece and end in the next.
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  try {
    await client.write(decoder.decode(stored.encrypted.beginning, { stream: true }));
    for (let index = 1; index < stored.encrypted.pieceCount && !client.isGone; index++)
      await client.write(decoder.decode(await readPiece(sql, stored, index), { stream: true }));
  } catch (error) {
    log.error('stored response broke off', { error });
    return Promise.reject();
  }
}

async function readPiece(
  sql: SQL,
  { request, requestId, encrypted }: OpenedResponse,
  index: number,
): Promise<Buffer> {
  const { start, length } = EncryptedResponse.rangeOf(index);
  const piece = await readStoredBytes(sql, request, requestId, start, length);
  if (piece === null) throw new Error('The response expired while it was being sent.');
  return encrypted.decrypt(index, piece.bytes);
}
