import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { plainMeters } from '../../src/lib/meters.ts';
import { divideHalfUp, formatMoneyShort, type Money, parseMoney } from '../../src/lib/money.ts';
import {
  costAtRates,
  costOfImages,
  costOfTokens,
  highestTokenRates,
  tokensWithin,
} from '../../src/pricing/cost.ts';
import { presentPrice, presentPriceAsText } from '../../src/pricing/present.ts';
import type { ImagePrice, SecondPrice, TokenPrice, TokenRates } from '../../src/pricing/price.ts';

const usd = (text: string): Money => {
  const money = parseMoney(text);
  if (money === null) throw new TypeError(text);
  return money;
};
const rates = (input: string, output: string): TokenRates => ({ input: usd(input), output: usd(output) });
const remarks = { region: null, note: null };
const flat = (input: string, output: string): TokenPrice => ({
  billingType: 'token',
  form: 'flat',
  rates: rates(input, output),
  ...remarks,
});
const tiered: TokenPrice = {
  billingType: 'token',
  form: 'tiers',
  headline: null,
  inputTokenTiers: [
    { maxInputTokens: 1_000, ...rates('1', '10') },
    { maxInputTokens: 2_000, ...rates('3', '8') },
    { maxInputTokens: 4_000, ...rates('2', '20') },
  ],
  ...remarks,
};
const banded = (timezone: string, offPeakStart: string, offPeakEnd: string): TokenPrice => ({
  billingType: 'token',
  form: 'bands',
  headline: null,
  timeBands: {
    timezone,
    offPeakStart,
    offPeakEnd,
    peak: { name: 'Day', ...rates('2', '4') },
    offPeak: rates('1', '2'),
  },
  ...remarks,
});
const noon = new Date('2026-11-15T12:00:00Z');
const million = plainMeters(1_000_000, 1_000_000);

