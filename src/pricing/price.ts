/** The forms a price can take. Every amount is exact: Money per 1M tokens, per image or per second. */
import type { Money } from '../lib/money.ts';

/** Per 1M tokens. Cached input without a rate of its own costs as much as other input. */
export type TokenRates = Readonly<{ input: Money; output: Money }> & CacheRates;

export type CacheRates = Readonly<{
  cacheRead?: Money | undefined;
  cacheWrite?: Money | undefined;
  /** For what a provider keeps for longer than usual. */
  cacheWriteLong?: Money | undefined;
}>;

/** Applies to all tokens of a request whose input is at most `maxInputTokens`. */
export type InputTokenTier = TokenRates & Readonly<{ maxInputTokens: number }>;

/** Times are `HH:MM` in `timezone`: including the start, excluding the end; the window may span midnight. */
export type TimeBands = Readonly<{
  timezone: string;
  offPeakStart: string;
  offPeakEnd: string;
  peak: TokenRates & Readonly<{ name: string }>;
  offPeak: TokenRates;
}>;

type Remarks = Readonly<{ region: string | null; note: string | null }>;

/**
 * How the rates of a token price are determined. The three forms never mix: neither the contract nor any vendor defines
 * what a long request costs at night.
 */
export type TokenPrice = Remarks &
  Readonly<{ billingType: 'token' }> &
  (
    | Readonly<{ form: 'flat'; rates: TokenRates }>
    | Readonly<{ form: 'tiers'; headline: TokenRates | null; inputTokenTiers: NonEmpty<InputTokenTier> }>
    | Readonly<{ form: 'bands'; headline: TokenRates | null; timeBands: TimeBands }>
  );

/** Every rate that can be charged: that of each tier, or of each band. */
export function chargedRates(price: TokenPrice): readonly TokenRates[] {
  switch (price.form) {
    case 'flat':
      return [price.rates];
    case 'tiers':
      return price.inputTokenTiers;
    case 'bands':
      return [price.timeBands.peak, price.timeBands.offPeak];
  }
}

export type NonEmpty<Item> = readonly [Item, ...Item[]];

/** Published next to the unit price to show what it is made of; the gateway does not charge by it. */
export type PriceBasis =
  | Readonly<{ kind: 'image'; rates: ReadonlyMap<string, Money>; inputPrice: Money }>
  | Readonly<{ kind: 'video'; rates: ReadonlyMap<string, Money>; inputCap: Money | null }>;

type UnitPrice<BillingType extends 'image' | 'second'> = Remarks &
  Readonly<{
    billingType: BillingType;
    unitPrice: Money;
    /** Unit prices by resolution or size; null when the unit price is the only one. */
    tierRates: ReadonlyMap<string, Money> | null;
    basis: PriceBasis | null;
  }>;

export type ImagePrice = UnitPrice<'image'>;
export type SecondPrice = UnitPrice<'second'>;
export type Price = TokenPrice | ImagePrice | SecondPrice;
export type BillingType = Price['billingType'];
