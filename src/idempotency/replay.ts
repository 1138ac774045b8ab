/** Answers as was answered before. A long answer is read and sent piece by piece, no faster than the client takes it. */
import type { SQL } from 'bun';
import { ApiError } from '../errors.ts';
import type { Log } from '../lib/log.ts';
import { type IdempotentRequest, identityOf, readStoredBytes } from './claim-store.ts';
import { EncryptedResponse, openingBytes } from './encryption.ts';

/** What was stored for a request, as far as it has been read. */
export type OpenedResponse = Readonly<{
  request: IdempotentRequest;
  requestId: string;
  encrypted: EncryptedResponse;
}>;

type Client = Readonly<{ isGone: boolean; write: (text: string) => undefined | Promise<void> }>;

/** Makes a response of status 200 that `produce` writes, even when nobody reads it. Rejecting resets the connection. */
export type StreamResponse = (
  headers: Headers,
  signal: AbortSignal,
  produce: (client: Client) => Promise<void>,
) => Response;

/** Null when it has expired in this moment. */
export async function openStored(
  sql: SQL,
  key: Buffer,
  request: IdempotentRequest,
  requestId: string,
): Promise<OpenedResponse | null> {
  const opening = await readStoredBytes(sql, request, requestId, 0, openingBytes);
  if (opening === null) return null;
  try {
    const encrypted = new EncryptedResponse(opening.bytes, opening.totalBytes, key, identityOf(request));
    return { request, requestId, encrypted };
  } catch (cause) {
    // Nodes that do not share their secret cannot read each other's answers: that is for the operator to mend.
    throw new ApiError('server_not_configured', { cause });
  }
}

/** The same answer under the same request ID: it is that request's, and this one was never carried out. */
export function headersOf({ encrypted: { head } }: OpenedResponse): Headers {
  return new Headers({
    ...head.headers,
    'idempotent-replayed': 'true',
    'x-service-request-id': head.requestId,
    'x-request-id': head.requestId,
  });
}

/** Only answers of status 200 are longer than one piece. */
export function isLong({ encrypted }: OpenedResponse): boolean {
  return encrypted.pieceCount > 1;
}

export function replayShort({ encrypted: { head, beginning } }: OpenedResponse, headers: Headers): Response {
  return new Response(beginning.toString(), { status: head.status, headers });
}

/** What to write for a long answer. Rejects without a reason, which is in the log, when it breaks off. */
export async function writeLong(sql: SQL, stored: OpenedResponse, client: Client, log: Log): Promise<void> {
  // A character may begin in one piece and end in the next.
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  try {
    await client.write(decoder.decode(stored.encrypted.beginning, { stream: true }));
    for (let index = 1; index < stored.encrypted.pieceCount && !client.isGone; index++)
      await client.write(decoder.decode(await readPiece(sql, stored, index), { stream: true }));
  } catch (error) {
    log.error('stored answer broke off', { error });
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
  if (piece === null) throw new Error('The answer expired while it was being sent.');
  return encrypted.decrypt(index, piece.bytes);
}