describe('costOfTokens', () => {
  test('a price with six decimals is exact for every single token', () => {
    expect(costOfTokens(flat('0.000001', '0.15'), plainMeters(1, 1), noon)).toEqual({
      input: 1n,
      output: 150_000n,
      total: 150_001n,
      cached: null,
    });
  });

  test('a price with more decimals is rounded half up, once per component', () => {
    // 0.0000005 USD per 1M tokens is half a unit per token.
    const price = flat('0.0000005', '0.0000004');
    expect(costOfTokens(price, plainMeters(1, 1), noon)).toEqual({
      input: 1n,
      output: 0n,
      total: 1n,
      cached: null,
    });
    expect(costOfTokens(price, plainMeters(3, 2), noon)).toEqual({
      input: 2n,
      output: 1n,
      total: 3n,
      cached: null,
    });
  });

  test('nothing used costs nothing', () => {
    expect(costOfTokens(flat('5', '30'), plainMeters(0, 0), noon).total).toBe(0n);
  });

  test.each([-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53])('%p tokens are refused', (tokens) => {
    expect(() => costOfTokens(flat('1', '1'), plainMeters(tokens, 0), noon)).toThrow(RangeError);
    expect(() => costOfTokens(flat('1', '1'), plainMeters(0, tokens), noon)).toThrow(RangeError);
  });

  test.each([
    [0, '1', '10'],
    [1_000, '1', '10'],
    [1_001, '3', '8'],
    [2_000, '3', '8'],
    [4_000, '2', '20'],
    [4_001, '2', '20'],
    [9_000_000, '2', '20'],
  ])('an input of %d tokens puts all tokens on the tier of %s and %s', (inputTokens, input, output) => {
    const usage = plainMeters(inputTokens, 7);
    expect(costOfTokens(tiered, usage, noon)).toEqual(costAtRates(rates(input, output), usage));
  });

  const offPeak = usd('3');
  const peak = usd('6');
  test.each([
    // A window within a day: the start belongs to it, the end does not.
    ['UTC', '02:00', '06:00', '2026-11-15T01:59:59.999Z', peak],
    ['UTC', '02:00', '06:00', '2026-11-15T02:00:00Z', offPeak],
    ['UTC', '02:00', '06:00', '2026-11-15T05:59:59.999Z', offPeak],
    ['UTC', '02:00', '06:00', '2026-11-15T06:00:00Z', peak],
    // A window that passes midnight.
    ['UTC', '16:30', '00:30', '2026-11-15T16:29:59Z', peak],
    ['UTC', '16:30', '00:30', '2026-11-15T16:30:00Z', offPeak],
    ['UTC', '16:30', '00:30', '2026-11-15T23:59:59Z', offPeak],
    ['UTC', '16:30', '00:30', '2026-11-15T00:00:00Z', offPeak],
    ['UTC', '16:30', '00:30', '2026-11-15T00:29:59Z', offPeak],
    ['UTC', '16:30', '00:30', '2026-11-15T00:30:00Z', peak],
    // Another day in the band's own timezone: midnight in Shanghai is 16:00 UTC.
    ['Asia/Shanghai', '00:00', '08:00', '2026-11-14T15:59:59Z', peak],
    ['Asia/Shanghai', '00:00', '08:00', '2026-11-14T16:00:00Z', offPeak],
    ['Asia/Kolkata', '00:00', '08:00', '2026-11-14T18:30:00Z', offPeak],
    // 22:00 in Berlin is 20:00 UTC in summer and 21:00 UTC in winter.
    ['Europe/Berlin', '22:00', '06:00', '2026-07-01T20:00:00Z', offPeak],
    ['Europe/Berlin', '22:00', '06:00', '2026-12-01T20:00:00Z', peak],
    ['Europe/Berlin', '22:00', '06:00', '2026-12-01T21:00:00Z', offPeak],
    // The night of 25 October 2026 has 02:30 twice in Berlin, and 29 March has no 02:30 at all.
    ['Europe/Berlin', '02:00', '03:00', '2026-10-25T00:30:00Z', offPeak],
    ['Europe/Berlin', '02:00', '03:00', '2026-10-25T01:30:00Z', offPeak],
    ['Europe/Berlin', '02:00', '03:00', '2026-10-25T02:00:00Z', peak],
    ['Europe/Berlin', '02:00', '03:00', '2026-03-29T00:59:59Z', peak],
    ['Europe/Berlin', '02:00', '03:00', '2026-03-29T01:00:00Z', peak],
  ] as const)('%s from %s to %s at %s', (timezone, start, end, at, total) => {
    expect(costOfTokens(banded(timezone, start, end), million, new Date(at)).total).toBe(total);
  });
});

describe('costOfImages', () => {
  const price: ImagePrice = {
    billingType: 'image',
    unitPrice: usd('0.04'),
    tierRates: new Map([['2k', usd('0.08')]]),
    basis: null,
    ...remarks,
  };
  test('charges each image at its tier, or at the unit price without one', () => {
    expect(costOfImages(price, 3, null)).toBe(usd('0.12'));
    expect(costOfImages(price, 3, '2k')).toBe(usd('0.24'));
    expect(costOfImages(price, 0, '2k')).toBe(0n);
  });
  test('an unknown tier is a defect, never a free image', () => {
    expect(() => costOfImages(price, 1, '8k')).toThrow(RangeError);
    expect(() => costOfImages({ ...price, tierRates: null }, 1, '2k')).toThrow(RangeError);
  });
});

