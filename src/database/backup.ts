/**
 * A copy of a whole database as lines in one compressed file: every row of one snapshot in PostgreSQL's own text form,
 * which is lossless for every type. The embedded server has no pg_dump; restore.ts reads this.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SQL, TransactionSQL } from 'bun';
import { z } from 'zod';
import { explainFileError } from '../lib/file-error.ts';
import { writeLines } from '../lib/gzip-lines.ts';

/** The first line, with the versions and digests of the migrations that made the schema. */
export const backupHeader = z.object({
  tollgate_backup: z.literal(1),
  created_at: z.string(),
  migrations: z.array(z.object({ version: z.int(), digest: z.string() })).min(1),
  /** The month of the oldest row of the partitioned tables. */
  first_month: z.string(),
  sequences: z.array(z.object({ name: z.string(), last_value: z.string(), is_called: z.boolean() })),
  /** Files of the data folder without which the rows are of little use, by name. */
  files: z.partialRecord(z.enum(['secret', 'demo.json']), z.string()),
});
export type BackupHeader = z.infer<typeof backupHeader>;

/** The lines after the header. */
export const backupLine = z.union([
  z.object({ table: z.string(), rows: z.array(z.string()) }),
  z.object({ counts: z.record(z.string(), z.int()) }),
]);

export type BackupSummary = Readonly<{ tables: number; rows: number }>;

/** Rows of the tables with stored responses are long. */
const rowsAtOnce = 1_000;
const longRowsAtOnce = 20;

export async function backUp(
  sql: SQL,
  dataFolder: string,
  file: string,
  onTable: (done: number, total: number, name: string) => void,
): Promise<BackupSummary> {
  const writer = writeLines(file);
  try {
    const summary = await sql.begin('isolation level repeatable read read only', async (transaction) => {
      writer.write(JSON.stringify(await makeHeader(transaction, dataFolder)));
      const tables = await findTables(transaction);
      const counts: [string, number][] = [];
      for (const table of tables) {
        onTable(counts.length, tables.length, table.name);
        counts.push([table.name, await copyTable(transaction, table, writer.write)]);
      }
      writer.write(JSON.stringify({ counts: Object.fromEntries(counts) }));
      return { tables: tables.length, rows: counts.reduce((sum, [, count]) => sum + count, 0) };
    });
    writer.finish();
    return summary;
  } finally {
    writer.abandon();
  }
}

async function makeHeader(transaction: TransactionSQL, dataFolder: string): Promise<BackupHeader> {
  const migrations = await transaction<BackupHeader['migrations']>`
    select version, digest from schema_migrations order by version`;
  const sequences = await transaction<{ name: string }[]>`
    select relname as name from pg_class where relkind = 'S' and relnamespace = 'public'::regnamespace order by 1`;
  const states = [];
  for (const { name } of sequences) {
    const [state] = await transaction.unsafe<[{ last_value: string; is_called: boolean }]>(
      `select last_value::text, is_called from "${name}"`,
    );
    states.push({ name, ...state });
  }
  return {
    tollgate_backup: 1,
    created_at: new Date().toISOString(),
    migrations: migrations.map(({ version, digest }) => ({ version, digest })),
    first_month: await findFirstMonth(transaction),
    sequences: states,
    files: readFiles(dataFolder),
  };
}

/** Rows in a default partition have no month. */
async function findFirstMonth(transaction: TransactionSQL): Promise<string> {
  const [row] = await transaction<[{ month: string }]>`
    with firsts as (
      select (select id from generations where tableoid is distinct from to_regclass('generations_default')
              order by id limit 1) as generation,
             (select id from usage_records where tableoid is distinct from to_regclass('usage_records_default')
              order by id limit 1) as record,
             (select min(created_at) from ledger_entries
              where tableoid is distinct from to_regclass('ledger_entries_default')) as entry_at
    )
    select to_char(least(
      now(), entry_at,
      to_timestamp(('x' || left(replace(generation::text, '-', ''), 12))::bit(48)::bigint / 1000.0),
      to_timestamp(('x' || left(replace(record::text, '-', ''), 12))::bit(48)::bigint / 1000.0)
    ) at time zone 'UTC', 'YYYY-MM-01') as month
    from firsts`;
  return row.month;
}

function readFiles(dataFolder: string): BackupHeader['files'] {
  const files: BackupHeader['files'] = {};
  for (const name of ['secret', 'demo.json'] as const) {
    const file = join(dataFolder, name);
    try {
      files[name] = readFileSync(file, 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw explainFileError(error, file, 'read');
    }
  }
  return files;
}

type Table = { name: string; has_bytes: boolean };

/** Tables by their own name, with the rows of all of their partitions. */
async function findTables(transaction: TransactionSQL): Promise<Table[]> {
  return await transaction<Table[]>`
    select relname as name, exists (
             select 1 from pg_attribute
             where attrelid = pg_class.oid and atttypid in ('bytea'::regtype, 'jsonb'::regtype) and not attisdropped) as has_bytes
    from pg_class
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition
      and relname <> 'schema_migrations'
    order by relname`;
}

async function copyTable(
  transaction: TransactionSQL,
  { name, has_bytes: hasBytes }: Table,
  write: (line: string) => void,
): Promise<number> {
  // The name comes from our own schema.
  await transaction.unsafe(`declare backup_rows cursor for select one::text as row from "${name}" as one`);
  const fetchSome = `fetch ${hasBytes ? longRowsAtOnce : rowsAtOnce} from backup_rows`;
  let count = 0;
  for (;;) {
    const rows = await transaction.unsafe<{ row: string }[]>(fetchSome);
    if (rows.length === 0) break;
    write(JSON.stringify({ table: name, rows: rows.map(({ row }) => row) }));
    count += rows.length;
  }
  await transaction.unsafe('close backup_rows');
  return count;
}
