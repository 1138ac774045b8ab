/** The calculator of the model page charges what the gateway charges, to the last digit. */
import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { amountOf } from '../../dashboard/kit/amounts.ts';
import { nextSort, rowsOf, type SortKey, sortIn, sortRows } from '../../dashboard/pages/models/model-rows.ts';
import {
  capabilitiesIn,
  findModels,
  type ListedModel,
  type Pricing,
  workloadIn,
} from '../../dashboard/pages/models/models.ts';
import {
  bandAt,
  costOfTokens,
  costOfUnits,
  pricedCacheMeters,
  priceTableOf,
  priceUnitsOf,
  timeInZone,
} from '../../dashboard/pages/models/pricing.ts';
import type { RequestGroups } from '../../src/console/request-contract.ts';
import { type Meters, plainMeters } from '../../src/lib/meters.ts';
import { formatMoney, type Money } from '../../src/lib/money.ts';
import { type Cost, costOfTokens as chargeOfTokens, costOfImages } from '../../src/pricing/cost.ts';
import { presentPrice } from '../../src/pricing/present.ts';
import type { ImagePrice, Price, TokenPrice, TokenRates } from '../../src/pricing/price.ts';

/** Up to 1,000 USD with 12 decimals: 15 significant digits, as many as a number keeps. */
const rate: fc.Arbitrary<Money> = fc.bigInt({ min: 0n, max: 999_999_999_999_999n });
const rates: fc.Arbitrary<TokenRates> = fc.record(
  { input: rate, output: rate, cacheRead: rate, cacheWrite: rate, cacheWriteLong: rate },
  { requiredKeys: ['input', 'output'] },
);
const tokens = fc.integer({ min: 0, max: 5_000_000 });
const meters: fc.Arbitrary<Meters> = fc.record({
  freshInput: tokens,
  cacheRead: tokens,
  cacheWrite: tokens,
  cacheWriteLong: tokens,
  output: tokens,
});
const instant = fc.date({ min: new Date('2020-01-01'), max: new Date('2040-01-01'), noInvalidDate: true });
const clock = fc
  .tuple(fc.integer({ min: 0, max: 23 }), fc.integer({ min: 0, max: 59 }))
  .map((parts) => parts.map((part) => `${part}`.padStart(2, '0')).join(':'));
const zone = fc.constantFrom('UTC', 'Asia/Shanghai', 'America/New_York', 'Asia/Kolkata');
const remarks = { region: null, note: null };

const flat = rates.map(
  (given): TokenPrice => ({ billingType: 'token', form: 'flat', rates: given, ...remarks }),
);
const tiered = fc
  .uniqueArray(fc.integer({ min: 1, max: 4_000_000 }), { minLength: 1, maxLength: 4 })
  .chain((bounds) =>
    fc.tuple(
      ...bounds
        .toSorted((one, other) => one - other)
        .map((bound) => rates.map((given) => ({ maxInputTokens: bound, ...given }))),
    ),
  )
  .map(([first, ...others]): TokenPrice | null =>
    first === undefined
      ? null
      : {
          billingType: 'token',
          form: 'tiers',
          headline: null,
          inputTokenTiers: [first, ...others],
          ...remarks,
        },
  )
  .filter((price) => price !== null);
const banded = fc
  .record({ timezone: zone, offPeakStart: clock, offPeakEnd: clock, peak: rates, offPeak: rates })
  .filter(({ offPeakStart, offPeakEnd }) => offPeakStart !== offPeakEnd)
  .map(
    ({ peak, ...bands }): TokenPrice => ({
      billingType: 'token',
      form: 'bands',
      headline: null,
      timeBands: { ...bands, peak: { name: 'Peak', ...peak } },
      ...remarks,
    }),
  );

/** As a browser gets it: the JSON of the model list, read back. */
function asListed(price: Price): Pricing {
  return JSON.parse(JSON.stringify(presentPrice(price, '2026-11'))) as Pricing;
}

