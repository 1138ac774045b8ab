/** The state of an account at a glance, and what needs attention. */
import type { SQL } from 'bun';
import { ApiError } from '../errors.ts';
import { recentQuery } from '../generations/generation-store.ts';
import { typicalHold } from '../generations/typical-hold.ts';
import { lookUp } from '../http/lookup.ts';
import { readQuery } from '../http/query.ts';
import { formatMoney, type Money, moneyFromDatabase } from '../lib/money.ts';
import { leaseSeconds } from '../nodes/lease.ts';
import type { WelcomeGrants } from '../people/welcome-grant.ts';
import type { ActiveCatalog } from '../routing/active-catalog.ts';
import { readReport } from '../routing/node-report.ts';
import { addDays, dayOf, everyDay } from '../usage/days.ts';
import { usageQuery } from '../usage/usage-days.ts';
import { type Caller, readableAccount } from './access.ts';
import {
  type AccountState,
  attentionTo,
  expiryDays,
  type Facts,
  nearLimitPercent,
  type ReportedCircuit,
  type WatchedKey,
} from './attention.ts';
import type { Overview } from './contract.ts';
import type { AccountHandler, Routes } from './guard.ts';
import type { DayRange } from './usage.ts';
import { beginningOf } from './usage-queries.ts';

const shownDays = 30;
/** The spending and the calls of these days predict the next ones. */
const recentDays = 7;

type OverviewServices = Readonly<{
  sql: SQL;
  reads: () => SQL;
  catalog: () => ActiveCatalog;
  welcome: WelcomeGrants;
}>;

export function overviewPage({ sql, reads, catalog, welcome }: OverviewServices): Routes<AccountHandler> {
  return {
    '/overview': {
      GET: async (request, { caller }) => {
        readQuery(request.url, []);
        const to = dayOf(new Date());
        const range = { from: addDays(to, 1 - shownDays), to };
        const account = await lookUp('balance_lookup_failed', () => findAccount(sql, caller));
        const [days, { models, served, ...recent }, keys, circuits, offered] = await Promise.all([
          lookUp('usage_lookup_failed', () => findUsedDays(reads(), caller, range)),
          lookUp('generation_lookup_failed', () => findRecentRequests(reads(), caller)),
          lookUp('api_keys_lookup_failed', () => findWatchedKeys(sql, caller)),
          lookUp('model_list_failed', () => findCircuits(sql, caller)),
          lookUp('balance_lookup_failed', () => findWelcome(sql, caller)),
        ]);
        const lastDays = days.filter(({ day }) => day > addDays(to, -recentDays));
        const { providers } = catalog().catalog;
        return Response.json({
          balance: formatMoney(account.balance),
          held: formatMoney(account.held),
          is_suspended: account.isSuspended,
          days: presentDays(range, days),
          caches: presentCaches(days),
          recent,
          attention: attentionTo({
            account,
            dailySpend: lastDays.reduce((sum, { cost }) => sum + cost, 0n) / BigInt(recentDays),
            keys,
            circuits,
            // Those that were billed, and those that were only tried.
            models: new Set([...lastDays.flatMap((day) => day.models), ...(models ?? [])]),
            providerName: (id) => providers.get(id)?.name ?? id,
            lastSuccess: lastSuccessIn(served ?? []),
          }),
          welcome: presentWelcome(offered, welcome.settings),
        } satisfies Overview);
      },
    },
  };
}

/** Every day of the range, including days without usage. */
function presentDays({ from, to }: DayRange, used: readonly UsedDay[]): Overview['days'] {
  const byDay = new Map(used.map((day) => [day.day, day]));
  return everyDay(from, to).map((day) => ({
    day,
    cost: formatMoney(byDay.get(day)?.cost ?? 0n),
    requests: Number(byDay.get(day)?.requests ?? 0n),
  }));
}

