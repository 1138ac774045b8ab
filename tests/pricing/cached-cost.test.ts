/** What input costs that a cache was involved in, and what is held for it. */
import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { inputTokensOf, type Meters, plainMeters } from '../../src/lib/meters.ts';
import { divideHalfUp, type Money, parseMoney } from '../../src/lib/money.ts';
import {
  type CacheWrites,
  costAtRates,
  costOfTokens,
  highestTokenRates,
  lowestCost,
} from '../../src/pricing/cost.ts';
import type { TokenPrice, TokenRates } from '../../src/pricing/price.ts';

const usd = (text: string): Money => parseMoney(text) ?? 0n;
const remarks = { region: null, note: null };
const noon = new Date('2026-11-15T12:00:00Z');

const sonnet: TokenRates = {
  input: usd('3'),
  output: usd('15'),
  cacheRead: usd('0.3'),
  cacheWrite: usd('3.75'),
  cacheWriteLong: usd('6'),
};
const flat = (rates: TokenRates): TokenPrice => ({ billingType: 'token', form: 'flat', rates, ...remarks });
const used = (meters: Partial<Meters>): Meters => ({ ...plainMeters(0, 0), ...meters });

describe('a request with a cache', () => {
  test('pays each kind of input at its price, and knows what that saved', () => {
    const meters = { freshInput: 100, cacheRead: 9_000, cacheWrite: 700, cacheWriteLong: 200, output: 50 };
    expect(costOfTokens(flat(sonnet), meters, noon)).toEqual({
      input: usd('0.0003') + usd('0.0027') + usd('0.002625') + usd('0.0012'),
      output: usd('0.00075'),
      total: usd('0.007575'),
      cached: {
        read: usd('0.0027'),
        write: usd('0.002625'),
        writeLong: usd('0.0012'),
        // 10,000 tokens at 3 USD, less what they cost.
        saved: usd('0.03') - usd('0.006825'),
      },
    });
  });

  test('pays as for other input where there is no price, and a first write saves less than nothing', () => {
    const without = flat({ input: usd('3'), output: usd('15') });
    expect(
      costOfTokens(without, used({ cacheRead: 10, cacheWrite: 20, cacheWriteLong: 30 }), noon),
    ).toMatchObject({
      input: usd('0.00018'),
      cached: { read: usd('0.00003'), write: usd('0.00006'), writeLong: usd('0.00009'), saved: 0n },
    });
    expect(costOfTokens(flat(sonnet), used({ cacheWrite: 1_000 }), noon).cached?.saved).toBe(-usd('0.00075'));
  });

  test('is on the tier of all its input', () => {
    const tiers: TokenPrice = {
      billingType: 'token',
      form: 'tiers',
      headline: null,
      inputTokenTiers: [
        { maxInputTokens: 1_000, ...sonnet },
        { maxInputTokens: 2_000, input: usd('6'), output: usd('22.5'), cacheRead: usd('0.6') },
      ],
      ...remarks,
    };
    const most = used({ freshInput: 1, cacheRead: 990, cacheWrite: 8, cacheWriteLong: 1 });
    expect(costOfTokens(tiers, most, noon).cached?.read).toBe(usd('0.000297'));
    // One token more, and what is written costs as much as input, because that tier has no price for it.
    expect(costOfTokens(tiers, { ...most, freshInput: 2 }, noon)).toMatchObject({
      cached: { read: usd('0.000594'), write: usd('0.000048'), writeLong: usd('0.000006') },
    });
  });

  test('that ended without a report is estimated as if all of it had been read from the cache', () => {
    expect(lowestCost(flat(sonnet), plainMeters(1_000, 10), noon)).toEqual({
      input: usd('0.0003'),
      output: usd('0.00015'),
      total: usd('0.00045'),
      cached: null,
    });
    const dearReads = flat({ ...sonnet, cacheRead: usd('4') });
    expect(lowestCost(dearReads, plainMeters(1_000, 10), noon).input).toBe(usd('0.003'));
    expect(lowestCost(flat({ input: usd('3'), output: 0n }), plainMeters(1_000, 10), noon).total).toBe(
      usd('0.003'),
    );
  });
});

test.each([
  ['none', '3'],
  ['short', '3.75'],
  ['long', '6'],
] as const)('where %s can be written, input is held for at %s', (writes, held) => {
  expect(highestTokenRates(flat(sonnet), 10, writes)).toEqual({ input: usd(held), output: usd('15') });
  const dearReads = flat({ ...sonnet, cacheRead: usd('7') });
  expect(highestTokenRates(dearReads, 10, writes).input).toBe(usd('7'));
});

