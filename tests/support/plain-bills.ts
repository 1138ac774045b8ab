/** What providers billed against the metered cost, by plain SQL: from entries, calls without a charge, and the lines of bills. */
import type { SQL } from 'bun';
import type { ReconciledDay, ReconciledDetail } from '../../src/console/operator-contract.ts';

/** What is known of a provider's calls, by day and model. A late one had arrived before the day on which it was billed. */
const meteredOf = (sql: SQL, provider: string) => sql`
  select (billed_at at time zone 'UTC')::date as day, model, -amount as charged,
         case when kind = 'charge' then coalesce(provider_cost, 0) else 0 end as cost, 0 as uncharged, 0 as without_usage,
         case when kind = 'charge' and provider_cost is null then 1 else 0 end as without_cost,
         case when kind = 'charge' and arrived_at < date_trunc('day', billed_at at time zone 'UTC') then 1 else 0 end as late
  from ledger_entries
  join (
    select *, to_timestamp(('x' || left(replace(id::text, '-', ''), 12))::bit(48)::bigint / 1000.0) at time zone 'UTC' as arrived_at
    from usage_records
  ) as used on used.id = generation_id
  where provider = ${provider}
  union all
  select (ended_at at time zone 'UTC')::date, model, 0, 0, coalesce(cost, 0),
         case when cost is null and input_tokens is null then 1 else 0 end,
         case when cost is null and input_tokens is not null then 1 else 0 end, 0
  from (
    select model, provider, ended_at, cost, input_tokens from uncharged_attempts
    union all select model, provider, ended_at, cost, input_tokens from cancelled_calls
    union all select model, provider, ended_at, cost, input_tokens from decision_calls
  ) as call where provider = ${provider}`;

/** Of the newest version of each day. */
const billOf = (sql: SQL, id: string) => sql`
  select day, line ->> 'name' as name, (line ->> 'amount')::numeric as amount
  from (select distinct on (day) * from bill_versions where provider = ${id} order by day, version desc) as newest,
       jsonb_array_elements(lines) as line`;

/** A cent, and a thousandth of the larger side. */
const allowed = (sql: SQL) => sql`0.01 + round(greatest(metered, coalesce(billed, 0)) / 1000, 12)`;

type PlainDay = Pick<
  ReconciledDay,
  'day' | 'charged' | 'metered' | 'uncharged' | 'billed' | 'difference' | 'tolerance' | 'is_within'
>;

/** Of the days that were compared, the newest first. */
export async function plainBill(sql: SQL, provider: { id: string; name: string }): Promise<PlainDay[]> {
  const rows = await sql<PlainDay[]>`
    select day::text, charged::numeric(38,12)::text, metered::numeric(38,12)::text, uncharged::numeric(38,12)::text, billed::text,
           (billed - metered)::numeric(38,12)::text as difference, (${allowed(sql)})::numeric(38,12)::text as tolerance,
           abs(billed - metered) <= ${allowed(sql)} as is_within
    from (
      select day, coalesce(sum(charged), 0) as charged, coalesce(sum(cost + uncharged), 0) as metered,
             coalesce(sum(uncharged), 0) as uncharged,
             (select sum(amount) from (${billOf(sql, provider.id)}) as line where line.day = compared.day)::numeric(38,12) as billed
      from (
        select generate_series(min(from_day), max(to_day), interval '1 day')::date as day
        from reconciliation_runs where provider = ${provider.id}
      ) as compared left join (${meteredOf(sql, provider.name)}) as call using (day)
      group by day
    ) as sums order by day desc`;
  return rows.map((row) => ({ ...row }));
}

/** A day by model, the largest difference first. */
export async function plainModels(
  sql: SQL,
  provider: { id: string; name: string },
  day: string,
): Promise<Omit<ReconciledDetail['models'][number], 'kind'>[]> {
  const rows = await sql<ReconciledDetail['models']>`
    select name, metered::numeric(38,12)::text, billed::numeric(38,12)::text, (billed - metered)::numeric(38,12)::text as difference,
           abs(billed - metered) <= ${allowed(sql)} as is_within
    from (
      select name, sum(metered) as metered, sum(billed) as billed from (
        select model as name, cost + uncharged as metered, 0 as billed from (${meteredOf(sql, provider.name)}) as call
        where day = ${day}::text::date
        union all select name, 0, amount from (${billOf(sql, provider.id)}) as line where day = ${day}::text::date
      ) as side group by name
    ) as model order by abs(billed - metered) desc, name`;
  return rows.map((row) => ({ ...row }));
}

/** Which calls may explain a difference. Late ones of the next day may have been billed on this one. */
export async function plainExplanations(sql: SQL, provider: string, day: string) {
  const [row] = await sql<[{ without_usage: number; without_cost: number; late: number; late_cost: string }]>`
    select coalesce(sum(without_usage) filter (where day = ${day}::text::date), 0)::int as without_usage,
           coalesce(sum(without_cost) filter (where day = ${day}::text::date), 0)::int as without_cost,
           coalesce(sum(late), 0)::int as late, trim_scale(coalesce(sum(cost * late), 0))::text as late_cost
    from (${meteredOf(sql, provider)}) as call where day in (${day}::text::date, ${day}::text::date + 1)`;
  return row;
}
