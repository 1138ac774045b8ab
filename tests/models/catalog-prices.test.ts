/** The prices and costs of a catalogue: how they are read, and what is stored of them. */
import { expect, test } from 'bun:test';
import type { CallableModel } from '../../src/models/access.ts';
import { parseCatalog, priceListOf } from '../../src/models/catalog.ts';
import type { Catalog, Model } from '../../src/models/model.ts';
import { presentModel } from '../../src/models/present.ts';

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
const withModel = (...lines: string[]) => `${head}  m:\n${lines.map((line) => `    ${line}\n`).join('')}`;
const chat = (pricing: string) => withModel('workload: chat', `pricing: ${pricing}`, 'providers: [openai]');

test('the price list has a digest of the prices and the label, and of nothing else', () => {
  const text = withModel(
    'workload: chat',
    'pricing: { billing_type: token, input: "0.10", output: "1" }',
    'providers: [openai]',
  );
  const { version, digest, content } = priceListOf(good(text));
  expect(version).toBe('2026-11');
  expect(digest).toMatch(/^[0-9a-f]{64}$/);
  expect(JSON.stringify(content)).toBe(
    '{"price_version":"2026-11","models":[{"id":"m","pricing":{"currency":"USD","input":"0.1","output":"1","unit_price":null,' +
      '"unit":"per_1m_tokens","billing_type":"token","price_version":"2026-11"}}]}',
  );
  const digestOf = (changed: string) => priceListOf(good(changed)).digest;
  expect(digestOf(text.replace('"0.10"', '"0.1"').replace('[openai]', '[backup]'))).toBe(digest);
  expect(digestOf(`${text}  unpriced: { workload: chat }\n`)).toBe(digest);
  expect(digestOf(text.replace('"0.10"', '"0.11"'))).not.toBe(digest);
  expect(digestOf(text.replace('2026-11', '2026-12'))).not.toBe(digest);
  expect(digestOf(text.replace('output: "1"', 'output: "1", cache_read: "0.1"'))).not.toBe(digest);
});

test('a price list without cache prices has the digest that it had before there were any', () => {
  const every = `price_version: "2026-11"
providers: { p: { adapter: sandbox } }
models:
  flat: { workload: chat, pricing: { billing_type: token, input: "0.15", output: "0.60", region: eu, note: Batch. } }
  tiers:
    workload: chat
    pricing:
      billing_type: token
      input: "3"
      output: "15"
      input_token_tiers:
        - { max_input_tokens: 200000, input: "3", output: "15" }
        - { max_input_tokens: 1000000, input: "6", output: "22.50" }
  bands:
    workload: chat
    pricing:
      billing_type: token
      time_bands: { timezone: UTC, off_peak_start: "16:30", off_peak_end: "00:30", peak: { name: Day, input: "2", output: "4" }, off_peak: { input: "1", output: "2" } }
  image: { workload: image, sizes: { "1x1": 1k }, pricing: { billing_type: image, unit_price: "0.04", tier_rates: { 1k: "0.04" } } }
  video: { workload: video, pricing: { billing_type: second, unit_price: "0.05", basis: { kind: video, rates: { 1k: "0.04" }, inputCap: null } } }
`;
  expect(good(every).digest).toBe('a2cadfdc1a11fe36012bbef37f430d5f5251d7983d0de65e74baab56fd21cc84');
});

