/** Which request runs for which idempotency key, and the stored responses. */
import type { SQL } from 'bun';
import { within } from '../lib/within.ts';
import { leaseSeconds } from '../nodes/lease.ts';

/** A request with an idempotency key. Hashes are hexadecimal. */
export type IdempotentRequest = Readonly<{ keyId: string; idempotencyHash: string; bodyHash: string }>;

/** What is known of a request that was claimed before. */
export type ClaimState = Readonly<{
  bodyHash: string;
  requestId: string;
  hasResponse: boolean;
  /** Its Generation is open, or its node is alive and may still finish it: it may yet be charged and its response stored. */
  isInProgress: boolean;
}>;

const retentionHours = 24;
/** A client is waiting, and the driver may take much longer to report that the database is gone. */
export const readPatienceMs = 3_000;
/** How long a node has to store or release a request after its Generation has ended. */
const afterthoughtSeconds = 30;

/**
 * Whether this node may run the request: it was not claimed, or too long ago. A key that is taken is only read, so
 * retries cost no writes.
 */
export async function claim(
  sql: SQL,
  request: IdempotentRequest,
  requestId: string,
  nodeId: string,
): Promise<boolean> {
  const { keyId, idempotencyHash, bodyHash } = request;
  const rows = await sql`
    insert into idempotent_requests as claimed (key_id, name_hash, body_hash, request_id, node_id, expires_at)
    select ${keyId}::uuid, decode(${idempotencyHash}, 'hex'), decode(${bodyHash}, 'hex'), ${requestId}::uuid, ${nodeId}::uuid,
           now() + make_interval(hours => ${retentionHours})
    where not exists (
      select 1 from idempotent_requests
      where key_id = ${keyId} and name_hash = decode(${idempotencyHash}, 'hex') and expires_at > now())
    on conflict (key_id, name_hash) do update set body_hash = excluded.body_hash, request_id = excluded.request_id,
      node_id = excluded.node_id, answer = null, staged = null, staged_when_short = null, chosen = null, created_at = now(),
      expires_at = excluded.expires_at
    where claimed.expires_at <= now()
    returning 1`;
  return rows.length > 0;
}

/** Takes over a request that `former` abandoned. False when another node was faster, or its response was stored after all. */
export async function takeOver(
  sql: SQL,
  { keyId, idempotencyHash }: IdempotentRequest,
  former: string,
  requestId: string,
  nodeId: string,
): Promise<boolean> {
  const rows = await sql`
    update idempotent_requests set request_id = ${requestId}, node_id = ${nodeId}, staged = null, staged_when_short = null,
      expires_at = now() + make_interval(hours => ${retentionHours})
    where key_id = ${keyId} and name_hash = decode(${idempotencyHash}, 'hex') and request_id = ${former}
      and answer is null and chosen is null
    returning 1`;
  return rows.length > 0;
}

type StateRow = {
  key_id: string;
  name: string;
  body_hash: string;
  request_id: string;
  has_response: boolean;
  is_in_progress: boolean;
};

/** The states of several requests, by `identityOf`. Those that are no longer claimed are missing. */
export async function readStates(
  sql: SQL,
  requests: readonly Pick<IdempotentRequest, 'keyId' | 'idempotencyHash'>[],
): Promise<Map<string, ClaimState>> {
  const wanted = JSON.stringify(
    requests.map(({ keyId, idempotencyHash }) => ({ key_id: keyId, name: idempotencyHash })),
  );
  const reading = sql<StateRow[]>`
    select request.key_id, encode(name_hash, 'hex') as name, encode(body_hash, 'hex') as body_hash, request_id,
           answer is not null or chosen is not null as has_response,
           exists (select 1 from open_generations where open_generations.id = request_id)
             or (nodes.id is not null and stopped_at is null
                 and heartbeat_at >= now() - make_interval(secs => ${leaseSeconds})
                 and not exists (select 1 from generations where generations.id = request_id
                                 and completed_at < now() - make_interval(secs => ${afterthoughtSeconds})))
             as is_in_progress
    from json_to_recordset(${wanted}::text::json) as wanted (key_id uuid, name text)
    join idempotent_requests as request
      on request.key_id = wanted.key_id and request.name_hash = decode(wanted.name, 'hex') and expires_at > now()
    left join nodes on nodes.id = node_id`;
  const rows = await within(readPatienceMs, reading);
  return new Map(
    rows.map((row) => [
      identityOf({ keyId: row.key_id, idempotencyHash: row.name }),
      {
        bodyHash: row.body_hash,
        requestId: row.request_id,
        hasResponse: row.has_response,
        isInProgress: row.is_in_progress,
      },
    ]),
  );
}