/** As the calculator is asked for it. */
function askedFor({ cacheRead, cacheWrite, cacheWriteLong, ...used }: Meters) {
  return {
    inputTokens: used.freshInput + cacheRead + cacheWrite + cacheWriteLong,
    cached: { cache_read: cacheRead, cache_write: cacheWrite, cache_write_long: cacheWriteLong },
    outputTokens: used.output,
  };
}

function shown({ cached, ...cost }: Cost) {
  return { ...cost, saved: cached?.saved ?? 0n };
}

test('tokens cost what they are charged', () => {
  fc.assert(
    fc.property(fc.oneof(flat, tiered, banded), meters, instant, (price, used, now) => {
      expect(costOfTokens(asListed(price), { ...askedFor(used), band: 'now', now })).toEqual(
        shown(chargeOfTokens(price, used, now)),
      );
    }),
    { numRuns: 500 },
  );
});

test('tiers and hours begin and end where they do for the charge', () => {
  const edge = fc.constantFrom(-1, 0, 1);
  fc.assert(
    fc.property(tiered, fc.nat(), edge, (price, at, step) => {
      if (price.form !== 'tiers') return;
      const tiers = price.inputTokenTiers;
      const inputTokens = Math.max(0, (tiers[at % tiers.length]?.maxInputTokens ?? 0) + step);
      // Cached tokens count towards the tier like any others.
      const used = { ...plainMeters(0, 3), cacheRead: inputTokens };
      const now = new Date(0);
      expect(costOfTokens(asListed(price), { ...askedFor(used), band: 'now', now })).toEqual(
        shown(chargeOfTokens(price, used, now)),
      );
    }),
  );
  fc.assert(
    fc.property(banded, fc.boolean(), edge, (price, isStart, step) => {
      if (price.form !== 'bands') return;
      const bands = { ...price.timeBands, timezone: 'UTC' };
      const [hours = 0, minutes = 0] = (isStart ? bands.offPeakStart : bands.offPeakEnd)
        .split(':')
        .map(Number);
      const now = new Date(Date.UTC(2026, 0, 15, hours, minutes + step));
      const used = plainMeters(1_000_000, 1_000_000);
      const inUtc = { ...price, timeBands: bands };
      expect(costOfTokens(asListed(inUtc), { ...askedFor(used), band: 'now', now })).toEqual(
        shown(chargeOfTokens(inUtc, used, now)),
      );
    }),
  );
});

test('a chosen band counts at any hour', () => {
  fc.assert(
    fc.property(banded, meters, instant, (price, used, now) => {
      if (price.form !== 'bands') return;
      const { peak, offPeak } = price.timeBands;
      for (const [band, given] of [
        ['peak', peak],
        ['off_peak', offPeak],
      ] as const) {
        const always: TokenPrice = { billingType: 'token', form: 'flat', rates: given, ...remarks };
        expect(costOfTokens(asListed(price), { ...askedFor(used), band, now })).toEqual(
          shown(chargeOfTokens(always, used, now)),
        );
      }
    }),
  );
});

test('images cost what they are charged, in each size', () => {
  const tierRates = fc.dictionary(fc.constantFrom('1k', '2k', '__proto__', 'constructor'), rate);
  fc.assert(
    fc.property(rate, tierRates, fc.integer({ min: 0, max: 1_000 }), (unitPrice, tiers, count) => {
      const price: ImagePrice = {
        billingType: 'image',
        unitPrice,
        tierRates: new Map(Object.entries(tiers)),
        basis: null,
        ...remarks,
      };
      for (const tier of [null, ...Object.keys(tiers)])
        expect(costOfUnits(asListed(price), count, tier)).toBe(costOfImages(price, count, tier));
    }),
  );
});

test('amounts are written as the API writes them', () => {
  fc.assert(fc.property(rate, (money) => expect(amountOf(money)).toBe(formatMoney(money))));
  expect(priceUnitsOf(1e-12)).toBe(1n);
  expect(priceUnitsOf(0.15)).toBe(150_000_000_000n);
});

