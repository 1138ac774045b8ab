/** Deliveries: what is due, and what came of it. */
import type { SQL } from 'bun';
import type { StoredEvent } from '../events/event.ts';
import { eventColumns } from '../events/event-store.ts';
import { shortTransaction } from '../lib/short-transaction.ts';
import { dueAt, isOwnedBy, maxEndpointsOfAccount, type OwnedEndpoint } from './endpoint-store.ts';
import { pace } from './pace.ts';
import type { Posted } from './post.ts';
import { maxFailingHours } from './retries.ts';
import { type DisabledBecause, tellDisabled } from './tell-disabled.ts';

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
  is_prompt: boolean;
  is_replaying: boolean;
}>;

/** Those that answered quickly, those of which that is not known or not so, and those that fail. */
type Standing = 'prompt' | 'unproven' | 'failing';
/** Endpoints that wait for one another only: of the operator or of customers, and of one standing. */
export type EndpointGroup = Readonly<{ isOperators: boolean; standing: Standing }>;

/**
 * Of the ten that an account can have, on all nodes together. Nodes that claim at the same moment do not see each other's claims, so
 * for one turn each of them may have two. To prevent that, every claim would have to wait for all others, and for a node that stands
 * still; this is about taking turns, and what a host gets at once is bounded elsewhere.
 */
const maxClaimedOfAccount = 2;
/** So many due ones surely have enough that may be claimed among them, if there are any. */
const candidatesPerSlot = maxEndpointsOfAccount / maxClaimedOfAccount;

/** In most looks there are none, and then this is all that a look costs. */
export async function hasDueEndpoints(sql: SQL): Promise<boolean> {
  const isDue = sql`disabled_at is null and due_at <= now()`;
  const [row] = await sql<[{ found: boolean }]>`
    select exists (select 1 from webhook_endpoints where is_prompt and failing_since is null and ${isDue})
      or exists (select 1 from webhook_endpoints where not is_prompt and failing_since is null and ${isDue})
      or exists (select 1 from webhook_endpoints where failing_since is not null and ${isDue}) as found`;
  return row.found;
}

/** Those that have been waiting longest come first. */
export async function claimEndpoints(
  sql: SQL,
  nodeId: string,
  { isOperators, standing }: EndpointGroup,
  count: number,
): Promise<ClaimedEndpoint[]> {
  const isInGroup = {
    prompt: sql`is_prompt and failing_since is null`,
    unproven: sql`not is_prompt and failing_since is null`,
    failing: sql`failing_since is not null`,
  }[standing];
  return await sql<ClaimedEndpoint[]>`
    with due as materialized (
      select endpoint.id, account_id, due_at, busy.count
      from webhook_endpoints as endpoint cross join lateral (
        select count(*) from webhook_endpoints as other
        where other.account_id = endpoint.account_id and other.claimed_until >= now()
      ) as busy
      where disabled_at is null and due_at <= now() and ${isInGroup}
        and ${isOperators ? sql`account_id is null` : sql`account_id is not null`}
        and (claimed_until is null or claimed_until < now()) and busy.count < ${maxClaimedOfAccount}::int
      order by due_at limit ${count * candidatesPerSlot}::int for update of endpoint skip locked
    ), placed as (
      select id, due_at, account_id is null or count + row_number() over (partition by account_id order by due_at)
                         <= ${maxClaimedOfAccount}::int as may_be_claimed
      from due
    )
    update webhook_endpoints
    set claimed_by = ${nodeId}, claimed_until = now() + make_interval(secs => ${pace.claimSeconds}::int)
    where id in (select id from placed where may_be_claimed order by due_at limit ${count}::int)
    returning id, account_id, url, secret, case when previous_until > now() then previous_secret end as previous_secret,
              is_prompt, exists (
                select 1 from webhook_replays
                where endpoint_id = webhook_endpoints.id and after_position < last_position) as is_replaying`;
}

export type DueDelivery = StoredEvent & Readonly<{ delivery_id: string; attempts: number }>;

