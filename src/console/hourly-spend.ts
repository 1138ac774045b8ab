/** What an account spent in each hour of the last week. */
import type { SQL } from 'bun';
import { type Money, moneyFromDatabase } from '../lib/money.ts';

/** Of a busier account the newest are enough to know its pace. */
const maxRecords = 50_000;

/** Hours without any are left out. `allowed` has a row if the caller may know. */
export async function findHourlySpend(
  sql: SQL,
  allowed: SQL.Query<unknown>,
  accountId: string,
): Promise<Money[]> {
  const rows = await sql<{ spent: string }[]>`
    select sum(cost) as spent from ${allowed} as allowed cross join lateral (
      select cost, billed_at from usage_records
      where account_id = ${accountId} and billed_at > now() - interval '7 days' and refunded_at is null
      order by billed_at desc limit ${maxRecords}::int
    ) as newest
    group by date_trunc('hour', billed_at)`;
  return rows.map(({ spent }) => moneyFromDatabase(spent));
}
