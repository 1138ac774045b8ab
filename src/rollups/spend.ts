/** What each account spent in each hour, from sums and from what has not been added up, as figures.ts does it. */
import type { SQL } from 'bun';
import { nilId } from '../lib/ids.ts';
import { piecesAs } from './figures.ts';
import { inOneStep, type Progress, piecesOf, type Span } from './range.ts';

/** As the index request_hours_spent has it: a parameter would keep the planner from it. */
const areOfAccounts = `key_id = '${nilId}' and account_id <> '${nilId}'`;

/**
 * Rows with account_id, hour and spent, for other queries to include and to group: an account may have several of an hour, and none
 * of hours without spending. There are as many as accounts and hours, so they are read from an index alone.
 */
export function spendQuery(
  sql: SQL,
  span: Span,
  progress: Progress,
  isWanted: SQL.Query<unknown> = sql`true`,
) {
  const ofAccounts = sql.unsafe(areOfAccounts);
  const { hours, minutes, raw } = piecesOf(inOneStep(span), progress);
  return sql`
    select spent.* from ${piecesAs(sql, hours)} cross join lateral (
      select account_id, hour, cost as spent from request_hours
      where ${ofAccounts} and cost > 0 and hour >= begins_at and hour < ends_at and ${isWanted} offset 0
    ) as spent
    union all
    select account_id, date_trunc('hour', minute, 'UTC'), cost
    from ${piecesAs(sql, minutes)} join request_minutes on minute >= begins_at and minute < ends_at
    where ${ofAccounts} and cost > 0 and ${isWanted}
    union all
    select account_id, date_trunc('hour', to_timestamp(id_ms(id) / 1000.0), 'UTC'), cost
    from ${piecesAs(sql, raw)} join counted_generations on id >= first_id_at(begins_at) and id < first_id_at(ends_at)
    where cost > 0 and ${isWanted}`;
}
