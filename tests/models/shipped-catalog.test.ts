/** The catalogue that comes with the gateway: its prices as published, and what its vendors say they cannot do. */
import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { formatMoneyShort } from '../../src/lib/money.ts';
import { type CallableModel, callableModels, type ModelAccess } from '../../src/models/access.ts';
import { parseCatalog } from '../../src/models/catalog.ts';
import type { Catalog, Model } from '../../src/models/model.ts';
import { presentModel } from '../../src/models/present.ts';
import { defaultDialect } from '../../src/providers/upstream.ts';

function good(yaml: string): Catalog {
  const result = parseCatalog(yaml, 'catalog.yaml');
  if (!result.ok) throw new Error(result.problems.join('\n'));
  return result.catalog;
}

function modelOf({ models }: Catalog, id: string): Model {
  const model = models.get(id);
  if (model === undefined) throw new Error(`no ${id}`);
  return model;
}

const text = readFileSync(join(import.meta.dir, '../..', 'catalog.yaml'), 'utf8');
const catalog = good(text);

test('has the sandbox first, then 43 models, all callable with their keys', () => {
  expect(catalog.models.size).toBe(46);
  expect([...catalog.models.keys()].slice(0, 3)).toEqual(['sandbox-chat', 'sandbox-image', 'sandbox-video']);
  const callable = (isProviderConfigured: ModelAccess['isProviderConfigured']) =>
    callableModels(catalog, { allowedModels: null, isProviderConfigured });
  expect(callable(() => true)).toHaveLength(46);
  expect(callable((provider) => provider.apiKeyEnv === null).map((model) => model.id)).toEqual([
    'sandbox-chat',
    'sandbox-image',
    'sandbox-video',
  ]);
  const listed = [...catalog.models.values()].map((model) => model.routes[0]?.providerId);
  // The models of a vendor are together. The backup is no model's first provider, and Groq is there for the operator's
  // own models.
  expect(listed.filter((id, index) => id !== listed[index - 1])).toEqual(
    [...catalog.providers.keys()].filter((id) => id !== 'groq' && id !== 'sandbox-backup'),
  );
});