describe('hours', () => {
  const winter = new Date('2026-01-15T12:00:00Z');
  const summer = new Date('2026-07-15T12:00:00Z');

  test('are shown on the clock of the viewer', () => {
    expect(timeInZone('16:30', 'UTC', 'Europe/Berlin', winter)).toBe('17:30');
    expect(timeInZone('16:30', 'UTC', 'Europe/Berlin', summer)).toBe('18:30');
    expect(timeInZone('00:30', 'Asia/Shanghai', 'America/New_York', winter)).toBe('11:30');
    expect(timeInZone('23:15', 'UTC', 'Asia/Kolkata', winter)).toBe('04:45');
  });

  test('converting there and back changes nothing', () => {
    fc.assert(
      fc.property(clock, zone, zone, instant, (time, one, other, now) => {
        expect(timeInZone(timeInZone(time, one, other, now), other, one, now)).toBe(time);
      }),
    );
  });

  test('a price by hours says both, with the zone and the time for the viewer', () => {
    const pricing = asListed({
      billingType: 'token',
      form: 'bands',
      headline: null,
      timeBands: {
        timezone: 'UTC',
        offPeakStart: '16:30',
        offPeakEnd: '00:30',
        peak: {
          name: 'Standard',
          input: 2n * 10n ** 12n,
          output: 4n * 10n ** 12n,
          cacheRead: 2n * 10n ** 11n,
        },
        offPeak: { input: 10n ** 12n, output: 2n * 10n ** 12n, cacheRead: 10n ** 11n },
      },
      ...remarks,
    });
    expect(priceTableOf(pricing, 'Europe/Berlin', winter)).toEqual({
      unit: 'per 1M tokens',
      lines: [
        {
          label: 'Standard',
          hint: '00:30–16:30 UTC (01:30–17:30 your time)',
          input: '2.000000000000',
          output: '4.000000000000',
          cached: [{ label: 'Cache read', price: '0.200000000000' }],
        },
        {
          label: 'Off-peak',
          hint: '16:30–00:30 UTC (17:30–01:30 your time)',
          input: '1.000000000000',
          output: '2.000000000000',
          cached: [{ label: 'Cache read', price: '0.100000000000' }],
        },
      ],
    });
    const { time_bands: bands } = pricing;
    expect(bands && bandAt(bands, 'now', winter)).toBe('peak');
    expect(bands && bandAt(bands, 'now', new Date('2026-01-15T23:59:00Z'))).toBe('off_peak');
  });

  test('tiers say up to which input they count', () => {
    const tiers = asListed({
      billingType: 'token',
      form: 'tiers',
      headline: null,
      inputTokenTiers: [
        { maxInputTokens: 200_000, input: 10n ** 12n, output: 10n ** 12n },
        { maxInputTokens: 1_000_000, input: 2n * 10n ** 12n, output: 10n ** 12n, cacheWrite: 10n ** 12n },
      ],
      ...remarks,
    });
    expect(pricedCacheMeters(tiers)).toEqual(['cache_write']);
    const labels = priceTableOf(tiers, 'UTC', winter).lines.map(({ label }) => label);
    expect(labels).toEqual(['Up to 200K input tokens', 'Up to 1M input tokens']);
  });
});

