/** The state of an account at a glance, and what needs attention. */
import type { SQL } from 'bun';
import { ApiError } from '../errors.ts';
import { recentQuery } from '../generations/generation-store.ts';
import { typicalHoldOfAccount, typicalHoldOfKey } from '../generations/typical-hold.ts';
import { lookUp } from '../http/lookup.ts';
import { readQuery } from '../http/query.ts';
import { formatMoney, type Money, moneyFromDatabase } from '../lib/money.ts';
import { leaseSeconds } from '../nodes/lease.ts';
import type { WelcomeGrants } from '../people/welcome-grant.ts';
import type { ActiveCatalog } from '../routing/active-catalog.ts';
import { readReport } from '../routing/node-report.ts';
import { type Caller, readableAccount } from './access.ts';
import {
  type AccountState,
  attentionTo,
  expiryDays,
  type Facts,
  isInDoubt,
  nearLimitPercent,
  type ReportedCircuit,
  type WatchedKey,
} from './attention.ts';
import { boundedRead } from './bounded-read.ts';
import type { Overview } from './contract.ts';
import type { AccountHandler, Routes } from './guard.ts';
import { runwayOf } from './runway.ts';
import { findSpentHours } from './spent-hours.ts';

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
        const account = await lookUp('balance_lookup_failed', () =>
          boundedRead(sql, (read) => findAccount(read, caller)),
        );
        const [hours, { keys, circuits, offered }] = await Promise.all([
          lookUp('usage_lookup_failed', () =>
            findSpentHours(reads(), caller.accountId, (reading) => readableAccount(reading, caller)),
          ),
          findState(sql, caller),
        ]);
        // Many to read, and rarely needed.
        const served = circuits.some(isInDoubt)
          ? await lookUp('generation_lookup_failed', () =>
              boundedRead(reads(), (read) => findServed(read, caller)),
            )
          : [];
        const nowMs = Date.now();
        const available = account.balance - account.held;
        const runway = runwayOf(hours.use, { available, typicalHold: account.typicalHold }, nowMs);
        const { providers } = catalog().catalog;
        return Response.json({
          balance: formatMoney(account.balance),
          held: formatMoney(account.held),
          is_suspended: account.isSuspended,
          runway,
          typical_hold: account.typicalHold === null ? null : formatMoney(account.typicalHold),
          attention: attentionTo({
            nowMs,
            account,
            runsOutAt: runway.runs_out_at,
            typicalHold: account.typicalHold,
            keys,
            circuits,
            models: hours.models,
            providerName: (id) => providers.get(id)?.name ?? id,
            lastSuccess: lastSuccessIn(served),
          }),
          welcome: presentWelcome(offered, welcome.settings),
        } satisfies Overview);
      },
    },
  };
}

type State = Readonly<{
  keys: readonly WatchedKey[];
  circuits: readonly ReportedCircuit[];
  offered: OfferedGrant | undefined;
}>;

/** One after the other: a page that is refreshed by itself takes few of the connections that requests need, too. */
async function findState(sql: SQL, caller: Caller): Promise<State> {
  return {
    keys: await lookUp('api_keys_lookup_failed', () =>
      boundedRead(sql, (read) => findWatchedKeys(read, caller)),
    ),
    circuits: await lookUp('model_list_failed', () => boundedRead(sql, (read) => findCircuits(read, caller))),
    offered: await lookUp('balance_lookup_failed', () =>
      boundedRead(sql, (read) => findWelcome(read, caller)),
    ),
  };
}

type FoundAccount = AccountState & Readonly<{ typicalHold: Money | null }>;

async function findAccount(sql: SQL, caller: Caller): Promise<FoundAccount> {
  const [row] = await sql<
    { balance: string; held: string; isSuspended: boolean; typicalHold: string | null }[]
  >`
    select balance, held, suspended_at is not null as "isSuspended",
           ${typicalHoldOfAccount(sql, sql`readable.account_id`)} as "typicalHold"
    from ${readableAccount(sql, caller)} as readable join accounts on accounts.id = account_id`;
  if (row === undefined) throw new ApiError('account_not_found');
  return {
    isSuspended: row.isSuspended,
    balance: moneyFromDatabase(row.balance),
    held: moneyFromDatabase(row.held),
    typicalHold: row.typicalHold === null ? null : moneyFromDatabase(row.typicalHold),
  };
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

const recentHours = 24;

function lastSuccessIn(served: readonly Served[]): Facts['lastSuccess'] {
  const times = new Map(served.map(({ model, provider, at }) => [JSON.stringify([model, provider]), at]));
  return (model, provider) => times.get(JSON.stringify([model, provider])) ?? null;
}

/** When requests for a model last completed at a provider, by its name. */
type Served = Readonly<{ model: string; provider: string; at: Date }>;

/** Of the newest requests of a day. */
async function findServed(sql: SQL, caller: Caller): Promise<Served[]> {
  return await sql<Served[]>`
    select model, provider, max(completed_at) as at from ${readableAccount(sql, caller)} as readable
    cross join lateral (${recentQuery(sql, caller.accountId, recentHours)}) as recent
    where status = 'completed' group by model, provider`;
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
             case when monthly_limit is not null then ${typicalHoldOfKey(sql, sql`api_keys.id`)} end as typical_hold
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