test('the servers in its comments are valid providers once uncommented', () => {
  const own = good(text.replace(/^ {2}# ((?:vllm|ollama):.*| {2}\w+: .*)$/gm, '  $1')).providers;
  expect(own.get('vllm')).toMatchObject({ adapter: 'openai', apiKeyEnv: null, maxConcurrency: 256 });
  expect(own.get('ollama')).toMatchObject({
    apiKeyEnv: null,
    dialect: { ...defaultDialect, images: 'data' },
  });
});

test('every key that it names is in .env.example, and no other except that for decisions', () => {
  const example = readFileSync(join(import.meta.dir, '../..', '.env.example'), 'utf8');
  const ofProviders = [...catalog.providers.values()].flatMap(({ apiKeyEnv }) => apiKeyEnv ?? []);
  const named = [...ofProviders, 'DECISIONS_API_KEY'];
  expect([...example.matchAll(/^# (\w+_API_KEY)=$/gm)].map(([, name = '']) => name).toSorted()).toEqual(
    named.toSorted(),
  );
});

test.each([
  ['gpt-4o-mini', []],
  ['o4-mini-2025-04-16', ['temperature', 'top_p', 'stop', 'presence_penalty', 'parallel_tool_calls']],
  ['claude-opus-5', ['temperature', 'top_p']],
  ['gemini-2.5-pro', ['presence_penalty']],
  ['grok-4.5', ['stop', 'presence_penalty']],
  ['mistral-large-2512', []],
] as const)('%s does not support %p', (id, names) => {
  expect([...modelOf(catalog, id).unsupportedParameters]).toEqual([...names]);
});

test('every model that is sent images says what they cost at most', () => {
  for (const { id, capabilities, contextWindow } of catalog.models.values()) {
    const written = text.match(
      new RegExp(`\\n  ${RegExp.escape(id)}:\\n(?:    .*\\n)*?    image_tokens: .*`),
    );
    expect([id, written !== null]).toEqual([id, capabilities.imageInput]);
    expect(modelOf(catalog, id).imageTokens.high).toBeLessThan(contextWindow ?? Number.POSITIVE_INFINITY);
  }
});

test.each([
  ['sandbox-chat', 85, 85],
  ['gpt-4o-mini', 2_833, 48_169],
  ['gpt-4o-2024-11-20', 85, 1_445],
  ['gpt-5-2025-08-07', 70, 1_190],
  ['claude-opus-4-5-20251101', 1_661, 1_661],
  ['gemini-2.5-pro', 6_450, 6_450],
] as const)('an image costs %s %i tokens in low detail and %i in any other', (id, low, high) => {
  expect(modelOf(catalog, id).imageTokens).toEqual({ low, high });
});

test('DALL·E 3 makes one image a request', () => {
  expect(modelOf(catalog, 'dall-e-3').maxImages).toBe(1);
  expect(modelOf(catalog, 'imagen-4.0-generate-001').maxImages).toBe(4);
});

test.each([
  ['sandbox', { ...defaultDialect, strictTools: 'supported' }],
  [
    'openai',
    {
      ...defaultDialect,
      maxTokens: 'max_completion_tokens',
      strictTools: 'supported',
      cacheKey: 'prompt_cache_key',
    },
  ],
  ['deepseek', defaultDialect],
  [
    'mistral',
    { ...defaultDialect, seed: 'random_seed', streamUsage: 'always', cacheKey: 'prompt_cache_key' },
  ],
  ['xai', { ...defaultDialect, maxTokens: 'max_completion_tokens', cacheKey: 'x-grok-conv-id' }],
  ['moonshot', { ...defaultDialect, maxTokens: 'max_completion_tokens', images: 'data' }],
] as const)('%s is spoken to in its dialect', (id, dialect) => {
  expect(catalog.providers.get(id)?.dialect).toEqual(dialect);
});

test('only those who write what is marked get marks', () => {
  const marked = [...catalog.providers.values()].filter(({ promptCache }) => promptCache === 'auto');
  expect(marked.map(({ id }) => id)).toEqual(['anthropic', 'dashscope']);
});

test.each([
  ['sandbox-chat', '"input":0.5,"output":1.5,"unit_price":null,"unit":"per_1m_tokens"'],
  ['gpt-4o-mini', '"input":0.15,"output":0.6,"unit_price":null,"unit":"per_1m_tokens"'],
  ['doubao-seed-2-0-lite-260215', '"input":0.087,"output":0.52,"unit_price":null'],
  ['kimi-k2.6', '"input":0.95,"output":4,"unit_price":null'],
  ['dall-e-3', '"input":null,"output":null,"unit_price":0.04,"unit":"per_image"'],
  ['imagen-4.0-fast-generate-001', '"input":null,"output":null,"unit_price":0.02,"unit":"per_image"'],
  ['sora-2', '"input":null,"output":null,"unit_price":0.1,"unit":"per_second"'],
  [
    'claude-sonnet-4-5-20250929',
    '"input_token_tiers":[{"max_input_tokens":200000,"input":3,"output":15},{"max_input_tokens":1000000,"input":6,"output":22.5}]',
  ],
  ['deepseek-v4-pro', '"input":0.435,"output":0.87,"unit_price":null'],
])('%s is priced as published', (id, printed) => {
  expect(
    JSON.stringify(presentModel(modelOf(catalog, id) as CallableModel, catalog.priceVersion).pricing),
  ).toContain(printed);
});

test('every price prints with the digits it is written with', () => {
  const written = [...text.matchAll(/"(\d+\.\d+)"/g)].map(([, decimal = '']) =>
    decimal.replace(/\.?0+$/, ''),
  );
  const printed = [...catalog.models.values()]
    .flatMap(({ price }) => {
      if (price === null) return [];
      if (price.billingType !== 'token') return [price.unitPrice, ...(price.tierRates?.values() ?? [])];
      if (price.form === 'flat') return [price.rates.input, price.rates.output];
      if (price.form === 'bands')
        return [price.timeBands.peak, price.timeBands.offPeak].flatMap((r) => [r.input, r.output]);
      return [...(price.headline ? [price.headline] : []), ...price.inputTokenTiers].flatMap((r) => [
        r.input,
        r.output,
      ]);
    })
    .map(formatMoneyShort);
  expect(printed.toSorted()).toEqual(written.toSorted());
});

test('a model is published in the contract’s form and order', () => {
  expect(
    JSON.stringify(presentModel(modelOf(catalog, 'gpt-4o-mini') as CallableModel, catalog.priceVersion)),
  ).toBe(
    '{"id":"gpt-4o-mini","object":"model","created":1721260800,"owned_by":"openai","name":"GPT-4o mini","workload":"chat",' +
      '"availability":"available","pricing":{"currency":"USD","input":0.15,"output":0.6,"unit_price":null,' +
      '"unit":"per_1m_tokens","billing_type":"token","price_version":"2026-11"},"capabilities":{"text_input":true,' +
      '"image_input":true,"text_output":true,"streaming":true,"function_calling":true,"structured_output":true},' +
      '"context_window":128000,"max_output_tokens":16384}',
  );
});
