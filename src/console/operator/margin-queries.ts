/** What customers were charged and what providers ask for it, all accounts together. The query checks who is asking. */
import type { SQL } from 'bun';
import { type Money, moneyFromDatabase } from '../../lib/money.ts';
import { type Found, rowsForOperator } from '../access.ts';
import type { DayRange } from '../usage.ts';

export const dimensions = ['day', 'model', 'provider', 'account', 'price_group'] as const;
export type Dimension = (typeof dimensions)[number];

/** Which come first; days are in their own order unless another is asked for. */
export const marginOrders = ['revenue', 'lowest_margin', 'highest_margin'] as const;
export type MarginOrder = (typeof marginOrders)[number];

export type MarginFigures = Readonly<{
  requests: bigint;
  revenue: Money;
  /** Of the requests that were charged, as far as it is known. */
  cost: Money;
  /** Charged, but what their providers ask is unknown. Their revenue is part of `revenue`. */
  unpricedRequests: bigint;
  unpricedRevenue: Money;
  /** Calls that a provider may bill although no customer was charged for them, and what it asks as far as it is known. */
  unchargedAttempts: bigint;
  unchargedCost: Money;
  unknownAttempts: bigint;
}>;

/** `name` is null for those that did not get a row of their own; `groups` is how many these are. */
export type MarginRow = MarginFigures & Readonly<{ name: string | null; label: string; groups: bigint }>;

type Columns = Omit<MarginRow, 'revenue' | 'cost' | 'unpricedRevenue' | 'unchargedCost'> &
  Readonly<Record<'revenue' | 'cost' | 'unpricedRevenue' | 'unchargedCost', string>>;

/**
 * By day in their order, otherwise the highest revenue first, unless another order is asked for. At most `maxGroups` rows, and one with the sum of the others, in
 * one snapshot: what has been added up, what has not been yet, and what was never charged.
 */
export async function findMargins(
  sql: SQL,
  operatorId: string,
  { from, to }: DayRange,
  by: Dimension,
  maxGroups: number,
  order: MarginOrder | null = null,
): Promise<MarginRow[]> {
  const rows = await sql<Found<Columns, 'groups'>[]>`
    select margins.name, groups, ${labelOf(sql, by)} as label, requests, revenue, cost,
           unpriced_requests as "unpricedRequests", unpriced_revenue as "unpricedRevenue",
           uncharged_attempts as "unchargedAttempts", uncharged_cost as "unchargedCost",
           unknown_attempts as "unknownAttempts"
    from users left join lateral (
      select case when place <= ${maxGroups}::int then ${nameOf(sql, by)} end as name, count(*) as groups,
             min(place) as place, ${chargedSums(sql)}, ${unchargedSums(sql)}
      from (
        select *, row_number() over (order by ${orderOf(sql, by, order)}) as place
        from (
          select ${groupOf(sql, by)} as key, ${chargedSums(sql)}, ${unchargedSums(sql)}
          from (${partsOf(sql, from, to, by)}) as part group by 1
        ) as grouped
      ) as ranked
      group by 1
    ) as margins on true
    where users.id = ${operatorId} and is_operator
    order by margins.place`;
  return rowsForOperator(rows, 'groups').map(withMoney);
}

function withMoney(row: Columns): MarginRow {
  return {
    ...row,
    revenue: moneyFromDatabase(row.revenue),
    cost: moneyFromDatabase(row.cost),
    unpricedRevenue: moneyFromDatabase(row.unpricedRevenue),
    unchargedCost: moneyFromDatabase(row.unchargedCost),
  };
}

export type BelowCost = Readonly<{ id: string; name: string; revenue: Money; margin: Money }>;

/**
 * The accounts that were charged less than their requests cost, the greatest loss first. At most `maxAccounts`. A sum is below zero
 * only if a part of it is, so most accounts are not summed at all.
 */
export async function findBelowCost(
  sql: SQL,
  operatorId: string,
  { from, to }: DayRange,
  maxAccounts: number,
): Promise<BelowCost[]> {
  type Row = Readonly<{ id: string; name: string; revenue: string; margin: string }>;
  const sums = sql`sum(revenue) as revenue, sum(revenue - unpriced_revenue - cost) as margin`;
  const hasLoss = sql`revenue - unpriced_revenue < cost`;
  const rows = await sql<Found<Row, 'id'>[]>`
    select lost.id, accounts.name, revenue, margin
    from users left join lateral (
      with fresh as materialized (${freshQuery(sql, from, to)}),
      uncharged as materialized (${unchargedQuery(sql, from, to)}),
      suspected as materialized (
        select account_id from margin_days where ${isBetween(sql, from, to)} and ${hasLoss}
        union select account_id from fresh where ${hasLoss}
        union select account_id from uncharged where account_id is not null
      )
      select account_id as id, sum(revenue) as revenue, sum(margin) as margin
      from suspected join lateral (
        select ${sums} from margin_days where margin_days.account_id = suspected.account_id and ${isBetween(sql, from, to)}
        union all
        select ${sums} from fresh where fresh.account_id = suspected.account_id
        union all
        select 0, -sum(cost) from uncharged where uncharged.account_id = suspected.account_id
      ) as part on true
      group by account_id having sum(margin) < 0 order by sum(margin), account_id limit ${maxAccounts}::int
    ) as lost on true
    left join accounts on accounts.id = lost.id
    where users.id = ${operatorId} and is_operator
    order by margin, lost.id`;
  return rowsForOperator<Row, 'id'>(rows, 'id').map((row) => ({
    ...row,
    revenue: moneyFromDatabase(row.revenue),
    margin: moneyFromDatabase(row.margin),
  }));
}

