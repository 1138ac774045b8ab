import { SQL } from 'bun';
import { type Config, durabilitySettings } from '../config.ts';
import type { Log } from '../lib/log.ts';
import { OperatorError } from '../lib/operator-error.ts';
import { acquireEmbeddedServer } from './embedded.ts';
import { requireMigrated } from './migrate.ts';

export type Database = Readonly<{
  sql: SQL;
  isEmbedded: boolean;
  /** A client of its own, with one connection: for work that must not wait for other work. */
  openDedicated: () => SQL;
  /** The same as plain data, for another thread. It may hold the password. */
  dedicated: SQL.Options;
  close: () => Promise<void>;
}>;

const poolSize = 10;
const connectTimeoutSeconds = 10;
const oldestServerVersion = 150_000;
const answerDeadlineMs = 2_000;

/** Opens the database the operator named, or the embedded one, and makes sure that it is fit for money. */
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
  const options = { url, ...poolOptions, connectionTimeout: connectTimeoutSeconds };
  const sql = new SQL({ ...options, max: poolSize });
  const dedicated = { ...options, max: 1 };
  return {
    sql,
    isEmbedded: false,
    openDedicated: () => new SQL(dedicated),
    dedicated,
    close: () => sql.close({ timeout: 5 }),
  };
}

async function openEmbedded(dataFolder: string, log?: Log): Promise<Database> {
  const server = await acquireEmbeddedServer(dataFolder, log);
  const options = { ...server.connection, ...poolOptions };
  const sql = new SQL({ ...options, max: poolSize });
  const dedicated = { ...options, max: 1 };
  return {
    sql,
    isEmbedded: true,
    openDedicated: () => new SQL(dedicated),
    dedicated,
    close: async () => {
      await sql.close({ timeout: 5 });
      await server.release();
    },
  };
}

/** Whether the database answers in time and has the schema of this code. Who asks meanwhile gets the same answer. */
export function readinessOf(sql: SQL): () => Promise<boolean> {
  let underWay: Promise<boolean> | null = null;

  async function ask(): Promise<boolean> {
    const late = Bun.sleep(answerDeadlineMs).then(() => false);
    const asked = requireMigrated(sql).then(
      () => true,
      () => false,
    );
    return await Promise.race([asked, late]);
  }

  return () => {
    underWay ??= ask().finally(() => {
      underWay = null;
    });
    return underWay;
  };
}

/** What PostgreSQL refused while Tollgate started, as a sentence for the operator. Other errors stay what they are. */
export function explainRefusal(error: unknown): unknown {
  if (!(error instanceof SQL.PostgresError)) return error;
  return new OperatorError(
    `The database refuses what Tollgate needs: ${error.message}. DATABASE_URL must name a database for Tollgate alone, and a user who owns it.`,
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
  if (facts.version < oldestServerVersion) {
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
