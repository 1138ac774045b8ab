/** Refuses ranges of which a part has left the database: an export must not look complete without it. */
import type { SQL } from 'bun';
import { ApiError } from '../errors.ts';

type WithFrom = Readonly<{ from: Date }>;

/** Archived months are in files, the oldest ones first. */
export async function requireNotArchived(sql: SQL, { from }: WithFrom): Promise<void> {
  const [row] = await sql<[{ ends_on: string | null }]>`
    select max(ends_on)::text as ends_on from ledger_archives
    where ends_on::timestamp at time zone 'UTC' > ${from.toISOString()}::text::timestamptz`;
  if (row.ends_on !== null)
    throw tooEarly(row.ends_on, 'What was booked before is in the files of tollgate ledger archive.');
}

/**
 * Months of Generations are dropped after the retention period, and whom they were for a moment before. A month from before the
 * migration that made the table never was there.
 */
export async function requireNotExpired(sql: SQL, { from }: WithFrom): Promise<void> {
  const [row] = await sql<[{ begins_on: string | null }]>`
    with tables (name, version) as (
      values ('generations', ${generationsMigration}::int), ('generation_attributions', ${attributionsMigration}::int)
    ), oldest as (
      select name, version, to_date(min(right(relname, 7)), 'YYYY_MM') as begins_on
      from tables join pg_inherits on inhparent = name::regclass join pg_class on oid = inhrelid
      where relname ~ ('^' || name || '_[0-9]{4}_[0-9]{2}$')
      group by name, version
    )
    select max(begins_on)::text as begins_on from oldest
    where begins_on::timestamp at time zone 'UTC' > greatest(
      ${from.toISOString()}::text::timestamptz,
      (select applied_at from schema_migrations where schema_migrations.version = oldest.version)
    )`;
  if (row.begins_on !== null)
    throw tooEarly(row.begins_on, 'What is older was dropped after GENERATION_RETENTION_DAYS.');
}

/** They made the tables. */
const generationsMigration = 1;
const attributionsMigration = 25;

function tooEarly(day: string, why: string): ApiError {
  return new ApiError('invalid_parameter', {
    param: 'from',
    message: `This range reaches into months that are no longer in the database: from must be ${day} or later. ${why}`,
  });
}
