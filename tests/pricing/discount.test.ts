/** A discount is exact in every meter, tier and band, or there is none. */
import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { formatMoneyShort, parseMoney } from '../../src/lib/money.ts';
import { discounted, parseDiscount, wholePrice } from '../../src/pricing/discount.ts';
import { presentPriceAsText } from '../../src/pricing/present.ts';
import type { Price } from '../../src/pricing/price.ts';

const usd = (text: string) => parseMoney(text) ?? -1n;
const remarks = { region: null, note: null };

test.each([
  ['12.5', 125_000n],
  ['100', wholePrice],
  ['0.0001', 1n],
  ['0', null],
  ['0.0', null],
  ['100.0001', null],
  ['-5', null],
  ['12.50001', null],
  ['12,5', null],
  ['', null],
])('%j is the discount %p', (text, discount) => {
  expect(parseDiscount(text)).toBe(discount);
});

describe('a discount', () => {
  const rate = fc.bigInt({ min: 0n, max: 10n ** 9n }).map((millionths) => millionths * 10n ** 6n);
  const optional = fc.option(rate, { nil: undefined });
  const rates = fc.record(
    { input: rate, output: rate, cacheRead: optional, cacheWrite: optional, cacheWriteLong: optional },
    { requiredKeys: ['input', 'output'] },
  );
  const flat = rates.map(
    (given): Price => ({ billingType: 'token', form: 'flat', rates: given, ...remarks }),
  );
  const tiers = fc.tuple(rates, rates).map(
    ([low, high]): Price => ({
      billingType: 'token',
      form: 'tiers',
      headline: low,
      inputTokenTiers: [
        { maxInputTokens: 10, ...low },
        { maxInputTokens: 20, ...high },
      ],
      ...remarks,
    }),
  );
  const bands = fc.tuple(rates, rates).map(
    ([peak, offPeak]): Price => ({
      billingType: 'token',
      form: 'bands',
      headline: null,
      timeBands: {
        timezone: 'UTC',
        offPeakStart: '01:00',
        offPeakEnd: '02:00',
        peak: { name: 'Day', ...peak },
        offPeak,
      },
      ...remarks,
    }),
  );
  const images = fc.tuple(rate, rate).map(
    ([plain, tier]): Price => ({
      billingType: 'image',
      unitPrice: plain,
      tierRates: new Map([['__proto__', tier]]),
      basis: { kind: 'image', rates: new Map([['__proto__', tier]]), inputPrice: plain },
      ...remarks,
    }),
  );

  /** Every decimal that is published of a price, by its place. */
  const decimalsOf = (price: Price) => {
    const found: [string, bigint][] = [];
    const walk = (value: unknown, path: string): void => {
      if (typeof value === 'string' && /^\d+(\.\d+)?$/.test(value)) found.push([path, usd(value)]);
      else if (typeof value === 'object' && value !== null)
        for (const [name, inner] of Object.entries(value)) walk(inner, `${path}.${name}`);
    };
    walk(presentPriceAsText(price, 'v'), '');
    return found;
  };

  test('of up to four decimals is exact for every price of up to six, wherever it has a rate', () => {
    const discount = fc.bigInt({ min: 1n, max: wholePrice });
    fc.assert(
      fc.property(fc.oneof(flat, tiers, bands, images), discount, (price, less) => {
        const lower = discounted(price, less);
        // Of more digits than a JSON number keeps there is none.
        const isTooLong = decimalsOf(price).some(
          ([, one]) => `${one * (wholePrice - less)}`.replace(/0+$/, '').length > 15,
        );
        expect(lower === null).toBe(isTooLong);
        if (lower === null) return;
        const expected = decimalsOf(price).map(([path, one]) => [
          path,
          (one * (wholePrice - less)) / wholePrice,
        ]);
        expect(decimalsOf(lower)).toEqual(expected as [string, bigint][]);
        for (const [, one] of decimalsOf(lower))
          expect(Number(formatMoneyShort(one)).toString()).not.toBe('NaN');
      }),
    );
  });

  test('that would need rounding is none', () => {
    const price = (input: string): Price => ({
      billingType: 'token',
      form: 'flat',
      rates: { input: usd(input), output: 0n },
      ...remarks,
    });
    expect(discounted(price('0.000000000008'), 125_000n)).toEqual(price('0.000000000007'));
    expect(discounted(price('0.000000000004'), 125_000n)).toBeNull();
    expect(discounted(price('123456.789012'), 1n)).toBeNull();
    expect(discounted(price('123456.789012'), wholePrice)).toEqual(price('0'));
  });
});
