import type { RequestContext } from '../http/context.ts';
import { readQuery } from '../http/query.ts';
import { callableModels } from './access.ts';
import { presentModel } from './present.ts';

/** GET /v1/models */
export async function listModels(request: Request, context: RequestContext): Promise<Response> {
  const { services } = context;
  const key = await context.authenticate('model_list_failed');
  readQuery(request.url, []);
  const { catalog, connections } = services.catalog();
  const models = callableModels(catalog, {
    allowedModels: key.allowedModels,
    isProviderConfigured: (provider) => connections.has(provider.id),
  });
  return Response.json({
    object: 'list',
    data: models.map((model) => presentModel(model, catalog.priceVersion)),
  });
}
