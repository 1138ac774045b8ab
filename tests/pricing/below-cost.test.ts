import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { Meters } from '../../src/lib/meters.ts';
import { type Money, parseMoney } from '../../src/lib/money.ts';
import { soldBelowCost, type Underpriced } from '../../src/pricing/below-cost.ts';
import { costOfTokens } from '../../src/pricing/cost.ts';
import type { ImagePrice, TokenPrice, TokenRates } from '../../src/pricing/price.ts';

const usd = (text: string): Money => parseMoney(text) ?? 0n;
const remarks = { region: null, note: null };

function flat(input: string, output: string, cached: Readonly<Record<string, string>> = {}): TokenPrice {
  const given = Object.entries(cached).map(([name, price]) => [name, usd(price)]);
  const rates = { input: usd(input), output: usd(output), ...Object.fromEntries(given) };
  return { billingType: 'token', form: 'flat', rates, ...remarks };
}

function tiers(...list: readonly (readonly [number, TokenPrice])[]): TokenPrice {
  const [first, ...rest] = list.map(([maxInputTokens, price]) => ({
    maxInputTokens,
    ...(price.form === 'flat' ? price.rates : { input: 0n, output: 0n }),
  }));
  if (first === undefined) throw new TypeError();
  return {
    billingType: 'token',
    form: 'tiers',
    headline: null,
    inputTokenTiers: [first, ...rest],
    ...remarks,
  };
}

function bands(timezone: string, start: string, end: string, peak: string): TokenPrice {
  const rate = usd(peak);
  return {
    billingType: 'token',
    form: 'bands',
    headline: null,
    timeBands: {
      timezone,
      offPeakStart: start,
      offPeakEnd: end,
      peak: { name: 'Day', input: rate, output: rate },
      offPeak: { input: rate / 2n, output: rate / 2n },
    },
    ...remarks,
  };
}

const brief = (underpriced: readonly Underpriced[]) =>
  underpriced.map(({ meter, price, cost }) => [meter, price, cost]);

