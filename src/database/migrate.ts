/**
 * Applies the numbered SQL files in migrations/, each once and in order. Of several nodes that start at the same time, the
 * first takes a lock; the others wait and find nothing left to do.
 *
 * A statement that waits for a lock makes every later query of that table wait behind it. So each file is applied with a
 * short lock_timeout and tried again, a bounded number of times.
 */
import { join } from 'node:path';
import type { ReservedSQL, SQL, TransactionSQL } from 'bun';
import { leaseMs } from '../lib/lease-duration.ts';
import { OperatorError } from '../lib/operator-error.ts';
import { rootFolder } from '../lib/root-folder.ts';
import { buildIndex, parseIndexStatement, withoutConcurrency } from './concurrent-index.ts';
import {
  type AppliedMigration,
  judgeSchema,
  type Migration,
  readMigrations,
  requirePending,
  type SchemaState,
  statementsOf,
} from './migration-files.ts';
import { createPartitions } from './partitions.ts';
import { requireNoneBroken } from './running-gateways.ts';

type MigrateOptions = Readonly<{
  migrations?: readonly Migration[];
  /** Even if that breaks running gateways. */
  isForced?: boolean;
  leaseMs?: number;
  lockTimeoutMs?: number;
  pauseMs?: number;
  maxTries?: number;
}>;

/** Read once, because the checkout may be updated while the gateway runs. */
export const knownMigrations = readMigrations(join(rootFolder, 'migrations'));
const migrationLock = 7_012_018_002;
const lockPollMs = 100;
/**
 * Requests may notice a wait of half a second, but none fails: PostgreSQL looks for deadlocks after a second, and by then the
 * migration has given way. About five minutes in total.
 */
const defaults = { isForced: false, leaseMs, lockTimeoutMs: 500, pauseMs: 2_000, maxTries: 120 };

/**
 * Brings the schema up to date and returns the names of the migrations that were applied. Throws, unless it is forced,
 * when that would break running gateways. This is checked under the lock, because a gateway that starts waits for it.
 */
export async function migrate(sql: SQL, options: MigrateOptions = {}): Promise<string[]> {
  const { migrations = knownMigrations, isForced, ...timings } = { ...defaults, ...options };
  const connection = await sql.reserve();
  try {
    await takeLock(connection);
    await connection.unsafe('set client_min_messages = warning');
    await withLocks(connection, 'schema_migrations', timings, () => prepareHistory(connection));
    const applied = await readApplied(connection);
    const pending = requirePending(judgeSchema(migrations, applied));
    if (!isForced) await requireNoneBroken(connection, pending, timings.leaseMs);
    const isNew = applied.length === 0;
    for (const migration of pending) await apply(connection, migration, isNew, timings);
    await withLocks(connection, 'The partitions', timings, () => createPartitions(connection));
    return pending.map((migration) => migration.name);
  } finally {
    // Closing the session would release it too, but this one goes back to its pool.
    await connection`select pg_advisory_unlock(${migrationLock})`.catch(() => undefined);
    await connection.unsafe('reset client_min_messages').catch(() => undefined);
    await connection.release();
  }
}

/**
 * The same as part of a larger transaction, on a database that nobody else uses: without waiting for locks, and with
 * indexes built in place.
 */
export async function migrateWithin(
  transaction: TransactionSQL,
  migrations: readonly Migration[] = knownMigrations,
): Promise<string[]> {
  await prepareHistory(transaction);
  const pending = requirePending(judgeSchema(migrations, await readApplied(transaction)));
  for (const migration of pending) {
    for (const statement of migration.isTransactional ? [migration.statements] : statementsOf(migration)) {
      const index = parseIndexStatement(statement);
      await transaction.unsafe(index === null ? statement : withoutConcurrency(index));
    }
    await record(transaction, migration);
  }
  await createPartitions(transaction);
  return pending.map((migration) => migration.name);
}