describe('filters', () => {
  const none = {
    text_input: true,
    image_input: false,
    text_output: true,
    streaming: true,
    function_calling: false,
    structured_output: false,
  };
  const model = (
    id: string,
    workload: ListedModel['workload'],
    more: Partial<typeof none> = {},
  ): ListedModel => ({
    id,
    object: 'model',
    created: 0,
    owned_by: 'provider',
    maker: 'Maker',
    endpoint: workload === 'chat' ? '/v1/chat/completions' : null,
    sizes: [],
    max_images: 0,
    name: id.toUpperCase(),
    workload,
    availability: 'available',
    pricing: asListed({ billingType: 'token', form: 'flat', rates: { input: 1n, output: 1n }, ...remarks }),
    capabilities: { ...none, ...more },
    context_window: null,
    max_output_tokens: null,
  });
  const all = [model('one', 'chat'), model('two', 'chat', { image_input: true }), model('three', 'image')];
  const idsFor = (words: string, workload: string, wanted: string) =>
    findModels(all, { words, workload: workloadIn(workload), capabilities: capabilitiesIn(wanted) }).map(
      ({ id }) => id,
    );

  test('words, workload and capabilities narrow the list, and what is unknown does not', () => {
    expect(idsFor('', '', '')).toEqual(['one', 'two', 'three']);
    expect(idsFor('maker TWO', 'all', '')).toEqual(['two']);
    expect(idsFor('', 'image', '')).toEqual(['three']);
    expect(idsFor('', 'chat', 'image_input,streaming')).toEqual(['two']);
    expect(idsFor('', 'nonsense', 'nonsense,__proto__')).toEqual(['one', 'two', 'three']);
    expect(idsFor('four', 'all', '')).toEqual([]);
  });
});

describe('the table of models', () => {
  const model = (id: string, pricing: Record<string, unknown>): ListedModel =>
    ({ id, name: id, context_window: null, pricing }) as unknown as ListedModel;
  const token = (input: number, output: number) => ({
    billing_type: 'token',
    unit: 'per_1m_tokens',
    input,
    output,
  });
  const tiers = [
    { max_input_tokens: 10, input: 2, output: 9 },
    { max_input_tokens: 20, input: 3, output: 8 },
  ];
  const models = [
    model('dear', token(5, 10)),
    model('picture', { billing_type: 'image', unit: 'per_image', unit_price: 0.04 }),
    model('cheap', token(0.5, 1)),
    model('tiered', { billing_type: 'token', unit: 'per_1m_tokens', input_token_tiers: tiers }),
  ];
  const figures = (value: string | null, completed: number, failed: number, cost: string) =>
    ({ value, completed, failed, refused: 7, cost }) as unknown as RequestGroups['data'][number];
  const rows = rowsOf(models, [
    figures('cheap', 3, 1, '0.2'),
    figures('dear', 0, 0, '0'),
    figures(null, 9, 9, '9'),
  ]);
  const order = (sort: string) => sortRows(rows, sortIn(sort)).map(({ model: { id } }) => id);

  test('has the lowest of several prices, and says so', () => {
    expect(rows.map(({ price }) => [Number(price.input), Number(price.output), price.isLowest])).toEqual([
      [5, 10, false],
      [0.04, 0, false],
      [0.5, 1, false],
      [2, 8, true],
    ]);
  });

  test('counts as a success what completed, of what completed or failed', () => {
    expect(rows.map(({ success }) => success)).toEqual([null, null, 0.75, null]);
    expect(rows.map((row) => row.figures?.cost)).toEqual(['0', undefined, '0.2', undefined]);
  });

  test('is sorted either way, and what has no value comes last', () => {
    expect(order('')).toEqual(['dear', 'picture', 'cheap', 'tiered']);
    expect(order('odd')).toEqual(order(''));
    expect(order('name')).toEqual(['cheap', 'dear', 'picture', 'tiered']);
    expect(order('input')).toEqual(['cheap', 'tiered', 'dear', 'picture']);
    expect(order('-input')).toEqual(['dear', 'tiered', 'cheap', 'picture']);
    expect(order('-spend').slice(0, 2)).toEqual(['cheap', 'dear']);
    expect(order('success')[0]).toBe('cheap');
  });

  test('sorts by a column in both directions, and then as before', () => {
    const press = (times: number, key: SortKey) =>
      Array.from({ length: times }).reduce<string>((text) => nextSort(sortIn(text), key), '');
    expect([press(1, 'input'), press(2, 'input'), press(3, 'input')]).toEqual(['input', '-input', '']);
    expect([press(1, 'spend'), press(2, 'spend'), press(3, 'spend')]).toEqual(['-spend', 'spend', '']);
  });
});
