import type { Handler } from '../http/context.ts';
import { readQuery } from '../http/query.ts';
import type { Authenticate } from '../keys/authenticate.ts';
import { callableModels } from './access.ts';
import type { Catalog } from './model.ts';
import { presentModel } from './present.ts';

type CatalogInForce = Readonly<{ catalog: Catalog; connections: ReadonlyMap<string, unknown> }>;

/** GET /v1/models */
export function listModels({
  authenticate,
  catalog: active,
}: Readonly<{ authenticate: Authenticate; catalog: () => CatalogInForce }>): Handler {
  return async (request, context) => {
    const key = await authenticate(request, context, 'model_list_failed');
    readQuery(request.url, []);
    const { catalog, connections } = active();
    const models = callableModels(catalog, {
      allowedModels: key.allowedModels,
      isProviderConfigured: (provider) => connections.has(provider.id),
    });
    return Response.json({
      object: 'list',
      data: models.map((model) => presentModel(model, catalog.priceVersion)),
    });
  };
}
