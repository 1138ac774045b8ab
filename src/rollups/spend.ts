/** What each account spent in each hour, from sums and from what has not been added up, as figures.ts does it. */
import type { SQL } from 'bun';
import { nilId } from '../lib/ids.ts';
import { piecesAs } from './figures.ts';
import { inOneStep, type Piece, type Progress, piecesOf, type Span } from './range.ts';

/** As the index request_hours_spent has it: a parameter would keep the planner from it. */
const areOfAccounts = `key_id = '${nilId}' and account_id <> '${nilId}'`;

/** Rows with account_id, hour and spent, for other queries to include. Hours without spending are missing. */
export function hourlySpendQuery(sql: SQL, span: Span, progress: Progress) {
  const ofAccounts = sql.unsafe(areOfAccounts);
  const { hours, minutes, raw } = piecesOf(inOneStep(span), progress);
  const sums = (unit: 'minute' | 'hour', pieces: readonly Piece[]) => sql`
    select account_id, date_trunc('hour', ${sql.unsafe(unit)}, 'UTC') as hour, cost
    from ${piecesAs(sql, pieces)} join ${sql.unsafe(`request_${unit}s`)} as sums
      on ${sql.unsafe(unit)} >= begins_at and ${sql.unsafe(unit)} < ends_at
    where ${ofAccounts} and cost > 0`;
  return sql`
    select account_id, hour, sum(cost) as spent from (
      ${sums('hour', hours)} union all ${sums('minute', minutes)}
      union all
      select account_id, date_trunc('hour', to_timestamp(id_ms(id) / 1000.0), 'UTC'), cost
      from ${piecesAs(sql, raw)} join counted_generations on id >= first_id_at(begins_at) and id < first_id_at(ends_at)
      where cost > 0
    ) as part
    group by account_id, hour`;
}
