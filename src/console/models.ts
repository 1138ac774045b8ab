/** The models as /v1/models lists them for a key without an allowlist, with what people want to know about them. */
import type { SQL } from 'bun';
import { ApiError } from '../errors.ts';
import { lookUp } from '../http/lookup.ts';
import { readQuery } from '../http/query.ts';
import { isMaker, offeredSizes } from '../images/order.ts';
import { accessTo, atPricesOf, type CallableModel, callableModels } from '../models/access.ts';
import type { Catalog } from '../models/model.ts';
import { presentModel } from '../models/present.ts';
import type { ActiveCatalog } from '../routing/active-catalog.ts';
import { type Caller, readableAccount } from './access.ts';
import { boundedRead } from './bounded-read.ts';
import type { Model, Models } from './contract.ts';
import type { AccountHandler, Routes } from './guard.ts';

/** A private copy for as long as the contract allows. A user who signs in later has another cookie. */
const cacheHeaders = { 'cache-control': 'private, max-age=300', vary: 'cookie' };

type ModelsServices = Readonly<{ sql: SQL; catalog: () => ActiveCatalog }>;

export function modelsPage({ sql, catalog: current }: ModelsServices): Routes<AccountHandler> {
  return {
    '/models': {
      GET: async (request, { caller }) => {
        // Makes another address, for a browser that keeps what the account saw before it was put into this group.
        readQuery(request.url, ['price_group']);
        const priceGroup = await lookUp('model_list_failed', () =>
          boundedRead(sql, (read) => findPriceGroup(read, caller)),
        );
        const active = atPricesOf(current(), priceGroup);
        const { catalog, connections } = active;
        const models = callableModels(catalog, accessTo(connections, null));
        const data = models.map((model) => ({
          ...presentModel(model, catalog.priceVersion),
          ...servingOf(model, active),
          maker: makerOf(model, catalog),
        })) satisfies Model[];
        const listed: Models = { data, price_group: priceGroup };
        return Response.json(listed, { headers: cacheHeaders });
      },
    },
  };
}

/** Whose prices the account pays; null for list prices. */
async function findPriceGroup(sql: SQL, caller: Caller): Promise<string | null> {
  const [row] = await sql<{ price_group: string | null }[]>`
    select price_group from ${readableAccount(sql, caller)} as readable join accounts on accounts.id = account_id`;
  if (row === undefined) throw new ApiError('account_not_found');
  return row.price_group;
}

/** The endpoint that serves a model, and what it can be asked for there. */
function servingOf(
  model: CallableModel,
  { candidates }: ActiveCatalog,
): Pick<Model, 'endpoint' | 'sizes' | 'max_images'> {
  switch (model.workload) {
    case 'chat':
      return { endpoint: '/v1/chat/completions', sizes: [], max_images: 0 };
    case 'image': {
      const sizes = offeredSizes(model, (candidates.get(model.id) ?? []).filter(isMaker));
      return {
        endpoint: sizes.length === 0 ? null : '/v1/images/generations',
        sizes: [...sizes],
        max_images: model.maxImages,
      };
    }
    case 'video':
      return { endpoint: null, sizes: [], max_images: 0 };
  }
}

/** An owner is usually a provider, and people know a provider by its name. */
function makerOf({ maker, ownedBy }: CallableModel, { providers }: Catalog): string {
  return maker ?? providers.get(ownedBy)?.name ?? ownedBy;
}
