import { SQL } from 'bun';
import type { Config } from '../config.ts';
import { urlsOfHosts } from '../lib/database-url.ts';
import type { Log } from '../lib/log.ts';
import { OperatorError } from '../lib/operator-error.ts';
import { checkPooling, checkServer } from './check-server.ts';
import { hasCluster } from './cluster.ts';
import { acquireEmbeddedServer } from './embedded.ts';
import { explainDatabaseError, isStillAway, unreachable } from './explain.ts';
import { Hosts } from './hosts.ts';
import { keepConnected } from './keep-connected.ts';
import { openListener } from './listener.ts';
import { ReplaceableClient } from './replaceable-client.ts';
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

/** How long the driver retries when a proxy accepts connections and closes them. */
const connectTimeoutSeconds = 3;
/** For queries that are running when the pool is replaced, and when it is closed. */
const finishMs = 60_000;
const closeSeconds = 5;

/** How long a database may be away before that counts as a failure. The signal ends the wait earlier. */
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
 * The same, but creates no embedded database. A command run in the wrong folder, or without the DATABASE_URL of the
 * gateway, would otherwise write to a new one, where nobody looks.
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
      await sql.close({ timeout: closeSeconds });
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
  const pool = new ReplaceableClient(
    () => new SQL({ ...pooled.current, prepare, max: config.databasePool }),
    finishMs,
  );
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
      await pool.close(closeSeconds);
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

/** If PostgreSQL starts together with the gateway, it may take some time before it can be reached. */
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
