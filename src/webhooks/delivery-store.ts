/** Deliveries: what is due, what came of it, and what is sent again. */
import type { SQL, TransactionSQL } from 'bun';
import { ApiError } from '../errors.ts';
import type { StoredEvent } from '../events/event.ts';
import { eventColumns } from '../events/event-store.ts';
import { shortTransaction } from '../lib/short-transaction.ts';
import { type EndpointOwner, isOwnedBy, type OwnedEndpoint, requireEndpoint } from './endpoint-store.ts';
import { pace } from './pace.ts';
import type { Posted } from './post.ts';

/** A delivery as lists show it, by its names on the wire. */
export type Delivery = Readonly<{
  id: string;
  event_id: string;
  type: string;
  state: 'pending' | 'delivered' | 'failed';
  attempts: number;
  created_at: Date;
  attempted_at: Date | null;
  next_at: Date | null;
  took_ms: number | null;
  status: number | null;
  problem: string | null;
  request_head: string | null;
  response_head: string | null;
}>;

/** The newest first. */
export async function findDeliveries(
  sql: SQL,
  owned: OwnedEndpoint,
  before: string,
  rowCount: number,
): Promise<Delivery[]> {
  return await sql<Delivery[]>`
    select delivery.id, event_id, type, state, attempts, delivery.created_at, attempted_at, next_at, took_ms, status, problem,
           request_head, response_head
    from webhook_endpoints join webhook_deliveries as delivery on endpoint_id = webhook_endpoints.id
    join events on events.id = event_id
    where webhook_endpoints.id = ${owned.id} and ${isOwnedBy(sql, owned)} and delivery.id < ${before}::uuid
    order by delivery.id desc limit ${rowCount}::int`;
}

/** An endpoint that this node may send to, for as long as its claim lasts. */
export type ClaimedEndpoint = Readonly<{
  id: string;
  account_id: string | null;
  url: string;
  secret: Uint8Array;
  /** Null when it no longer signs. */
  previous_secret: Uint8Array | null;
  is_failing: boolean;
}>;

/** `isPrompt` chooses between those that are known to answer quickly and all others, of which those that fail come last. */
export async function claimEndpoints(
  sql: SQL,
  nodeId: string,
  isPrompt: boolean,
  count: number,
): Promise<ClaimedEndpoint[]> {
  return await sql<ClaimedEndpoint[]>`
    update webhook_endpoints
    set claimed_by = ${nodeId}, claimed_until = now() + make_interval(secs => ${pace.claimSeconds}::int)
    where id in (
      select id from webhook_endpoints
      where disabled_at is null and is_prompt = ${isPrompt} and due_at <= now()
        and (claimed_until is null or claimed_until < now())
      order by failing_since is not null, due_at limit ${count}::int for update skip locked)
    returning id, account_id, url, secret, case when previous_until > now() then previous_secret end as previous_secret,
              failing_since is not null as is_failing`;
}

export type DueDelivery = StoredEvent & Readonly<{ delivery_id: string; attempts: number }>;

export async function findDue(sql: SQL, endpointId: string, count: number): Promise<DueDelivery[]> {
  return await sql<DueDelivery[]>`
    select ${eventColumns(sql)}, delivery.id as delivery_id, attempts
    from webhook_deliveries as delivery join events on events.id = event_id
    left join account_details on account_details.account_id = events.account_id
    where endpoint_id = ${endpointId} and state = 'pending' and next_at <= now()
    order by next_at, sequence limit ${count}::int`;
}

/** `nextInMs` is null for the last attempt. */
export type Result = Readonly<{
  posted: Posted;
  tookMs: number;
  isDelivered: boolean;
  nextInMs: number | null;
}>;

/**
 * Stores what came of an attempt. Returns whether that disabled the endpoint: because it is gone, or because nothing has
 * reached it since the first attempt of a delivery that is given up now.
 */
