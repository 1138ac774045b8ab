import { describe, expect, test } from 'bun:test';
import { ApiError } from '../../src/errors.ts';
import { callableModels, configuredRoutes, type ModelAccess, resolveModel } from '../../src/models/access.ts';
import { parseCatalog } from '../../src/models/catalog.ts';
import type { Catalog } from '../../src/models/model.ts';

function good(text: string): Catalog {
  const result = parseCatalog(text, 'catalog.yaml');
  if (!result.ok) throw new Error(result.problems.join('\n'));
  return result.catalog;
}

describe('access', () => {
  const catalog = good(`price_version: "1"
providers:
  ready: { adapter: openai, base_url: https://a.example }
  unready: { adapter: openai, base_url: https://b.example, api_key_env: KEY }
models:
  off: { workload: chat, enabled: false, pricing: { billing_type: token, input: "1", output: "1" }, providers: [ready] }
  good: { workload: chat, pricing: { billing_type: token, input: "1", output: "1" }, providers: [unready, ready] }
  free: { workload: chat, providers: [ready] }
  cut: { workload: chat, pricing: { billing_type: token, input: "1", output: "1" }, providers: [unready] }
  picture: { workload: image, sizes: ["1x1"], pricing: { billing_type: image, unit_price: "1" }, providers: [ready] }
  nothing: { workload: chat, enabled: false, providers: [unready] }
`);
  const isProviderConfigured: ModelAccess['isProviderConfigured'] = (provider) => provider.apiKeyEnv === null;
  const all: ModelAccess = { allowedModels: null, isProviderConfigured };
  const only = (...ids: string[]): ModelAccess => ({ allowedModels: new Set(ids), isProviderConfigured });

  test('lists what is enabled, priced, allowed and served, in the order of the catalogue', () => {
    const ids = (access: ModelAccess) => callableModels(catalog, access).map((model) => model.id);
    expect(ids(all)).toEqual(['good', 'picture']);
    expect(ids(only('picture', 'cut', 'elsewhere'))).toEqual(['picture']);
    expect(ids(only())).toEqual([]);
    expect(ids({ ...all, isProviderConfigured: () => true })).toEqual(['good', 'cut', 'picture']);
    expect(ids({ ...all, isProviderConfigured: () => false })).toEqual([]);
  });

  test.each([
    ['elsewhere', 'chat', all, 'model_not_found', 'model'],
    ['__proto__', 'chat', all, 'model_not_found', 'model'],
    ['', 'chat', all, 'model_not_found', 'model'],
    ['GOOD', 'chat', all, 'model_not_found', 'model'],
    ['good', 'chat', only('picture'), 'model_not_allowed', 'model'],
    ['good', 'chat', only(), 'model_not_allowed', 'model'],
    ['off', 'chat', all, 'invalid_model', 'model'],
    ['good', 'image', all, 'invalid_model', 'model'],
    ['picture', 'chat', all, 'invalid_model', 'model'],
    ['free', 'chat', all, 'model_pricing_not_configured', 'model'],
    ['cut', 'chat', all, 'provider_not_configured', undefined],
    // With several reasons, the first in the documented order is given.
    ['elsewhere', 'chat', only('good'), 'model_not_found', 'model'],
    ['nothing', 'image', only('good'), 'model_not_allowed', 'model'],
    ['nothing', 'chat', all, 'invalid_model', 'model'],
    ['free', 'chat', { ...all, isProviderConfigured: () => false }, 'model_pricing_not_configured', 'model'],
  ] as const)('%s for %s is refused', (id, workload, access, code, param) => {
    let thrown: unknown;
    try {
      resolveModel(catalog, id, workload, access, new Map());
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(ApiError);
    expect(thrown).toMatchObject({ code, param });
  });

  test('gives the model and the routes that are configured', () => {
    const model = resolveModel(catalog, 'good', 'chat', only('good'), new Map());
    expect(model.id).toBe('good');
    expect(configuredRoutes(catalog, model, all).map((route) => route.providerId)).toEqual(['ready']);
    expect(resolveModel(catalog, 'picture', 'image', all, new Map()).price.billingType).toBe('image');
  });
});
