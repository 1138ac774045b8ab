import { SQL } from 'bun';
import { type Config, durabilitySettings } from '../config.ts';
import type { Log } from '../lib/log.ts';
import { OperatorError } from '../lib/operator-error.ts';
import { acquireEmbeddedServer } from './embedded.ts';
import { requireMigrated } from './migrate.ts';

export type Database = Readonly<{
  sql: SQL;
  isEmbedded: boolean;
  /** Opens a client with one connection, for work that must not wait for other work. */
  openDedicated: () => SQL;
  /** The options of such a client as plain data, for another thread. They may contain the password. */
  dedicated: SQL.Options;
  close: () => Promise<void>;
}>;

const poolSize = 10;
const connectTimeoutSeconds = 10;
const minServerVersion = 150_000;
const answerDeadlineMs = 2_000;

/** Opens the database that the operator configured, or the embedded one, and checks that it is safe for money. */
export async function openDatabase(config: Config, log?: Log): Promise<Database> {
  if (config.databaseUrl === null && Bun.isStandaloneExecutable)
    throw new OperatorError(
      'DATABASE_URL is not set, and this executable has no PostgreSQL of its own. Set it to a server of yours, as postgres://user:password@host:5432/database.',
    );
  const database =
    config.databaseUrl === null ? await openEmbedded(config.dataFolder, log) : openNamed(config.databaseUrl);
  try {
    await checkServer(database.sql, config);
    return database;
  } catch (error) {
    await database.close();
    throw error;
  }
}

function openNamed(url: string): Database {
  return openPool({ url, connectionTimeout: connectTimeoutSeconds }, false, async () => {});
}

async function openEmbedded(dataFolder: string, log?: Log): Promise<Database> {
  const server = await acquireEmbeddedServer(dataFolder, log);
  return openPool(server.connection, true, server.release);
}

function openPool(address: SQL.Options, isEmbedded: boolean, release: () => Promise<void>): Database {
  const options = { ...address, ...poolOptions };
  const sql = new SQL({ ...options, max: poolSize });
  const dedicated = { ...options, max: 1 };
  return {
    sql,
    isEmbedded,
    openDedicated: () => new SQL(dedicated),
    dedicated,
    close: async () => {
      await sql.close({ timeout: 5 });
      await release();
    },
  };
}

/** Whether the database answers in time and has the schema of this code. Concurrent callers share one check. */
export function readinessOf(sql: SQL): () => Promise<boolean> {
  let inProgress: Promise<boolean> | null = null;

  async function ask(): Promise<boolean> {
    const late = Bun.sleep(answerDeadlineMs).then(() => false);
    const asked = requireMigrated(sql).then(
      () => true,
      () => false,
    );
    return await Promise.race([asked, late]);
  }

  return () => {
    inProgress ??= ask().finally(() => {
      inProgress = null;
    });
    return inProgress;
  };
}

/** An error of PostgreSQL at startup, as a sentence for the operator. Other errors stay as they are. */
export function explainDatabaseError(error: unknown): unknown {
  if (!(error instanceof SQL.PostgresError)) return error;
  return new OperatorError(
    `The database rejects what Tollgate needs: ${error.message}. DATABASE_URL must name a database for Tollgate alone, and a user who owns it.`,
    { cause: error },
  );
}

const poolOptions = {
  adapter: 'postgres',
  bigint: true,
  connection: { application_name: 'tollgate', timezone: 'UTC' },
} as const;

type ServerFacts = { version: number; in_recovery: boolean } & Record<
  (typeof durabilitySettings)[number],
  string
>;

async function checkServer(sql: SQL, config: Config): Promise<void> {
  const facts = await readServerFacts(sql);
  if (facts.version < minServerVersion) {
    throw new OperatorError('The database is too old: Tollgate needs PostgreSQL 15 or later.');
  }
  if (facts.in_recovery)
    throw new OperatorError('The database is a read-only standby: DATABASE_URL must name the primary.');
  const unsafe = durabilitySettings.filter(
    (name) => facts[name] === 'off' && !config.allowedUnsafeSettings.has(name),
  );
  if (unsafe.length > 0) {
    throw new OperatorError(
      `The database runs with ${unsafe.join(' and ')} off, so a crash could lose committed charges. ` +
        `Turn it on, or accept the risk by name with TOLLGATE_ALLOW_UNSAFE=${unsafe.join(',')}.`,
    );
  }
}

async function readServerFacts(sql: SQL): Promise<ServerFacts> {
  try {
    const [facts] = await sql<[ServerFacts]>`
      select current_setting('server_version_num')::int as version,
             pg_is_in_recovery() as in_recovery,
             current_setting('fsync') as fsync,
             current_setting('full_page_writes') as full_page_writes,
             current_setting('synchronous_commit') as synchronous_commit`;
    return facts;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new OperatorError(
      `The database cannot be reached: ${reason}. Check DATABASE_URL and that PostgreSQL is running.`,
    );
  }
}
