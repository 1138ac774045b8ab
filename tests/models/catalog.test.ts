import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CallableModel } from '../../src/models/access.ts';
import { parseCatalog } from '../../src/models/catalog.ts';
import type { Catalog, Model } from '../../src/models/model.ts';
import { presentModel } from '../../src/models/present.ts';
import { defaultDialect } from '../../src/providers/upstream.ts';
import { noCostReport } from '../support/provider.ts';

function good(text: string): Catalog {
  const result = parseCatalog(text, 'catalog.yaml');
  if (!result.ok) throw new Error(result.problems.join('\n'));
  return result.catalog;
}

function modelOf(catalog: Catalog, id: string): Model {
  const model = catalog.models.get(id);
  if (model === undefined) throw new Error(`no ${id}`);
  return model;
}

const head = `price_version: "2026-11"
providers:
  openai: { name: OpenAI, adapter: openai, base_url: https://api.openai.com/v1, api_key_env: OPENAI_API_KEY }
  backup: { adapter: openai, base_url: http://127.0.0.1:9001/v1/ }
models:
`;
/** The model `m` begins on line 6, and each further line of it is one more. */
const withModel = (...lines: string[]) => `${head}  m:\n${lines.map((line) => `    ${line}\n`).join('')}`;
const chat = (pricing: string) => withModel('workload: chat', `pricing: ${pricing}`, 'providers: [openai]');
const withProvider = (provider: string) => `price_version: "1"\nproviders:\n  p: ${provider}\nmodels: {}\n`;
const bands = (changes: string) =>
  chat(
    `{ billing_type: token, time_bands: { timezone: UTC, off_peak_start: "16:30", off_peak_end: "00:30", peak: { name: Day, input: "2", output: "4" }, off_peak: { input: "1", output: "2" } } }`.replace(
      ...(changes.split(' => ') as [string, string]),
    ),
  );

const modelFields =
  'name, owned_by, maker, workload, created, enabled, context_window, max_output_tokens, capabilities, image_tokens, unsupported_parameters, reasoning, verbosity, sizes, max_images, pricing, providers';
const parameters =
  'one of temperature, top_p, stop, presence_penalty, tool_choice, parallel_tool_calls, response_format, seed, reasoning_effort';
const address = 'an http or https address without credentials, query or fragment';
const decimal = 'a decimal in quotes such as "0.15"';

