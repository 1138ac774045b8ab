/** Restores a backup into an empty database, in one transaction: completely or not at all. */
import { existsSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SQL, TransactionSQL } from 'bun';
import { explainFileError } from '../lib/file-error.ts';
import { DamagedFileError, readLines } from '../lib/gzip-lines.ts';
import { OperatorError } from '../lib/operator-error.ts';
import { type BackupHeader, backupHeader, backupLine } from './backup.ts';
import { knownMigrations, migrateWithin } from './migrate.ts';

export type CheckedBackup = Readonly<{
  file: string;
  header: BackupHeader;
  counts: ReadonlyMap<string, number>;
}>;

/** Reads the whole file, so that no restore begins with a damaged one. */
export async function checkBackup(file: string): Promise<CheckedBackup> {
  try {
    let header: BackupHeader | null = null;
    let counts: Record<string, number> = {};
    for await (const line of readLines(file)) {
      const value: unknown = JSON.parse(line);
      if (header === null) {
        const parsed = backupHeader.safeParse(value);
        if (!parsed.success) throw new DamagedFileError(`${file} is not a backup of Tollgate.`);
        header = parsed.data;
      } else {
        const content = backupLine.parse(value);
        if ('counts' in content) counts = content.counts;
      }
    }
    if (header === null) throw new DamagedFileError(`${file} is not a backup of Tollgate.`);
    return { file, header, counts: new Map(Object.entries(counts)) };
  } catch (error) {
    if (error instanceof DamagedFileError) throw new OperatorError(error.message);
    throw explainFileError(error, file, 'read');
  }
}

export type RestoreOptions = Readonly<{
  /** Replace what is in the database. */
  isForced: boolean;
  onRows: (done: number, total: number, table: string) => void;
}>;

/** Returns the names of the migrations that the backup did not have yet. */
export async function restore(sql: SQL, backup: CheckedBackup, options: RestoreOptions): Promise<string[]> {
  return await sql.begin(async (transaction) => {
    await requireAlone(transaction);
    if (!options.isForced) await requireEmpty(transaction);
    await transaction.unsafe('drop schema public cascade');
    await transaction.unsafe('create schema public');
    await prepareSchema(transaction, backup.header);
    await transaction`set local session_replication_role = replica`;
    const counts = await loadRows(transaction, backup, options.onRows);
    for (const [table, expected] of backup.counts) {
      const count = counts.get(table) ?? 0;
      if (count !== expected)
        throw new OperatorError(`The backup has ${count} rows of ${table} where it says ${expected}.`);
    }
    for (const { name, last_value: value, is_called: isCalled } of backup.header.sequences)
      await transaction`select setval(${`"${name}"`}::text::regclass, ${value}::text::bigint, ${isCalled})`;
    await transaction`set local session_replication_role = origin`;
    return await migrateWithin(transaction);
  });
}

/** A gateway would continue with rows that the restored database does not have. */
async function requireAlone(transaction: TransactionSQL): Promise<void> {
  const others = await transaction`
    select 1 from pg_stat_activity where datname = current_database() and application_name = 'tollgate-presence' offset 1`;
  if (others.length > 0)
    throw new OperatorError(
      'A gateway or another command is using this database: stop it before you restore.',
    );
}

async function requireEmpty(transaction: TransactionSQL): Promise<void> {
  const [row] = await transaction<[{ has_schema: boolean }]>`
    select to_regclass('public.accounts') is not null as has_schema`;
  if (!row.has_schema) return;
  const [found] = await transaction<[{ has_rows: boolean }]>`
    select exists (select 1 from accounts) or exists (select 1 from users) as has_rows`;
  if (found.has_rows)
    throw new OperatorError(
      'This database is not empty. Name an empty folder with TOLLGATE_DATA, or replace everything in this one with --force.',
    );
}

/** The schema of the backup, with partitions for all of its months. */
async function prepareSchema(
  transaction: TransactionSQL,
  { migrations, first_month: month }: BackupHeader,
): Promise<void> {
  const version = Math.max(...migrations.map((migration) => migration.version));
  await migrateWithin(
    transaction,
    knownMigrations.filter((migration) => migration.version <= version),
  );
  const applied = await transaction<{ version: number; digest: string }[]>`
    select version, digest from schema_migrations order by version`;
  const isSame =
    applied.length === migrations.length &&
    applied.every(
      (one, index) => one.version === migrations[index]?.version && one.digest === migrations[index]?.digest,
    );
  if (!isSame)
    throw new OperatorError(
      `The backup has the schema of migration ${version}, which this version of Tollgate does not have, or has in another form. Restore it with the version that made it, or a later one.`,
    );
  await transaction`select create_partitions(${month}::text::date, current_date)`;
}

async function loadRows(
  transaction: TransactionSQL,
  { file, counts: expected }: CheckedBackup,
  onRows: RestoreOptions['onRows'],
): Promise<Map<string, number>> {
  const total = [...expected.values()].reduce((sum, count) => sum + count, 0);
  const writable = await findColumns(transaction);
  const counts = new Map<string, number>();
  let done = 0;
  let isHeader = true;
  for await (const line of readLines(file)) {
    if (isHeader) {
      isHeader = false;
      continue;
    }
    const content = backupLine.parse(JSON.parse(line));
    if ('counts' in content) continue;
    const { table, rows } = content;
    onRows(done, total, table);
    const columns = writable.get(table);
    if (columns === undefined)
      throw new OperatorError(`The backup has rows of "${table}", which is not a table.`);
    // Migrations have written a few rows, which are in the backup as they are now.
    if (!counts.has(table)) await transaction.unsafe(`delete from "${table}"`);
    await transaction.unsafe(
      `insert into "${table}" (${columns.join(', ')}) overriding system value
       select ${columns.map((column) => `(row).${column}`).join(', ')} from (
         select text::"${table}" as row from json_array_elements_text($1::text::json) as text offset 0) as rows`,
      [JSON.stringify(rows)],
    );
    done += rows.length;
    counts.set(table, (counts.get(table) ?? 0) + rows.length);
  }
  return counts;
}

/** The columns of each table, quoted, without those that PostgreSQL computes itself. */
async function findColumns(transaction: TransactionSQL): Promise<Map<string, string[]>> {
  const tables = await transaction<{ name: string; columns: string[] }[]>`
    select relname as name, array_agg(quote_ident(attname) order by attnum) as columns
    from pg_class join pg_attribute on attrelid = pg_class.oid
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition
      and attnum > 0 and not attisdropped and attgenerated = ''
    group by relname`;
  return new Map(tables.map(({ name, columns }) => [name, columns]));
}

/** Existing files are kept under another name: they belong to what the backup replaces. */
export function restoreFiles({ header }: CheckedBackup, dataFolder: string): void {
  for (const [name, content] of Object.entries(header.files)) {
    const file = join(dataFolder, name);
    writeFileSync(`${file}.new`, content, { mode: 0o600 });
    if (existsSync(file)) renameSync(file, `${file}.before-restore`);
    renameSync(`${file}.new`, file);
  }
}
