/** `price_groups` of the catalogue: the same models at other prices, with warnings of their own. */
import { describe, expect, test } from 'bun:test';
import { parseCatalog, priceListOf } from '../../src/models/catalog.ts';
import type { Catalog } from '../../src/models/model.ts';
import { soldBelowCostIn } from '../../src/models/review.ts';
import { presentPriceAsText } from '../../src/pricing/present.ts';

const base = `price_version: "2026-11"
providers:
  p: { adapter: openai, base_url: http://127.0.0.1:9/v1 }
models:
  small: { workload: chat, pricing: { billing_type: token, input: "0.15", output: "0.60", cache_read: "0.075" }, providers: [{ provider: p, cost: { input: "0.14", output: "0.5", cache_read: "0.01" } }] }
  large: { workload: chat, pricing: { billing_type: token, input: "3", output: "15" }, providers: [p] }
  fine:  { workload: chat, pricing: { billing_type: token, input: "0.000000000001", output: "1" }, providers: [p] }
  free:  { workload: chat, providers: [p] }
  image: { workload: image, sizes: { "1x1": 1k }, pricing: { billing_type: image, unit_price: "0.04", tier_rates: { 1k: "0.04" } }, providers: [p] }
`;
const whole = base.replace(/^ {2}fine:.*\n/m, '');

function good(groups: string, text = whole): Catalog {
  const result = parseCatalog(`${text}${groups}`, 'catalog.yaml');
  if (!result.ok) throw new Error(result.problems.join('\n'));
  return result.catalog;
}

function groupOf(catalog: Catalog, name: string): Catalog {
  const group = catalog.priceGroups.get(name);
  if (group === undefined) throw new Error(`no ${name}`);
  return group;
}

function pricesIn({ models }: Catalog) {
  return Object.fromEntries(
    [...models].map(([id, { price }]) => {
      const shown = price && presentPriceAsText(price, '');
      return [id, shown && [shown.input ?? shown.unit_price, shown.output, shown.cache_read ?? null]];
    }),
  );
}

test('a group has a discount on everything, or prices of its own, or both', () => {
  const catalog = good(`price_groups:
  partner: { discount: "12.5" }
  vip: { discount: "50", models: { large: { billing_type: token, input: "1", output: "2" } } }
  special: { models: { image: { billing_type: image, unit_price: "0.01", tier_rates: { 1k: "0.02" } } } }
`);
  expect(pricesIn(groupOf(catalog, 'partner'))).toEqual({
    small: ['0.13125', '0.525', '0.065625'],
    large: ['2.625', '13.125', null],
    free: null,
    image: ['0.035', null, null],
  });
  expect(pricesIn(groupOf(catalog, 'vip'))).toMatchObject({
    small: ['0.075', '0.3', '0.0375'],
    large: ['1', '2', null],
  });
  expect(pricesIn(groupOf(catalog, 'special'))).toMatchObject({
    large: ['3', '15', null],
    image: ['0.01', null, null],
  });
});

test('each has a price list of its own, and none changes that of the others', () => {
  const plain = good('');
  const catalog = good('price_groups: { partner: { discount: "12.5" }, same: { discount: "12.5" } }\n');
  expect(catalog.digest).toBe(plain.digest);
  const lists = ['partner', 'same'].map((name) => priceListOf(groupOf(catalog, name)));
  expect(lists.map(({ version }) => version)).toEqual(['2026-11/partner', '2026-11/same']);
  expect(new Set([catalog, ...catalog.priceGroups.values()].map(({ digest }) => digest)).size).toBe(3);
  expect(lists[0]?.content.models.find(({ id }) => id === 'small')).toMatchObject({
    pricing: { input: '0.13125', price_version: '2026-11/partner' },
    costs: [{ provider: 'p' }],
  });
});

test('what is sold below cost in a group is said of that group', () => {
  const catalog = good('price_groups: { partner: { discount: "12.5" }, cheap: { discount: "1" } }\n');
  expect(soldBelowCostIn(catalog)).toEqual([
    'In the price group partner, small can be sold below its cost at p: input is sold at 0.13125 USD and costs 0.14 USD.',
  ]);
});

describe('a fault is named with its line', () => {
  test.each([
    ['price_groups: 5', 'price_groups: expected a mapping of names to groups, got the number 5'],
    [
      'price_groups: { Partner: { discount: "5" } }',
      'price_groups.Partner: expected a name of lower-case letters',
    ],
    ['price_groups: { a: {} }', 'price_groups.a: expected a discount, or models with prices'],
    ['price_groups: { a: { discount: 5 } }', 'price_groups.a.discount: expected a percentage in quotes'],
    ['price_groups: { a: { discount: "0" } }', 'price_groups.a.discount: expected a percentage in quotes'],
    ['price_groups: { a: { discount: "5", off: 1 } }', 'price_groups.a.off: unknown field'],
    [
      'price_groups: { a: { discount: "5" } }',
      'price_groups.a.discount: the price of fine less this would have more than 12 decimals',
    ],
    [
      'price_groups: { a: { models: { gone: { billing_type: token, input: "1", output: "1" } } } }',
      'price_groups.a.models.gone: the catalogue has no such model',
    ],
    [
      'price_groups: { a: { models: { free: { billing_type: token, input: "1", output: "1" } } } }',
      'price_groups.a.models.free: this model has no price',
    ],
    [
      'price_groups: { a: { models: { large: { billing_type: image, unit_price: "1" } } } }',
      'price_groups.a.models.large.billing_type: expected token',
    ],
    [
      'price_groups: { a: { models: { image: { billing_type: image, unit_price: "1" } } } }',
      'price_groups.a.models.image.tier_rates: missing the tier 1k',
    ],
    [
      'price_groups: { a: { models: { large: { billing_type: token, input: "1" } } } }',
      'price_groups.a.models.large.output: missing',
    ],
  ])('%s', (groups, problem) => {
    const text = problem.includes('price of fine') ? base : whole;
    const result = parseCatalog(`${text}${groups}\n`, 'catalog.yaml');
    const line = text.split('\n').length;
    expect(result.ok ? [] : result.problems).toEqual([
      expect.stringContaining(`catalog.yaml:${line}: ${problem}`),
    ]);
  });
});
