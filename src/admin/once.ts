/**
 * Runs each request with an Idempotency-Key once. Its response is stored in the transaction of its change: a retry gets the
 * same one, and a request that failed has changed nothing and runs again. Of two at the same time, the second waits for the
 * first.
 */
import { createHash } from 'node:crypto';
import type { SQL, TransactionSQL } from 'bun';
import { EncryptedResponse, encrypt, type PlainResponse } from '../idempotency/encryption.ts';
import { otherBody } from '../idempotency/idempotency-key.ts';

export type IdempotentRequest = Readonly<{
  tokenId: string;
  idempotencyKey: string;
  /** In hexadecimal. Two requests with the same key must agree in it. */
  requestHash: string;
}>;

const retentionHours = 24;

/** `replayed` is the stored response of an earlier request. */
export type Outcome<Result> = Readonly<{ done: Result }> | Readonly<{ replayed: PlainResponse }>;

/** `run` makes the change and the response to be stored. */
export async function once<Result extends Readonly<{ stored: PlainResponse }>>(
  transaction: TransactionSQL,
  encryptionKey: Buffer,
  request: IdempotentRequest,
  run: () => Promise<Result>,
): Promise<Outcome<Result>> {
  const { tokenId, requestHash } = request;
  const keyHash = createHash('sha256').update(request.idempotencyKey).digest();
  const identity = `${tokenId} ${keyHash.toString('hex')}`;
  const claimed = await transaction`
    insert into admin_requests as earlier (token_id, key_hash, request_hash)
    values (${tokenId}, ${keyHash}, decode(${requestHash}, 'hex'))
    on conflict (token_id, key_hash) do update
      set request_hash = excluded.request_hash, response = null, created_at = now()
      where earlier.created_at < now() - make_interval(hours => ${retentionHours}::int)
    returning 1`;
  if (claimed.length === 0) {
    const [stored] = await transaction<[{ request_hash: Uint8Array; response: Uint8Array }]>`
      select request_hash, response from admin_requests where token_id = ${tokenId} and key_hash = ${keyHash}`;
    if (Buffer.from(stored.request_hash).toString('hex') !== requestHash) throw otherBody();
    return { replayed: decrypt(stored.response, encryptionKey, identity) };
  }
  const done = await run();
  const response = await encrypt(done.stored, encryptionKey, identity);
  await transaction`
    update admin_requests set response = ${response} where token_id = ${tokenId} and key_hash = ${keyHash}`;
  return { done };
}

function decrypt(bytes: Uint8Array, key: Buffer, identity: string): PlainResponse {
  const { start, length } = EncryptedResponse.rangeOf(0);
  const opened = new EncryptedResponse(bytes.subarray(0, start + length), bytes.length, key, identity);
  const pieces = [opened.beginning];
  for (let index = 1; index < opened.pieceCount; index += 1) {
    const range = EncryptedResponse.rangeOf(index);
    pieces.push(opened.decrypt(index, bytes.subarray(range.start, range.start + range.length)));
  }
  return { ...opened.head, body: Buffer.concat(pieces).toString('utf8') };
}

/** Removes what no retry gets any more. */
export async function forgetOldRequests(sql: SQL): Promise<void> {
  await sql`
    delete from admin_requests where created_at < now() - make_interval(hours => ${retentionHours + 1}::int)`;
}
