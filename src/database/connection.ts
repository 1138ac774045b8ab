import { SQL } from 'bun';
import { type Config, durabilitySettings } from '../config.ts';
import { urlsOfHosts } from '../lib/database-url.ts';
import type { Log } from '../lib/log.ts';
import { OperatorError } from '../lib/operator-error.ts';
import { acquireEmbeddedServer } from './embedded.ts';
import { Hosts } from './hosts.ts';
import { keepConnected } from './keep-connected.ts';
import { openListener } from './listener.ts';
import { openPool } from './pool.ts';
import { isTransactionPooled } from './pooler.ts';
import { openReplica, type Replica } from './replica.ts';

export type Database = Readonly<{
  sql: SQL;
  /** For lists and reports, which may be a few seconds old: a replica if there is one. */
  reads: () => SQL;
  isEmbedded: boolean;
  /** Opens a client with one connection whose session lasts, for work that must not wait for other work. */
  openDedicated: () => SQL;
  /** The options of such a client as plain data, for another thread. They may contain the password. */
  dedicated: SQL.Options;
  /** The same for the other hosts that the database may move to. */
  otherHosts: readonly SQL.Options[];
  listen: SQL['listen'];
  close: () => Promise<void>;
}>;

/** The driver retries until then when a proxy accepts connections and closes them. */
const connectTimeoutSeconds = 3;
const minServerVersion = 150_000;

/**
 * Opens the database that the operator configured, or the embedded one, and checks that it is safe for money. PostgreSQL
 * shows `applicationName` in pg_stat_activity.
 */
export async function openDatabase(
  config: Config,
  log?: Log,
  applicationName = 'tollgate',
): Promise<Database> {
  if (config.databaseUrl === null && Bun.isStandaloneExecutable)
    throw new OperatorError(
      'DATABASE_URL is not set, and this executable has no PostgreSQL of its own. Set it to a server of yours, as postgres://user:password@host:5432/database.',
    );
  return config.databaseUrl === null
    ? await openEmbedded(config, log, applicationName)
    : await openNamed(config, config.databaseUrl, log, applicationName);
}

async function openEmbedded(
  config: Config,
  log: Log | undefined,
  applicationName: string,
): Promise<Database> {
  const server = await acquireEmbeddedServer(config.dataFolder, log);
  const options = { ...server.connection, ...poolOptions(applicationName) };
  const sql = new SQL({ ...options, max: config.databasePool });
  const dedicated = { ...options, max: 1 };
  const database: Database = {
    sql,
    reads: () => sql,
    isEmbedded: true,
    openDedicated: () => new SQL(dedicated),
    dedicated,
    otherHosts: [],
    listen: sql.listen,
    close: async () => {
      await sql.close({ timeout: 5 });
      await server.release();
    },
  };
  return await checked(database, config);
}

async function openNamed(
  config: Config,
  url: string,
  log: Log | undefined,
  applicationName: string,
): Promise<Database> {
  const pooled = hostsOf(url, applicationName);
  const direct =
    config.databaseDirectUrl === null ? pooled : hostsOf(config.databaseDirectUrl, applicationName);
  await reach(pooled);
  if (direct !== pooled) await reach(direct);
  await checkPooling(pooled.current, direct.current);
  const prepare = direct === pooled;
  const pool = openPool(() => new SQL({ ...pooled.current, prepare, max: config.databasePool }));
  const openDedicated = () => new SQL({ ...direct.current, max: 1 });
  const listener = openListener(openDedicated);
  const watch = keepConnected({ pooled, direct, pool, listener, log });
  let replica: Replica | null = null;
  const database: Database = {
    sql: pool.sql,
    reads: () => replica?.current() ?? pool.sql,
    isEmbedded: false,
    openDedicated,
    get dedicated() {
      return { ...direct.current, max: 1 };
    },
    get otherHosts() {
      return direct.others.map((options) => ({ ...options, max: 1 }));
    },
    listen: listener.listen,
    close: async () => {
      watch.stop();
      await replica?.close();
      await listener.close();
      await pool.close();
    },
  };
  await checked(database, config);
  if (config.databaseReadUrl !== null) {
    const options = {
      ...connectionOptions(config.databaseReadUrl, applicationName),
      max: config.databasePool,
    };
    replica = await openReplica(options, pool.sql, log);
  }
  return database;
}

