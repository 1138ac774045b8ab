/** Everything that a run needs: one database, two gateways on it, one provider behind both, and a bad network to it. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defaultTimings } from '../../src/nodes/heartbeat.ts';
import { type BadNetwork, startBadNetwork } from './bad-network.ts';
import { catalogText } from './catalog.ts';
import { ChaosDatabase } from './database.ts';
import { startDeafPort } from './deaf-port.ts';
import { GatewayNode } from './gateway-node.ts';
import { type Environment, freePort } from './program.ts';
import { Upstream } from './upstream.ts';

export type World = Readonly<{
  folder: string;
  database: ChaosDatabase;
  nodes: readonly GatewayNode[];
  upstream: Upstream;
  network: BadNetwork;
  /** For the command line. */
  environment: Environment;
  /** Ends every process; what they wrote stays. */
  stop: () => Promise<void>;
  /** Deletes what they wrote. */
  remove: () => void;
}>;

export type WorldOptions = Readonly<{
  /** How long a gateway may be silent before the other one takes it for dead. */
  leaseMs?: number;
  nodeCount?: number;
  /** A data folder with a migrated database, of which the run uses a copy. */
  preparedFolder?: string | undefined;
  /** Loaded before each gateway. */
  preloads?: readonly string[];
  /** Words for those scripts, made from the folder of the run. */
  wordsFor?: (folder: string) => readonly string[];
  settings?: Environment;
  /** Instead of the catalogue of the kills, made from the URL of the sandbox. */
  catalog?: (origin: string) => string;
  /** How the gateways reach the database, when not directly. */
  databaseUrl?: (database: ChaosDatabase) => Promise<{ url: string; close: () => Promise<void> }>;
}>;

export async function createWorld(options: WorldOptions = {}): Promise<World> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-chaos-'));
  const closers: (() => Promise<unknown>)[] = [];
  const stop = async () => {
    process.off('SIGINT', interrupt);
    process.off('SIGTERM', interrupt);
    for (const close of closers.splice(0).reverse()) await close();
  };
  // The database has its own session, so it would outlive this program.
  const interrupt = () => {
    stop()
      .catch(() => undefined)
      .finally(() => process.exit(130));
  };
  process.on('SIGINT', interrupt);
  process.on('SIGTERM', interrupt);
  try {
    return {
      ...(await fill(folder, closers, options)),
      stop,
      remove: () => rmSync(folder, { recursive: true }),
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function fill(
  folder: string,
  closers: (() => Promise<unknown>)[],
  {
    leaseMs = defaultTimings.leaseMs,
    nodeCount = 2,
    preparedFolder,
    preloads = [],
    settings = {},
    wordsFor,
    catalog,
    databaseUrl,
  }: WorldOptions,
): Promise<Omit<World, 'stop' | 'remove'>> {
  const database = await ChaosDatabase.create(join(folder, 'database'), preparedFolder);
  closers.push(() => database.stop());
  const upstream = await Upstream.start(folder);
  closers.push(() => upstream.stop());
  const network = await startBadNetwork(upstream, join(folder, 'network.jsonl'));
  closers.push(() => network.close());
  const deaf = await startDeafPort();
  closers.push(() => deaf.close());
  const catalogFile = join(folder, 'catalog.yaml');
  const addresses = {
    upstream: baseUrlOf(upstream),
    network: baseUrlOf(network),
    absent: baseUrlOf({ host: '127.0.0.1', port: freePort() }),
    deaf: baseUrlOf(deaf),
  };
  writeFileSync(catalogFile, catalog?.(originOf(upstream)) ?? catalogText(addresses));
  const environment = {
    DATABASE_URL: database.url,
    TOLLGATE_CATALOG: catalogFile,
    CHAOS_PROVIDER_KEY: 'chaos',
    LOG_LEVEL: 'warn',
    ...settings,
  };
  const words = ['--lease', `${leaseMs}`, ...(wordsFor?.(folder) ?? [])];
  const route = await databaseUrl?.(database);
  if (route !== undefined) closers.push(route.close);
  const nodes = Array.from({ length: nodeCount }, (_, index) => {
    // Each has its own folder, as two machines would: what one has spooled, only its own successor can replay.
    const data = join(folder, `node-${index}`);
    mkdirSync(data, { mode: 0o700 });
    const own = { ...environment, DATABASE_URL: route?.url ?? database.url, TOLLGATE_DATA: data };
    return new GatewayNode(index, freePort(), own, join(folder, `node-${index}.log`), preloads, words);
  });
  closers.push(() => Promise.all(nodes.map((node) => node.stop())));
  await Promise.all(nodes.map((node) => node.whenReady()));
  return { folder, database, nodes, upstream, network, environment };
}

type Address = Readonly<{ host: string; port: number }>;

function originOf({ host, port }: Address): string {
  return `http://${host}:${port}`;
}

function baseUrlOf(address: Address): string {
  return `${originOf(address)}/v1`;
}
