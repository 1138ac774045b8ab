/**
 * What usage costs. Pure and exact: each component is rounded at most once, half up, and only when its rate has more
 * than six decimals.
 */
import { cachedTokensOf, inputTokensOf, type Meters } from '../lib/meters.ts';
import { divideHalfUp, type Money } from '../lib/money.ts';
import type { ImagePrice, InputTokenTier, NonEmpty, TimeBands, TokenPrice, TokenRates } from './price.ts';

/** `input` is all input, cached or not. `cached` is null when no cache was involved. */
export type Cost = Readonly<{ input: Money; output: Money; total: Money; cached: CachedCost | null }>;

/** Parts of the input's cost. `saved` is how much less all input cost than without caches; negative if it cost more. */
export type CachedCost = Readonly<{ read: Money; write: Money; writeLong: Money; saved: Money }>;

export type Band = 'peak' | 'offPeak';

const ratedTokens = 1_000_000n;

/** The charge for usage billed at `billedAt`. `tierTokens` is the input that decides the tier, cached or not. */
export function costOfTokens(
  price: TokenPrice,
  meters: Meters,
  billedAt: Date,
  tierTokens = inputTokensOf(meters),
): Cost {
  return costAtRates(ratesFor(price, tierTokens, billedAt), meters);
}

/** The least that this much input and output can cost, if a cache was involved in any of it. */
export function lowestCost(price: TokenPrice, meters: Meters, billedAt: Date): Cost {
  const { input, output, cacheRead = input } = ratesFor(price, inputTokensOf(meters), billedAt);
  return costAtRates({ input: cacheRead < input ? cacheRead : input, output }, meters);
}

/** The charge at given rates; with the highest rates and the bounds on tokens, the most a request can cost. */
export function costAtRates(rates: TokenRates, meters: Meters): Cost {
  const fresh = costOfCount(meters.freshInput, rates.input);
  const output = costOfCount(meters.output, rates.output);
  if (cachedTokensOf(meters) === null) return { input: fresh, output, total: fresh + output, cached: null };
  const read = costOfCount(meters.cacheRead, rates.cacheRead ?? rates.input);
  const write = costOfCount(meters.cacheWrite, rates.cacheWrite ?? rates.input);
  const writeLong = costOfCount(meters.cacheWriteLong, rates.cacheWriteLong ?? rates.input);
  const input = fresh + read + write + writeLong;
  const saved = costOfCount(inputTokensOf(meters), rates.input) - input;
  return { input, output, total: input + output, cached: { read, write, writeLong, saved } };
}

function costOfCount(tokens: number, rate: Money): Money {
  return divideHalfUp(countOf(tokens) * rate, ratedTokens);
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

/** What a request can make a provider write to its cache. */
export type CacheWrites = 'none' | 'short' | 'long';

/**
 * The highest input and output rates that can apply to any input up to the bound at any time of day, whether the provider
 * reads it from a cache, writes it to one, or neither.
 */
export function highestTokenRates(
  price: TokenPrice,
  inputBoundTokens: number,
  writes: CacheWrites,
): TokenRates {
  const { input, output, cacheRead, cacheWrite, cacheWriteLong } = highestRates(price, inputBoundTokens);
  const reachable = [
    cacheRead,
    ...(writes === 'none' ? [] : [cacheWrite]),
    ...(writes === 'long' ? [cacheWriteLong] : []),
  ];
  const highest = reachable.reduce<Money>((high, rate) => largest(high, rate ?? 0n), input);
  return { input: roundedUp(highest), output };
}

/** To whole units per token: each part of the input is rounded on its own, and all of them together may cost no more. */
function roundedUp(rate: Money): Money {
  return ((rate + ratedTokens - 1n) / ratedTokens) * ratedTokens;
}

/** The rates of all tiers or bands that can apply, the highest of each. */
function highestRates(price: TokenPrice, inputBoundTokens: number): TokenRates {
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
  return ratesIn(price, inputTokens, price.form === 'bands' ? bandAt(price.timeBands, billedAt) : 'peak');
}

/** `band` means something only for a price that has bands. */
export function ratesIn(price: TokenPrice, inputTokens: number, band: Band): TokenRates {
  switch (price.form) {
    case 'flat':
      return price.rates;
    case 'tiers':
      return price.inputTokenTiers[tierIndex(price.inputTokenTiers, inputTokens)] ?? price.inputTokenTiers[0];
    case 'bands':
      return price.timeBands[band];
  }
}

function tierIndex(tiers: NonEmpty<InputTokenTier>, inputTokens: number): number {
  const index = tiers.findIndex((tier) => inputTokens <= tier.maxInputTokens);
  // The last tier also covers what is above it: a request the provider accepted must have a price.
  return index === -1 ? tiers.length - 1 : index;
}

/** A rate that one of them lacks is the input's there, which is among the highest already. */
function higher(one: TokenRates, other: TokenRates): TokenRates {
  return {
    input: largest(one.input, other.input),
    output: largest(one.output, other.output),
    cacheRead: largest(one.cacheRead ?? 0n, other.cacheRead ?? 0n),
    cacheWrite: largest(one.cacheWrite ?? 0n, other.cacheWrite ?? 0n),
    cacheWriteLong: largest(one.cacheWriteLong ?? 0n, other.cacheWriteLong ?? 0n),
  };
}

function largest(one: Money, other: Money): Money {
  return one > other ? one : other;
}

function bandAt(bands: TimeBands, at: Date): Band {
  return bandAtTime(bands, clockIn(bands.timezone).format(at));
}

/** `time` is `HH:MM` in the timezone of the bands. */
export function bandAtTime({ offPeakStart: start, offPeakEnd: end }: TimeBands, time: string): Band {
  // `HH:MM` texts sort like the times they name.
  const isOffPeak = start < end ? start <= time && time < end : start <= time || time < end;
  return isOffPeak ? 'offPeak' : 'peak';
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