describe('soldBelowCost', () => {
  test('says nothing of a price that covers its cost, to the last digit', () => {
    expect(soldBelowCost(flat('1', '2'), flat('1', '2'))).toEqual([]);
    expect(soldBelowCost(flat('1', '2', { cacheRead: '0.1' }), flat('1', '2', { cacheRead: '0.1' }))).toEqual(
      [],
    );
    expect(brief(soldBelowCost(flat('1', '2'), flat('1.000000000001', '2')))).toEqual([
      ['input', usd('1'), usd('1.000000000001')],
    ]);
  });

  test('compares cached input with other input where either has no price for it', () => {
    // Writes are charged as input and cost more; reads are sold cheaper than input, which is what they cost.
    const price = flat('1', '2', { cacheRead: '0.1' });
    const cost = flat('1', '2', { cacheWrite: '1.25' });
    expect(soldBelowCost(price, cost)).toMatchObject([
      { meter: 'cacheRead', price: usd('0.1'), cost: usd('1'), isChargedAsInput: false },
      { meter: 'cacheWrite', price: usd('1'), cost: usd('1.25'), isChargedAsInput: true },
    ]);
    expect(soldBelowCost(flat('2', '2'), flat('1', '2', { cacheWrite: '1.25' }))).toEqual([]);
  });

  test('finds the tier that loses the most, whichever of the two has it', () => {
    const price = tiers([100, flat('1', '2')], [200, flat('2', '4')]);
    const cost = tiers([50, flat('1', '2')], [300, flat('1.5', '2')], [400, flat('9', '2')]);
    expect(soldBelowCost(price, cost)).toMatchObject([
      { meter: 'input', price: usd('2'), cost: usd('9'), fromInputTokens: 301 },
    ]);
    // The dearest tier is not always the one that loses the most, and of equal ones the first is named.
    expect(
      soldBelowCost(
        tiers([100, flat('1', '2')], [200, flat('9', '2')]),
        tiers([100, flat('3', '2')], [200, flat('10', '2')]),
      ),
    ).toMatchObject([{ meter: 'input', price: usd('1'), cost: usd('3'), fromInputTokens: 0 }]);
    expect(
      soldBelowCost(
        tiers([100, flat('1', '2')], [200, flat('1', '2')]),
        tiers([50, flat('1', '2')], [200, flat('2', '2')]),
      ),
    ).toMatchObject([{ meter: 'input', fromInputTokens: 51 }]);
    expect(soldBelowCost(tiers([100, flat('2', '2')], [200, flat('3', '2')]), flat('2', '2'))).toEqual([]);
    expect(soldBelowCost(flat('2', '2'), tiers([100, flat('2', '2')], [200, flat('3', '2')]))).toMatchObject([
      { meter: 'input', fromInputTokens: 101 },
    ]);
  });

  test('knows which bands meet', () => {
    const price = bands('UTC', '16:30', '00:30', '4');
    expect(soldBelowCost(price, bands('UTC', '16:30', '00:30', '4'))).toEqual([]);
    // The cost is off-peak for longer than the price.
    expect(soldBelowCost(price, bands('UTC', '16:00', '01:00', '4'))).toEqual([]);
    expect(soldBelowCost(price, bands('UTC', '17:00', '00:30', '4'))).toMatchObject([
      { meter: 'input', price: usd('2'), cost: usd('4'), priceBand: 'offPeak', costBand: 'peak' },
      { meter: 'output' },
    ]);
    expect(soldBelowCost(price, flat('2', '2'))).toEqual([]);
    expect(soldBelowCost(price, flat('2.5', '2'))).toMatchObject([
      { meter: 'input', priceBand: 'offPeak', costBand: null },
    ]);
    expect(soldBelowCost(flat('2', '4'), price)).toMatchObject([
      { meter: 'input', priceBand: null, costBand: 'peak' },
    ]);
    // The same hours on two clocks are not the same time. 16:30 in UTC is 00:30 in Shanghai, but that is not known here.
    expect(soldBelowCost(price, bands('Asia/Shanghai', '16:30', '00:30', '4'))).toHaveLength(2);
    expect(soldBelowCost(price, bands('Asia/Shanghai', '00:30', '08:30', '4'))).toHaveLength(2);
    expect(
      soldBelowCost(bands('UTC', '01:00', '02:00', '8'), bands('Asia/Shanghai', '01:00', '02:00', '4')),
    ).toEqual([]);
  });

  test('compares images size by size', () => {
    const image = (unitPrice: string, tierRates: Readonly<Record<string, string>> | null): ImagePrice => ({
      billingType: 'image',
      unitPrice: usd(unitPrice),
      tierRates: tierRates && new Map(Object.entries(tierRates).map(([tier, rate]) => [tier, usd(rate)])),
      basis: null,
      ...remarks,
    });
    const price = image('0.04', { '1k': '0.04', '2k': '0.08' });
    expect(soldBelowCost(price, image('0.04', { '1k': '0.04', '2k': '0.08' }))).toEqual([]);
    expect(soldBelowCost(price, image('0.05', { '1k': '0.03', '2k': '0.1' }))).toMatchObject([
      {
        meter: 'unit',
        unitTier: '2k',
        price: usd('0.08'),
        cost: usd('0.1'),
        isChargedAsInput: false,
        fromInputTokens: 0,
      },
    ]);
    expect(soldBelowCost(price, image('0.05', null))).toMatchObject([{ unitTier: null, cost: usd('0.05') }]);
  });
});

