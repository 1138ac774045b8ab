import { SQL } from 'bun';
import { type Config, durabilitySettings } from '../config.ts';
import { urlsOfHosts } from '../lib/database-url.ts';
import type { Log } from '../lib/log.ts';
import { OperatorError } from '../lib/operator-error.ts';
import { hasCluster } from './cluster.ts';
import { acquireEmbeddedServer } from './embedded.ts';
import { explainDatabaseError, isStillAway, unreachable } from './explain.ts';
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

/** How long a database may be away before that counts as a failure, unless the signal says sooner that nobody waits. */
export type Wait = Readonly<{ patienceMs: number; signal?: AbortSignal }>;
const retryMs = 250;

/**
 * Opens the database that the operator configured, or the embedded one, and checks that it is safe for money. PostgreSQL
 * shows `applicationName` in pg_stat_activity.
 */
export async function openDatabase(
  config: Config,
  log?: Log,
  applicationName = 'tollgate',
  wait: Wait = { patienceMs: 0 },
): Promise<Database> {
  if (config.databaseUrl === null && Bun.isStandaloneExecutable)
    throw new OperatorError(
      'DATABASE_URL is not set, and this executable does not include PostgreSQL. Set it to your own server: postgres://user:password@host:5432/database',
    );
  return config.databaseUrl === null
    ? await openEmbedded(config, log, applicationName)
    : await openNamed(config, config.databaseUrl, log, applicationName, wait);
}

/**
 * The same, but creates no embedded database. What is run in the wrong folder, or without the DATABASE_URL of the gateway,
 * would otherwise write to a new one, where nobody looks for it.
 */
export async function openExistingDatabase(config: Config, applicationName?: string): Promise<Database> {
  const { databaseUrl, dataFolder } = config;
  if (databaseUrl === null && !Bun.isStandaloneExecutable && !hasCluster(dataFolder))
    throw new OperatorError(
      `There is no database here: DATABASE_URL is not set, and ${dataFolder} has none. Set DATABASE_URL, or run this in the folder in which the gateway was started.`,
    );
  return await openDatabase(config, undefined, applicationName);
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
  const listener = openListener((onclose) => new SQL({ ...dedicated, onclose }), log);
  const database: Database = {
    sql,
    reads: () => sql,
    isEmbedded: true,
    openDedicated: () => new SQL(dedicated),
    dedicated,
    otherHosts: [],
    listen: listener.listen,
    close: async () => {
      await listener.close();
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
  wait: Wait,
): Promise<Database> {
  const pooled = hostsOf(url, applicationName);
  const direct =
    config.databaseDirectUrl === null ? pooled : hostsOf(config.databaseDirectUrl, applicationName);
  await reach({ pooled, direct, urls: [url, config.databaseDirectUrl ?? url] }, log, wait);
  const prepare = direct === pooled;
  const pool = openPool(() => new SQL({ ...pooled.current, prepare, max: config.databasePool }));
  const openDedicated = () => new SQL({ ...direct.current, max: 1 });
  const listener = openListener((onclose) => new SQL({ ...direct.current, max: 1, onclose }), log);
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

/** Where PostgreSQL starts together with the gateway, it may need some time before it can be reached. */
async function reach(
  { pooled, direct, urls }: Readonly<{ pooled: Hosts; direct: Hosts; urls: readonly string[] }>,
  log: Log | undefined,
  { patienceMs, signal }: Wait,
): Promise<void> {
  const deadlineMs = performance.now() + patienceMs;
  for (let isFirst = true; ; isFirst = false) {
    try {
      for (const hosts of new Set([pooled, direct])) if (hosts.areSeveral) await hosts.findPrimary();
      return await checkPooling(pooled.current, direct.current);
    } catch (error) {
      if (!isStillAway(error) || performance.now() > deadlineMs || signal?.aborted)
        throw unreachable(error, urls);
      if (isFirst) log?.warn('the database cannot be reached yet, trying again', { error });
      await Bun.sleep(retryMs);
    }
  }
}

/** A session that is lent to one client after the other has neither its settings nor its prepared statements. */
async function checkPooling(pooled: SQL.Options, direct: SQL.Options): Promise<void> {
  if (!(await isTransactionPooled(direct))) return;
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
    throw explainDatabaseError(error, config);
  }
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
  const [facts] = await sql<[ServerFacts]>`
    select current_setting('server_version_num')::int as version,
           pg_is_in_recovery() as in_recovery,
           current_setting('fsync') as fsync,
           current_setting('full_page_writes') as full_page_writes,
           current_setting('synchronous_commit') as synchronous_commit`;
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
