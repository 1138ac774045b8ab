/** Whether a price can be lower than what a provider charges the operator for the same. */
import type { Money } from '../lib/money.ts';
import { type Band, bandAtTime, ratesIn } from './cost.ts';
import type { Price, TokenPrice, TokenRates } from './price.ts';

const cacheMeters = ['cacheRead', 'cacheWrite', 'cacheWriteLong'] as const;
const tokenMeters = ['input', 'output', ...cacheMeters] as const;
export type PricedMeter = (typeof tokenMeters)[number] | 'unit';

/** A rate that is lower than what it costs. Both amounts are per 1M tokens, or per image or second. */
export type Underpriced = Readonly<{
  meter: PricedMeter;
  price: Money;
  cost: Money;
  /** Whether the price has none for this meter, so that its tokens are charged as input. */
  isChargedAsInput: boolean;
  /** From how much input on, and in which band of the price and of the cost; null without bands. */
  fromInputTokens: number;
  priceBand: Band | null;
  costBand: Band | null;
  /** The tier of images or seconds; null for the plain unit price, and for tokens. */
  unitTier: string | null;
}>;

/**
 * For each meter that can be sold below cost, where that loses the most: in any tier, in any band, and with cached input
 * that either side counts as other input. Empty when nothing can be. Both are of one billing type.
 */
export function soldBelowCost(price: Price, cost: Price): readonly Underpriced[] {
  const worst = new Map<PricedMeter, Underpriced>();
  for (const rate of underpricedOf(price, cost)) {
    const known = worst.get(rate.meter);
    if (known === undefined || lostAt(rate) > lostAt(known)) worst.set(rate.meter, rate);
  }
  return [...worst.values()];
}

function lostAt({ price, cost }: Underpriced): Money {
  return cost - price;
}

function underpricedOf(price: Price, cost: Price): readonly Underpriced[] {
  if (price.billingType === 'token' && cost.billingType === 'token') return underpricedTokens(price, cost);
  if (price.billingType !== 'token' && cost.billingType !== 'token') return underpricedUnits(price, cost);
  throw new TypeError('A cost has the billing type of its price.');
}

const ofUnits = { meter: 'unit', isChargedAsInput: false, fromInputTokens: 0 } as const;
const withoutBands = { priceBand: null, costBand: null } as const;

/** A tier that the cost does not have costs the plain unit price. */
function underpricedUnits(
  price: Exclude<Price, TokenPrice>,
  cost: Exclude<Price, TokenPrice>,
): Underpriced[] {
  const tiers: readonly (readonly [string | null, Money])[] = [
    [null, price.unitPrice],
    ...(price.tierRates ?? []),
  ];
  return tiers.flatMap(([unitTier, sold]) => {
    const paid = (unitTier === null ? undefined : cost.tierRates?.get(unitTier)) ?? cost.unitPrice;
    return sold < paid ? [{ ...ofUnits, ...withoutBands, unitTier, price: sold, cost: paid }] : [];
  });
}

function underpricedTokens(price: TokenPrice, cost: TokenPrice): Underpriced[] {
  return inputsToCompare(price, cost).flatMap((fromInputTokens) =>
    bandsToCompare(price, cost).flatMap((bands) => {
      const sold = ratesIn(price, fromInputTokens, bands.priceBand ?? 'peak');
      const paid = ratesIn(cost, fromInputTokens, bands.costBand ?? 'peak');
      return underpricedAtRates(sold, paid).map((rate) => ({
        ...rate,
        ...bands,
        fromInputTokens,
        unitTier: null,
      }));
    }),
  );
}

type UnderpricedAtRates = Pick<Underpriced, 'meter' | 'price' | 'cost' | 'isChargedAsInput'>;

function underpricedAtRates(sold: TokenRates, paid: TokenRates): UnderpricedAtRates[] {
  return tokenMeters.flatMap((meter) => {
    // Where neither has a price for cached input, it is sold like the rest and needs no mention of its own.
    if (sold[meter] === undefined && paid[meter] === undefined) return [];
    const price = sold[meter] ?? sold.input;
    const cost = paid[meter] ?? paid.input;
    return price < cost ? [{ meter, price, cost, isChargedAsInput: sold[meter] === undefined }] : [];
  });
}

/** The least input of every pair of tiers that a request can be in: nothing changes in between. */
function inputsToCompare(...prices: readonly TokenPrice[]): readonly number[] {
  const starts = prices.flatMap((price) =>
    price.form === 'tiers'
      ? price.inputTokenTiers.slice(0, -1).map(({ maxInputTokens }) => maxInputTokens + 1)
      : [],
  );
  return [...new Set([0, ...starts])].toSorted((one, other) => one - other);
}

type Bands = Pick<Underpriced, 'priceBand' | 'costBand'>;

/**
 * The bands in which both can be at one time. How bands in two timezones meet depends on the season, so each is assumed to
 * meet the other: a warning too many costs less than one too few.
 */
function bandsToCompare(price: TokenPrice, cost: TokenPrice): readonly Bands[] {
  const priceBands = price.form === 'bands' ? price.timeBands : null;
  const costBands = cost.form === 'bands' ? cost.timeBands : null;
  if (priceBands !== null && costBands !== null && priceBands.timezone === costBands.timezone)
    return [priceBands, costBands]
      .flatMap(({ offPeakStart, offPeakEnd }) => [offPeakStart, offPeakEnd])
      .map((time) => ({ priceBand: bandAtTime(priceBands, time), costBand: bandAtTime(costBands, time) }));
  const both = ['peak', 'offPeak'] as const;
  const none = [null] as const;
  return (priceBands === null ? none : both).flatMap((priceBand) =>
    (costBands === null ? none : both).map((costBand) => ({ priceBand, costBand })),
  );
}
