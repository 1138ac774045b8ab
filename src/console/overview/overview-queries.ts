/** What the overview is made of, as far as the caller's membership goes: each statement asks for it. */
import type { SQL } from 'bun';
import { ApiError } from '../../errors.ts';
import { recentQuery } from '../../generations/generation-store.ts';
import { leaseSeconds } from '../../ledger/node-lease.ts';
import { type Money, moneyFromDatabase } from '../../lib/money.ts';
import { type NodeReport, readReport } from '../../routing/node-report.ts';
import { usageQuery } from '../../usage/usage-days.ts';
import type { Caller } from '../access.ts';
import type { DayRange } from '../usage/parse.ts';
import { beginningOf } from '../usage/usage-queries.ts';

export type AccountState = Readonly<{ balance: Money; held: Money; isSuspended: boolean }>;

export async function findAccount(sql: SQL, { userId, accountId }: Caller): Promise<AccountState> {
  const [row] = await sql<{ balance: string; held: string; is_suspended: boolean }[]>`
    select balance, held, suspended_at is not null as is_suspended
    from memberships join accounts on accounts.id = account_id
    where user_id = ${userId} and account_id = ${accountId}`;
  if (row === undefined) throw new ApiError('account_not_found');
  return {
    balance: moneyFromDatabase(row.balance),
    held: moneyFromDatabase(row.held),
    isSuspended: row.is_suspended,
  };
}

/** What was billed, by day: `models` are those of that day. Days without usage are left out. */
export type UsedDay = Readonly<{ day: string; cost: Money; requests: bigint; models: readonly string[] }>;

export async function findUsedDays(
  sql: SQL,
  { userId, accountId }: Caller,
  { from, to }: DayRange,
): Promise<UsedDay[]> {
  const rows = await sql<{ day: string; cost: string; requests: bigint; models: string[] }[]>`
    select to_char(day, 'YYYY-MM-DD') as day, sum(cost) as cost, sum(requests)::bigint as requests,
           array_agg(distinct model) as models
    from memberships cross join lateral (${usageQuery(sql, accountId, beginningOf(from), to, null)}) as usage
    where user_id = ${userId} and account_id = ${accountId}
    group by usage.day order by usage.day`;
  return rows.map(({ day, cost, requests, models }) => ({
    day,
    cost: moneyFromDatabase(cost),
    requests,
    models,
  }));
}

export type RecentRequests = Readonly<{
  completed: number;
  failed: number;
  cancelled: number;
  /** Of those that completed. */
  latencyMsP50: number | null;
  latencyMsP95: number | null;
  timeToFirstTokenMsP50: number | null;
  models: readonly string[];
}>;

const recentHours = 24;

type RecentRow = {
  completed: number;
  failed: number;
  cancelled: number;
  latency_ms_p50: number | null;
  latency_ms_p95: number | null;
  time_to_first_token_ms_p50: number | null;
  models: string[] | null;
};

export async function findRecentRequests(
  sql: SQL,
  { userId, accountId }: Caller,
): Promise<RecentRequests | null> {
  const [row] = await sql<RecentRow[]>`
    select (count(*) filter (where status = 'completed'))::int as completed,
           (count(*) filter (where status = 'failed'))::int as failed,
           (count(*) filter (where status = 'cancelled'))::int as cancelled,
           percentile_disc(0.5) within group (order by latency_ms) filter (where status = 'completed') as latency_ms_p50,
           percentile_disc(0.95) within group (order by latency_ms) filter (where status = 'completed') as latency_ms_p95,
           percentile_disc(0.5) within group (order by time_to_first_token_ms) filter (where status = 'completed')
             as time_to_first_token_ms_p50,
           array_agg(distinct model) as models
    from memberships cross join lateral (${recentQuery(sql, accountId, recentHours)}) as recent
    where user_id = ${userId} and memberships.account_id = ${accountId}
    group by memberships.account_id`;
  if (row === undefined) return null;
  return {
    completed: row.completed,
    failed: row.failed,
    cancelled: row.cancelled,
    latencyMsP50: row.latency_ms_p50,
    latencyMsP95: row.latency_ms_p95,
    timeToFirstTokenMsP50: row.time_to_first_token_ms_p50,
    models: row.models ?? [],
  };
}

/** A key that is in force, or was until it expired. */
export type WatchedKey = Readonly<{
  id: string;
  name: string;
  /** This month's, with what is held for requests under way: that is what the limit is compared with. */
  spent: Money;
  monthlyLimit: Money | null;
  expiresAt: Date | null;
  isExpired: boolean;
  /** It ends soon because its owner replaced it. */
  isReplaced: boolean;
}>;

type WatchedKeyRow = {
  id: string;
  name: string;
  spent: string;
  monthly_limit: string | null;
  expires_at: Date | null;
  is_expired: boolean;
  is_replaced: boolean;
};

/** Those that have used at least this share of their limit, or expire around now. The most recent keys come first. */
export async function findWatchedKeys(
  sql: SQL,
  { userId, accountId }: Caller,
  { nearLimitPercent, expiryDays }: Readonly<{ nearLimitPercent: number; expiryDays: number }>,
): Promise<WatchedKey[]> {
  const rows = await sql<WatchedKeyRow[]>`
    with keys as (
      select api_keys.id, name, monthly_limit, expires_at, coalesce(expires_at <= now(), false) as is_expired,
             revoked_at is not null as is_replaced,
             -- A key that was not used this month still has the sum of the month in which it was.
             held + case when month = date_trunc('month', now() at time zone 'UTC') then month_spent else 0 end as spent
      from memberships
      join api_keys on api_keys.account_id = memberships.account_id
      join api_key_meters on key_id = api_keys.id
      where user_id = ${userId} and memberships.account_id = ${accountId} and coalesce(revoked_at > now(), true)
    )
    select * from keys
    where not is_expired and spent * 100 >= monthly_limit * ${nearLimitPercent}::int
       or expires_at between now() - make_interval(days => ${expiryDays}::int) and now() + make_interval(days => ${expiryDays}::int)
    order by id desc`;
  return rows.map((row) => ({
    id: row.id,
    name: row.name,
    spent: moneyFromDatabase(row.spent),
    monthlyLimit: row.monthly_limit === null ? null : moneyFromDatabase(row.monthly_limit),
    expiresAt: row.expires_at,
    isExpired: row.is_expired,
    isReplaced: row.is_replaced,
  }));
}

export type Circuit = NodeReport['circuits'][number];

/** What the nodes that are alive say of providers. Nothing of it is anyone's own, but only members are told. */
export async function findCircuits(sql: SQL, { userId, accountId }: Caller): Promise<Circuit[]> {
  const rows = await sql<{ report: unknown }[]>`
    select report from nodes
    where stopped_at is null and heartbeat_at > now() - make_interval(secs => ${leaseSeconds})
      and exists (select 1 from memberships where user_id = ${userId} and account_id = ${accountId})`;
  return rows.flatMap(({ report }) => readReport(report)?.circuits ?? []);
}
