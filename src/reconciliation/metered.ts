/** What this gateway recorded of a provider: charged, metered cost, and what it does not know, by UTC day and model. */
import type { SQL } from 'bun';
import { type Money, moneyFromDatabase } from '../lib/money.ts';

export type MeteredModel = Readonly<{
  day: string;
  /** The ID of the model in the catalogue. */
  model: string;
  charged: Money;
  /** The metered cost of what customers were charged for. */
  cost: Money;
  /** Requests whose cost is unknown: their charge is an estimate, or the catalogue did not say what the provider asks. */
  requestsWithoutCost: number;
  /** Requests that started the day before and were settled on this one, and their part of the cost. */
  lateRequests: number;
  lateCost: Money;
}>;

export type UnchargedModel = Readonly<{
  day: string;
  model: string;
  cost: Money;
  /** Calls for which the provider reported no usage. */
  attemptsWithoutUsage: number;
  /** Calls with usage, but without a known cost. */
  attemptsWithoutCost: number;
}>;

export type Metered = Readonly<{ served: readonly MeteredModel[]; uncharged: readonly UnchargedModel[] }>;

type ServedRow = {
  day: string;
  model: string;
  charged: string;
  cost: string;
  without_cost: number;
  late: number;
  late_cost: string;
};
type UnchargedRow = { day: string; model: string; cost: string; without_usage: number; without_cost: number };

export async function readMetered(sql: SQL, provider: string, from: string, to: string): Promise<Metered> {
  const served = await sql<ServedRow[]>`${servedQuery(sql, provider, from, to)}`;
  const uncharged = await sql<UnchargedRow[]>`${unchargedQuery(sql, provider, from, to)}`;
  return { served: served.map(readServed), uncharged: uncharged.map(readUncharged) };
}

function readServed(row: ServedRow): MeteredModel {
  return {
    day: row.day,
    model: row.model,
    charged: moneyFromDatabase(row.charged),
    cost: moneyFromDatabase(row.cost),
    requestsWithoutCost: row.without_cost,
    lateRequests: row.late,
    lateCost: moneyFromDatabase(row.late_cost),
  };
}

function readUncharged(row: UnchargedRow): UnchargedModel {
  return {
    day: row.day,
    model: row.model,
    cost: moneyFromDatabase(row.cost),
    attemptsWithoutUsage: row.without_usage,
    attemptsWithoutCost: row.without_cost,
  };
}

/**
 * Both days are included. Records are found by their IDs, which begin with the time of the request, so only the months of
 * these days are read. A call lasts a day at most, and its settlement may wait for a database that is away; a clock may be
 * a minute ahead. A charge that the gateway took back is left out: what the provider bills for it is among the uncharged attempts.
 */
export function servedQuery(sql: SQL, provider: string, from: string, to: string) {
  const { begins, ends } = boundsOf(sql, from, to);
  return sql`
    with days as materialized (
      select at::date as day, first_id_at(at::date::timestamp at time zone 'UTC') as first_id
      from generate_series(${from}::text::timestamp, ${to}::text::timestamp, interval '1 day') as at
    )
    select days.day::text as day, model,
           coalesce(sum(cost - refunded), 0)::numeric(38,12) as charged,
           coalesce(sum(provider_cost), 0)::numeric(38,12) as cost,
           (count(*) filter (where provider_cost is null))::float8 as without_cost,
           (count(*) filter (where id < first_id))::float8 as late,
           coalesce(sum(provider_cost) filter (where id < first_id), 0)::numeric(38,12) as late_cost
    from usage_records join days on days.day = (billed_at at time zone 'UTC')::date
    where id >= first_id_at(${begins} - interval '3 days') and id < first_id_at(${ends} + interval '1 hour')
      and billed_at >= ${begins} and billed_at < ${ends} and provider = ${provider}
      and refunded_at is null
    group by days.day, model`;
}

/** Both days are included. */
export function unchargedQuery(sql: SQL, provider: string, from: string, to: string) {
  const { begins, ends } = boundsOf(sql, from, to);
  return sql`
    select (ended_at at time zone 'UTC')::date::text as day, model,
           coalesce(sum(cost), 0)::numeric(38,12) as cost,
           (count(*) filter (where cost is null and input_tokens is null))::float8 as without_usage,
           (count(*) filter (where cost is null and input_tokens is not null))::float8 as without_cost
    from uncharged_calls
    where ended_at >= ${begins} and ended_at < ${ends} and provider = ${provider}
    group by 1, 2`;
}

function boundsOf(sql: SQL, from: string, to: string) {
  return {
    begins: sql`(${from}::text::date::timestamp at time zone 'UTC')`,
    ends: sql`((${to}::text::date + 1)::timestamp at time zone 'UTC')`,
  };
}
