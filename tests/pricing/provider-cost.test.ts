import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { plainMeters } from '../../src/lib/meters.ts';
import { costOfImages, costOfTokens } from '../../src/pricing/cost.ts';
import type { ImagePrice, TokenPrice } from '../../src/pricing/price.ts';
import { providerCostOfImages, providerCostOfTokens } from '../../src/pricing/provider-cost.ts';

const remarks = { region: null, note: null };
const rates = { input: 1_000_000n, output: 5_000_000n, cacheRead: 100_000n, cacheWrite: 1_250_000n };
const tokens: TokenPrice = { billingType: 'token', form: 'flat', rates, ...remarks };
const tierRates = new Map([['1k', 7n]]);
const images: ImagePrice = { billingType: 'image', unitPrice: 3n, tierRates, basis: null, ...remarks };
const at = new Date('2026-11-16T12:00:00Z');
const count = fc.integer({ min: 0, max: 1_000_000_000 });
const meters = fc.record({
  freshInput: count,
  cacheRead: count,
  cacheWrite: count,
  cacheWriteLong: count,
  output: count,
});

test('tokens cost what the same price would charge for them', () => {
  fc.assert(
    fc.property(meters, (reported) => {
      expect(providerCostOfTokens(tokens, reported, at)).toBe(costOfTokens(tokens, reported, at).total);
    }),
  );
  expect(
    providerCostOfTokens(
      tokens,
      { freshInput: 10, cacheRead: 100, cacheWrite: 8, cacheWriteLong: 1, output: 2 },
      at,
    ),
  ).toBe(10n + 10n + 10n + 1n + 10n);
});

test('images cost the rate of their size', () => {
  expect(providerCostOfImages(images, 2, null)).toBe(costOfImages(images, 2, null));
  expect(providerCostOfImages(images, 2, '1k')).toBe(14n);
});

test('nothing is guessed', () => {
  expect(providerCostOfTokens(null, plainMeters(1, 1), at)).toBeNull();
  expect(providerCostOfTokens(images, plainMeters(1, 1), at)).toBeNull();
  expect(providerCostOfImages(null, 1, null)).toBeNull();
  expect(providerCostOfImages(tokens, 1, null)).toBeNull();
  expect(providerCostOfImages(images, 1, '2k')).toBeNull();
  expect(providerCostOfImages({ ...images, tierRates: null }, 1, '1k')).toBeNull();
});
