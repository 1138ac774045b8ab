/**
 * Finds what becomes true by itself, and tells it once for as long as it lasts: a balance below its threshold, a budget that
 * is nearly used up, credit that expires soon, keys that end, providers that cannot be called, nodes that are lost. One node looks at a time, off the
 * path of requests.
 */
import type { SQL, TransactionSQL } from 'bun';
import type { Log } from '../lib/log.ts';
import { repeatedly } from '../lib/repeatedly.ts';
import { shortTransaction } from '../lib/short-transaction.ts';
import { tellUsage } from './usage-told.ts';

const everyMs = 10_000;
const causesLock = 7_012_018_021;
/** Nodes look at different moments; what one has looked at needs no other for this long. */
const restMs = 8_000;

type CauseTimings = Readonly<{ leaseSeconds: number; everyMs?: number }>;

/** On every node. Whichever comes first looks. */
export function keepCausesTold(sql: SQL, log: Log, timings: CauseTimings): () => Promise<void> {
  // After the database was away, every node looks lost until it has renewed its lease.
  let steadySinceMs = performance.now();
  let lookedAtMs = performance.now();
  const leaseMs = timings.leaseSeconds * 1000;
  return repeatedly(
    timings.everyMs ?? everyMs,
    async () => {
      const nowMs = performance.now();
      if (nowMs - lookedAtMs > leaseMs) steadySinceMs = nowMs;
      lookedAtMs = nowMs;
      const mayJudge = nowMs - steadySinceMs > 2 * leaseMs;
      const steadyBefore = steadySinceMs;
      // What fails here starts the wait again.
      steadySinceMs = nowMs;
      await tellCauses(sql, mayJudge ? 2 * timings.leaseSeconds : null);
      await tellUsage(sql);
      steadySinceMs = steadyBefore;
    },
    (fields) => log.warn('causes of events not looked at', fields),
  );
}

/** A node without a sign of life for `lostSeconds` is lost; with null, none is judged. */
export async function tellCauses(sql: SQL, lostSeconds: number | null, rest = restMs): Promise<void> {
  await shortTransaction(sql, async (transaction) => {
    const [{ is_mine: isMine }] = await transaction<[{ is_mine: boolean }]>`
      select pg_try_advisory_xact_lock(${causesLock}) as is_mine`;
    if (!isMine) return;
    const isFirst = await begin(transaction);
    const mine = await transaction`
      update event_looks set looked_at = now()
      where looked_at <= now() - make_interval(secs => ${rest / 1000}::float8)`;
    if (mine.count === 0) return;
    for (const cause of [...accountCauses, ...operatorCauses(lostSeconds)])
      await tell(transaction, cause, isFirst && cause.mayBeOld === true);
  });
}

/** Whether nobody has looked before. A row that is there is left alone: even a conflict with it would wait for its writer. */
async function begin(transaction: TransactionSQL): Promise<boolean> {
  await transaction`
    insert into event_progress select where not exists (select 1 from event_progress) on conflict do nothing`;
  const added = await transaction`
    insert into event_looks select where not exists (select 1 from event_looks) on conflict do nothing`;
  return added.count > 0;
}

/** A query of what is so now: `subject` names it, then `account_id`, `type` and `data` of the event. */
type Current = (sql: SQL) => SQL.Query<unknown>;
type Cause = Readonly<{
  kind: string;
  current: Current;
  /** The type of the event that says that it is over. */
  ended?: string;
  /** Whether it may have begun long before anyone looked: then it is no news at the first look. */
  mayBeOld?: boolean;
}>;

/** What has begun becomes an event, unless it is no news, and what has ended can begin again. */
async function tell(sql: TransactionSQL, { kind, current, ended }: Cause, isNoNews: boolean): Promise<void> {
  const endedType = ended ?? null;
  await sql`
    with current as materialized (${current(sql)}), begun as (
      insert into event_causes (kind, subject, account_id) select ${kind}, subject, account_id from current
      on conflict do nothing
      returning subject
    ), over as (
      delete from event_causes as cause
      where kind = ${kind} and not exists (select 1 from current where current.subject = cause.subject)
      returning subject, account_id
    ), told as (
      insert into events (account_id, type, data)
      select account_id, type, data from current where subject in (select subject from begun) and not ${isNoNews}::boolean
    )
    insert into events (account_id, type, data)
    select account_id, ${endedType}::text, subject::jsonb from over where ${endedType}::text is not null`;
}

/** From this part on, a budget is said to be used up: what is left seldom fits the next request exactly. */
const usedUp = '0.995';

/** How long before it expires a grant is said to. */
const expiringDays = 3;

