/**
 * What a usage costs. Pure and exact: each component is rounded at most once, half up, and only when its rate
 * has more than six decimals.
 */
import { divideHalfUp, type Money } from '../lib/money.ts';
import type { ImagePrice, InputTokenTier, NonEmpty, TimeBands, TokenPrice, TokenRates } from './price.ts';

export type TokenUsage = Readonly<{ inputTokens: number; outputTokens: number }>;
export type Cost = Readonly<{ input: Money; output: Money; total: Money }>;

const ratedTokens = 1_000_000n;

/**
 * The charge for a usage billed at `billedAt`. Reasoning tokens are output tokens and counted as such by the caller.
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

/** The charge at given rates; with the dearest rates and bounds for the tokens, the most a request can cost. */
export function costAtRates(rates: TokenRates, usage: TokenUsage): Cost {
  const input = divideHalfUp(countOf(usage.inputTokens) * rates.input, ratedTokens);
  const output = divideHalfUp(countOf(usage.outputTokens) * rates.output, ratedTokens);
  return { input, output, total: input + output };
}

/** How many tokens an amount pays for at a rate, up to `most`; none when there is nothing to pay with. */
export function tokensWithin(amount: Money, rate: Money, most: number): number {
  if (amount < 0n) return 0;
  if (rate === 0n) return most;
  const tokens = (amount * ratedTokens) / rate;
  return tokens < BigInt(most) ? Number(tokens) : most;
}

/** `tier` is what the catalogue gives for the size asked for; null means the plain unit price. */
export function costOfImages(price: ImagePrice, count: number, tier: string | null): Money {
  return countOf(count) * rateOfTier(price, tier);
}

/** The dearest input and output rates that any input up to the bound can meet at any time of day. */
export function highestTokenRates(price: TokenPrice, inputBoundTokens: number): TokenRates {
  switch (price.form) {
    case 'flat':
      return price.rates;
    case 'tiers': {
      const reachable = price.inputTokenTiers.slice(
        0,
        tierIndex(price.inputTokenTiers, inputBoundTokens) + 1,
      );
      return reachable.reduce<TokenRates>(dearer, { input: 0n, output: 0n });
    }
    case 'bands':
      return dearer(price.timeBands.peak, price.timeBands.offPeak);
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
  // The last tier also covers what lies above it: a request the provider accepted must have a price.
  return index === -1 ? tiers.length - 1 : index;
}

function dearer(one: TokenRates, other: TokenRates): TokenRates {
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

// Constructing a formatter costs far more than using one; there are only as many as the catalogue names timezones.
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
  // The catalogue is refused when a size names a tier without a rate, so this is a defect and never a free image.
  if (rate === undefined) throw new RangeError(`The price has no rate for the tier ${tier}.`);
  return rate;
}

function countOf(count: number): bigint {
  // A negative or broken count would turn a charge into a credit.
  if (!Number.isSafeInteger(count) || count < 0) throw new RangeError(`${count} is not a count.`);
  return BigInt(count);
}