/** Null if no cache was involved on any of these days. */
function presentCaches(used: readonly UsedDay[]): Overview['caches'] {
  const sum = (pick: (day: UsedDay) => bigint) => used.reduce((total, day) => total + pick(day), 0n);
  const read = sum(({ cacheReadTokens }) => cacheReadTokens);
  if (read + sum(({ cacheWriteTokens }) => cacheWriteTokens) === 0n) return null;
  return {
    input_tokens: Number(sum(({ inputTokens }) => inputTokens)),
    read_tokens: Number(read),
    saved: formatMoney(sum(({ cacheSaved }) => cacheSaved)),
  };
}

async function findAccount(sql: SQL, caller: Caller): Promise<AccountState> {
  const [row] = await sql<{ balance: string; held: string; isSuspended: boolean }[]>`
    select balance, held, suspended_at is not null as "isSuspended"
    from ${readableAccount(sql, caller)} as readable join accounts on accounts.id = account_id`;
  if (row === undefined) throw new ApiError('account_not_found');
  return { ...row, balance: moneyFromDatabase(row.balance), held: moneyFromDatabase(row.held) };
}

type OfferedGrant = Readonly<{ amount: string | null; expires_at: Date | null; refused_for: string | null }>;

async function findWelcome(sql: SQL, caller: Caller): Promise<OfferedGrant | undefined> {
  const [row] = await sql<OfferedGrant[]>`
    select amount, expires_at, refused_for
    from ${readableAccount(sql, caller)} as readable join welcome_grants using (account_id)`;
  return row;
}

function presentWelcome(
  offered: OfferedGrant | undefined,
  settings: WelcomeGrants['settings'],
): Overview['welcome'] {
  if (offered === undefined || offered.refused_for === 'off') return null;
  if (offered.refused_for !== null) return { state: 'refused' };
  if (offered.amount !== null)
    return {
      state: 'given',
      amount: offered.amount,
      expires_at: offered.expires_at?.toISOString() ?? null,
    };
  return settings && { state: 'pending', amount: formatMoney(settings.amount), expires_at: null };
}

/** What was billed on a day, for which models. Days without usage are left out. */
type UsedDay = Readonly<{
  day: string;
  cost: Money;
  requests: bigint;
  models: readonly string[];
  inputTokens: bigint;
  cacheReadTokens: bigint;
  cacheWriteTokens: bigint;
  cacheSaved: Money;
}>;

/** Sums are strings, because they may exceed a bigint. */
type UsedDayRow = Pick<UsedDay, 'day' | 'requests' | 'models'> &
  Readonly<Record<Exclude<keyof UsedDay, 'day' | 'requests' | 'models'>, string>>;

async function findUsedDays(sql: SQL, caller: Caller, { from, to }: DayRange): Promise<UsedDay[]> {
  const rows = await sql<UsedDayRow[]>`
    select to_char(day, 'YYYY-MM-DD') as day, sum(cost) as cost, sum(requests)::bigint as requests,
           array_agg(distinct model) as models, sum(input_tokens) as "inputTokens",
           sum(cache_read_tokens) as "cacheReadTokens", sum(cache_write_tokens) as "cacheWriteTokens",
           sum(cache_saved) as "cacheSaved"
    from ${readableAccount(sql, caller)} as readable
    cross join lateral (${usageQuery(sql, caller.accountId, beginningOf(from), to, null)}) as usage
    group by usage.day order by usage.day`;
  return rows.map((row) => ({
    ...row,
    cost: moneyFromDatabase(row.cost),
    inputTokens: BigInt(row.inputTokens),
    cacheReadTokens: BigInt(row.cacheReadTokens),
    cacheWriteTokens: BigInt(row.cacheWriteTokens),
    cacheSaved: moneyFromDatabase(row.cacheSaved),
  }));
}

const recentHours = 24;

function lastSuccessIn(served: readonly Served[]): Facts['lastSuccess'] {
  const times = new Map(
    served.map(({ model, provider, at }) => [JSON.stringify([model, provider]), new Date(at)]),
  );
  return (model, provider) => times.get(JSON.stringify([model, provider])) ?? null;
}

