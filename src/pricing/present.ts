/** A price as the contract's `pricing` object, its fields in the contract's order. */

import { type RawJson, rawJson } from '../json/raw.ts';
import { formatMoneyShort, type Money } from '../lib/money.ts';
import type { CacheRates, Price, PriceBasis, TimeBands, TokenPrice, TokenRates } from './price.ts';

/** The public names of the cache prices. */
export const cacheFields = [
  ['cache_read', 'cacheRead'],
  ['cache_write', 'cacheWrite'],
  ['cache_write_long', 'cacheWriteLong'],
] as const satisfies readonly (readonly [string, keyof CacheRates])[];
export type CacheField = (typeof cacheFields)[number][0];

/** Cache prices only where there are any: without one, that input costs as much as any other. */
type PublicCacheRates<Decimal> = { [Name in CacheField]?: Decimal };
type PublicRates<Decimal> = { input: Decimal; output: Decimal } & PublicCacheRates<Decimal>;

export type PublicPricing<Decimal = RawJson> = {
  currency: 'USD';
  input: Decimal | null;
  output: Decimal | null;
  unit_price: Decimal | null;
  unit: 'per_1m_tokens' | 'per_image' | 'per_second';
  billing_type: 'token' | 'image' | 'second';
  price_version: string;
  region?: string;
  note?: string;
  tier_rates?: Record<string, Decimal>;
  basis?:
    | { kind: 'image'; rates: Record<string, Decimal>; inputPrice: Decimal }
    | { kind: 'video'; rates: Record<string, Decimal>; inputCap: Decimal | null };
  input_token_tiers?: ({ max_input_tokens: number } & PublicRates<Decimal>)[];
  time_bands?: {
    timezone: string;
    off_peak_start: string;
    off_peak_end: string;
    peak: { name: string } & PublicRates<Decimal>;
    off_peak: PublicRates<Decimal>;
  };
} & PublicCacheRates<Decimal>;

/** Decimals become JSON numbers, printed exactly as in the catalogue. */
export function presentPrice(price: Price, priceVersion: string): PublicPricing {
  return presentPriceWith((money) => rawJson(formatMoneyShort(money)), price, priceVersion);
}

/** Decimals become strings, for storing a price that must never be read back as a float. */
export function presentPriceAsText(price: Price, priceVersion: string): PublicPricing<string> {
  return presentPriceWith(formatMoneyShort, price, priceVersion);
}

function presentPriceWith<Decimal>(
  decimal: (money: Money) => Decimal,
  price: Price,
  priceVersion: string,
): PublicPricing<Decimal> {
  const rates = (from: TokenRates) => presentRates(decimal, from);
  // fromEntries defines each key as data, so that a tier named __proto__ is a tier like any other.
  const byTier = (from: ReadonlyMap<string, Money>) =>
    Object.fromEntries([...from].map(([tier, rate]) => [tier, decimal(rate)]));
  const remarks = {
    price_version: priceVersion,
    ...(price.region === null ? {} : { region: price.region }),
    ...(price.note === null ? {} : { note: price.note }),
  };

  if (price.billingType === 'token') {
    return {
      currency: 'USD',
      ...rates(headlineOf(price)),
      unit_price: null,
      unit: 'per_1m_tokens',
      billing_type: 'token',
      ...remarks,
      ...(price.form === 'tiers'
        ? {
            input_token_tiers: price.inputTokenTiers.map((tier) => ({
              max_input_tokens: tier.maxInputTokens,
              ...rates(tier),
            })),
          }
        : {}),
      ...(price.form === 'bands' ? { time_bands: presentBands(price.timeBands) } : {}),
    };
  }

  return {
    currency: 'USD',
    input: null,
    output: null,
    unit_price: decimal(price.unitPrice),
    unit: price.billingType === 'image' ? 'per_image' : 'per_second',
    billing_type: price.billingType,
    ...remarks,
    ...(price.tierRates === null ? {} : { tier_rates: byTier(price.tierRates) }),
    ...(price.basis === null ? {} : { basis: presentBasis(price.basis) }),
  };

  function presentBands(bands: TimeBands) {
    return {
      timezone: bands.timezone,
      off_peak_start: bands.offPeakStart,
      off_peak_end: bands.offPeakEnd,
      peak: { name: bands.peak.name, ...rates(bands.peak) },
      off_peak: rates(bands.offPeak),
    };
  }

  function presentBasis(basis: PriceBasis): NonNullable<PublicPricing<Decimal>['basis']> {
    const published = byTier(basis.rates);
    return basis.kind === 'image'
      ? { kind: 'image', rates: published, inputPrice: decimal(basis.inputPrice) }
      : {
          kind: 'video',
          rates: published,
          inputCap: basis.inputCap === null ? null : decimal(basis.inputCap),
        };
  }
}

function presentRates<Decimal>(decimal: (money: Money) => Decimal, rates: TokenRates): PublicRates<Decimal> {
  const cached = cacheFields.flatMap(([name, rate]) => {
    const { [rate]: given } = rates;
    return given === undefined ? [] : [[name, decimal(given)]];
  });
  return { input: decimal(rates.input), output: decimal(rates.output), ...Object.fromEntries(cached) };
}

/** The one set of rates that stands for the whole price: as given, else the first tier's or the peak's. */
function headlineOf(price: TokenPrice): TokenRates {
  switch (price.form) {
    case 'flat':
      return price.rates;
    case 'tiers':
      return price.headline ?? price.inputTokenTiers[0];
    case 'bands':
      return price.headline ?? price.timeBands.peak;
  }
}
