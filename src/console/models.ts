/** The models of the gateway, as /v1/models lists them for a key without an allowlist. */
import type { SQL } from 'bun';
import { lookUp } from '../http/lookup.ts';
import { readQuery } from '../http/query.ts';
import { callableModels } from '../models/access.ts';
import { presentModel } from '../models/present.ts';
import type { ActiveCatalog } from '../routing/active-catalog.ts';
import { requireMembership } from './access.ts';
import type { Model } from './contract.ts';
import type { AccountHandler, Routes } from './guard.ts';

/** A private copy for as long as the contract allows. A user who signs in later has another cookie. */
const cacheHeaders = { 'cache-control': 'private, max-age=300', vary: 'cookie' };

type ModelsServices = Readonly<{ sql: SQL; catalog: () => ActiveCatalog }>;

export function modelsPage({ sql, catalog: current }: ModelsServices): Routes<AccountHandler> {
  return {
    '/models': {
      GET: async (request, { caller }) => {
        readQuery(request.url, []);
        await lookUp('model_list_failed', () => requireMembership(sql, caller));
        const { catalog, connections } = current();
        const models = callableModels(catalog, {
          allowedModels: null,
          isProviderConfigured: (provider) => connections.has(provider.id),
        });
        const data = models.map((model) => presentModel(model, catalog.priceVersion)) satisfies Model[];
        return Response.json({ data }, { headers: cacheHeaders });
      },
    },
  };
}