test('a price list also has what providers charge, in the order of their IDs', () => {
  const text = withModel(
    'workload: chat',
    'pricing: { billing_type: token, input: "1", output: "1" }',
    'providers:',
    '  - { provider: openai, cost: { input: "0.50", output: "0.60", cache_read: "0.05" } }',
    '  - { provider: backup, cost: { input_token_tiers: [{ max_input_tokens: 9, input: "0.7", output: "0.8" }] } }',
  );
  const { content, digest } = priceListOf(good(text));
  expect(JSON.stringify(content.models[0]?.costs)).toBe(
    '[{"provider":"backup","cost":{"currency":"USD","input":"0.7","output":"0.8","unit_price":null,"unit":"per_1m_tokens",' +
      '"billing_type":"token","price_version":"2026-11","input_token_tiers":[{"max_input_tokens":9,"input":"0.7","output":"0.8"}]}},' +
      '{"provider":"openai","cost":{"currency":"USD","input":"0.5","output":"0.6","cache_read":"0.05","unit_price":null,' +
      '"unit":"per_1m_tokens","billing_type":"token","price_version":"2026-11"}}]',
  );
  expect(good(text.replace('"0.60"', '"0.61"')).digest).not.toBe(digest);
  // The order of preference is not a matter of money.
  const [, openai = '', backup = ''] = text.match(/( {6}- .*openai.*\n)( {6}- .*backup.*\n)/) ?? [];
  expect(good(text.replace(openai + backup, backup + openai)).digest).toBe(digest);
});

test('a cost has the forms of a price, and is not published', () => {
  const image = modelOf(
    good(
      `${head}  m: { workload: image, sizes: { "1x1": __proto__ }, pricing: { billing_type: image, unit_price: "1", tier_rates: { __proto__: "1" } }, providers: [{ provider: openai, cost: { unit_price: "0.5", tier_rates: { __proto__: "0.51" } } }] }\n`,
    ),
    'm',
  );
  expect(image.routes[0]?.cost).toEqual({
    billingType: 'image',
    unitPrice: 5n * 10n ** 11n,
    tierRates: new Map([['__proto__', 51n * 10n ** 10n]]),
    basis: null,
    region: null,
    note: null,
  });
  expect(JSON.stringify(presentModel(image as CallableModel, '1'))).not.toContain('0.5');
  const bands = modelOf(
    good(
      withModel(
        'workload: chat',
        'providers: [{ provider: openai, cost: { billing_type: token, time_bands: { timezone: UTC, off_peak_start: "16:30", off_peak_end: "00:30", peak: { name: Day, input: "2", output: "4" }, off_peak: { input: "1", output: "2" } } } }]',
      ),
    ),
    'm',
  );
  expect(bands.routes[0]?.cost).toMatchObject({ form: 'bands' });
});

test('cache prices are read in every form, and only those that are given', () => {
  const priceOf = (pricing: string) => modelOf(good(chat(pricing)), 'm').price;
  const usd = (units: bigint) => units * 10n ** 10n;
  expect(
    priceOf('{ billing_type: token, input: "1", output: "5", cache_read: "0.10", cache_write_long: "2" }'),
  ).toEqual({
    billingType: 'token',
    form: 'flat',
    rates: { input: usd(100n), output: usd(500n), cacheRead: usd(10n), cacheWriteLong: usd(200n) },
    region: null,
    note: null,
  });
  // The second tier has no price for reads, so there they cost as much as input.
  expect(
    priceOf(
      '{ billing_type: token, input_token_tiers: [{ max_input_tokens: 1, input: "1", output: "1", cache_read: "0.1" }, { max_input_tokens: 2, input: "2", output: "2", cache_write: "2.5" }] }',
    ),
  ).toMatchObject({
    headline: null,
    inputTokenTiers: [
      { maxInputTokens: 1, input: usd(100n), output: usd(100n), cacheRead: usd(10n) },
      { maxInputTokens: 2, input: usd(200n), output: usd(200n), cacheWrite: usd(250n) },
    ],
  });
  expect(
    modelOf(
      good(
        chat(
          '{ billing_type: token, time_bands: { timezone: UTC, off_peak_start: "16:30", off_peak_end: "00:30", peak: { name: Day, input: "2", output: "4", cache_read: "0.2" }, off_peak: { input: "1", output: "2", cache_read: "0.1" } } }',
        ),
      ),
      'm',
    ).price,
  ).toMatchObject({
    timeBands: {
      peak: { name: 'Day', input: usd(200n), output: usd(400n), cacheRead: usd(20n) },
      offPeak: { input: usd(100n), output: usd(200n), cacheRead: usd(10n) },
    },
  });
});