describe('properties', () => {
  // Few and small rates, so that they often are the same.
  const rate = fc.bigInt({ min: 0n, max: 4n }).map((units) => units * 1_000_000n);
  const rates: fc.Arbitrary<TokenRates> = fc.record(
    { input: rate, output: rate, cacheRead: rate, cacheWrite: rate, cacheWriteLong: rate },
    { requiredKeys: ['input', 'output'] },
  );
  const flatPrice = rates.map(
    (given): TokenPrice => ({ billingType: 'token', form: 'flat', rates: given, ...remarks }),
  );
  const tierPrice = fc
    .tuple(rates, fc.array(rates, { maxLength: 3 }), fc.integer({ min: 1, max: 5 }))
    .map(([first, rest, step]): TokenPrice => {
      const tierOf = (given: TokenRates, index: number) => ({ maxInputTokens: step * (index + 1), ...given });
      return {
        billingType: 'token',
        form: 'tiers',
        headline: null,
        inputTokenTiers: [tierOf(first, 0), ...rest.map((given, index) => tierOf(given, index + 1))],
        ...remarks,
      };
    });
  const hour = fc.integer({ min: 0, max: 23 }).map((hours) => `${`${hours}`.padStart(2, '0')}:30`);
  const bandPrice = (timezone: fc.Arbitrary<string>) =>
    fc
      .record({ timezone, offPeakStart: hour, offPeakEnd: hour, peak: rates, offPeak: rates })
      .filter(({ offPeakStart, offPeakEnd }) => offPeakStart !== offPeakEnd)
      .map(
        ({ peak, ...rest }): TokenPrice => ({
          billingType: 'token',
          form: 'bands',
          headline: null,
          timeBands: { ...rest, peak: { name: 'Day', ...peak } },
          ...remarks,
        }),
      );
  const inUtc = fc.oneof(flatPrice, tierPrice, bandPrice(fc.constant('UTC')));
  const anywhere = fc.oneof(
    flatPrice,
    tierPrice,
    bandPrice(fc.constantFrom('UTC', 'Asia/Shanghai', 'Europe/Berlin')),
  );

  const none: Meters = { freshInput: 0, cacheRead: 0, cacheWrite: 0, cacheWriteLong: 0, output: 0 };
  const meterNames = {
    freshInput: 'input',
    output: 'output',
    cacheRead: 'cacheRead',
    cacheWrite: 'cacheWrite',
    cacheWriteLong: 'cacheWriteLong',
  } as const;

  test('what it names is what some request at some time is sold for below cost', () => {
    const hours = Array.from({ length: 24 }, (_, index) => new Date(Date.UTC(2026, 0, 15, index, 30)));
    fc.assert(
      fc.property(inUtc, inUtc, (price, cost) => {
        const lost = new Set<string>();
        for (const at of hours)
          for (let tokens = 0; tokens <= 21; tokens += 1)
            for (const [meter, name] of Object.entries(meterNames)) {
              // A million tokens of one meter cost its rate; the tier is that of another request.
              const used = { ...none, [meter]: 1_000_000 };
              const sold = costOfTokens(price, used, at, tokens).total;
              if (sold < costOfTokens(cost, used, at, tokens).total) lost.add(name);
            }
        const named = new Set<string>(soldBelowCost(price, cost).map(({ meter }) => meter));
        // Cached input that neither has a price for is lost with the rest of the input, and named once.
        for (const name of named) expect([...lost]).toContain(name);
        if (!named.has('input')) expect([...named].toSorted()).toEqual([...lost].toSorted());
        expect(named.has('input')).toBe(lost.has('input'));
        expect(named.has('output')).toBe(lost.has('output'));
      }),
      { numRuns: 100 },
    );
  });

  test('where it names nothing, nothing is ever charged below cost, in any timezone', () => {
    const tokens = fc.integer({ min: 0, max: 25 });
    const used = fc.record({
      freshInput: tokens,
      cacheRead: tokens,
      cacheWrite: tokens,
      cacheWriteLong: tokens,
      output: tokens,
    });
    const at = fc.date({ min: new Date('2025-01-01'), max: new Date('2027-01-01'), noInvalidDate: true });
    fc.assert(
      fc.property(anywhere, anywhere, used, at, (price, cost, meters, when) => {
        fc.pre(soldBelowCost(price, cost).length === 0);
        expect(costOfTokens(price, meters, when).total).toBeGreaterThanOrEqual(
          costOfTokens(cost, meters, when).total,
        );
      }),
      { numRuns: 300 },
    );
  });
});
