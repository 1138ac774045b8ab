/** GET /api/console/accounts/{account}/models: what /v1/models says, for a key without an allowlist. */
import { lookUp } from '../../http/lookup.ts';
import { readQuery } from '../../http/query.ts';
import { callableModels } from '../../models/access.ts';
import { presentModel } from '../../models/present.ts';
import { callerOf } from '../access.ts';
import type { Model } from '../contract.ts';
import type { ConsoleContext } from '../guard.ts';
import { requireMembership } from './model-queries.ts';

/** One person's copy for as long as the contract says; who signs in after them has another cookie. */
const cacheHeaders = { 'cache-control': 'private, max-age=300', vary: 'cookie' };

export async function listModels(request: Request, context: ConsoleContext): Promise<Response> {
  const caller = callerOf(context);
  readQuery(request.url, []);
  await lookUp('model_list_failed', () => requireMembership(context.services.sql, caller));
  const { catalog, connections } = context.services.catalog();
  const models = callableModels(catalog, {
    allowedModels: null,
    isProviderConfigured: (provider) => connections.has(provider.id),
  });
  const data = models.map((model) => presentModel(model, catalog.priceVersion)) satisfies Model[];
  return Response.json({ data }, { headers: cacheHeaders });
}