export async function recordAttempt(
  sql: SQL,
  endpointId: string,
  deliveryId: string,
  result: Result,
  isPrompt: boolean,
): Promise<'gone' | 'failing' | null> {
  const { posted, tookMs, isDelivered, nextInMs } = result;
  const isGone = posted.status === 410;
  const isOver = isDelivered || isGone || nextInMs === null;
  return await shortTransaction(sql, async (transaction) => {
    // The endpoint first, as whoever sends again or removes one does.
    await transaction`select 1 from webhook_endpoints where id = ${endpointId} for no key update`;
    const changed = await transaction`
      update webhook_deliveries
      set state = ${isDelivered ? 'delivered' : isOver ? 'failed' : 'pending'}, attempts = attempts + 1,
          first_attempt_at = coalesce(first_attempt_at, now()), attempted_at = now(), took_ms = ${tookMs},
          next_at = case when not ${isOver} then now() + make_interval(secs => ${(nextInMs ?? 0) / 1000}::float8) end,
          status = ${posted.status}, problem = ${posted.problem}, request_head = ${posted.requestHead},
          response_head = ${posted.responseHead}
      where id = ${deliveryId} and state = 'pending'`;
    // Another node has sent it meanwhile, or it was removed.
    if (changed.count === 0) return null;
    const isGivenUp = transaction`(${isOver && !isDelivered} and failing_since <= (
      select first_attempt_at from webhook_deliveries where id = ${deliveryId}))`;
    const [endpoint] = await transaction<{ disabled_because: 'gone' | 'failing' | null }[]>`
      update webhook_endpoints
      set is_prompt = ${isPrompt && isDelivered},
          failing_since = case when not ${isDelivered} then coalesce(failing_since, now()) end,
          disabled_at = case when ${isGone} or ${isGivenUp} then now() end,
          disabled_because = case when ${isGone} then 'gone' when ${isGivenUp} then 'failing' end
      where id = ${endpointId} and disabled_at is null
      returning disabled_because`;
    return endpoint?.disabled_because ?? null;
  });
}

/** Ends a claim. What is due is looked up while the row is locked: whoever adds a delivery locks it first. */
export async function releaseEndpoint(
  sql: SQL,
  nodeId: string,
  endpointId: string,
  failingPauseMs: number,
): Promise<void> {
  await shortTransaction(sql, async (transaction) => {
    const [mine] = await transaction`
      select 1 from webhook_endpoints where id = ${endpointId} and claimed_by = ${nodeId} for no key update`;
    if (mine === undefined) return;
    await transaction`
      update webhook_endpoints
      set claimed_by = null, claimed_until = null,
          due_at = (
            select case when failing_since is null then min(next_at)
                        else greatest(min(next_at), now() + make_interval(secs => ${failingPauseMs / 1000}::float8)) end
            from webhook_deliveries where endpoint_id = ${endpointId} and state = 'pending'
            having min(next_at) is not null)
      where id = ${endpointId}`;
  });
}

export type Replay = Readonly<{ deliveryId: string }> | Readonly<{ from: Date; to: Date }>;

export const maxReplayed = 10_000;

/**
 * Sends again, with the same IDs of events: one delivery, or all events of a time that the endpoint gets, whether they were
 * sent before or not. Returns how many.
 */
export async function replay(
  transaction: TransactionSQL,
  owned: OwnedEndpoint,
  what: Replay,
): Promise<number> {
  await transaction`
    select 1 from webhook_endpoints where id = ${owned.id} and ${isOwnedBy(transaction, owned)} for no key update`;
  const endpoint = await requireEndpoint(transaction, owned);
  if (endpoint.disabled_at !== null) throw new ApiError('webhook_disabled');
  const count =
    'deliveryId' in what
      ? await replayOne(transaction, owned, what.deliveryId)
      : await replayRange(transaction, owned, owned, what.from, what.to);
  await transaction`update webhook_endpoints set due_at = now() where id = ${owned.id} and ${count > 0}`;
  return count;
}

async function replayOne(transaction: TransactionSQL, { id }: OwnedEndpoint, deliveryId: string) {
  const changed = await transaction`
    update webhook_deliveries set state = 'pending', attempts = 0, first_attempt_at = null, next_at = now()
    where id = ${deliveryId} and endpoint_id = ${id}`;
  if (changed.count === 0) throw new ApiError('delivery_not_found');
  return changed.count;
}

async function replayRange(
  transaction: TransactionSQL,
  { id }: OwnedEndpoint,
  { accountId }: EndpointOwner,
  from: Date,
  to: Date,
): Promise<number> {
  const changed = await transaction`
    insert into webhook_deliveries as delivery (endpoint_id, event_id)
    select endpoint.id, events.id
    from events join webhook_endpoints as endpoint on endpoint.id = ${id}
    where position is not null and events.created_at >= ${from} and events.created_at < ${to}
      and events.id >= first_id_at(${from}::timestamptz - interval '1 minute')
      and (${accountId}::uuid is null or events.account_id = ${accountId}::uuid)
      and type <> 'webhook.test' and (types is null or type = any (types))
    order by position limit ${maxReplayed}::int
    on conflict (endpoint_id, event_id) do update
    set state = 'pending', attempts = 0, first_attempt_at = null, next_at = now()`;
  return changed.count;
}