/** Those that have been waiting longest, and no more of them are read than asked for. */
export async function findDue(sql: SQL, endpointId: string, count: number): Promise<DueDelivery[]> {
  return await sql<DueDelivery[]>`
    with due as materialized (
      select id as delivery_id, event_id, attempts, next_at from webhook_deliveries
      where endpoint_id = ${endpointId} and state = 'pending' and next_at <= now()
      order by next_at limit ${count}::int
    )
    select ${eventColumns(sql)}, delivery_id, attempts
    from due join events on events.id = event_id
    left join account_details on account_details.account_id = events.account_id
    order by next_at`;
}

type Judged = Readonly<{
  id: string;
  account_id: string | null;
  url: string;
  disabled_because: DisabledBecause | null;
}>;

/** `nextInMs` is null for the last attempt. */
export type Result = Readonly<{
  posted: Posted;
  tookMs: number;
  isDelivered: boolean;
  nextInMs: number | null;
}>;

/**
 * Stores what came of an attempt. That may disable the endpoint: because it is gone, or because nothing has reached it since
 * the first attempt of a delivery that is given up now, or for as long as all attempts of one take.
 */
export async function recordAttempt(
  sql: SQL,
  endpointId: string,
  deliveryId: string,
  result: Result,
  isPrompt: boolean,
): Promise<void> {
  const { posted, tookMs, isDelivered, nextInMs } = result;
  const isGone = posted.status === 410;
  const isOver = isDelivered || isGone || nextInMs === null;
  await shortTransaction(sql, async (transaction) => {
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
    if (changed.count === 0) return;
    const isGivenUp = transaction`(${!isDelivered} and failing_since <= greatest(
      now() - make_interval(hours => ${maxFailingHours}::int),
      (select first_attempt_at from webhook_deliveries where id = ${deliveryId} and ${isOver})))`;
    const [endpoint] = await transaction<Judged[]>`
      update webhook_endpoints
      set is_prompt = ${isPrompt && isDelivered},
          failing_since = case when not ${isDelivered} then coalesce(failing_since, now()) end,
          disabled_at = case when ${isGone} or ${isGivenUp} then now() end,
          disabled_because = case when ${isGone} then 'gone' when ${isGivenUp} then 'failing' end
      where id = ${endpointId} and disabled_at is null
      returning id, account_id, url, disabled_because`;
    if (endpoint !== undefined && endpoint.disabled_because !== null)
      await tellDisabled(transaction, endpoint, endpoint.disabled_because);
  });
}

/** Ends claims without a turn. */
export async function putOffEndpoints(
  sql: SQL,
  nodeId: string,
  endpoints: readonly Readonly<{ id: string; waitMs: number }>[],
): Promise<void> {
  await sql`
    update webhook_endpoints
    set claimed_by = null, claimed_until = null, rest_until = now() + make_interval(secs => wait_ms / 1000),
        due_at = now() + make_interval(secs => wait_ms / 1000)
    from jsonb_to_recordset(${JSON.stringify(endpoints.map(({ id, waitMs }) => ({ id, wait_ms: waitMs })))}::text::jsonb)
      as given (id uuid, wait_ms float8)
    where webhook_endpoints.id = given.id and claimed_by = ${nodeId}`;
}

/**
 * Ends a claim. What is due is looked up while the row is locked: whoever adds a delivery locks it first. The next turn comes
 * after `pauseMs`, or after the longer pause if the endpoint fails, and not before all who were due already had theirs.
 */
export async function releaseEndpoint(
  sql: SQL,
  nodeId: string,
  endpointId: string,
  { failingPauseMs, pauseMs }: Readonly<{ failingPauseMs: number; pauseMs: number }>,
): Promise<void> {
  const failingMs = Math.max(failingPauseMs, pauseMs);
  await shortTransaction(sql, async (transaction) => {
    const [mine] = await transaction`
      select 1 from webhook_endpoints where id = ${endpointId} and claimed_by = ${nodeId} for no key update`;
    if (mine === undefined) return;
    const restUntil = () => transaction`(now() + make_interval(secs =>
      case when webhook_endpoints.failing_since is null then ${pauseMs / 1000}::float8 else ${failingMs / 1000}::float8 end))`;
    await transaction`
      update webhook_endpoints
      set claimed_by = null, claimed_until = null, rest_until = ${restUntil()}, due_at = ${dueAt(transaction, restUntil())}
      where id = ${endpointId}`;
  });
}