/** Identifies a request as text, for maps and for encryption. */
export function identityOf({
  keyId,
  idempotencyHash,
}: Pick<IdempotentRequest, 'keyId' | 'idempotencyHash'>): string {
  return `${keyId} ${idempotencyHash}`;
}

/** Some bytes of the response stored for `requestId`; null when it has just expired. */
export async function readStoredBytes(
  sql: SQL,
  { keyId, idempotencyHash }: IdempotentRequest,
  requestId: string,
  start: number,
  length: number,
): Promise<Readonly<{ bytes: Uint8Array; totalBytes: number }> | null> {
  const [row] = await sql<{ bytes: Uint8Array; total: number }[]>`
    select substring(stored from ${start + 1} for ${length}) as bytes, octet_length(stored) as total
    from idempotent_requests,
         lateral (select case chosen when 'whole' then staged when 'short' then staged_when_short else answer end) as of_request (stored)
    where key_id = ${keyId} and name_hash = decode(${idempotencyHash}, 'hex') and request_id = ${requestId} and stored is not null`;
  return row === undefined ? null : { bytes: row.bytes, totalBytes: row.total };
}

export type StoredTotals = Readonly<{ count: number; bytes: number }>;

/** What a key has stored. No more than `max` are counted. */
export async function countStored(sql: SQL, keyId: string, max: number): Promise<StoredTotals> {
  const [row] = await sql<[{ count: number; bytes: number }]>`
    select count(*)::integer as count, coalesce(sum(stored_bytes), 0)::float8 as bytes
    from (select stored_bytes from idempotent_requests where key_id = ${keyId} and expires_at > now() limit ${max}) as stored`;
  return row;
}

/** Stores responses of which the ledger then chooses one. False when the request has been taken over, or its response stored. */
export async function stageResponses(
  sql: SQL,
  { keyId, idempotencyHash }: IdempotentRequest,
  requestId: string,
  whole: Buffer,
  insufficientBalanceResponse: Buffer | null,
): Promise<boolean> {
  const rows = await sql`
    update idempotent_requests set staged = ${whole}, staged_when_short = ${insufficientBalanceResponse}
    where key_id = ${keyId} and name_hash = decode(${idempotencyHash}, 'hex') and request_id = ${requestId}
      and answer is null and chosen is null
    returning 1`;
  return rows.length > 0;
}

/** Lets the request run again, unless its response has been stored meanwhile. */
export async function releaseClaim(
  sql: SQL,
  { keyId, idempotencyHash }: IdempotentRequest,
  requestId: string,
): Promise<void> {
  await sql`
    delete from idempotent_requests
    where key_id = ${keyId} and name_hash = decode(${idempotencyHash}, 'hex') and request_id = ${requestId}
      and answer is null and chosen is null`;
}

/** Deletes a bounded number at a time, so that nothing waits for it. Returns how many. */
export async function deleteExpired(sql: SQL, max: number): Promise<number> {
  const rows = await sql`
    delete from idempotent_requests where (key_id, name_hash) in (
      select key_id, name_hash from idempotent_requests where expires_at <= now() limit ${max} for update skip locked)
    returning 1`;
  return rows.length;
}
