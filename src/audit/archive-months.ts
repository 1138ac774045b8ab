/** Which months of the ledger can be archived, and what prevents it. */
import type { SQL } from 'bun';

/** A partition of ledger_entries and the one of usage_records with the same months. Days are in UTC. */
export type ClosedMonths = Readonly<{
  /** The end of the names of both partitions. */
  suffix: string;
  /** Null for the first partition, which has everything up to its end. */
  beginsOn: string | null;
  endsOn: string;
}>;

type MonthRow = { suffix: string; begins_on: string | null; ends_on: string };

/**
 * The oldest first. A month is closed if it ended before the months that create_partitions ensures, which leave room for
 * a node whose clock is slow.
 */
export async function findClosedMonths(sql: SQL, before: string | null): Promise<ClosedMonths[]> {
  const rows = await sql<MonthRow[]>`
    with months as (
      select substr(relname, length('ledger_entries') + 1) as suffix, relname ~ '_to_' as is_first,
             to_date(right(relname, 7), 'YYYY_MM') as month
      from pg_inherits join pg_class on oid = inhrelid
      where inhparent = 'ledger_entries'::regclass and relname ~ '^ledger_entries(_to)?_[0-9]{4}_[0-9]{2}$'
    )
    select suffix, case when not is_first then month::text end as begins_on,
           (month + interval '1 month')::date::text as ends_on
    from months
    where (month + interval '1 month') at time zone 'UTC' <= date_trunc('month', now() - interval '31 days', 'UTC')
      and (${before}::text is null or month + interval '1 month' <= ${before}::text::date)
    order by month`;
  return rows.map((row) => ({ suffix: row.suffix, beginsOn: row.begins_on, endsOn: row.ends_on }));
}

/** Why a month cannot be archived now, as a sentence; null when it can. */
export async function findObstacle(sql: SQL, { endsOn, suffix }: ClosedMonths): Promise<string | null> {
  const [row] = await sql<[{ open: number; letters: number; undrawn: number; later: boolean }]>`
    select (select count(*)::int from open_generations where id < first_id_at(${endsOn}::text::timestamp at time zone 'UTC')) as open,
           (select count(*)::int from dead_letters
            where generation_id < first_id_at(${endsOn}::text::timestamp at time zone 'UTC')) as letters,
           (select count(*)::int from grant_progress as progress where exists (
              select 1 from ledger_entries as entry
              where entry.account_id = progress.account_id and number > entry_number
                and created_at < ${endsOn}::text::timestamp at time zone 'UTC')) as undrawn,
           to_regclass('usage_records' || ${suffix}::text) is null as later`;
  if (row.open > 0) return `${row.open} requests that began before ${endsOn} are still open`;
  if (row.letters > 0)
    return `${row.letters} settlements from before ${endsOn} are set aside: see tollgate ledger retry`;
  if (row.undrawn > 0)
    return `entries of ${row.undrawn} accounts have not been drawn from their grants, which a running gateway does`;
  if (row.later) return `the usage records of the months before ${endsOn} have no partition of their own`;
  return null;
}
