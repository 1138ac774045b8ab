/** What an operator is told about the prices of a valid catalogue. */
import { expect, test } from 'bun:test';
import { parseCatalog } from '../../src/models/catalog.ts';
import type { Catalog } from '../../src/models/model.ts';
import { chargedAsInputIn, soldBelowCostIn } from '../../src/models/review.ts';

function good(text: string): Catalog {
  const result = parseCatalog(text, 'catalog.yaml');
  if (!result.ok) throw new Error(result.problems.join('\n'));
  return result.catalog;
}

const catalogOf = (models: string) =>
  good(`price_version: "1"
providers:
  openai: { adapter: openai, base_url: https://api.openai.com/v1 }
  europe: { adapter: openai, base_url: https://eu.api.openai.com/v1 }
  anthropic: { adapter: anthropic, base_url: https://api.anthropic.com/v1 }
  google: { adapter: google, base_url: https://generativelanguage.googleapis.com/v1beta }
  qwen: { adapter: openai, base_url: https://dashscope-intl.aliyuncs.com/compatible-mode/v1 }
  xai: { adapter: openai, base_url: https://api.x.ai/v1 }
  other: { adapter: openai, base_url: https://not-x.ai/v1 }
  own: { adapter: openai, base_url: http://127.0.0.1:8000/v1 }
  sandbox: { adapter: sandbox }
models:
${models}`);

const bands =
  'time_bands: { timezone: UTC, off_peak_start: "16:00", off_peak_end: "00:00", peak: { name: Day, input: "2", output: "2" }, off_peak: { input: "1", output: "1" } }';

test.each([
  ['a price that covers its cost', 'input: "1", output: "2"', 'input: "1", output: "2"', null],
  [
    'cached input',
    'input: "1", output: "2", cache_read: "0.05"',
    'input: "0.9", output: "2.5", cache_read: "0.1", cache_write: "1.25"',
    'output is sold at 2 USD and costs 2.5 USD; cache_read is sold at 0.05 USD and costs 0.1 USD; cache_write is sold at 1 USD (as input) and costs 1.25 USD',
  ],
  [
    'a tier',
    'input_token_tiers: [{ max_input_tokens: 10, input: "1", output: "2" }, { max_input_tokens: 20, input: "2", output: "2" }]',
    'input: "1.5", output: "2"',
    'input is sold at 1 USD and costs 1.5 USD',
  ],
  [
    'a tier of the provider',
    'input: "1", output: "2"',
    'input_token_tiers: [{ max_input_tokens: 10, input: "1", output: "2" }, { max_input_tokens: 20, input: "2", output: "2" }]',
    'input is sold at 1 USD and costs 2 USD from 11 input tokens on',
  ],
  ['a band', bands, 'input: "1", output: "1.5"', 'output is sold at 1 USD and costs 1.5 USD off-peak'],
  [
    'bands that do not meet',
    bands,
    bands.replace('16:00', '17:00'),
    'input is sold at 1 USD and costs 2 USD while the price is off-peak and the cost at peak; ' +
      'output is sold at 1 USD and costs 2 USD while the price is off-peak and the cost at peak',
  ],
])('%s', (_title, pricing, cost, underpriced) => {
  const catalog = catalogOf(
    `  m: { workload: chat, pricing: { billing_type: token, ${pricing} }, providers: [{ provider: own, cost: { ${cost} } }] }\n`,
  );
  expect(soldBelowCostIn(catalog)).toEqual(
    underpriced === null ? [] : [`m can be sold below its cost at own: ${underpriced}.`],
  );
});

test('every provider that charges more is named, and no model that cannot be sold', () => {
  const cost = 'cost: { input: "3", output: "1" }';
  const catalog = catalogOf(`
  a: { workload: chat, pricing: { billing_type: token, input: "2", output: "1" }, providers: [{ provider: own, ${cost} }, openai, { provider: xai, ${cost} }] }
  off: { workload: chat, enabled: false, pricing: { billing_type: token, input: "2", output: "1" }, providers: [{ provider: own, ${cost} }] }
  unpriced: { workload: chat, providers: [{ provider: own, ${cost} }] }
  image: { workload: image, sizes: { "1x1": 1k }, pricing: { billing_type: image, unit_price: "1", tier_rates: { 1k: "1" } }, providers: [{ provider: own, cost: { unit_price: "1", tier_rates: { 1k: "2" } } }] }
`);
  expect(soldBelowCostIn(catalog)).toEqual([
    'a can be sold below its cost at own: input is sold at 2 USD and costs 3 USD.',
    'a can be sold below its cost at xai: input is sold at 2 USD and costs 3 USD.',
    'image can be sold below its cost at own: the tier 1k is sold at 1 USD and costs 2 USD.',
  ]);
});

test.each([
  ['gpt-5.5-2026-04-23', 'openai', 'cache_read'],
  ['gpt-4o-mini', 'europe', 'cache_read'],
  ['gpt-5.6-sol', 'openai', 'cache_read, cache_write'],
  ['gpt-6-luna', 'openai', 'cache_read, cache_write'],
  ['gpt-10', 'openai', 'cache_read, cache_write'],
  ['m', 'anthropic', 'cache_read, cache_write, cache_write_long'],
  ['m', 'google', 'cache_read'],
  ['m', 'qwen', 'cache_read, cache_write'],
  ['m', 'xai', 'cache_read'],
  ['m', 'other', null],
  ['m', 'own', null],
  ['m', 'sandbox', null],
])('%s at %s is expected to have %p', (upstream, provider, missing) => {
  const catalog = catalogOf(
    `  m: { workload: chat, pricing: { billing_type: token, input: "1", output: "1" }, providers: [{ provider: ${provider}, upstream_model: ${upstream} }] }\n`,
  );
  expect(chargedAsInputIn(catalog)).toEqual(
    missing === null
      ? []
      : [`m has no ${missing}: such tokens are charged as input. Its vendor has cache prices.`],
  );
});

test('a cache price counts where every tier has it', () => {
  const catalog = catalogOf(`
  some: { workload: chat, providers: [google], pricing: { billing_type: token, input_token_tiers: [{ max_input_tokens: 1, input: "1", output: "1", cache_read: "0" }, { max_input_tokens: 2, input: "1", output: "1" }] } }
  all: { workload: chat, providers: [google], pricing: { billing_type: token, input_token_tiers: [{ max_input_tokens: 1, input: "1", output: "1", cache_read: "0" }] } }
  image: { workload: image, sizes: ["1x1"], providers: [google], pricing: { billing_type: image, unit_price: "1" } }
  off: { workload: chat, enabled: false, providers: [google], pricing: { billing_type: token, input: "1", output: "1" } }
`);
  expect(chargedAsInputIn(catalog).map((text) => text.split(':')[0])).toEqual(['some has no cache_read']);
});
