/**
 * The catalogue that requests are served by: read from its file, its prices stored, its providers connected. A new one
 * takes the place of the old only when all three have succeeded.
 */
import type { SQL } from 'bun';
import { priceListOf } from '../models/catalog.ts';
import type { Catalog } from '../models/model.ts';
import { storePriceList } from '../pricing/price-list-store.ts';
import { connectProviders, type ProviderConnection } from './connections.ts';

export type ActiveCatalog = Readonly<{
  catalog: Catalog;
  /** The stored price list that Generations are charged by. */
  priceListId: number;
  connections: ReadonlyMap<string, ProviderConnection>;
}>;

export type ProviderSources = Readonly<{
  secret: (name: string) => string | null;
  sandboxUrl: () => Promise<string>;
}>;

export async function activateCatalog(
  catalog: Catalog,
  sql: SQL,
  sources: ProviderSources,
): Promise<ActiveCatalog> {
  const usesSandbox = [...catalog.providers.values()].some((provider) => provider.adapter === 'sandbox');
  const sandboxUrl = usesSandbox ? await sources.sandboxUrl() : null;
  const priceListId = await storePriceList(sql, priceListOf(catalog));
  return { catalog, priceListId, connections: connectProviders(catalog, sources.secret, sandboxUrl) };
}
