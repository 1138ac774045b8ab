/**
 * Applies the numbered SQL files in migrations/, each once and in order. Several nodes may start at once: the first
 * takes a lock, the others wait and find nothing left to do.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SQL, TransactionSQL } from 'bun';
import { OperatorError } from '../lib/operator-error.ts';
import { createPartitions } from './partitions.ts';

type Migration = Readonly<{ version: number; name: string; statements: string; digest: string }>;
type AppliedMigration = { version: number; digest: string };

/** Read once: a newer checkout that is put in place under a running gateway is not the code it runs. */
const migrations = readMigrations(join(import.meta.dir, '../../migrations'));
const migrationLock = 7_012_018_002;

/** Brings the schema up to date, or to an earlier version; returns the names of the migrations that were applied. */
export async function migrate(sql: SQL, lastVersion = Number.POSITIVE_INFINITY): Promise<string[]> {
  return await sql.begin((transaction) => migrateWithin(transaction, lastVersion));
}

/** The same as part of a transaction that does more. */
export async function migrateWithin(
  transaction: TransactionSQL,
  lastVersion = Number.POSITIVE_INFINITY,
): Promise<string[]> {
  await transaction`select pg_advisory_xact_lock(${migrationLock})`;
  await transaction`
    create table if not exists schema_migrations (
      version integer primary key,
      name text not null,
      digest text not null,
      applied_at timestamptz not null default now()
    )`;
  const pending = pendingMigrations(await readApplied(transaction)).filter(
    ({ version }) => version <= lastVersion,
  );
  for (const migration of pending) await apply(transaction, migration);
  await createPartitions(transaction);
  return pending.map((migration) => migration.name);
}

/** Refuses a database whose schema is not exactly the one that this code was written for. */
export async function requireMigrated(sql: SQL): Promise<void> {
  const [row] = await sql<
    [{ is_there: boolean }]
  >`select to_regclass('schema_migrations') is not null as is_there`;
  const pending = pendingMigrations(row.is_there ? await readApplied(sql) : []);
  if (pending.length > 0)
    throw new OperatorError(
      `The database is older than this version of Tollgate: ${pending.map(({ name }) => name).join(', ')} is still to be applied. Start the gateway of this version first (tollgate serve).`,
    );
}

function readApplied(sql: SQL): Promise<AppliedMigration[]> {
  return sql<AppliedMigration[]>`select version, digest from schema_migrations order by version`;
}

function readMigrations(folder: string): Migration[] {
  const names = readdirSync(folder)
    .filter((name) => name.endsWith('.sql'))
    .sort();
  return names.map((name) => {
    const statements = readFileSync(join(folder, name), 'utf8');
    return {
      version: Number.parseInt(name, 10),
      name,
      statements,
      digest: new Bun.CryptoHasher('sha256').update(statements).digest('hex'),
    };
  });
}

/** What is still to be applied, or a refusal when the database and this code do not belong together. */
function pendingMigrations(applied: readonly AppliedMigration[]): Migration[] {
  const known = new Map(migrations.map((migration) => [migration.version, migration]));
  for (const { version, digest } of applied) {
    const migration = known.get(version);
    if (!migration) {
      const newest = migrations.at(-1)?.version ?? 0;
      throw new OperatorError(
        `The database is newer than this version of Tollgate: it has migration ${version}, this code knows up to ${newest}. Start a newer version.`,
      );
    }
    if (migration.digest !== digest) {
      throw new OperatorError(
        `Migration ${migration.name} differs from the one this database was made with. Restore the file; changes belong in a new migration.`,
      );
    }
  }
  const done = new Set(applied.map((migration) => migration.version));
  return migrations.filter((migration) => !done.has(migration.version));
}

async function apply(transaction: TransactionSQL, migration: Migration): Promise<void> {
  await transaction.unsafe(migration.statements);
  await transaction`insert into schema_migrations (version, name, digest) values (${migration.version}, ${migration.name}, ${migration.digest})`;
}
