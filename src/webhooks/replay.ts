/**
 * Sends again, with the same IDs of events: one delivery, or all events of a time that the endpoint gets, whether they were sent
 * before or not. Those of a time become deliveries a few at a time, when the endpoint has nothing newer to do, so asking for
 * them costs little and they hold up nobody.
 */
import type { SQL, TransactionSQL } from 'bun';
import { ApiError } from '../errors.ts';
import { testEventType } from '../events/event.ts';
import { shortTransaction } from '../lib/short-transaction.ts';
import { dueAt, type Endpoint, lockSendable, type OwnedEndpoint, requireSendable } from './endpoint-store.ts';

export type Replay = Readonly<{ deliveryId: string }> | TimeRange;
type TimeRange = Readonly<{ from: Date; to: Date }>;

const maxReplayed = 10_000;
/** Finding the events of a time may mean reading all that are kept. */
const restSeconds = 60;
const maxAddedAtOnce = 100;

/** Returns how many are going to be sent. */
export async function replay(
  transaction: TransactionSQL,
  owned: OwnedEndpoint,
  what: Replay,
): Promise<number> {
  return 'deliveryId' in what
    ? await replayOne(transaction, owned, what.deliveryId)
    : await replayRange(transaction, owned, what);
}

async function replayOne(
  transaction: TransactionSQL,
  owned: OwnedEndpoint,
  deliveryId: string,
): Promise<number> {
  const { id } = await lockSendable(transaction, owned);
  const changed = await transaction`
    update webhook_deliveries set state = 'pending', attempts = 0, first_attempt_at = null, next_at = now()
    where id = ${deliveryId} and endpoint_id = ${id}`;
  if (changed.count === 0) throw new ApiError('delivery_not_found');
  await transaction`update webhook_endpoints set due_at = ${dueAt(transaction)} where id = ${id}`;
  return changed.count;
}

/** The endpoint is locked after the slow part: whoever publishes events waits for it. */
async function replayRange(
  transaction: TransactionSQL,
  owned: OwnedEndpoint,
  range: TimeRange,
): Promise<number> {
  const { id } = owned;
  const endpoint = await requireSendable(transaction, owned);
  const tooSoon = await transaction`
    select 1 from webhook_replays where endpoint_id = ${id} and not ${mayBeReplaced(transaction)}`;
  if (tooSoon.length > 0) throw tooOften();
  const [found] = await transaction<[{ count: number; first: bigint | null; last: bigint | null }]>`
    select count(*)::int as count, min(position) as first, max(position) as last
    from (
      select position from events where ${isReplayed(transaction, endpoint, range)}
        and id >= first_id_at(${range.from}::timestamptz - interval '1 minute')
      order by position limit ${maxReplayed}::int
    ) as found`;
  await lockSendable(transaction, owned);
  const added = await transaction`
    insert into webhook_replays (endpoint_id, from_time, to_time, after_position, last_position)
    values (${id}, ${range.from}, ${range.to}, ${(found.first ?? 1n) - 1n}::bigint, ${found.last ?? 0n}::bigint)
    on conflict (endpoint_id) do update
    set asked_at = excluded.asked_at, from_time = excluded.from_time, to_time = excluded.to_time,
        after_position = excluded.after_position, last_position = excluded.last_position
    where ${mayBeReplaced(transaction)}`;
  if (added.count === 0) throw tooOften();
  await transaction`update webhook_endpoints set due_at = ${dueAt(transaction)} where id = ${id}`;
  return found.count;
}

function mayBeReplaced(sql: SQL) {
  return sql`(webhook_replays.after_position >= webhook_replays.last_position
    and webhook_replays.asked_at <= now() - make_interval(secs => ${restSeconds}::int))`;
}

function isReplayed(sql: SQL, { account_id: accountId, types }: Endpoint, { from, to }: TimeRange) {
  const ofAccount = accountId === null ? sql`true` : sql`events.account_id = ${accountId}::uuid`;
  const ofType = types === null ? sql`true` : sql`type = any (${sql.array([...types], 'text')})`;
  return sql`position is not null and created_at >= ${from} and created_at < ${to} and ${ofAccount}
    and type <> ${testEventType} and ${ofType}`;
}

function tooOften(): ApiError {
  return new ApiError('too_many_attempts', {
    retryAfterSeconds: restSeconds,
    message: 'The last replay of this webhook is not over yet, or less than a minute old.',
  });
}

type Pending = TimeRange & Endpoint & Readonly<{ after_position: bigint; last_position: bigint }>;

/** The next events of a replay become deliveries that are due now. */
export async function addReplayed(sql: SQL, endpointId: string): Promise<void> {
  await shortTransaction(sql, async (transaction) => {
    // The endpoint first, as everyone does.
    await transaction`select 1 from webhook_endpoints where id = ${endpointId} for no key update`;
    const [pending] = await transaction<Pending[]>`
      select account_id, types, from_time as from, to_time as to, after_position, last_position
      from webhook_endpoints join webhook_replays on endpoint_id = webhook_endpoints.id
      where webhook_endpoints.id = ${endpointId} and after_position < last_position`;
    if (pending === undefined) return;
    await transaction`
      with replayed as materialized (
        select id, position from events
        where ${isReplayed(transaction, pending, pending)} and position > ${pending.after_position}::bigint
          and position <= ${pending.last_position}::bigint
        order by position limit ${maxAddedAtOnce}::int
      ), sent as (
        insert into webhook_deliveries (endpoint_id, event_id, next_at)
        select ${endpointId}::uuid, id,
               now() + (row_number() over (order by position) - ${maxAddedAtOnce}::int) * interval '1 microsecond'
        from replayed
        on conflict (endpoint_id, event_id) do update
        set state = 'pending', attempts = 0, first_attempt_at = null, next_at = excluded.next_at
      )
      update webhook_replays
      set after_position = case when (select count(*) from replayed) < ${maxAddedAtOnce}::int then last_position
                                else (select max(position) from replayed) end
      where endpoint_id = ${endpointId}`;
  });
}