describe('a fault is named with its line, its place and what was expected', () => {
  const faults: readonly (readonly [title: string, text: string, ...problems: string[]])[] = [
    [
      'an empty file',
      '',
      '1: expected a mapping with the fields price_version, providers, models, price_groups, got nothing',
    ],
    [
      'a list',
      '- 1',
      '1: expected a mapping with the fields price_version, providers, models, price_groups, got a list',
    ],
    [
      'missing parts',
      '# nothing here\n{}',
      `1: price_version: missing, expected a label in quotes such as "2026-11"`,
      '1: providers: missing, expected a mapping',
      '1: models: missing, expected a mapping',
    ],
    [
      'broken YAML',
      'price_version: "1"\nproviders: [\n',
      '3: not valid YAML: Flow sequence in block collection must be sufficiently indented and end with a ]',
    ],
    [
      'two documents',
      `${head}  {}\n---\na: 1\n`,
      '7: not valid YAML: expected a single document, without ---',
    ],
    ['an unknown tag', 'price_version: !secret 1\n', '1: not valid YAML: Unresolved tag: !secret'],
    [
      'an alias',
      withModel('name: &n M', 'owned_by: *n', 'workload: chat'),
      '8: models.m.owned_by: aliases such as *name are not supported, write the value out',
    ],
    [
      'a number as price version',
      'price_version: 2026.11\nproviders: {}\nmodels: {}\n',
      '1: price_version: expected a label in quotes such as "2026-11", got the number 2026.11',
    ],
    [
      'an unknown field at the top',
      'price_version: "1"\nproviders: {}\nmodels: {}\nmodel: {}\n',
      '4: model: unknown field, expected one of price_version, providers, models, price_groups',
    ],
    [
      'a model twice',
      `${head}  m: { workload: chat }\n  m: { workload: chat }\n`,
      '7: models.m: given twice, first on line 6',
    ],
    [
      'a field twice',
      withModel('workload: chat', 'workload: chat'),
      '8: models.m.workload: given twice, first on line 7',
    ],
    [
      'a name that is too long',
      withModel('workload: chat', `${'n'.repeat(201)}: 1`),
      '8: models.m: expected every key to have at most 200 characters',
    ],
    [
      'lists within lists',
      withModel('workload: chat', `name: ${'['.repeat(20)}${']'.repeat(20)}`),
      `8: models.m.name${'[0]'.repeat(13)}: nested too deep, at most 16 levels are allowed`,
      '8: models.m.name: expected one line of text of at most 200 characters, got a list',
    ],
    [
      'an unknown field of a model',
      withModel('workload: chat', 'contextwindow: 5'),
      `8: models.m.contextwindow: unknown field, expected one of ${modelFields}`,
    ],
    [
      'a field called __proto__',
      withModel('workload: chat', '__proto__: { enabled: false }'),
      `8: models.m.__proto__: unknown field, expected one of ${modelFields}`,
    ],
    [
      'a model without content',
      withModel(),
      `6: models.m: expected a mapping with the fields ${modelFields}, got nothing`,
    ],
    [
      'a model ID with a comma',
      `${head}  "a,b": { workload: chat }\n`,
      '6: models."a,b": expected a model ID without spaces or commas, of at most 200 characters, got "a,b"',
    ],
    [
      'no workload',
      withModel('name: M'),
      '6: models.m.workload: missing, expected one of chat, image, video',
    ],
    [
      'an unknown workload',
      withModel('workload: audio'),
      '7: models.m.workload: expected one of chat, image, video, got "audio"',
    ],
    [
      'a date that does not exist',
      withModel('workload: chat', 'created: 2024-02-30'),
      '8: models.m.created: expected a date such as 2024-07-18, got "2024-02-30"',
    ],
    [
      'enabled as text',
      withModel('workload: chat', 'enabled: yes'),
      '8: models.m.enabled: expected true or false, got "yes"',
    ],
    [
      'limits that are not whole',
      withModel('workload: chat', 'context_window: 1.5', 'max_output_tokens: 0'),
      '8: models.m.context_window: expected a whole number of at least 1, or null, got the number 1.5',
      '9: models.m.max_output_tokens: expected a whole number of at least 1, or null, got the number 0',
    ],
    [
      'an unknown capability and one listed twice',
      withModel('workload: chat', 'capabilities:', '  - vision') +
        '  n: { workload: chat, capabilities: [streaming, streaming] }\n',
      '9: models.m.capabilities[0]: expected one of text_input, image_input, text_output, streaming, function_calling, structured_output, got "vision"',
      '10: models.n.capabilities[1]: streaming is listed twice',
    ],
    [
      'a name of two lines',
      withModel('workload: chat', 'name: "a\\nb"'),
      '8: models.m.name: expected one line of text of at most 200 characters, got "a\\nb"',
    ],
    [
      'unknown providers',
      withModel('workload: chat', 'providers: [opneai, { provider: backpu }]'),
      '8: models.m.providers[0]: expected one of the providers openai, backup, got "opneai"',
      '8: models.m.providers[1].provider: expected one of the providers openai, backup, got "backpu"',
    ],
    [
      'a provider listed twice',
      withModel('workload: chat', 'providers: [openai, { provider: openai, upstream_model: x }]'),
      '8: models.m.providers[1]: the provider openai is listed twice',
    ],
    [
      'an unknown API',
      withModel('workload: chat', 'providers: [{ provider: openai, api: chat }]'),
      '8: models.m.providers[0].api: expected responses, got "chat"',
    ],
    [
      'an API that the provider does not have',
      withModel(
        'workload: chat',
        'providers: [{ provider: openai, api: responses }, { provider: backup, api: responses }]',
      ).replace('backup: { adapter: openai', 'backup: { adapter: google'),
      '8: models.m.providers[1].api: only providers with the adapter openai or sandbox have the API responses, and the adapter of backup is google',
    ],
    [
      'an API of a provider that has problems of its own',
      withModel('workload: chat', 'providers: [{ provider: backup, api: responses }]').replace(
        'backup: { adapter: openai',
        'backup: { adapter: gogle',
      ),
      '4: providers.backup.adapter: expected one of openai, anthropic, google, sandbox, got "gogle"',
    ],
    [
      'an API of an image model',
      withModel('workload: image', 'sizes: ["1x1"]', 'providers: [{ provider: openai, api: responses }]'),
      '9: models.m.providers[0].api: only a chat model has a choice of APIs, and the workload here is image',
    ],
    [
      'no provider in the list',
      withModel('workload: chat', 'providers: []'),
      '8: models.m.providers: expected at least one provider, got an empty list',
    ],
    [
      'a weight of zero',
      withModel('workload: chat', 'providers: [{ provider: openai, weight: 0 }]'),
      '8: models.m.providers[0].weight: expected a whole number from 1 to 1000, got the number 0',
    ],
    [
      'prices that have been floats or are not decimals',
      chat('{ billing_type: token, input: 0.15, output: "1e3" }'),
      `8: models.m.pricing.input: expected ${decimal}, got the number 0.15`,
      `8: models.m.pricing.output: expected ${decimal}, got "1e3"`,
    ],
    [
      'a negative price and one with too many decimals',
      chat('{ billing_type: token, input: "-1", output: "0.1234567890123" }'),
      '8: models.m.pricing.input: expected a price that is not negative, got "-1"',
      '8: models.m.pricing.output: expected at most 12 decimals and 15 significant digits, got "0.1234567890123"',
    ],
    [
      'a price that no float prints back',
      chat('{ billing_type: token, input: "12345.12345678901", output: "1" }'),
      '8: models.m.pricing.input: expected at most 12 decimals and 15 significant digits, got "12345.12345678901"',
    ],
    [
      'half a price',
      chat('{ billing_type: token, input: "1" }'),
      `8: models.m.pricing.output: missing, expected ${decimal}`,
    ],
    [
      'no price in the price',
      chat('{ billing_type: token }'),
      `8: models.m.pricing.input: missing, expected ${decimal}`,
      `8: models.m.pricing.output: missing, expected ${decimal}`,
    ],
    [
      'a price that is a number',
      chat('"0.15"'),
      '8: models.m.pricing: expected a mapping such as { billing_type: token, input: "0.15", output: "0.60" }, got "0.15"',
    ],
    [
      'an unknown billing type',
      chat('{ billing_type: tokens, input: "1", output: "1" }'),
      '8: models.m.pricing.billing_type: expected one of token, image, second, got "tokens"',
    ],
    [
      'another currency',
      chat('{ billing_type: token, currency: EUR, input: "1", output: "1" }'),
      '8: models.m.pricing.currency: expected USD, got "EUR"',
    ],
    [
      'a unit price for tokens',
      chat('{ billing_type: token, input: "1", output: "1", unit_price: "1" }'),
      '8: models.m.pricing.unit_price: unknown field, expected one of billing_type, unit, input, output, cache_read, cache_write, cache_write_long, input_token_tiers, time_bands, currency, region, note',
    ],
    [
      'a cache price that has been a float, and one without the rest of the price',
      chat('{ billing_type: token, input: "1", output: "1", cache_read: 0.1 }') +
        '  n: { workload: chat, pricing: { billing_type: token, cache_write: "1" } }\n',
      `8: models.m.pricing.cache_read: expected ${decimal}, got the number 0.1`,
      `10: models.n.pricing.input: missing, expected ${decimal}`,
      `10: models.n.pricing.output: missing, expected ${decimal}`,
    ],
    [
      'a headline with other cache prices than what is charged',
      withModel(
        'workload: chat',
        'pricing:',
        '  billing_type: token',
        '  input: "1"',
        '  output: "1"',
        '  cache_write: "1.25"',
        '  input_token_tiers:',
        '    - { max_input_tokens: 10, input: "1", output: "1", cache_read: "0.1" }',
        '    - { max_input_tokens: 20, input: "2", output: "2", cache_write: "2.5" }',
      ),
      '8: models.m.pricing.cache_read: expected a price here if the first tier has one, and only then',
      '12: models.m.pricing.cache_write: expected a price here if the first tier has one, and only then',
    ],
    [
      'a cache price of one band that the other does not have, or that is not half',
      bands(
        'input: "2", output: "4" }, off_peak: { input: "1", => input: "2", output: "4", cache_read: "0.2", cache_write: "2.5" }, off_peak: { input: "1", cache_write: "1.24", cache_write_long: "2",',
      ),
      '8: models.m.pricing.time_bands.off_peak.cache_read: missing, expected a price in both bands or in neither',
      "8: models.m.pricing.time_bands.off_peak.cache_write: expected exactly half of the peak's cache_write",
      '8: models.m.pricing.time_bands.peak.cache_write_long: missing, expected a price in both bands or in neither',
    ],
    [
      'costs that are wrong, without repeating them',
      withModel(
        'workload: chat',
        'providers:',
        '  - { provider: openai, cost: { input: 0.1234, output: "1e3", cache_read: "-0.5", price: "7" } }',
        '  - { provider: backup, cost: "0.1234" }',
      ),
      `9: models.m.providers[0].cost.input: expected ${decimal}`,
      `9: models.m.providers[0].cost.output: expected ${decimal}`,
      '9: models.m.providers[0].cost.cache_read: expected a price that is not negative',
      '9: models.m.providers[0].cost.price: unknown field, expected one of billing_type, unit, input, output, cache_read, cache_write, cache_write_long, input_token_tiers, time_bands, currency, region, note',
      '10: models.m.providers[1].cost: expected a mapping such as { billing_type: token, input: "0.15", output: "0.60" }',
    ],
    [
      'a cost of another billing type than the price, and one without a price for every size',
      withModel('workload: chat', 'providers: [{ provider: openai, cost: { unit_price: "1" } }]') +
        '  n: { workload: image, sizes: { "1x1": 1k, "2x2": 2k, "3x3": 2k, "4x4": ~ }, providers: [{ provider: openai, cost: { unit_price: "1", tier_rates: { 1k: "1" } } }] }\n',
      '8: models.m.providers[0].cost.billing_type: expected token for the workload chat, got "image"',
      '9: models.n.providers[0].cost.tier_rates: missing the tier 2k, which a size names',
    ],
    [
      'a billing type of another workload',
      chat('{ billing_type: second, unit_price: "1" }'),
      '8: models.m.pricing.billing_type: expected token for the workload chat, got "second"',
    ],
    [
      'tiers that do not ascend',
      withModel(
        'workload: chat',
        'pricing:',
        '  billing_type: token',
        '  input_token_tiers:',
        '    - { max_input_tokens: 200000, input: "3", output: "15" }',
        '    - { max_input_tokens: 200000, input: "6", output: "22.50" }',
      ),
      '12: models.m.pricing.input_token_tiers[1].max_input_tokens: expected more than the 200000 of the tier before it, got the number 200000',
    ],
    [
      'no tiers in the list',
      chat('{ billing_type: token, input_token_tiers: [] }'),
      '8: models.m.pricing.input_token_tiers: expected at least one tier, got an empty list',
    ],
    [
      'tiers and bands together',
      bands(
        'billing_type: token, => billing_type: token, input_token_tiers: [{ max_input_tokens: 1, input: "1", output: "1" }],',
      ),
      '8: models.m.pricing.time_bands: cannot be combined with input_token_tiers',
    ],
    [
      'an off-peak that is not half',
      bands('{ input: "1", output: "2" } => { input: "1.000001", output: "2" }'),
      "8: models.m.pricing.time_bands.off_peak.input: expected exactly half of the peak's input",
    ],
    [
      'an unknown timezone',
      bands('UTC => Asia/Peking'),
      '8: models.m.pricing.time_bands.timezone: expected a timezone such as Asia/Shanghai, got "Asia/Peking"',
    ],
    [
      'an offset as timezone',
      bands('UTC => "+08:00"'),
      '8: models.m.pricing.time_bands.timezone: expected a timezone such as Asia/Shanghai, got "+08:00"',
    ],
    [
      'an hour that does not exist',
      bands('16:30 => 24:00'),
      '8: models.m.pricing.time_bands.off_peak_start: expected a time of day such as "16:30", got "24:00"',
    ],
    [
      'a window without length',
      bands('00:30 => 16:30'),
      '8: models.m.pricing.time_bands.off_peak_end: expected another time than off_peak_start, got "16:30"',
    ],
    [
      'an image model without sizes',
      withModel('workload: image', 'pricing: { billing_type: image, unit_price: "1" }'),
      '6: models.m.sizes: missing, expected the sizes that an image model offers, such as { "1024x1024": 1k }',
    ],
    [
      'sizes of a chat model',
      withModel('workload: chat', 'sizes: ["1024x1024"]'),
      '8: models.m.sizes: only an image model has sizes, and the workload here is chat',
    ],
    [
      'sizes that are none',
      withModel('workload: image', 'sizes:', '  1024X1024: 1k', '  512x512: 512'),
      '9: models.m.sizes.1024X1024: expected a size such as "1024x1024", got "1024X1024"',
      '10: models.m.sizes.512x512: expected the name of a tier in quotes such as "1k", or null, got the number 512',
    ],
    [
      'a size listed twice',
      withModel('workload: image', 'sizes: ["1x1", "1x1"]'),
      '8: models.m.sizes[1]: 1x1 is listed twice',
    ],
    [
      'no sizes in the mapping',
      withModel('workload: image', 'sizes: {}'),
      '8: models.m.sizes: expected at least one size',
    ],
    [
      'sizes of a tier without a rate',
      withModel(
        'workload: image',
        'sizes: { "1x1": 1k, "2x2": 2k }',
        'pricing: { billing_type: image, unit_price: "1", tier_rates: { 1k: "1" } }',
      ),
      '8: models.m.sizes.2x2: expected a tier of pricing.tier_rates (one of 1k), got "2k"',
    ],
    [
      'sizes with a tier where there are no rates',
      withModel(
        'workload: image',
        'sizes: { "1x1": 1k }',
        'pricing: { billing_type: image, unit_price: "1" }',
      ),
      '8: models.m.sizes.1x1: expected a tier of pricing.tier_rates (there is no tier_rates), got "1k"',
    ],
    [
      'a basis that differs from the tiers',
      withModel(
        'workload: video',
        'pricing: { billing_type: second, unit_price: "1", tier_rates: { 720p: "1" }, basis: { kind: video, rates: { 720p: "2" }, inputCap: null } }',
      ),
      '8: models.m.pricing.basis.rates: expected the same rates as in tier_rates',
    ],
    [
      'a basis without rates, of the wrong kind',
      withModel(
        'workload: video',
        'pricing: { billing_type: second, unit_price: "1", basis: { kind: image, inputCap: 5 } }',
      ) +
        '  n: { workload: video, pricing: { billing_type: second, unit_price: "1", basis: { kind: video, inputCap: "5" } } }\n',
      '8: models.m.pricing.basis.kind: expected video, got "image"',
      `8: models.m.pricing.basis.inputCap: expected ${decimal}, or null, got the number 5`,
      '9: models.n.pricing.basis.rates: missing, expected a mapping of tiers to prices, here or as tier_rates',
    ],
    [
      'an unknown adapter and field of a provider',
      withProvider('{ adapter: azure, base_url: https://a.example, key: x }'),
      '3: providers.p.adapter: expected one of openai, anthropic, google, sandbox, got "azure"',
      '3: providers.p.key: unknown field, expected one of name, adapter, base_url, api_key_env, admin_key_env, cost_report, timeouts, circuit, dialect, unsupported_parameters, prompt_cache, end_user_id, max_concurrency, hold_first',
    ],
    [
      'a provider without an address',
      withProvider('{ adapter: openai }'),
      `3: providers.p.base_url: missing, expected ${address}`,
    ],
    ...[
      'ftp://a.example',
      'a.example/v1',
      'https://u:p@a.example',
      'https://a.example/?key=1',
      'https://a.example/#x',
    ].map(
      (url) =>
        [
          `the address ${url}`,
          withProvider(`{ adapter: openai, base_url: "${url}" }`),
          `3: providers.p.base_url: expected ${address}`,
        ] as const,
    ),
    [
      'a sandbox with an address and a key',
      withProvider('{ adapter: sandbox, base_url: http://127.0.0.1:1, api_key_env: KEY }'),
      '3: providers.p.base_url: not allowed with the adapter sandbox, which the gateway starts itself',
      '3: providers.p.api_key_env: not allowed with the adapter sandbox, which the gateway starts itself',
    ],
    [
      'a key in place of the name of its variable',
      withProvider('{ adapter: openai, base_url: https://a.example, api_key_env: sk-123 }'),
      '3: providers.p.api_key_env: expected the name of a variable such as OPENAI_API_KEY, not the key itself',
    ],
    [
      'timeouts and circuits out of range',
      withProvider(
        '{ adapter: openai, base_url: https://a.example, timeouts: { connect_ms: 0, idle: 5 }, circuit: { failures: "5" } }',
      ),
      '3: providers.p.timeouts.connect_ms: expected a whole number from 1 to 86400000, got the number 0',
      '3: providers.p.timeouts.idle: unknown field, expected one of connect_ms, first_byte_ms, idle_ms, total_ms',
      '3: providers.p.circuit.failures: expected a whole number from 1 to 1000, got "5"',
    ],
    [
      'a dialect that nobody speaks',
      withProvider(
        '{ adapter: openai, base_url: https://a.example, dialect: { max_tokens: max, seed: 1, stream_usage: never, images: url, strict_tools: maybe, tools: x } }',
      ),
      '3: providers.p.dialect.max_tokens: expected one of max_tokens, max_completion_tokens, got "max"',
      '3: providers.p.dialect.seed: expected one of seed, random_seed, got the number 1',
      '3: providers.p.dialect.stream_usage: expected one of asked, always, got "never"',
      '3: providers.p.dialect.images: expected one of any, data, got "url"',
      '3: providers.p.dialect.strict_tools: expected one of unsupported, supported, got "maybe"',
      '3: providers.p.dialect.tools: unknown field, expected one of max_tokens, seed, stream_usage, images, strict_tools, cache_key, reasoning',
    ],
    [
      'a dialect that is a name',
      withProvider('{ adapter: openai, base_url: https://a.example, dialect: mistral }'),
      '3: providers.p.dialect: expected a mapping with the fields max_tokens, seed, stream_usage, images, strict_tools, cache_key, reasoning, got "mistral"',
    ],
    ...(['anthropic', 'google', 'sandbox'] as const).map(
      (adapter) =>
        [
          `a dialect of the adapter ${adapter}`,
          withProvider(
            `{ adapter: ${adapter}, ${adapter === 'sandbox' ? '' : 'base_url: https://a.example, '}dialect: {} }`,
          ),
          `3: providers.p.dialect: only the adapter openai has dialects, and the adapter here is ${adapter}`,
        ] as const,
    ),
    ...(['google', 'sandbox'] as const).map(
      (adapter) =>
        [
          `breakpoints with the adapter ${adapter}`,
          withProvider(
            `{ adapter: ${adapter}, ${adapter === 'sandbox' ? '' : 'base_url: https://a.example, '}prompt_cache: auto }`,
          ),
          `3: providers.p.prompt_cache: only the adapters anthropic and openai can mark what to cache, and the adapter here is ${adapter}`,
        ] as const,
    ),
    [
      'a field for end users that the format does not have',
      withProvider('{ adapter: anthropic, base_url: https://a.example, end_user_id: user }'),
      '3: providers.p.end_user_id: the adapter anthropic has no field user: expected none or metadata.user_id',
    ],
    [
      'a parameter that does not exist',
      withProvider('{ adapter: anthropic, base_url: https://a.example, unsupported_parameters: [seed, n] }'),
      `3: providers.p.unsupported_parameters[1]: expected ${parameters}, got "n"`,
    ],
    [
      'unsupported parameters that stand twice',
      withProvider('{ adapter: sandbox, unsupported_parameters: [seed, stop, seed] }'),
      '3: providers.p.unsupported_parameters[2]: seed is listed twice',
    ],
    [
      'unsupported parameters of a model that are no list or do not exist',
      withModel('workload: chat', 'unsupported_parameters: temperature') +
        '  n: { workload: chat, unsupported_parameters: [max_tokens] }\n' +
        '  o: { workload: chat, unsupported_parameters: [top_p, top_p] }\n',
      '8: models.m.unsupported_parameters: expected a list of parameters, got "temperature"',
      `9: models.n.unsupported_parameters[0]: expected ${parameters}, got "max_tokens"`,
      '10: models.o.unsupported_parameters[1]: top_p is listed twice',
    ],
    [
      'unsupported parameters of a model that takes none',
      withModel('workload: video', 'unsupported_parameters: [seed]'),
      '8: models.m.unsupported_parameters: only a chat model has these parameters, and the workload here is video',
    ],
    [
      'calls at once out of range',
      withProvider('{ adapter: sandbox, max_concurrency: 0 }').replace(
        'models:',
        '  q: { adapter: sandbox, max_concurrency: 100001 }\nmodels:',
      ),
      '3: providers.p.max_concurrency: expected a whole number from 1 to 100000, got the number 0',
      '4: providers.q.max_concurrency: expected a whole number from 1 to 100000, got the number 100001',
    ],
    [
      'more images than a request may ask for, and images of a chat model',
      withModel('workload: image', 'sizes: ["1x1"]', 'max_images: 5') +
        '  n: { workload: chat, max_images: 1 }\n',
      '9: models.m.max_images: expected a whole number from 1 to 4, got the number 5',
      '10: models.n.max_images: only an image model makes images, and the workload here is chat',
    ],
    [
      'tokens for images that cannot be',
      withModel(
        'workload: chat',
        'capabilities: [text_input, image_input]',
        'image_tokens: { low: 86, high: 85 }',
      ) +
        '  n: { workload: chat, capabilities: [image_input], image_tokens: { low: 85 } }\n' +
        '  o: { workload: chat, capabilities: [image_input], image_tokens: { high: 0 } }\n' +
        '  p: { workload: chat, image_tokens: { high: 85 } }\n',
      '9: models.m.image_tokens.low: expected at most as many as for high, 85, got the number 86',
      '10: models.n.image_tokens.high: missing, expected a whole number from 1 to 1000000',
      '11: models.o.image_tokens.high: expected a whole number from 1 to 1000000, got the number 0',
      '12: models.p.image_tokens: only a model with the capability image_input is sent images',
    ],
  ];

  test.each(faults)('%s', (_title, text, ...problems) => {
    expect(parseCatalog(text, 'catalog.yaml')).toEqual({
      ok: false,
      problems: problems.map((problem) => `catalog.yaml:${problem}`),
    });
  });

  test('faults in several places are all reported, in the order of the file', () => {
    const text = `price_version: 1
providers:
  p: { adapter: openai }
models:
  a: { workload: chat, pricing: { billing_type: token, input: 1, output: "1" }, providers: [q] }
  a: 5
  b: { workload: chat, sizes: 5 }
`;
    const result = parseCatalog(text, 'other.yaml');
    expect(
      result.ok ? [] : result.problems.map((problem) => problem.split(': ').slice(0, 2).join(': ')),
    ).toEqual([
      'other.yaml:1: price_version',
      'other.yaml:3: providers.p.base_url',
      'other.yaml:5: models.a.pricing.input',
      'other.yaml:5: models.a.providers[0]',
      'other.yaml:6: models.a',
      'other.yaml:7: models.b.sizes',
    ]);
  });
});

