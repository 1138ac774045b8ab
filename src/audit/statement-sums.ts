/** Compares statements by day with the entries that they were added up from. */
import { nilId } from '../lib/ids.ts';
import type { AuditScope } from './invariant.ts';

/**
 * The months that are not archived, in a full audit. Others leave it out: whoever reads a statement has its sums compared with
 * the balances before and after it.
 */
export function everyStatementDay({ isFull, archivedBefore }: AuditScope): string {
  if (!isFull) return 'select 0::bigint as checked, 0::bigint as violations';
  const since = `'${archivedBefore ?? '-infinity'}'`;
  return `
    with counted as (
      select progress.account_id, (entry.created_at at time zone 'UTC')::date as day, entry.kind,
             case entry.kind when 'credit' then coalesce(grants.category, 'paid') else '' end as category,
             coalesce(used.model, '') as model, coalesce(used.key_id, '${nilId}') as key_id,
             count(*) as entries, sum(entry.amount) as amount
      from statement_progress as progress
      join ledger_entries as entry on entry.account_id = progress.account_id and entry.number <= progress.entry_number
      left join usage_records as used on used.id = entry.generation_id
      left join grants on grants.account_id = entry.account_id and grants.number = entry.number
      where (entry.created_at at time zone 'UTC')::date >= ${since}::date
      group by 1, 2, 3, 4, 5, 6
    ), days as (
      select * from statement_days where day >= ${since}::date
    )
    select count(*) as checked,
           count(*) filter (where (days.entries, days.amount) is distinct from (counted.entries, counted.amount)) as violations
    from days full join counted using (account_id, day, kind, category, model, key_id)`;
}