test('a rate is held for in whole units per token, because each kind of input is rounded on its own', () => {
  const fine = flat({ input: usd('0.0000001'), output: 0n, cacheRead: usd('0.0000001') });
  expect(highestTokenRates(fine, 10, 'none').input).toBe(usd('0.000001'));
  const justAbove = flat({ input: usd('0.000001000001'), output: 0n });
  expect(highestTokenRates(justAbove, 10, 'none').input).toBe(usd('0.000002'));
});

test('nothing is held for what is free, whatever can be written', () => {
  const free = { input: 0n, output: 0n };
  const tiers: TokenPrice = {
    billingType: 'token',
    form: 'tiers',
    headline: null,
    inputTokenTiers: [
      { maxInputTokens: 10, ...free },
      { maxInputTokens: 20, ...free },
    ],
    ...remarks,
  };
  for (const price of [flat(free), tiers])
    for (const writes of ['none', 'short', 'long'] as const)
      expect(highestTokenRates(price, 20, writes)).toEqual(free);
});

describe('properties', () => {
  const rate = fc.bigInt({ min: 0n, max: 10n ** 15n });
  const tokens = fc.integer({ min: 0, max: 2_000_000 });
  const meters: fc.Arbitrary<Meters> = fc.record({
    freshInput: tokens,
    cacheRead: tokens,
    cacheWrite: tokens,
    cacheWriteLong: tokens,
    output: tokens,
  });
  const rates: fc.Arbitrary<TokenRates> = fc.record(
    { input: rate, output: rate, cacheRead: rate, cacheWrite: rate, cacheWriteLong: rate },
    { requiredKeys: ['input', 'output'] },
  );
  const tierPrice = fc
    .tuple(rates, fc.array(rates, { maxLength: 4 }), fc.integer({ min: 1, max: 2_000_000 }))
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
  const bandPrice = fc.tuple(rates, rates).map(
    ([peak, offPeak]): TokenPrice => ({
      billingType: 'token',
      form: 'bands',
      headline: null,
      timeBands: {
        timezone: 'UTC',
        offPeakStart: '16:30',
        offPeakEnd: '00:30',
        peak: { name: 'Day', ...peak },
        offPeak,
      },
      ...remarks,
    }),
  );
  const price = fc.oneof(rates.map(flat), tierPrice, bandPrice);
  const at = fc.date({ min: new Date('2025-01-01'), max: new Date('2027-01-01'), noInvalidDate: true });

  test('the costs of all meters add up to the total, to the last digit', () => {
    const million = 1_000_000n;
    fc.assert(
      fc.property(rates, meters, (given, { freshInput, cacheRead, cacheWrite, cacheWriteLong, output }) => {
        const cost = costAtRates(given, { freshInput, cacheRead, cacheWrite, cacheWriteLong, output });
        const parts = [
          [freshInput, given.input],
          [cacheRead, given.cacheRead ?? given.input],
          [cacheWrite, given.cacheWrite ?? given.input],
          [cacheWriteLong, given.cacheWriteLong ?? given.input],
          [output, given.output],
        ] as const;
        const total = parts.reduce(
          (sum, [count, own]) => sum + divideHalfUp(BigInt(count) * own, million),
          0n,
        );
        expect(cost.total).toBe(total);
        expect(cost.input + cost.output).toBe(total);
        if (cost.cached === null) expect(cacheRead + cacheWrite + cacheWriteLong).toBe(0);
      }),
    );
  });

  test('no charge exceeds what is held for its bounds, whatever the provider reads and writes', () => {
    const writes = fc.constantFrom<CacheWrites>('none', 'short', 'long');
    fc.assert(
      fc.property(price, meters, writes, at, tokens, (given, drawn, allowed, when, more) => {
        const actual = {
          ...drawn,
          cacheWrite: allowed === 'none' ? 0 : drawn.cacheWrite,
          cacheWriteLong: allowed === 'long' ? drawn.cacheWriteLong : 0,
        };
        const bound = inputTokensOf(actual) + more;
        const held = costAtRates(highestTokenRates(given, bound, allowed), plainMeters(bound, actual.output));
        expect(costOfTokens(given, actual, when).total).toBeLessThanOrEqual(held.total);
      }),
      { numRuns: 500 },
    );
  });
});
