/**
 * Applies the numbered SQL files in migrations/, each once and in order. Of several nodes that start at the same time, the
 * first takes a lock; the others wait and find nothing left to do.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SQL, TransactionSQL } from 'bun';
import { OperatorError } from '../lib/operator-error.ts';
import { rootFolder } from '../lib/root-folder.ts';
import { createPartitions } from './partitions.ts';

type Migration = Readonly<{ version: number; name: string; statements: string; digest: string }>;
type AppliedMigration = { version: number; digest: string };

/** Read once, because the checkout may be updated while the gateway runs. */
const migrations = readMigrations(join(rootFolder, 'migrations'));
const migrationLock = 7_012_018_002;

/** Brings the schema up to date and returns the names of the migrations that were applied. */
export async function migrate(sql: SQL): Promise<string[]> {
  return await sql.begin(async (transaction) => {
    await transaction`select pg_advisory_xact_lock(${migrationLock})`;
    await transaction`
      create table if not exists schema_migrations (
        version integer primary key,
        name text not null,
        digest text not null,
        applied_at timestamptz not null default now()
      )`;
    const pending = pendingMigrations(await readApplied(transaction));
    for (const migration of pending) await apply(transaction, migration);
    await createPartitions(transaction);
    return pending.map((migration) => migration.name);
  });
}

/** Throws unless the schema is exactly the one that this code was written for. */
export async function requireMigrated(sql: SQL): Promise<void> {
  const [{ exists }] = await sql<[{ exists: boolean }]>`
    select to_regclass('schema_migrations') is not null as exists`;
  const pending = pendingMigrations(exists ? await readApplied(sql) : []);
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

/** Throws when the database was migrated by a newer version or with other files. */
function pendingMigrations(applied: readonly AppliedMigration[]): Migration[] {
  for (const { version, digest } of applied) {
    const migration = migrations.find((known) => known.version === version);
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