test('a hundred problems are listed, and no more', () => {
  for (const text of [
    Array.from({ length: 300 }, (_, index) => `field${index}: 1\n`).join(''),
    `a: [${'*x, '.repeat(300)}]`,
    `a: { ${'b: 1, '.repeat(300)} }`,
  ]) {
    const result = parseCatalog(text, 'catalog.yaml');
    expect(result.ok ? [] : result.problems).toHaveLength(100);
  }
});

test('what is kept of a text is not larger than the text', () => {
  const name = 'n'.repeat(200);
  const text = `${`{ ${name}: `.repeat(14)}[${'1,'.repeat(100_000)}]${' }'.repeat(14)}`;
  Bun.gc(true);
  const before = process.memoryUsage.rss();
  expect(parseCatalog(text, 'catalog.yaml').ok).toBe(false);
  expect(process.memoryUsage.rss() - before).toBeLessThan(1_000_000_000);
});

describe('the report of costs of a provider', () => {
  const withProvider = (fields: string) =>
    parseCatalog(`price_version: "1"\nproviders:\n  p: { ${fields} }\nmodels: {}\n`, 'c.yaml');
  const openai = 'adapter: openai, base_url: http://127.0.0.1:9/v1';

  test('has a key, filters, names and a tolerance', () => {
    const result = withProvider(
      `${openai}, admin_key_env: ADMIN, cost_report: { base_url: http://127.0.0.1:8, project_ids: [proj_1], api_key_ids: [key_1], models: { "Text tokens": gpt-6 }, tolerance: { usd: "0.5", percent: "0.25" } }`,
    );
    expect(result.ok ? result.catalog.providers.get('p')?.costReport : result.problems).toEqual({
      adminKeyEnv: 'ADMIN',
      baseUrl: 'http://127.0.0.1:8',
      projectIds: ['proj_1'],
      workspaceIds: [],
      apiKeyIds: ['key_1'],
      models: new Map([['Text tokens', 'gpt-6']]),
      tolerance: { amount: 500_000_000_000n, percent: 250_000_000_000n },
    });
  });

  test.each([
    [`${openai}, admin_key_env: sk-admin-secret`, 'the name of a variable'],
    [`${openai}, cost_report: { workspace_ids: [w] }`, 'cannot be filtered by workspace_ids'],
    [`${openai}, cost_report: { tolerance: { usd: 0.01 } }`, 'a decimal in quotes'],
    [`${openai}, cost_report: { tolerance: { percent: "-1" } }`, 'a decimal in quotes'],
    [`${openai}, cost_report: { project_ids: ["a b"] }`, 'an ID such as'],
    ['adapter: google, base_url: http://127.0.0.1:9, admin_key_env: A', 'only providers with the adapter'],
    ['adapter: anthropic, base_url: http://127.0.0.1:9, cost_report: { project_ids: [p] }', 'project_ids'],
  ])('cannot be { %s }', (fields, words) => {
    const result = withProvider(fields);
    const problems = result.ok ? [] : result.problems;
    expect(problems.join('\n')).toContain(words);
    expect(problems.join('\n')).not.toContain('sk-admin-secret');
  });
});

describe('a good catalogue', () => {
  test('fills in what is left out', () => {
    const catalog = good(`${head}  some-image-model:
    workload: image
    sizes: { "1024x1024": 1k, "2048x2048": ~ }
    pricing: { billing_type: image, unit_price: "0.04", tier_rates: { 1k: "0.04", 2k: "0.08" } }
  plain: { workload: chat, owned_by: backup }
`);
    expect(catalog.providers.get('backup')).toEqual({
      id: 'backup',
      name: 'backup',
      adapter: 'openai',
      baseUrl: 'http://127.0.0.1:9001/v1',
      apiKeyEnv: null,
      timeouts: { connectMs: 5_000, firstByteMs: 60_000, idleMs: 30_000, totalMs: 3_600_000 },
      circuit: { failures: 5, openMs: 30_000 },
      dialect: defaultDialect,
      unsupportedParameters: new Set(),
      promptCache: 'off',
      endUserField: null,
      maxConcurrency: 10_000,
      holdsFirst: false,
      costReport: noCostReport,
    });
    const image = modelOf(catalog, 'some-image-model');
    expect(image).toMatchObject({
      name: 'some-image-model',
      enabled: true,
      contextWindow: null,
      maxOutputTokens: null,
      maxImages: 4,
      unsupportedParameters: new Set(),
    });
    expect(image.createdSeconds).toBe(Date.UTC(2026, 10, 1) / 1000);
    expect(image.sizes).toEqual(
      new Map([
        ['1024x1024', '1k'],
        ['2048x2048', null],
      ]),
    );
    // Two providers and no owner: the gateway does not guess which one serves it.
    expect(image.routes).toEqual([]);
    expect(image.capabilities).toMatchObject({ textInput: true, textOutput: false, streaming: false });
    const plain = modelOf(catalog, 'plain');
    expect(plain).toMatchObject({
      ownedBy: 'backup',
      maker: null,
      price: null,
      routes: [{ providerId: 'backup', upstreamModel: 'plain', api: null, weight: null, cost: null }],
      maxImages: 0,
      imageTokens: { low: 16_000, high: 16_000 },
      unsupportedParameters: new Set(),
      capabilities: {
        textInput: true,
        imageInput: false,
        textOutput: true,
        streaming: true,
        functionCalling: false,
        structuredOutput: false,
      },
    });
  });

  test('takes what is given', () => {
    const catalog = good(`price_version: spring
providers:
  one:
    adapter: anthropic
    base_url: HTTPS://API.example/v1//
    timeouts: { connect_ms: 2000, first_byte_ms: 5000, idle_ms: 3000, total_ms: 60000 }
    circuit: { failures: 3, open_ms: 1000 }
    unsupported_parameters: [seed, tool_choice]
    max_concurrency: 100000
    hold_first: true
models:
  a: { workload: chat, maker: Example Labs, created: 2024-07-18T02:00:00+02:00, unsupported_parameters: [temperature], providers: [{ provider: one, upstream_model: a@1, weight: 3 }] }
  b: { workload: image, sizes: ["512x512"], max_images: 1, capabilities: [] }
`);
    expect(catalog.providers.get('one')).toMatchObject({
      baseUrl: 'https://api.example/v1',
      timeouts: { connectMs: 2000, firstByteMs: 5000, idleMs: 3000, totalMs: 60_000 },
      circuit: { failures: 3, openMs: 1000 },
      unsupportedParameters: new Set(['seed', 'tool_choice']),
      maxConcurrency: 100_000,
      holdsFirst: true,
    });
    expect(modelOf(catalog, 'a')).toMatchObject({
      createdSeconds: Date.UTC(2024, 6, 18) / 1000,
      ownedBy: 'one',
      maker: 'Example Labs',
      unsupportedParameters: new Set(['temperature']),
      routes: [{ providerId: 'one', upstreamModel: 'a@1', api: null, weight: 3, cost: null }],
    });
    expect(
      modelOf(
        good(withModel('workload: chat', 'providers: [backup, { provider: openai, api: responses }]')),
        'm',
      ).routes.map(({ api }) => api),
    ).toEqual([null, 'responses']);
    const image = modelOf(catalog, 'b');
    // The label is not a month, and there is only one provider to choose from.
    expect(image.createdSeconds).toBe(Date.UTC(2026, 0, 1) / 1000);
    expect(image.routes).toEqual([
      { providerId: 'one', upstreamModel: 'b', api: null, weight: null, cost: null },
    ]);
    expect(image.maxImages).toBe(1);
    expect(image.sizes).toEqual(new Map([['512x512', null]]));
    expect(image.capabilities.textInput).toBe(false);
  });

  test('the tokens of an image are those of high detail where there is no low one', () => {
    const of = (tokens: string) =>
      modelOf(
        good(
          `${head}  m: { workload: chat, capabilities: [text_input, image_input], image_tokens: ${tokens} }\n`,
        ),
        'm',
      ).imageTokens;
    expect(of('{ low: 85, high: 1445 }')).toEqual({ low: 85, high: 1445 });
    expect(of('{ high: 1445 }')).toEqual({ low: 1445, high: 1445 });
  });

  test('a dialect says what differs, and the rest is as usual', () => {
    const dialectOf = (dialect: string) =>
      good(
        withProvider(`{ adapter: openai, base_url: https://a.example, dialect: ${dialect} }`),
      ).providers.get('p')?.dialect;
    expect(dialectOf('{}')).toEqual(defaultDialect);
    expect(dialectOf('{ seed: random_seed }')).toEqual({ ...defaultDialect, seed: 'random_seed' });
    expect(
      dialectOf(
        '{ max_tokens: max_completion_tokens, seed: random_seed, stream_usage: always, images: data, strict_tools: supported, cache_key: x-grok-conv-id, reasoning: reasoning_content }',
      ),
    ).toEqual({
      maxTokens: 'max_completion_tokens',
      seed: 'random_seed',
      streamUsage: 'always',
      images: 'data',
      strictTools: 'supported',
      cacheKey: 'x-grok-conv-id',
      reasoning: 'reasoning_content',
    });
  });

  test('a provider is told whom a call is for, if it says so or is the vendor itself', () => {
    const fieldOf = (fields: string) => good(withProvider(`{ ${fields} }`)).providers.get('p')?.endUserField;
    const openai = 'adapter: openai, base_url:';
    expect(fieldOf(`${openai} https://api.openai.com/v1`)).toBe('safety_identifier');
    expect(fieldOf(`${openai} https://eu.api.openai.com/v1`)).toBe('safety_identifier');
    expect(fieldOf(`${openai} https://api.openai.com/v1, end_user_id: none`)).toBeNull();
    expect(fieldOf(`${openai} https://a.example, end_user_id: user`)).toBe('user');
    for (const url of ['https://a.example', 'https://api.openai.com.example/v1', 'https://notapi.openai.com'])
      expect(fieldOf(`${openai} ${url}`)).toBeNull();
    expect(fieldOf('adapter: anthropic, base_url: https://api.anthropic.com/v1')).toBe('metadata.user_id');
    expect(fieldOf('adapter: anthropic, base_url: https://api.openai.com/v1')).toBeNull();
    expect(fieldOf('adapter: google, base_url: https://api.google.com')).toBeNull();
  });

  test('breakpoints are set where the provider says so', () => {
    const promptCacheOf = (fields: string) =>
      good(withProvider(`{ ${fields} }`)).providers.get('p')?.promptCache;
    const anthropic = 'adapter: anthropic, base_url: https://a.example';
    expect(promptCacheOf(anthropic)).toBe('off');
    expect(promptCacheOf(`${anthropic}, prompt_cache: auto`)).toBe('auto');
    expect(promptCacheOf('adapter: openai, base_url: https://a.example, prompt_cache: auto')).toBe('auto');
    expect(promptCacheOf('adapter: sandbox, prompt_cache: "off"')).toBe('off');
  });

  test.each([
    ['2026-11', Date.UTC(2026, 10, 1)],
    ['2026-11-16', Date.UTC(2026, 10, 1)],
    ['2026-13', Date.UTC(2026, 0, 1)],
    ['2026-11-16b', Date.UTC(2026, 0, 1)],
  ])('a model without a date is as old as the month of the price version %s', (label, created) => {
    const { createdSeconds } = modelOf(good(withModel('workload: chat').replace('2026-11', label)), 'm');
    expect(createdSeconds).toBe(created / 1000);
  });

  test('weights are told apart from none, because one of them changes how the list is read', () => {
    const { routes } = modelOf(
      good(withModel('workload: chat', 'providers: [openai, { provider: backup, weight: 1 }]')),
      'm',
    );
    expect(routes.map((route) => route.weight)).toEqual([null, 1]);
  });

  test('the example in the documentation is one', () => {
    const documentation = readFileSync(join(import.meta.dir, '../..', 'docs', 'catalog.md'), 'utf8');
    const [example = '', ...parts] = [...documentation.matchAll(/```yaml\n(.*?)```/gs)].map(
      ([, yaml = '']) => yaml,
    );
    const isGroups = (yaml: string) => yaml.startsWith('price_groups:');
    const catalog = good(example + parts.filter(isGroups).join(''));
    expect([catalog.models.size, ...catalog.priceGroups.keys()]).toEqual([2, 'partner', 'vip']);
    const fields = parts.filter((yaml) => !isGroups(yaml));
    for (const lines of fields) {
      expect(good(withModel('workload: chat', ...lines.trimEnd().split('\n'))).models.size).toBe(1);
    }
    expect(fields).toHaveLength(6);
  });

  test('names that mean something to JavaScript or YAML are only names', () => {
    const catalog = good(`price_version: "1"
providers:
  __proto__: { adapter: sandbox }
  constructor: { adapter: sandbox }
models:
  __proto__: { workload: image, sizes: { "1x1": __proto__ }, providers: [__proto__, constructor],
               pricing: { billing_type: image, unit_price: "1", tier_rates: { __proto__: "2" } } }
  sizes: { workload: chat }
  models: { workload: chat }
  true: { workload: chat }
  010: { workload: chat }
`);
    expect([...catalog.models.keys()]).toEqual(['__proto__', 'sizes', 'models', 'true', '010']);
    const model = modelOf(catalog, '__proto__');
    expect(model.routes.map((route) => route.providerId)).toEqual(['__proto__', 'constructor']);
    expect(JSON.stringify(presentModel(model as CallableModel, '1').pricing.tier_rates)).toBe(
      '{"__proto__":2}',
    );
    expect(catalog.models.get('toString')).toBeUndefined();
    expect('sizes' in {}).toBe(false);
  });
});
