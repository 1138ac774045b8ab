/** What each account spent in each hour, from sums and from what has not been added up, as figures.ts does it. */
import type { SQL } from 'bun';
import { nilId } from '../lib/ids.ts';
import { piecesAs } from './figures.ts';
import { inOneStep, type Progress, piecesOf, type Span } from './range.ts';

/** As the index request_hours_spent has it: a parameter would keep the planner from it. */
const areOfAccounts = `key_id = '${nilId}' and account_id <> '${nilId}'`;

/**
 * Rows with account_id, hour and spent, for other queries to include. Hours without spending are missing. Those that are added up
 * are as many as there are accounts and hours, so they are grouped in the order of their index, each hour once.
 */
export function hourlySpendQuery(sql: SQL, span: Span, progress: Progress) {
  const ofAccounts = sql.unsafe(areOfAccounts);
  const { hours, minutes, raw } = piecesOf(inOneStep(span), progress);
  return sql`
    select spent.* from ${piecesAs(sql, hours)} cross join lateral (
      select account_id, hour, sum(cost) as spent from request_hours
      where ${ofAccounts} and cost > 0 and hour >= begins_at and hour < ends_at
      group by hour, account_id
    ) as spent
    union all
    select account_id, hour, sum(cost) from (
      select account_id, date_trunc('hour', minute, 'UTC') as hour, cost
      from ${piecesAs(sql, minutes)} join request_minutes on minute >= begins_at and minute < ends_at
      where ${ofAccounts} and cost > 0
      union all
      select account_id, date_trunc('hour', to_timestamp(id_ms(id) / 1000.0), 'UTC'), cost
      from ${piecesAs(sql, raw)} join counted_generations on id >= first_id_at(begins_at) and id < first_id_at(ends_at)
      where cost > 0
    ) as part
    group by hour, account_id`;
}
