/** Puts the gateway together: config → database → migrate → catalogue → routes → listen → drain. */
import { hostname } from 'node:os';
import type { SQL } from 'bun';
import type { Config } from './config.ts';
import { type Database, openDatabase } from './database/connection.ts';
import { migrate } from './database/migrate.ts';
import { prepareDemo } from './demo.ts';
import { AbandonedStreams } from './inference/abandoned-streams.ts';
import { Admitter } from './inference/admit.ts';
import type { OpenGeneration } from './inference/generation.ts';
import { noteAttempts } from './inference/note-attempts.ts';
import { openKeyCache } from './keys/key-cache.ts';
import { type Ledger, openLedger } from './ledger/ledger.ts';
import { takeLease } from './ledger/node-lease.ts';
import { openSpool, type Spool } from './ledger/spool.ts';
import { newId } from './lib/ids.ts';
import { createLog, type Log } from './lib/log.ts';
import { OperatorError } from './lib/operator-error.ts';
import { CatalogStore } from './models/catalog-store.ts';
import type { Catalog } from './models/model.ts';
import { showWelcome } from './operations/welcome.ts';
import { type SandboxProcess, startSandbox } from './providers/sandbox-process.ts';
import { createRoutes } from './routes.ts';
import { type ActiveCatalog, activateCatalog, type ProviderSources } from './routing/active-catalog.ts';

const drainMs = 30_000;
const drainPollMs = 20;

/** Runs until SIGTERM or SIGINT, then finishes what is under way. */
export async function serve(config: Config): Promise<void> {
  const log = createLog(config.logLevel);
  const stopRequested = waitForStopSignal();
  const database = await openDatabase(config);
  const closers: (() => unknown)[] = [database.close];
  try {
    const server = await start(config, database, log, closers);
    const signal = await stopRequested;
    log.info('draining', { signal });
    await server.drain();
  } finally {
    for (const close of closers.reverse()) await close();
  }
  log.info('stopped');
}

async function start(config: Config, database: Database, log: Log, closers: (() => unknown)[]) {
  const applied = await migrate(database.sql);
  if (applied.length > 0) log.info('database migrated', { count: applied.length });

  const catalog = await openCatalog(config, database.sql, log, closers);
  const keys = await openKeyCache(database.sql);
  closers.push(keys.close);

  const node = { id: newId(), name: `${hostname()}:${config.port}` };
  const spool = openSpool(config.dataFolder, process.pid, node.id);
  const ledger = openLedger(database.openDedicated(), spool, log);
  closers.push(ledger.close);
  await settleLeftBehind(ledger, spool, log);
  const lease = await takeLease(database.sql, ledger, node, log);
  closers.push(lease.stop, ledger.whenSettled);

  let isDraining = false;
  const services = {
    log,
    sql: database.sql,
    keys,
    catalog,
    admitter: new Admitter(ledger, node.id),
    noteAttempts: (generation: OpenGeneration) => noteAttempts(database.sql, generation),
    abandoned: new AbandonedStreams(),
    isDraining: () => isDraining,
    isDatabaseReachable: () => answers(database.sql),
  };
  const server = listen(config, createRoutes(services));
  log.info('listening', { address: `${server.url.origin}` });
  if (database.isEmbedded)
    showWelcome(config.publicUrl ?? localOrigin(server), await prepareDemo(database.sql, config.dataFolder));

  return {
    drain: async () => {
      isDraining = true;
      const stopped = server.stop();
      const deadline = Date.now() + drainMs;
      while (server.pendingRequests > 0 && Date.now() < deadline) await Bun.sleep(drainPollMs);
      await server.stop(true);
      await stopped;
    },
  };
}

/** Usage that an earlier process could not store any more is settled before anything new begins. */
async function settleLeftBehind(ledger: Ledger, spool: Spool, log: Log): Promise<void> {
  const settlements = spool.leftBehind();
  if (settlements.length === 0) return;
  await Promise.all(settlements.map((settlement) => ledger.settle(settlement)));
  spool.clearLeftBehind();
  log.warn('settled what an earlier process left behind', { count: settlements.length });
}

/** The catalogue in force, kept up with its file: a bad one is refused and the old one stays. */
async function openCatalog(
  config: Config,
  sql: SQL,
  log: Log,
  closers: (() => unknown)[],
): Promise<() => ActiveCatalog> {
  let sandbox: SandboxProcess | null = null;
  closers.push(() => sandbox?.stop());
  const sources: ProviderSources = {
    secret: config.secret,
    sandboxUrl: async () => {
      sandbox ??= await startSandbox(() => log.warn('sandbox ended, starting it again'));
      return sandbox.baseUrl();
    },
  };
  const activate = (catalog: Catalog) => activateCatalog(catalog, sql, sources);
  let active: ActiveCatalog | null = null;
  const store = await CatalogStore.open({
    path: config.catalogFile,
    onReloaded: async (catalog) => {
      active = await activate(catalog);
      log.info('catalogue reloaded', {
        file: config.catalogFile,
        priceVersion: catalog.priceVersion,
        count: catalog.models.size,
      });
    },
    onRefused: (problems) =>
      log.error('catalogue refused, the old one stays in force', { file: config.catalogFile, problems }),
  });
  closers.push(() => store.close());
  const first = active ?? (await activate(store.catalog));
  process.on('SIGHUP', () => {
    store.reload().catch((error: unknown) => log.error('catalogue not reloaded', { error }));
  });
  return () => active ?? first;
}

function listen(config: Config, { routes, fetch }: ReturnType<typeof createRoutes>) {
  try {
    // Without reusePort set, development: false would let a second process share the port unnoticed.
    return Bun.serve({
      port: config.port,
      hostname: config.host,
      reusePort: false,
      routes,
      fetch,
      idleTimeout: 120,
      development: false,
    });
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : null;
    if (code === 'EADDRINUSE')
      throw new OperatorError(`Port ${config.port} on ${config.host} is in use. Set PORT to a free one.`);
    const reason = error instanceof Error ? error.message : String(error);
    throw new OperatorError(
      `Cannot listen on ${config.host} port ${config.port}: ${reason}. Check HOST and PORT.`,
    );
  }
}

/** An address that a browser on this machine can open, also when the gateway listens on all interfaces. */
function localOrigin(server: { url: URL; port?: number | undefined }): string {
  const isWildcard = ['0.0.0.0', '[::]'].includes(server.url.hostname);
  return isWildcard ? `http://127.0.0.1:${server.port}` : server.url.origin;
}

async function answers(sql: SQL): Promise<boolean> {
  const late = Bun.sleep(2_000).then(() => false);
  const asked = sql`select 1`.then(
    () => true,
    () => false,
  );
  return await Promise.race([asked, late]);
}

function waitForStopSignal(): Promise<string> {
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => resolve(signal));
  });
}
