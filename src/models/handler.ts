import type { RequestContext } from '../http/context.ts';
import { lookUp } from '../http/lookup.ts';
import { readQuery } from '../http/query.ts';
import { authenticate } from '../keys/authenticate.ts';
import { callableModels } from './access.ts';
import { presentModel } from './present.ts';

/** GET /v1/models */
export async function listModels(request: Request, context: RequestContext): Promise<Response> {
  const { services } = context;
  const key = await lookUp('model_list_failed', () =>
    authenticate(request.headers.get('authorization'), services.keys, context.clientAddress),
  );
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