describe('properties', () => {
  const rate = fc.bigInt({ min: 0n, max: 10n ** 15n });
  const tokens = fc.integer({ min: 0, max: 5_000_000 });
  const pair = fc.record({ input: rate, output: rate });
  const flatPrice = pair.map(
    (given): TokenPrice => ({ billingType: 'token', form: 'flat', rates: given, ...remarks }),
  );
  const tierPrice = fc
    .tuple(fc.array(pair, { minLength: 1, maxLength: 5 }), fc.integer({ min: 1, max: 400_000 }))
    .map(([list, step]): TokenPrice => {
      const [first = { input: 0n, output: 0n }, ...rest] = list;
      const tierOf = (given: TokenRates, index: number) => ({ maxInputTokens: step * (index + 1), ...given });
      return {
        billingType: 'token',
        form: 'tiers',
        headline: null,
        inputTokenTiers: [tierOf(first, 0), ...rest.map((given, index) => tierOf(given, index + 1))],
        ...remarks,
      };
    });
  const time = fc
    .tuple(fc.integer({ min: 0, max: 23 }), fc.integer({ min: 0, max: 59 }))
    .map(([hour, minute]) => `${hour}`.padStart(2, '0').concat(':', `${minute}`.padStart(2, '0')));
  const bandPrice = fc
    .record({
      timezone: fc.constantFrom(
        'UTC',
        'Asia/Shanghai',
        'Europe/Berlin',
        'America/New_York',
        'Australia/Lord_Howe',
      ),
      start: time,
      end: time,
      offPeak: pair,
    })
    .filter(({ start, end }) => start !== end)
    .map(
      ({ timezone, start, end, offPeak }): TokenPrice => ({
        billingType: 'token',
        form: 'bands',
        headline: null,
        timeBands: {
          timezone,
          offPeakStart: start,
          offPeakEnd: end,
          peak: { name: 'Peak', input: offPeak.input * 2n, output: offPeak.output * 2n },
          offPeak,
        },
        ...remarks,
      }),
    );
  const price = fc.oneof(flatPrice, tierPrice, bandPrice);
  const at = fc.date({ min: new Date('2020-01-01'), max: new Date('2035-01-01'), noInvalidDate: true });

  test('a cost is the rational product, off by no more than half a unit and never below half', () => {
    fc.assert(
      fc.property(rate, rate, tokens, tokens, (input, output, inputTokens, outputTokens) => {
        const cost = costAtRates({ input, output }, plainMeters(inputTokens, outputTokens));
        for (const [got, exact] of [
          [cost.input, BigInt(inputTokens) * input],
          [cost.output, BigInt(outputTokens) * output],
        ] as const) {
          const error = got * 1_000_000n - exact;
          expect(error > -500_000n && error <= 500_000n).toBe(true);
        }
        expect(cost.total).toBe(cost.input + cost.output);
      }),
    );
  });

  test('a price with at most six decimals is never rounded', () => {
    const sixDecimals = rate.map((units) => (units / 1_000_000n) * 1_000_000n);
    fc.assert(
      fc.property(sixDecimals, tokens, (input, inputTokens) => {
        const cost = costAtRates({ input, output: 0n }, plainMeters(inputTokens, 0));
        expect(cost.input * 1_000_000n).toBe(BigInt(inputTokens) * input);
      }),
    );
  });

  test('within a tier, more tokens never cost less', () => {
    fc.assert(
      fc.property(price, at, tokens, tokens, tokens, tokens, (given, when, one, other, output, more) => {
        const [fewer, greater] = one < other ? [one, other] : [other, one];
        const sameTier =
          given.form !== 'tiers' ||
          given.inputTokenTiers.every(
            (tier, index, all) =>
              index === all.length - 1 || fewer <= tier.maxInputTokens === greater <= tier.maxInputTokens,
          );
        fc.pre(sameTier);
        const less = costOfTokens(given, plainMeters(fewer, output), when);
        const most = costOfTokens(given, plainMeters(greater, output + more), when);
        expect(less.input <= most.input && less.output <= most.output).toBe(true);
      }),
    );
  });

  test('no usage within the bounds costs more than the dearest rates allow, whatever the time', () => {
    fc.assert(
      fc.property(price, at, tokens, tokens, tokens, tokens, (given, when, one, other, output, more) => {
        const [input, bound] = one < other ? [one, other] : [other, one];
        const dearest = costAtRates(
          highestTokenRates(given, bound, 'none'),
          plainMeters(bound, output + more),
        );
        const actual = costOfTokens(given, plainMeters(input, output), when);
        expect(actual.input <= dearest.input && actual.output <= dearest.output).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  test('the dearest rates are not dearer than a reachable tier or band', () => {
    expect(highestTokenRates(tiered, 1_000, 'none')).toEqual(rates('1', '10'));
    expect(highestTokenRates(tiered, 1_001, 'none')).toEqual(rates('3', '10'));
    expect(highestTokenRates(tiered, 4_000, 'none')).toEqual(rates('3', '20'));
    expect(highestTokenRates(tiered, 9_000_000, 'none')).toEqual(rates('3', '20'));
    expect(highestTokenRates(banded('UTC', '01:00', '02:00'), 5, 'none')).toEqual(rates('2', '4'));
    expect(highestTokenRates(flat('0.15', '0.60'), 5, 'none')).toEqual(rates('0.15', '0.60'));
  });

  test('divideHalfUp and the costs agree on where a half goes', () => {
    expect(divideHalfUp(500_000n, 1_000_000n)).toBe(1n);
    expect(divideHalfUp(499_999n, 1_000_000n)).toBe(0n);
  });
});

describe('presentPrice', () => {
  test.each([
    '0.15',
    '0.087',
    '0.0000001',
    '0.000000000001',
    '20',
    '100',
    '0',
    '1234567.00000001',
    '123456789012345',
    '0.123456789012',
  ])('%s prints exactly so', (text) => {
    expect(JSON.stringify(presentPrice(flat(text, text), 'v'))).toContain(
      `"input":${text},"output":${text},`,
    );
    expect(presentPriceAsText(flat(text, text), 'v').input).toBe(text);
  });

  test('15 significant digits survive a client that parses JSON numbers as floats', () => {
    const significant = (text: string) =>
      text
        .replace(/e.*$/, '')
        .replace('.', '')
        .replace(/^0+|0+$/g, '');
    fc.assert(
      fc.property(
        fc.bigInt({ min: 0n, max: 10n ** 15n - 1n }),
        fc.integer({ min: 0, max: 12 }),
        (digits, zeros) => {
          const text = formatMoneyShort(digits * 10n ** BigInt(zeros));
          const printed = JSON.stringify(presentPrice(flat(text, '0'), 'v').input);
          expect(printed).toBe(text);
          const parsed: number = JSON.parse(printed);
          expect(significant(parsed.toPrecision(15))).toBe(significant(text));
        },
      ),
    );
  });

  test('a flat price', () => {
    expect(
      JSON.stringify(presentPrice({ ...flat('0.15', '0.60'), region: 'eu', note: 'Batch.' }, '2026-11')),
    ).toBe(
      '{"currency":"USD","input":0.15,"output":0.6,"unit_price":null,"unit":"per_1m_tokens","billing_type":"token",' +
        '"price_version":"2026-11","region":"eu","note":"Batch."}',
    );
  });

  test('tiers publish the first one as the headline, unless another is given', () => {
    expect(JSON.stringify(presentPrice(tiered, 'v'))).toBe(
      '{"currency":"USD","input":1,"output":10,"unit_price":null,"unit":"per_1m_tokens","billing_type":"token",' +
        '"price_version":"v","input_token_tiers":[{"max_input_tokens":1000,"input":1,"output":10},' +
        '{"max_input_tokens":2000,"input":3,"output":8},{"max_input_tokens":4000,"input":2,"output":20}]}',
    );
    expect(presentPriceAsText({ ...tiered, headline: rates('3', '8') }, 'v')).toMatchObject({
      input: '3',
      output: '8',
    });
  });

  test('time bands publish the peak as the headline, unless another is given', () => {
    const price = banded('Asia/Shanghai', '00:30', '08:30');
    expect(JSON.stringify(presentPrice(price, 'v'))).toBe(
      '{"currency":"USD","input":2,"output":4,"unit_price":null,"unit":"per_1m_tokens","billing_type":"token",' +
        '"price_version":"v","time_bands":{"timezone":"Asia/Shanghai","off_peak_start":"00:30","off_peak_end":"08:30",' +
        '"peak":{"name":"Day","input":2,"output":4},"off_peak":{"input":1,"output":2}}}',
    );
    if (price.billingType !== 'token' || price.form !== 'bands') throw new TypeError();
    expect(presentPriceAsText({ ...price, headline: rates('1', '2') }, 'v')).toMatchObject({
      input: '1',
      output: '2',
    });
  });

  test('cache prices are published where there are any, next to the others', () => {
    const cached = { ...rates('1', '5'), cacheRead: usd('0.1'), cacheWrite: usd('1.25'), cacheWriteLong: 0n };
    const published = '"input":1,"output":5,"cache_read":0.1,"cache_write":1.25,"cache_write_long":0';
    const printed = (price: TokenPrice) => JSON.stringify(presentPrice(price, 'v'));
    expect(printed({ ...flat('1', '5'), form: 'flat', rates: cached })).toBe(
      `{"currency":"USD",${published},"unit_price":null,"unit":"per_1m_tokens","billing_type":"token","price_version":"v"}`,
    );
    expect(
      printed({
        ...tiered,
        form: 'tiers',
        headline: null,
        inputTokenTiers: [
          { maxInputTokens: 10, ...cached },
          { maxInputTokens: 20, ...rates('2', '10') },
        ],
      }),
    ).toBe(
      `{"currency":"USD",${published},"unit_price":null,"unit":"per_1m_tokens","billing_type":"token","price_version":"v",` +
        `"input_token_tiers":[{"max_input_tokens":10,${published}},{"max_input_tokens":20,"input":2,"output":10}]}`,
    );
    const bands = banded('UTC', '00:30', '08:30');
    if (bands.form !== 'bands') throw new TypeError();
    expect(
      printed({ ...bands, timeBands: { ...bands.timeBands, peak: { name: 'Day', ...cached } } }),
    ).toContain(`"peak":{"name":"Day",${published}},"off_peak":{"input":1,"output":2}`);
  });

  test('images and seconds have a unit price, tiers and a basis', () => {
    const tierRates = new Map([
      ['1k', usd('0.04')],
      ['__proto__', usd('0.08')],
    ]);
    const image: ImagePrice = {
      billingType: 'image',
      unitPrice: usd('0.04'),
      tierRates,
      basis: { kind: 'image', rates: tierRates, inputPrice: usd('0.002') },
      ...remarks,
    };
    expect(JSON.stringify(presentPrice(image, 'v'))).toBe(
      '{"currency":"USD","input":null,"output":null,"unit_price":0.04,"unit":"per_image","billing_type":"image",' +
        '"price_version":"v","tier_rates":{"1k":0.04,"__proto__":0.08},' +
        '"basis":{"kind":"image","rates":{"1k":0.04,"__proto__":0.08},"inputPrice":0.002}}',
    );
    const second: SecondPrice = {
      billingType: 'second',
      unitPrice: usd('0.1'),
      tierRates: null,
      basis: { kind: 'video', rates: new Map([['720p', usd('0.1')]]), inputCap: null },
      ...remarks,
    };
    expect(JSON.stringify(presentPrice(second, 'v'))).toBe(
      '{"currency":"USD","input":null,"output":null,"unit_price":0.1,"unit":"per_second","billing_type":"second",' +
        '"price_version":"v","basis":{"kind":"video","rates":{"720p":0.1},"inputCap":null}}',
    );
    expect(
      presentPriceAsText({ ...second, basis: { kind: 'video', rates: new Map(), inputCap: usd('2') } }, 'v')
        .basis,
    ).toEqual({ kind: 'video', rates: {}, inputCap: '2' });
  });
});

describe('tokensWithin', () => {
  test.each([
    ['nothing is left', -1n, usd('1'), 9, 0],
    ['nothing is left, and nothing is charged for', -1n, 0n, 9, 0],
    ['there is nothing to pay with', 0n, usd('1'), 9, 0],
    ['nothing is charged for', 0n, 0n, 9, 9],
    ['the amount is one unit short', usd('0.000003') - 1n, usd('1'), 9, 2],
    ['the amount is exact', usd('0.000003'), usd('1'), 9, 3],
    ['it reaches the most', usd('0.000009'), usd('1'), 9, 9],
    ['it passes the most', usd('0.00001'), usd('1'), 9, 9],
    ['the rate is the least there is', 3n, 1n, 9_000_000, 3_000_000],
  ])('when %s', (_name, amount, rate, most, tokens) => {
    expect(tokensWithin(amount, rate, most)).toBe(tokens);
  });
});

test('tiers that cost nothing have nothing as their highest rates', () => {
  const free: TokenPrice = {
    billingType: 'token',
    form: 'tiers',
    headline: null,
    inputTokenTiers: [{ maxInputTokens: 1_000, ...rates('0', '0') }],
    ...remarks,
  };
  expect(highestTokenRates(free, 10, 'none')).toEqual({ input: 0n, output: 0n });
});