/** When requests for a model last completed at a provider, by its name. */
type Served = Readonly<{ model: string; provider: string; at: string }>;
type RecentRequests = Overview['recent'] & { models: string[] | null; served: Served[] | null };

/** A request that its client cancelled is neither a success nor a failure. */
async function findRecentRequests(sql: SQL, caller: Caller): Promise<RecentRequests> {
  const [row] = await sql<[RecentRequests]>`
    with recent as materialized (
      select recent.* from ${readableAccount(sql, caller)} as readable
      cross join lateral (${recentQuery(sql, caller.accountId, recentHours)}) as recent
    )
    select count(*)::int as requests,
           (count(*) filter (where status = 'completed'))::int as completed,
           (count(*) filter (where status = 'failed'))::int as failed,
           (count(*) filter (where status = 'cancelled'))::int as cancelled,
           (count(*) filter (where status = 'completed'))::float8
             / nullif(count(*) filter (where status in ('completed', 'failed')), 0) as success_share,
           percentile_disc(0.5) within group (order by latency_ms) filter (where status = 'completed') as latency_ms_p50,
           percentile_disc(0.95) within group (order by latency_ms) filter (where status = 'completed') as latency_ms_p95,
           percentile_disc(0.5) within group (order by time_to_first_token_ms) filter (where status = 'completed')
             as time_to_first_token_ms_p50,
           array_agg(distinct model) as models,
           (select jsonb_agg(served) from (
              select model, provider, max(completed_at) as at from recent where status = 'completed' group by model, provider
            ) as served) as served
    from recent`;
  return row;
}

type WatchedKeyRow = Omit<WatchedKey, 'spent' | 'monthlyLimit' | 'typicalHold'> & {
  spent: string;
  monthlyLimit: string | null;
  typicalHold: string | null;
};

/** Keys whose limit is near or too tight for their requests, or that expire around now, the newest first. */
async function findWatchedKeys(sql: SQL, caller: Caller): Promise<WatchedKey[]> {
  const rows = await sql<WatchedKeyRow[]>`
    with keys as materialized (
      select api_keys.id, name, monthly_limit, expires_at, coalesce(expires_at <= now(), false) as is_expired,
             revoked_at is not null as is_replaced,
             -- A key that was not used this month still has the sum of the month in which it last was.
             held + case when month = date_trunc('month', now() at time zone 'UTC') then month_spent else 0 end as spent,
             case when monthly_limit is not null then ${typicalHold(sql, sql`api_keys.id`)} end as typical_hold
      from ${readableAccount(sql, caller)} as readable
      join api_keys on api_keys.account_id = readable.account_id
      join api_key_meters on key_id = api_keys.id
      where coalesce(revoked_at > now(), true)
    )
    select id, name, spent, monthly_limit as "monthlyLimit", typical_hold as "typicalHold", expires_at as "expiresAt", is_expired as "isExpired",
           is_replaced as "isReplaced"
    from keys
    where not is_expired and (spent * 100 >= monthly_limit * ${nearLimitPercent}::int or typical_hold > monthly_limit - spent)
       or expires_at between now() - make_interval(days => ${expiryDays}::int) and now() + make_interval(days => ${expiryDays}::int)
    order by id desc`;
  return rows.map((row) => ({
    ...row,
    spent: moneyFromDatabase(row.spent),
    monthlyLimit: row.monthlyLimit === null ? null : moneyFromDatabase(row.monthlyLimit),
    typicalHold: row.typicalHold === null ? null : moneyFromDatabase(row.typicalHold),
  }));
}

/** What the live nodes report about providers. It is the same for every account, but only those who may read one see it. */
async function findCircuits(sql: SQL, caller: Caller): Promise<ReportedCircuit[]> {
  const rows = await sql<{ report: unknown }[]>`
    select report from nodes
    where stopped_at is null and heartbeat_at > now() - make_interval(secs => ${leaseSeconds})
      and exists ${readableAccount(sql, caller)}`;
  return rows.flatMap(({ report }) => readReport(report)?.circuits ?? []);
}
