/** The catalogue that comes with the gateway: its prices as published, and what its vendors say they cannot do. */
import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { plainMeters } from '../../src/lib/meters.ts';
import { formatMoneyShort } from '../../src/lib/money.ts';
import { type CallableModel, callableModels, type ModelAccess } from '../../src/models/access.ts';
import { parseCatalog } from '../../src/models/catalog.ts';
import type { Catalog, Model } from '../../src/models/model.ts';
import { presentModel } from '../../src/models/present.ts';
import { chargedAsInputIn, soldBelowCostIn } from '../../src/models/review.ts';
import { costOfTokens } from '../../src/pricing/cost.ts';
import { cacheFields } from '../../src/pricing/present.ts';
import type { TokenRates } from '../../src/pricing/price.ts';
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

test('has the sandbox first, then 72 models, all callable with their keys', () => {
  expect(catalog.models.size).toBe(75);
  expect([...catalog.models.keys()].slice(0, 3)).toEqual(['sandbox-chat', 'sandbox-image', 'sandbox-video']);
  const callable = (isProviderConfigured: ModelAccess['isProviderConfigured']) =>
    callableModels(catalog, { allowedModels: null, isProviderConfigured });
  expect(callable(() => true)).toHaveLength(75);
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
  ['gpt-5-2025-08-07', ['temperature', 'top_p', 'stop', 'presence_penalty']],
  ['gpt-6.1-sol', ['temperature', 'top_p']],
  ['claude-sonnet-5-5', ['temperature', 'top_p', 'tool_choice']],
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

test('only the vendors themselves are told whom a call is for', () => {
  const told = [...catalog.providers.values()].filter(({ endUserField }) => endUserField !== null);
  expect(told.map(({ id, endUserField }) => [id, endUserField])).toEqual([
    ['openai', 'safety_identifier'],
    ['anthropic', 'metadata.user_id'],
  ]);
});

test('only those who write what is marked get marks', () => {
  const marked = [...catalog.providers.values()].filter(({ promptCache }) => promptCache === 'auto');
  expect(marked.map(({ id }) => id)).toEqual(['anthropic', 'dashscope']);
});

test.each([
  [
    'sandbox-chat',
    '"input":0.5,"output":1.5,"cache_read":0.05,"cache_write":0.625,"cache_write_long":1,"unit_price":null,"unit":"per_1m_tokens"',
  ],
  ['gpt-4o-mini', '"input":0.15,"output":0.6,"cache_read":0.075,"unit_price":null,"unit":"per_1m_tokens"'],
  ['doubao-seed-2-0-lite-260215', '"input":0.087,"output":0.52,"unit_price":null'],
  ['doubao-seed-2-1-lite-260915', '"input":0.115,"output":0.388126,"cache_read":0.023,"unit_price":null'],
  ['kimi-k2.6', '"input":0.95,"output":4,"cache_read":0.16,"unit_price":null'],
  ['dall-e-3', '"input":null,"output":null,"unit_price":0.04,"unit":"per_image"'],
  ['imagen-4.0-fast-generate-001', '"input":null,"output":null,"unit_price":0.02,"unit":"per_image"'],
  ['veo-3.1-generate-001', '"input":null,"output":null,"unit_price":0.4,"unit":"per_second"'],
  [
    'claude-sonnet-4-5-20250929',
    '"input":3,"output":15,"cache_read":0.3,"cache_write":3.75,"cache_write_long":6,',
  ],
  [
    'claude-haiku-5-5',
    '"input_token_tiers":[{"max_input_tokens":100000,"input":0.1,"output":0.5,"cache_read":0.01,"cache_write":0.125,"cache_write_long":0.2},' +
      '{"max_input_tokens":1000000,"input":0.5,"output":2.5,"cache_read":0.05,"cache_write":0.625,"cache_write_long":1}]',
  ],
  [
    'gpt-6.1-terra',
    '"input_token_tiers":[{"max_input_tokens":272000,"input":1,"output":5,"cache_read":0.05,"cache_write":1.25,"cache_write_long":2.5},' +
      '{"max_input_tokens":922000,"input":2,"output":7.5,"cache_read":0.1,"cache_write":2.5,"cache_write_long":5}]',
  ],
  ['grok-4.5', '"input":2,"output":6,"cache_read":0.5,'],
  [
    'deepseek-v4-pro',
    '"time_bands":{"timezone":"UTC","off_peak_start":"11:00","off_peak_end":"01:00",' +
      '"peak":{"name":"Peak","input":1.32,"output":3.96,"cache_read":0.044},' +
      '"off_peak":{"input":0.66,"output":1.98,"cache_read":0.022}}',
  ],
])('%s is priced as published', (id, printed) => {
  expect(
    JSON.stringify(presentModel(modelOf(catalog, id) as CallableModel, catalog.priceVersion).pricing),
  ).toContain(printed);
});

/** All sets of rates that a request can be charged by. */
function chargedRates({ price }: Model): readonly TokenRates[] {
  if (price?.billingType !== 'token') return [];
  if (price.form === 'flat') return [price.rates];
  return price.form === 'tiers' ? price.inputTokenTiers : [price.timeBands.peak, price.timeBands.offPeak];
}

const chatModels = [...catalog.models.values()].filter(({ workload }) => workload === 'chat');
const cacheRates = cacheFields.map(([, rate]) => rate);

test('every price prints with the digits it is written with', () => {
  const written = [...text.matchAll(/"(\d+\.\d+)"/g)].map(([, decimal = '']) =>
    decimal.replace(/\.?0+$/, ''),
  );
  const ofUnits = [...catalog.models.values()].flatMap(({ price }) =>
    price === null || price.billingType === 'token'
      ? []
      : [price.unitPrice, ...(price.tierRates?.values() ?? [])],
  );
  const ofTokens = chatModels
    .flatMap(chargedRates)
    .flatMap((rates) => [rates.input, rates.output, ...cacheRates.flatMap((rate) => rates[rate] ?? [])]);
  const printed = [...ofUnits, ...ofTokens].map(formatMoneyShort);
  expect(printed.toSorted()).toEqual(written.toSorted());
});

describe('cache prices', () => {
  test('are within what any vendor asks: reading costs at most as much as input, and writing at least', () => {
    for (const model of chatModels)
      for (const {
        input,
        cacheRead = input,
        cacheWrite = input,
        cacheWriteLong = cacheWrite,
      } of chargedRates(model)) {
        expect([model.id, cacheRead * 50n >= input && cacheRead <= input]).toEqual([model.id, true]);
        expect([model.id, cacheWrite >= input && cacheWrite <= input * 2n]).toEqual([model.id, true]);
        // OpenAI keeps what is written for twelve hours at 2.5 times the input, Anthropic for one hour at twice.
        expect([model.id, cacheWriteLong >= cacheWrite && cacheWriteLong * 2n <= input * 5n]).toEqual([
          model.id,
          true,
        ]);
      }
  });

  test('are those of each tier', () => {
    const namesOf = (rates: TokenRates) => cacheRates.filter((rate) => rates[rate] !== undefined);
    for (const model of chatModels) {
      const [first, ...others] = chargedRates(model).map(namesOf);
      for (const names of others) expect([model.id, names]).toEqual([model.id, first ?? []]);
    }
  });

  test.each([
    [
      'anthropic',
      /^claude-/,
      [
        ['cacheWrite', 125n],
        ['cacheWriteLong', 200n],
      ],
    ],
    ['openai', /^gpt-(5\.6|6)/, [['cacheWrite', 125n]]],
  ] as const)('%s asks a fixed multiple of input for writing', (provider, ids, factors) => {
    const models = chatModels.filter(({ id, ownedBy }) => ownedBy === provider && ids.test(id));
    expect(models.length).toBeGreaterThan(7);
    for (const model of models)
      for (const rates of chargedRates(model))
        for (const [rate, percent] of factors)
          expect([model.id, rates[rate]]).toEqual([model.id, (rates.input * percent) / 100n]);
  });

  test('are missing where none was found, which the check says, and nothing is sold below cost', () => {
    expect(chargedAsInputIn(catalog).map((sentence) => sentence.split(':')[0])).toEqual([
      'qwen-flash-2025-07-28 has no cache_read, cache_write',
      'qwen3-max-2026-01-23 has no cache_read, cache_write',
      'qwen3.8-max has no cache_write',
      'qwen-turbo-2025-04-28 has no cache_read, cache_write',
      'doubao-seed-2-0-pro-260215 has no cache_read',
      'doubao-seed-2-0-lite-260215 has no cache_read',
    ]);
    // What the operator pays is the operator's to say.
    expect(text).not.toMatch(/cost:/);
    expect(soldBelowCostIn(catalog)).toEqual([]);
  });

  test('the price of DeepSeek is never below the vendor’s, whatever the hour and however long the call', () => {
    const { price } = modelOf(catalog, 'deepseek-flash');
    if (price?.billingType !== 'token' || price.form !== 'bands') throw new TypeError();
    const { peak } = price.timeBands;
    const isPeak = (at: Date) => {
      const hour = at.getUTCHours();
      const isWeekday = at.getUTCDay() >= 1 && at.getUTCDay() <= 5;
      return isWeekday && ((hour >= 1 && hour < 4) || (hour >= 6 && hour < 10));
    };
    const minuteMs = 60_000;
    // A week from Monday on, every ten minutes; calls last up to an hour.
    for (let minute = 0; minute < 7 * 24 * 60; minute += 10) {
      const billedAt = new Date(Date.UTC(2026, 10, 16) + minute * minuteMs);
      const charged = costOfTokens(price, plainMeters(1_000_000, 0), billedAt).input;
      for (const lasted of [0, 30, 59]) {
        const startedAt = new Date(billedAt.getTime() - lasted * minuteMs);
        if (isPeak(billedAt) || isPeak(startedAt))
          expect([billedAt, charged]).toEqual([billedAt, peak.input]);
      }
    }
  });
});

test('a model is published in the contract’s form and order', () => {
  expect(
    JSON.stringify(presentModel(modelOf(catalog, 'gpt-4o-mini') as CallableModel, catalog.priceVersion)),
  ).toBe(
    '{"id":"gpt-4o-mini","object":"model","created":1721260800,"owned_by":"openai","name":"GPT-4o mini","workload":"chat",' +
      '"availability":"available","pricing":{"currency":"USD","input":0.15,"output":0.6,"cache_read":0.075,"unit_price":null,' +
      '"unit":"per_1m_tokens","billing_type":"token","price_version":"2026-11-16"},"capabilities":{"text_input":true,' +
      '"image_input":true,"text_output":true,"streaming":true,"function_calling":true,"structured_output":true},' +
      '"context_window":128000,"max_output_tokens":16384}',
  );
});
