/** GET /v1/models and GET /v1/models/{model} */
import { ApiError } from '../errors.ts';
import type { Handler } from '../http/context.ts';
import { isForMessagesClient } from '../http/messages-error.ts';
import { pathOf } from '../http/path.ts';
import { readQuery } from '../http/query.ts';
import type { Authenticate } from '../keys/authenticate.ts';
import { accessTo, atPricesOf, callableModel, callableModels, modelNotFound } from './access.ts';
import { pageParameters, presentMessagesModel, presentMessagesModels } from './messages-models.ts';
import type { Catalog } from './model.ts';
import { presentModel } from './present.ts';

type CatalogInForce = Readonly<{ catalog: Catalog; connections: ReadonlyMap<string, unknown> }>;
type ModelServices = Readonly<{ authenticate: Authenticate; catalog: () => CatalogInForce }>;

const failure = 'model_list_failed';

export function listModels({ authenticate, catalog: active }: ModelServices): Handler {
  return async (request, context) => {
    const key = await authenticate(request, context, failure);
    const isForMessages = isForMessagesClient(request);
    const query = readQuery(request.url, isForMessages ? pageParameters : []);
    const { catalog: listed, connections } = active();
    const catalog = atPricesOf(listed, key.priceGroup);
    const models = callableModels(catalog, accessTo(connections, key.allowedModels));
    if (isForMessages) return Response.json(presentMessagesModels(models, query));
    return Response.json({
      object: 'list',
      data: models.map((model) => presentModel(model, catalog.priceVersion)),
    });
  };
}

/** A model that is not on the key's list does not exist for it, whatever the reason. */
export function getModel({ authenticate, catalog: active }: ModelServices): Handler {
  return async (request, context) => {
    const id = idIn(request.url);
    if (id === '')
      throw new ApiError('not_found', {
        message: 'GET /v1/models/ does not exist: leave out the slash at the end.',
      });
    const key = await authenticate(request, context, failure);
    readQuery(request.url, []);
    const { catalog: listed, connections } = active();
    const catalog = atPricesOf(listed, key.priceGroup);
    const access = accessTo(connections, key.allowedModels);
    const model = id === null ? null : callableModel(catalog, id, access);
    if (model === null) throw modelNotFound(catalog, id ?? '', access);
    if (isForMessagesClient(request)) return Response.json(presentMessagesModel(model));
    return Response.json(presentModel(model, catalog.priceVersion));
  };
}

/** An ID may contain slashes, and clients send them encoded or plain. Null when it is not encoded properly. */
function idIn(url: string): string | null {
  try {
    return decodeURIComponent(pathOf(url).slice('/v1/models/'.length));
  } catch {
    return null;
  }
}