/**
 * Each part is summed on its own first, by the column as it is stored: a year has millions of rows. Refunds take back what
 * their charges added, so a sum may be zero, and a refund by hand leaves the cost.
 */
function partsOf(sql: SQL, from: string, to: string, by: Dimension) {
  const key = keyOf(sql, by);
  return sql`
    select ${key} as key, ${chargedSums(sql)}, 0::bigint as uncharged_attempts, 0::numeric as uncharged_cost,
           0::bigint as unknown_attempts
    from margin_days where ${isBetween(sql, from, to)} group by 1
    union all
    select ${key}, ${chargedSums(sql)}, 0, 0, 0 from (${freshQuery(sql, from, to)}) as fresh group by 1
    union all
    select ${key}, 0, 0, 0, 0, 0, count(*), coalesce(sum(cost), 0), count(*) filter (where cost is null)
    from (${unchargedQuery(sql, from, to)}) as call group by 1`;
}

function isBetween(sql: SQL, from: string, to: string) {
  return sql`day between ${from}::text::date and ${to}::text::date`;
}

/** What has not been added up yet, with the columns of margin_days. */
function freshQuery(sql: SQL, from: string, to: string) {
  return sql`
    select fresh.day, accounts.id as account_id, fresh.model, fresh.provider, fresh.requests, fresh.cost as revenue,
           fresh.provider_cost as cost, fresh.unpriced_requests, fresh.unpriced_cost as unpriced_revenue
    from accounts left join usage_progress on account_id = accounts.id
    cross join lateral entry_usage(accounts.id, coalesce(margin_entry_number, 0) + 1, entry_count) as fresh
    where entry_count > coalesce(margin_entry_number, 0) and ${isBetween(sql, from, to)}`;
}

/** What was never charged. Decisions belong to no account. */
function unchargedQuery(sql: SQL, from: string, to: string) {
  return sql`
    select (ended_at at time zone 'UTC')::date as day, account_id, model, provider, cost from uncharged_calls
    where ended_at >= ${from}::text::timestamp at time zone 'UTC'
      and ended_at < (${to}::text::date + 1)::timestamp at time zone 'UTC'`;
}

function chargedSums(sql: SQL) {
  return sql`
    sum(requests)::bigint as requests, sum(revenue) as revenue, sum(cost) as cost,
    sum(unpriced_requests)::bigint as unpriced_requests, sum(unpriced_revenue) as unpriced_revenue`;
}

function unchargedSums(sql: SQL) {
  return sql`
    sum(uncharged_attempts)::bigint as uncharged_attempts, sum(uncharged_cost) as uncharged_cost,
    sum(unknown_attempts)::bigint as unknown_attempts`;
}

function keyOf(sql: SQL, by: Dimension) {
  const account = sql`account_id`;
  return { day: sql`day`, model: sql`model`, provider: sql`provider`, account, price_group: account }[by];
}

/** The parts are summed by account first, so that each account is looked up once. It counts for the group that it is in now. */
function groupOf(sql: SQL, by: Dimension) {
  return by === 'price_group'
    ? sql`case when part.key is null then 'Decisions'
          else coalesce((select price_group from accounts where accounts.id = part.key), 'List prices') end`
    : sql`part.key`;
}

function nameOf(sql: SQL, by: Dimension) {
  if (by === 'day') return sql`to_char(key, 'YYYY-MM-DD')`;
  // Decisions belong to no account.
  return by === 'account' ? sql`coalesce(key::text, '')` : sql`key`;
}

function orderOf(sql: SQL, by: Dimension, order: MarginOrder | null) {
  const margin = sql`revenue - unpriced_revenue - cost - uncharged_cost`;
  if (order === 'lowest_margin') return sql`${margin}, key`;
  if (order === 'highest_margin') return sql`${margin} desc, key`;
  return by === 'day' && order === null ? sql`key` : sql`revenue desc, cost + uncharged_cost desc, key`;
}

function labelOf(sql: SQL, by: Dimension) {
  return by === 'account'
    ? sql`case margins.name when '' then 'Decisions'
          else coalesce((select accounts.name from accounts where accounts.id = nullif(margins.name, '')::uuid), '') end`
    : sql`coalesce(margins.name, '')`;
}
