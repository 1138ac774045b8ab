/**
 * The catalogue in use: read from its file, its providers connected, its prices stored. A new one replaces the old only
 * when it is valid.
 */
import type { SQL } from 'bun';
import type { Log } from '../lib/log.ts';
import { priceListOf } from '../models/catalog.ts';
import { type CatalogStatus, CatalogStore } from '../models/catalog-store.ts';
import type { Catalog } from '../models/model.ts';
import { type KeyProblems, keyProblems } from '../models/provider-key.ts';
import { StoredPriceList } from '../pricing/price-list-store.ts';
import { type Sandbox, SharedSandbox } from '../providers/shared-sandbox.ts';
import { type Demand, type ReportedCalls, readCalls } from './allowance.ts';
import { type Candidate, candidatesByModel } from './candidates.ts';
import { connectProviders, type ProviderConnection, type Surroundings } from './connections.ts';
import type { GateEvent } from './gate.ts';
import { Gates } from './gates.ts';

export type ActiveCatalog = Readonly<{
  catalog: Catalog;
  priceList: StoredPriceList;
  connections: ReadonlyMap<string, ProviderConnection>;
  /** Why the key of a provider cannot be used although it is set. */
  keyProblems: KeyProblems;
  /** The candidates of each model, in the order of the catalogue. */
  candidates: ReadonlyMap<string, readonly Candidate[]>;
  /** By name, the same at the prices of a group of accounts. */
  priceGroups: ReadonlyMap<string, ActiveCatalog>;
}>;

export type FollowedCatalog = Readonly<{
  file: string;
  current: () => ActiveCatalog;
  /** Since when the catalogue has been in use, and why the current file is not. */
  status: () => CatalogStatus;
  /** What this node asked of its providers since the last time, for the other nodes. */
  takeCalls: () => ReportedCalls;
  /** Takes this node's share of every provider's slots, from what all live nodes reported. `place` is its own. */
  shareSlots: (calls: readonly unknown[], place: number) => void;
  /** Reads the file and the secrets again, whether they look changed or not. */
  reload: () => void;
  close: () => Promise<void>;
}>;

/** Loads a catalogue file and follows it: an invalid version is rejected and the one in use stays. */
export async function followCatalog(
  file: string,
  surroundings: Surroundings,
  sql: SQL,
  log: Log,
  onReload: (outcome: 'loaded' | 'rejected') => void = () => undefined,
  sandbox: Sandbox = new SharedSandbox(() => log.warn('sandbox ended, starting it again')),
): Promise<FollowedCatalog> {
  const gates = new Gates((event) => logGateEvent(log, event));

  async function activate(catalog: Catalog): Promise<ActiveCatalog> {
    const usesSandbox = [...catalog.providers.values()].some((provider) => provider.adapter === 'sandbox');
    const sandboxUrl = usesSandbox ? await sandbox.url() : null;
    const connections = connectProviders(catalog, surroundings, sandboxUrl);
    const problems = keyProblems(catalog, surroundings.secret);
    for (const [provider, { text, remedy }] of problems)
      log.warn('provider key not used', { provider, problems: [`${text} ${remedy}`] });
    return await priced(catalog, { connections, keyProblems: problems }, gates, sql, log);
  }

  const opened = CatalogStore.open({
    path: file,
    activate,
    onReloaded: ({ catalog: { priceVersion, models } }) => {
      onReload('loaded');
      log.info('catalogue reloaded', { file, priceVersion, count: models.size });
    },
    onRejected: (problems) => {
      onReload('rejected');
      log.error('catalogue rejected, the old one stays in use', { file, problems });
    },
  });
  const store = await opened.catch(async (error: unknown) => {
    await sandbox.stop();
    throw error;
  });

  /** What this node last reported, which is newer than what the others have seen of it. */
  let ownDemands: ReadonlyMap<string, Demand> = new Map();

  return {
    file,
    current: () => store.current,
    status: () => store.status,
    takeCalls: () => {
      ownDemands = gates.takeDemands();
      return Object.fromEntries(
        [...ownDemands].map(([provider, { inFlight, turnedAway }]) => [provider, [inFlight, turnedAway]]),
      );
    },
    shareSlots: (calls, place) => {
      const nodes = calls.map((stored, index) => (index === place ? ownDemands : readCalls(stored)));
      gates.share(store.current.catalog.providers, nodes, place);
    },
    reload: () => {
      store
        .reload({ evenIfUnchanged: true })
        .catch((error: unknown) => log.error('catalogue not reloaded', { file, error }));
    },
    close: async () => {
      store.close();
      await sandbox.stop();
    },
  };
}

/** With its price list stored, and those of its groups, all at once: while the database is away, each waits for its time. */
async function priced(
  catalog: Catalog,
  connected: Pick<ActiveCatalog, 'connections' | 'keyProblems'>,
  gates: Gates,
  sql: SQL,
  log: Log,
): Promise<ActiveCatalog> {
  const priceList = new StoredPriceList(sql, priceListOf(catalog));
  const candidates = candidatesByModel(catalog, connected.connections, gates);
  const [priceGroups] = await Promise.all([
    Promise.all(
      [...catalog.priceGroups].map(
        async ([name, group]) => [name, await priced(group, connected, gates, sql, log)] as const,
      ),
    ),
    // The catalogue is valid without the database too; a request that needs the price list stores it.
    priceList.store().catch((error: unknown) => log.warn('price list not stored yet', { error })),
  ]);
  return { catalog, priceList, ...connected, candidates, priceGroups: new Map(priceGroups) };
}

function logGateEvent(log: Log, event: GateEvent): void {
  const { provider, model, kind } = event;
  if (kind === 'short') {
    const fields = { provider, model, code: event.shortage };
    log.error('provider not called, this machine is out of resources', fields);
    return;
  }
  const { account, pauseMs } = event;
  const fields = { provider, model, ...(account === null ? {} : { accountId: account }) };
  if (kind === 'closed') log.info('provider is back', fields);
  else if (kind === 'paused') log.warn('provider asks for a pause', { ...fields, pauseMs });
  else log.warn('provider keeps failing, circuit open', { ...fields, pauseMs });
}
