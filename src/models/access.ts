/**
 * Which models a key may call. The list of models and the check before a call use the same rules, so that every listed
 * model with an endpoint can be called.
 */
import { ApiError } from '../errors.ts';
import { nearest, suggestion } from '../lib/nearest.ts';
import type { Price } from '../pricing/price.ts';
import type { Catalog, Model, ModelRoute, Provider, Workload } from './model.ts';
import type { KeyProblems } from './provider-key.ts';

export type ModelAccess = Readonly<{
  /** Null means that the key may call every model. */
  allowedModels: ReadonlySet<string> | null;
  isProviderConfigured: (provider: Provider) => boolean;
}>;

/** What a key may call where these providers are connected; every model for null. */
export function accessTo(
  connections: Readonly<{ has: (providerId: string) => boolean }>,
  allowedModels: ModelAccess['allowedModels'],
): ModelAccess {
  return { allowedModels, isProviderConfigured: ({ id }) => connections.has(id) };
}

/**
 * The catalogue at the prices of a group of accounts; at list prices for null. A group that the catalogue does not have is an
 * error: list prices may be higher than what was agreed.
 */
export function atPricesOf<Priced extends Readonly<{ priceGroups: ReadonlyMap<string, Priced> }>>(
  catalog: Priced,
  group: string | null,
): Priced {
  if (group === null) return catalog;
  const priced = catalog.priceGroups.get(group);
  if (priced !== undefined) return priced;
  const message = `The prices of this account are not configured: the operator has to add the price group ${group} to the catalogue, or take the account out of it.`;
  throw new ApiError('model_pricing_not_configured', { message });
}

/** For whoever puts an account into a group; null is for list prices. */
export function requirePriceGroup(
  catalog: Readonly<{ priceGroups: ReadonlyMap<string, unknown> }>,
  group: string | null,
): void {
  if (group === null || catalog.priceGroups.has(group)) return;
  throw new ApiError('invalid_parameter', {
    param: 'price_group',
    message: 'The catalogue has no such price group.',
  });
}

export type CallableModel = Model & Readonly<{ price: Price }>;

/** Enabled, allowed, priced and served by at least one configured provider; in the catalogue's order. */
export function callableModels(catalog: Catalog, access: ModelAccess): CallableModel[] {
  return [...catalog.models.values()].filter((model) => isCallable(catalog, model, access));
}

/** The model with this ID, or null if it is not callable. */
export function callableModel(catalog: Catalog, id: string, access: ModelAccess): CallableModel | null {
  const model = catalog.models.get(id);
  return model !== undefined && isCallable(catalog, model, access) ? model : null;
}

function isCallable(catalog: Catalog, model: Model, access: ModelAccess): model is CallableModel {
  return (
    isPriced(model) &&
    model.enabled &&
    isAllowed(model.id, access) &&
    configuredRoutes(catalog, model, access).length > 0
  );
}

/**
 * The model for a request, or an error for the first of these: unknown, not allowed for the key, disabled or of another
 * workload, without a price, mapped to no provider, without a configured one. What the caller can fix comes before what
 * only the operator can.
 */
export function resolveModel(
  catalog: Catalog,
  id: string,
  workload: Workload,
  access: ModelAccess,
  keyProblems: KeyProblems,
): CallableModel {
  const model = findModel(catalog, id, workload, access);
  if (configuredRoutes(catalog, model, access).length === 0)
    throw notConfigured(catalog, model.routes, keyProblems);
  return model;
}

/** The same without the last check: whether a provider is configured is up to the caller. */
export function findModel(
  catalog: Catalog,
  id: string,
  workload: Workload,
  access: ModelAccess,
): CallableModel {
  const model = catalog.models.get(id);
  if (model === undefined) throw modelNotFound(catalog, id, access, workload);
  if (!isAllowed(id, access)) throw new ApiError('model_not_allowed', { param: 'model' });
  if (!model.enabled) throw invalidModel(`The model ${id} is disabled.`);
  if (model.workload !== workload) throw invalidModel(otherWorkload[model.workload](id));
  if (!isPriced(model)) throw new ApiError('model_pricing_not_configured', { param: 'model' });
  if (model.routes.length === 0) throw new ApiError('configuration_error', { param: 'model' });
  return model;
}

/** Suggests what the key can call, of one workload or of all of them. */
export function modelNotFound(
  catalog: Catalog,
  id: string,
  access: ModelAccess,
  workload: Workload | null = null,
): ApiError {
  const ids = callableModels(catalog, access)
    .filter((model) => workload === null || model.workload === workload)
    .map((model) => model.id);
  const message = `This model does not exist.${suggestion(nearest(id, ids))} GET /v1/models lists the models of this key.`;
  return new ApiError('model_not_found', { param: 'model', message });
}

/** A customer can pass on to the operator what is missing: the names of variables are in the catalogue that is shipped. */
export function notConfigured(
  { providers }: Catalog,
  routes: readonly ModelRoute[],
  keyProblems: KeyProblems,
): ApiError {
  const missing = routes.flatMap(({ providerId }) => {
    const { name, apiKeyEnv } = providers.get(providerId) ?? { name: '', apiKeyEnv: null };
    return apiKeyEnv === null || keyProblems.has(providerId) ? [] : [`${apiKeyEnv}, the key for ${name}`];
  });
  const reasons = [
    ...routes.flatMap(({ providerId }) => keyProblems.get(providerId)?.text ?? []),
    ...(missing.length === 0
      ? []
      : [`the operator has to set ${missing.join(', or ')}, where the gateway starts.`]),
  ];
  if (reasons.length === 0) return new ApiError('provider_not_configured');
  const message = `No provider of this model is configured: ${reasons.join(' Or ')}`;
  return new ApiError('provider_not_configured', { message });
}

const otherWorkload: Readonly<Record<Workload, (id: string) => string>> = {
  chat: (id) => `The model ${id} is for chat: use POST /v1/chat/completions.`,
  image: (id) => `The model ${id} makes images: use POST /v1/images/generations.`,
  video: (id) => `The model ${id} makes videos, for which there is no endpoint.`,
};

function invalidModel(message: string): ApiError {
  return new ApiError('invalid_model', { param: 'model', message });
}

/** The routes of a model whose provider is configured, in order of preference. */
export function configuredRoutes(
  catalog: Catalog,
  model: Model,
  { isProviderConfigured }: Pick<ModelAccess, 'isProviderConfigured'>,
): ModelRoute[] {
  return model.routes.filter((route) => {
    const provider = catalog.providers.get(route.providerId);
    return provider !== undefined && isProviderConfigured(provider);
  });
}

/** Models without one, such as those for videos, are listed for their prices only. */
export function hasEndpoint({ workload }: Model): boolean {
  return workload !== 'video';
}

function isPriced(model: Model): model is CallableModel {
  return model.price !== null;
}

function isAllowed(id: string, { allowedModels }: ModelAccess): boolean {
  return allowedModels === null || allowedModels.has(id);
}