function hostsOf(url: string, applicationName: string): Hosts {
  return new Hosts((urlsOfHosts(url) ?? [url]).map((host) => connectionOptions(host, applicationName)));
}

export function connectionOptions(url: string, applicationName: string): SQL.Options {
  return { url, connectionTimeout: connectTimeoutSeconds, ...poolOptions(applicationName) };
}

async function reach(hosts: Hosts): Promise<void> {
  if (!hosts.areSeveral) return;
  try {
    await hosts.findPrimary();
  } catch (error) {
    throw unreachable(error);
  }
}

/** A session that is lent to one client after the other has neither its settings nor its prepared statements. */
async function checkPooling(pooled: SQL.Options, direct: SQL.Options): Promise<void> {
  try {
    if (!(await isTransactionPooled(direct))) return;
  } catch (error) {
    throw unreachable(error);
  }
  throw new OperatorError(
    direct === pooled
      ? 'DATABASE_URL leads to a pooler in transaction mode, such as pgbouncer. Set DATABASE_DIRECT_URL too, to an address of PostgreSQL itself or of a pooler in session mode: the ledger, the lease, LISTEN and migrations need sessions that last.'
      : 'DATABASE_DIRECT_URL leads to a pooler in transaction mode too. It must name PostgreSQL itself or a pooler in session mode.',
  );
}

async function checked(database: Database, config: Config): Promise<Database> {
  try {
    await checkServer(database.sql, config);
    return database;
  } catch (error) {
    await database.close();
    throw error;
  }
}

const tooManyConnections = '53300';
const insufficientPrivilege = '42501';

/** An error of PostgreSQL at startup, as a sentence for the operator. Other errors stay as they are. */
export function explainDatabaseError(error: unknown): unknown {
  if (!(error instanceof SQL.PostgresError)) return error;
  if (error.errno === tooManyConnections) return unreachable(error);
  if (error.errno === insufficientPrivilege)
    return new OperatorError(
      `The database user lacks a privilege: ${error.message}. It must own the database and what is in it: ALTER DATABASE name OWNER TO user; ALTER SCHEMA public OWNER TO user; and if another user has migrated it before, REASSIGN OWNED BY that_user TO user.`,
      { cause: error },
    );
  return new OperatorError(
    `The database rejects what Tollgate needs: ${error.message}. DATABASE_URL must name a database for Tollgate alone, and a user who owns it.`,
    { cause: error },
  );
}

/** Which limit is reached shows in the routine; the message may be in any language. */
function remedyOf({ routine }: SQL.PostgresError): string {
  if (routine === 'InitializeSessionUserId')
    return 'raise the limit of the user (ALTER ROLE name CONNECTION LIMIT number)';
  if (routine === 'CheckMyDatabase')
    return 'raise the limit of the database (ALTER DATABASE name CONNECTION LIMIT number)';
  return 'raise max_connections';
}

function unreachable(error: unknown): OperatorError {
  if (error instanceof OperatorError) return error;
  if (error instanceof SQL.PostgresError && error.errno === tooManyConnections)
    return new OperatorError(
      `The database has no connection left (${error.message}). A gateway uses up to DATABASE_POOL connections and six more: lower DATABASE_POOL, ${remedyOf(error)}, or put pgbouncer in front and set DATABASE_DIRECT_URL.`,
      { cause: error },
    );
  const reason = error instanceof Error ? error.message : String(error);
  return new OperatorError(
    `The database cannot be reached: ${reason}. Check DATABASE_URL and that PostgreSQL is running.`,
  );
}

function poolOptions(applicationName: string) {
  return {
    adapter: 'postgres',
    bigint: true,
    connection: { application_name: applicationName, timezone: 'UTC' },
  } as const;
}

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
    throw unreachable(error);
  }
}