const accountCauses: readonly Cause[] = [
  {
    kind: 'balance_low',
    current: (sql) => sql`
      select account_id::text as subject, account_id, 'balance.low' as type,
             jsonb_build_object('balance', balance::text, 'threshold', low_balance::text) as data
      from account_details join accounts on accounts.id = account_id
      where low_balance is not null and balance < low_balance`,
  },
  {
    // Limits of each end user are left out: there may be one for everyone that a customer serves.
    kind: 'budget_reached',
    mayBeOld: true,
    current: (sql) => sql`
      select limits.id || ' ' || window_start || ' ' || percent as subject, limits.account_id, 'budget.reached' as type,
             jsonb_build_object('limit_id', limits.id, 'kind', kind, 'scope', scope, 'key_id', limits.key_id,
               'end_user', limits.end_user, 'percent', percent, 'amount', amount::numeric(38,12)::text,
               'used', used::numeric(38,12)::text) as data
      from (
        select limits.*, limit_amount(limits, now()) as in_force from limits
        where kind like 'spend%' and scope <> 'each_end_user'
      ) as limits
      join limit_meters on limit_meters.id = limits.id and window_start = limit_window(kind, now())
      cross join (values (80, 0.8), (100, ${usedUp}::numeric)) as step (percent, part)
      where used >= in_force * part`,
  },
  {
    kind: 'key_budget',
    mayBeOld: true,
    current: (sql) => sql`
      select key_id || ' ' || month || ' ' || percent as subject, account_id,
             case percent when 80 then 'budget.reached' else 'key.used_up' end as type,
             jsonb_build_object('key_id', key_id, 'name', name, 'hint', hint, 'amount', monthly_limit::text,
               'used', month_spent::text)
             || case percent when 80 then jsonb_build_object('kind', 'spend_per_month', 'scope', 'key', 'percent', 80)
                             else '{}' end as data
      from api_keys join api_key_meters on key_id = id
      cross join (values (80, 0.8), (100, ${usedUp}::numeric)) as step (percent, part)
      where monthly_limit is not null and month = date_trunc('month', now() at time zone 'UTC')
        and (revoked_at is null or revoked_at > now()) and month_spent >= monthly_limit * part`,
  },
  {
    // Once for each: what a refund gives back later begins nothing new. An allowance that goes on is given anew anyway.
    kind: 'grant_expiring',
    current: (sql) => sql`
      select id::text as subject, account_id, 'grant.expiring' as type,
             jsonb_build_object('grant_id', id, 'category', category, 'remaining', remaining::text,
               'expires_at', event_time(expires_at)) as data
      from grants
      where expires_at > now() and expires_at <= now() + make_interval(days => ${expiringDays}::int)
        and ended_at is null and voided_at is null
        and not exists (select 1 from allowances where allowances.id = allowance_id and allowances.ended_at is null)
        and (remaining > 0 or exists (
          select 1 from event_causes where kind = 'grant_expiring' and subject = grants.id::text))`,
  },
  {
    kind: 'key_expired',
    current: (sql) => sql`
      select id::text as subject, account_id, 'key.expired' as type,
             jsonb_build_object('key_id', id, 'name', name, 'hint', hint, 'expires_at', event_time(expires_at)) as data
      from api_keys
      where expires_at > now() - interval '30 days' and expires_at <= clock_timestamp()
        and (revoked_at is null or revoked_at > expires_at)`,
  },
  {
    // Those that were revoked at once have been told by then. One that was revoked since this look began counts, or what
    // was told of it would be taken for over.
    kind: 'key_revoked',
    current: (sql) => sql`
      select id::text as subject, account_id, 'key.revoked' as type,
             jsonb_build_object('key_id', id, 'name', name, 'hint', hint, 'revoked_at', event_time(revoked_at)) as data
      from api_keys where revoked_at > now() - interval '30 days' and revoked_at <= clock_timestamp()`,
  },
];

/** Nodes report what they know with their heartbeats. What a lost node said last no longer counts. */
function operatorCauses(lostSeconds: number | null): readonly Cause[] {
  const reports = (sql: SQL) => sql`
    select report from nodes
    where stopped_at is null and heartbeat_at > now() - interval '2 minutes' and jsonb_typeof(report -> 'circuits') = 'array'`;
  const circuits = (sql: SQL) => sql`
    select distinct circuit ->> 'provider' as provider, circuit ->> 'model' as model, circuit ->> 'state' as state,
           circuit -> 'setback' ->> 'kind' as setback
    from (${reports(sql)}) as live cross join lateral jsonb_array_elements(report -> 'circuits') as circuit`;
  return [
    {
      kind: 'circuit_open',
      ended: 'circuit.closed',
      current: (sql) => sql`
        select jsonb_build_object('provider', provider, 'model', model)::text as subject, null::uuid as account_id,
               'circuit.opened' as type, jsonb_build_object('provider', provider, 'model', model) as data
        from (${circuits(sql)}) as circuit where state <> 'closed' group by provider, model`,
    },
    {
      kind: 'provider_key_refused',
      current: (sql) => sql`
        select provider as subject, null::uuid as account_id, 'provider_key.refused' as type,
               jsonb_build_object('provider', provider) as data
        from (${circuits(sql)}) as circuit where setback = 'key' group by provider`,
    },
    {
      kind: 'catalogue_rejected',
      current: (sql) => sql`
        select md5(problems) as subject, null::uuid as account_id, 'catalogue.rejected' as type,
               jsonb_build_object('problems', left(problems, 2000)) as data
        from (select distinct report ->> 'catalog_error' as problems from (${reports(sql)}) as live) as live
        where problems is not null`,
    },
    ...(lostSeconds === null ? [] : [nodeLost(lostSeconds)]),
  ];
}

function nodeLost(lostSeconds: number): Cause {
  return {
    kind: 'node_lost',
    current: (sql) => sql`
      select id::text as subject, null::uuid as account_id, 'node.lost' as type,
             jsonb_build_object('node_id', id, 'name', name, 'last_seen_at', event_time(heartbeat_at)) as data
      from nodes
      where stopped_at is null and heartbeat_at > now() - interval '30 days'
        and heartbeat_at < now() - make_interval(secs => ${lostSeconds}::float8)`,
  };
}
