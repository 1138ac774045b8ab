/**
 * What usage costs. Pure and exact: each component is rounded at most once, half up, and only when its rate has more
 * than six decimals.
 */
import { divideHalfUp, type Money } from '../lib/money.ts';
import type { ImagePrice, InputTokenTier, NonEmpty, TimeBands, TokenPrice, TokenRates } from './price.ts';

export type TokenUsage = Readonly<{ inputTokens: number; outputTokens: number }>;
export type Cost = Readonly<{ input: Money; output: Money; total: Money }>;

const ratedTokens = 1_000_000n;

/**
 * The charge for usage billed at `billedAt`. Reasoning tokens are output tokens and counted as such by the caller.
 * `tierTokens` is the input that decides the tier.
 */
export function costOfTokens(
  price: TokenPrice,
  usage: TokenUsage,
  billedAt: Date,
  tierTokens = usage.inputTokens,
): Cost {
  return costAtRates(ratesFor(price, tierTokens, billedAt), usage);
}

/** The charge at given rates; with the highest rates and the bounds on tokens, the most a request can cost. */
export function costAtRates(rates: TokenRates, usage: TokenUsage): Cost {
  const input = divideHalfUp(countOf(usage.inputTokens) * rates.input, ratedTokens);
  const output = divideHalfUp(countOf(usage.outputTokens) * rates.output, ratedTokens);
  return { input, output, total: input + output };
}

/** How many tokens an amount pays for at a rate, up to `max`; none when the amount is negative. */
export function tokensWithin(amount: Money, rate: Money, max: number): number {
  if (amount < 0n) return 0;
  if (rate === 0n) return max;
  const tokens = (amount * ratedTokens) / rate;
  return tokens < BigInt(max) ? Number(tokens) : max;
}

/** `tier` is that of the requested size; null means the plain unit price. */
export function costOfImages(price: ImagePrice, count: number, tier: string | null): Money {
  return countOf(count) * rateOfTier(price, tier);
}

/** The highest input and output rates that can apply to any input up to the bound at any time of day. */
export function highestTokenRates(price: TokenPrice, inputBoundTokens: number): TokenRates {
  switch (price.form) {
    case 'flat':
      return price.rates;
    case 'tiers': {
      const last = tierIndex(price.inputTokenTiers, inputBoundTokens);
      return price.inputTokenTiers.slice(0, last + 1).reduce<TokenRates>(higher, { input: 0n, output: 0n });
    }
    case 'bands':
      return higher(price.timeBands.peak, price.timeBands.offPeak);
  }
}

function ratesFor(price: TokenPrice, inputTokens: number, billedAt: Date): TokenRates {
  switch (price.form) {
    case 'flat':
      return price.rates;
    case 'tiers':
      return price.inputTokenTiers[tierIndex(price.inputTokenTiers, inputTokens)] ?? price.inputTokenTiers[0];
    case 'bands':
      return isOffPeak(price.timeBands, billedAt) ? price.timeBands.offPeak : price.timeBands.peak;
  }
}

function tierIndex(tiers: NonEmpty<InputTokenTier>, inputTokens: number): number {
  const index = tiers.findIndex((tier) => inputTokens <= tier.maxInputTokens);
  // The last tier also covers what is above it: a request the provider accepted must have a price.
  return index === -1 ? tiers.length - 1 : index;
}

function higher(one: TokenRates, other: TokenRates): TokenRates {
  return {
    input: one.input > other.input ? one.input : other.input,
    output: one.output > other.output ? one.output : other.output,
  };
}

function isOffPeak(bands: TimeBands, at: Date): boolean {
  const time = clockIn(bands.timezone).format(at);
  const { offPeakStart: start, offPeakEnd: end } = bands;
  // `HH:MM` texts sort like the times they name.
  return start < end ? start <= time && time < end : start <= time || time < end;
}

// Constructing a formatter costs far more than using one; there are only as many as the catalogue has timezones.
const clocks = new Map<string, Intl.DateTimeFormat>();

function clockIn(timezone: string): Intl.DateTimeFormat {
  let clock = clocks.get(timezone);
  if (clock === undefined) {
    clock = new Intl.DateTimeFormat('en-GB', {
      timeZone: timezone,
      hour: '2-digit',
      minute: '2-digit',
      hourCycle: 'h23',
    });
    clocks.set(timezone, clock);
  }
  return clock;
}

function rateOfTier(price: ImagePrice, tier: string | null): Money {
  if (tier === null) return price.unitPrice;
  const rate = price.tierRates?.get(tier);
  // The catalogue is rejected when a size names a tier without a rate, so this is a defect and never a free image.
  if (rate === undefined) throw new RangeError(`The price has no rate for the tier ${tier}.`);
  return rate;
}

function countOf(count: number): bigint {
  // A negative or broken count would turn a charge into a credit.
  if (!Number.isSafeInteger(count) || count < 0) throw new RangeError(`${count} is not a count.`);
  return BigInt(count);
}
