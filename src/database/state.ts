/** The current state of the database, for /readyz. */
import type { SQL } from 'bun';
import { within } from '../lib/within.ts';
import { schemaState } from './migrate.ts';
import type { SchemaState } from './migration-files.ts';

type DatabaseState = Readonly<{
  database: 'ok' | 'away' | 'read-only' | 'in recovery';
  schema: SchemaState | 'unknown';
}>;

const patienceMs = 2_000;

/** Concurrent callers share one query. */
export function watchDatabaseState(sql: SQL): () => Promise<DatabaseState> {
  let inProgress: Promise<DatabaseState> | null = null;

  async function ask(): Promise<DatabaseState> {
    try {
      return await within(patienceMs, readState(sql));
    } catch {
      return { database: 'away', schema: 'unknown' };
    }
  }

  return () => {
    inProgress ??= ask().finally(() => {
      inProgress = null;
    });
    return inProgress;
  };
}

async function readState(sql: SQL): Promise<DatabaseState> {
  const [row] = await sql<[{ in_recovery: boolean; read_only: boolean }]>`
    select pg_is_in_recovery() as in_recovery, current_setting('transaction_read_only')::boolean as read_only`;
  const schema = await schemaState(sql);
  if (row.in_recovery) return { database: 'in recovery', schema };
  return { database: row.read_only ? 'read-only' : 'ok', schema };
}