/** Polls, because a session that waits in the database would hold up an index that is built concurrently. */
async function takeLock(connection: ReservedSQL): Promise<void> {
  for (;;) {
    const [row] = await connection<[{ is_mine: boolean }]>`
      select pg_try_advisory_lock(${migrationLock}) as is_mine`;
    if (row.is_mine) return;
    await Bun.sleep(lockPollMs);
  }
}

async function prepareHistory(connection: SQL): Promise<void> {
  await connection`
    create table if not exists schema_migrations (
      version integer primary key,
      name text not null,
      digest text not null,
      applied_at timestamptz not null default now()
    )`;
  const columns = await connection`
    select 1 from pg_attribute where attrelid = 'schema_migrations'::regclass and attname = 'compatible_with'`;
  // Altering it would lock out readers even when there is nothing to add.
  if (columns.length === 0)
    await connection`alter table schema_migrations add column compatible_with integer`;
}

async function apply(
  connection: ReservedSQL,
  migration: Migration,
  isNew: boolean,
  timings: LockTimings,
): Promise<void> {
  if (migration.isTransactional) {
    await withLocks(connection, migration.name, timings, async () => {
      await connection.unsafe(migration.statements);
      await record(connection, migration);
    });
    return;
  }
  for (const statement of statementsOf(migration)) {
    const index = parseIndexStatement(statement);
    // It blocks nobody, so it may wait for as long as it takes.
    if (index !== null && !isNew) await buildIndex(connection, index);
    else
      await withLocks(connection, migration.name, timings, () =>
        connection.unsafe(index === null ? statement : withoutConcurrency(index)),
      );
  }
  await record(connection, migration);
}

async function record(connection: SQL, migration: Migration): Promise<void> {
  const { version, name, digest, compatibleWith } = migration;
  await connection`
    insert into schema_migrations (version, name, digest, compatible_with)
    values (${version}, ${name}, ${digest}, ${compatibleWith})`;
}

type LockTimings = Readonly<{ lockTimeoutMs: number; pauseMs: number; maxTries: number }>;

/** Runs in a transaction that is retried when it cannot get a lock. */
async function withLocks(
  connection: ReservedSQL,
  what: string,
  { lockTimeoutMs, pauseMs, maxTries }: LockTimings,
  run: () => Promise<unknown>,
): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    await connection.unsafe('begin');
    try {
      await connection.unsafe(`set local lock_timeout = ${lockTimeoutMs}`);
      await run();
      await connection.unsafe('commit');
      return;
    } catch (error) {
      await connection.unsafe('rollback').catch(() => undefined);
      if (!isLockTimeout(error)) throw error;
      if (tries >= maxTries)
        throw new OperatorError(
          `${what} could not be applied: other sessions hold locks that it needs, and all ${maxTries} tries failed. pg_stat_activity shows which; end them, or run tollgate migrate when there is less traffic. What was applied before stays.`,
        );
    }
    await Bun.sleep(pauseMs);
  }
}

/** A deadlock is found about as soon as the time is up. */
function isLockTimeout(error: unknown): boolean {
  return error instanceof Error && 'errno' in error && (error.errno === '55P03' || error.errno === '40P01');
}

/** Throws unless this code can work with the schema. */
export async function requireMigrated(sql: SQL): Promise<void> {
  const { problem } = judgeSchema(knownMigrations, await readHistory(sql));
  if (problem !== null) throw new OperatorError(problem);
}

export async function schemaState(sql: SQL): Promise<SchemaState> {
  return judgeSchema(knownMigrations, await readHistory(sql)).state;
}

/** For a database that may never have been migrated. */
async function readHistory(sql: SQL): Promise<AppliedMigration[]> {
  const [{ exists }] = await sql<[{ exists: boolean }]>`
    select to_regclass('schema_migrations') is not null as exists`;
  return exists ? await readApplied(sql) : [];
}

/** Through JSON, because older databases do not have the column. */
function readApplied(sql: SQL): Promise<AppliedMigration[]> {
  return sql<AppliedMigration[]>`
    select version, digest, (to_jsonb(history) ->> 'compatible_with')::integer as compatible_with
    from schema_migrations as history order by version`;
}
