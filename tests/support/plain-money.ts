/** Money by plain SQL, from ledger entries, usage records, open requests and Generations: none of the gateway's sums. */
import type { SQL } from 'bun';
import type { MarginFigures } from '../../src/console/operator-contract.ts';

/** Of the ledger alone. */
export async function moneyOf(sql: SQL, account: string) {
  const [row] = await sql<
    [
      {
        balance: string;
        held: string;
        typical: string | null;
        used: number;
        /** Hours of use. */
        left: number | null;
        /** Hours by the clock, 0 once a typical request no longer fits; null without use. */
        lasts: number | null;
      },
    ]
  >`
    select balance::text, held::text, typical::text, used, (trunc((balance - held) * used * 10 / spent) / 10)::float8 as left,
           case when balance - held <= 0 or balance - held < typical then spent * 0
                else (balance - held) * greatest(24, floor(extract(epoch from now()) / 3600) + 1 - first) / spent end::float8 as lasts
    from (
      select (select balance_after from ledger_entries where account_id = ${account} order by number desc limit 1) as balance,
             (select coalesce(sum(hold), 0)::numeric(38,12) from open_generations where account_id = ${account}) as held,
             (select percentile_disc(0.5) within group (order by hold) from (
                select * from (
                  select id, hold from generations where account_id = ${account} and status = 'completed'
                  union all
                  select id, needed::numeric from refusals where account_id = ${account} and short_of = 'balance'
                ) as wanted order by id desc limit 20
              ) as newest) as typical, spending.*
      from (
        select count(*)::int as used, sum(spent) as spent, min(hour) as first from (
          select ms / 3600000 as hour, sum(cost_total) as spent from (${timedCosts(sql, account)}) as request
          where ms >= (floor(extract(epoch from now()) / 3600) - 167) * 3600000
          group by ms / 3600000 having sum(cost_total) > 0
        ) as hourly
      ) as spending
    ) as known`;
  return row;
}

const timedCosts = (sql: SQL, account: string) => sql`
  select cost_total, ('x' || left(replace(id::text, '-', ''), 12))::bit(48)::bigint as ms from generations where account_id = ${account}`;

/** Net of refunds, by the month of the charge. */
export const spentThisMonth = (sql: SQL, where: SQL.Query<unknown>) => sql`
  select coalesce(-sum(amount), 0)::numeric(38,12)::text as spent from ledger_entries join usage_records on usage_records.id = generation_id
  where month = date_trunc('month', now() at time zone 'UTC') and (${where})`;

/** Each charge counts as a request, and what the gateway took back as none. A refund by hand takes back money alone. */
const chargesOf = (sql: SQL) => sql`
  select (billed_at at time zone 'UTC')::date as day, usage_records.*, ledger_entries.amount,
         case when kind = 'charge' then 1 when reference is null then -1 else 0 end as sign
  from ledger_entries join usage_records on usage_records.id = generation_id where kind in ('charge', 'refund')`;

const unchargedOf = (sql: SQL) => sql`
  select account_id, model, provider, ended_at, cost from uncharged_attempts
  union all select null, model, provider, ended_at, cost from decision_calls
  union all select account_id, model, provider, ended_at, cost from cancelled_calls`;

export type PlainMargin = MarginFigures & Readonly<{ id: string }>;

/** By the ID of what they are grouped by. */
export async function plainMargins(
  sql: SQL,
  by: 'all' | 'day' | 'model' | 'provider' | 'account',
  from: string,
  to: string,
): Promise<PlainMargin[]> {
  const column = {
    all: sql`''`,
    day: sql`to_char(day, 'YYYY-MM-DD')`,
    model: sql`model`,
    provider: sql`provider`,
    account: sql`account_id::text`,
  }[by];
  const rows = await sql<PlainMargin[]>`
    select ${column} as id, sum(requests)::int as requests, sum(revenue)::numeric(38,12)::text as revenue,
           sum(asked)::numeric(38,12)::text as cost, sum(calls)::int as uncharged_attempts, sum(lost)::numeric(38,12)::text as uncharged_cost,
           (sum(revenue) - sum(unpriced) - sum(asked) - sum(lost))::numeric(38,12)::text as margin,
           sum(unpriced_requests)::int as unpriced_requests, sum(unpriced)::numeric(38,12)::text as unpriced_revenue,
           sum(unknown)::int as unknown_attempts
    from (
      select day, model, coalesce(provider, '') as provider, account_id, sign as requests, -amount as revenue,
             sign * coalesce(provider_cost, 0) as asked, 0 as calls, 0 as lost,
             case when provider_cost is null then sign else 0 end as unpriced_requests,
             case when provider_cost is null then -amount else 0 end as unpriced, 0 as unknown
      from (${chargesOf(sql)}) as charge
      union all
      select (ended_at at time zone 'UTC')::date, model, provider, account_id, 0, 0, 0, 1, coalesce(cost, 0), 0, 0,
             case when cost is null then 1 else 0 end
      from (${unchargedOf(sql)}) as call
    ) as part
    where day between ${from}::text::date and ${to}::text::date group by 1 order by 1`;
  return rows.map((row) => ({ ...row }));
}

/** What was used of an account, for a query to group by these columns. They end with a comma. */
export const usageOf = (
  sql: SQL,
  account: string,
  from: string,
  to: string,
  columns: SQL.Query<unknown>,
) => sql`
  select ${columns} sum(sign)::int as requests, sum(sign * input_tokens)::int as input_tokens, sum(sign * output_tokens)::int as output_tokens,
         coalesce(sum(sign * units) filter (where unit = 'images'), 0)::int as images, (-sum(amount))::numeric(38,12)::text as cost,
         coalesce(sum(sign * cache_read_tokens), 0)::int as cache_read_tokens,
         coalesce(sum(sign * (cache_write_tokens + cache_write_long_tokens)), 0)::int as cache_write_tokens,
         coalesce(sum(sign * cache_saved), 0)::numeric(38,12)::text as cache_saved
  from (${chargesOf(sql)}) as charge
  where account_id = ${account} and day between ${from}::text::date and ${to}::text::date`;
