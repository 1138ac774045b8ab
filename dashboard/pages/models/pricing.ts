/** Prices as the model list shows them, and the exact cost of a use. Amounts are bigints in units of 1e-12 USD. */
import { amountOf, divideHalfUp, ratedTokens, scaleDigits, unitsOf } from '../../kit/amounts.ts';
import { formatCountShort } from '../../kit/format-figures.ts';
import type { Pricing } from './models.ts';

export type Band = 'now' | 'peak' | 'off_peak';
/** `input` is all input, cached or not. `saved` is how much less it costs than without caches; negative if more. */
type TokenCost = Readonly<{ input: bigint; output: bigint; total: bigint; saved: bigint }>;

/** The names of the cache prices, as people read them. */
export const cacheLabels = {
  cache_read: 'Cache read',
  cache_write: 'Cache write',
  cache_write_long: 'Cache write, kept longer',
} as const;
export type CacheMeter = keyof typeof cacheLabels;
export const cacheMeters = Object.keys(cacheLabels) as readonly CacheMeter[];
export type CachedTokens = Readonly<Record<CacheMeter, number>>;

type CacheRates = Readonly<{ [Meter in CacheMeter]?: number }>;
type Rates = Readonly<{ input: number; output: number }> & CacheRates;

/** Catalogue prices have at most 12 decimals. Up to 15 significant digits, a number prints as it was written. */
export function priceUnitsOf(price: number): bigint {
  return unitsOf(price.toFixed(scaleDigits));
}

type TokenUse = Readonly<{
  /** All of the input: `cached` says which part of it a cache was involved in. */
  inputTokens: number;
  cached: CachedTokens;
  outputTokens: number;
  band: Band;
  now: Date;
}>;

/** Every meter is rounded on its own, as it is when it is charged. */
export function costOfTokens(pricing: Pricing, use: TokenUse): TokenCost {
  const rates = ratesFor(pricing, use);
  const fresh = use.inputTokens - cachedTokensOf(use.cached);
  const cached = cacheMeters.map((meter) => costOfCount(use.cached[meter], rates[meter] ?? rates.input));
  const input = cached.reduce((sum, cost) => sum + cost, costOfCount(fresh, rates.input));
  const output = costOfCount(use.outputTokens, rates.output);
  return { input, output, total: input + output, saved: costOfCount(use.inputTokens, rates.input) - input };
}

export function cachedTokensOf(cached: CachedTokens): number {
  return cacheMeters.reduce((sum, meter) => sum + cached[meter], 0);
}

/** The meters that have a price of their own, in any tier or band. */
export function pricedCacheMeters(pricing: Pricing): readonly CacheMeter[] {
  const { input_token_tiers: tiers = [], time_bands: bands } = pricing;
  const all: readonly CacheRates[] = [pricing, ...tiers, ...(bands === undefined ? [] : [bands.peak])];
  return cacheMeters.filter((meter) => all.some(({ [meter]: rate }) => rate !== undefined));
}

function costOfCount(tokens: number, rate: number): bigint {
  return divideHalfUp(BigInt(tokens) * priceUnitsOf(rate), ratedTokens);
}

/** The cost of images or seconds. A tier without its own rate has the plain unit price. */
export function costOfUnits(pricing: Pricing, count: number, tier: string | null): bigint {
  const own = new Map(Object.entries(pricing.tier_rates ?? {})).get(tier ?? '');
  return BigInt(count) * priceUnitsOf(own ?? pricing.unit_price ?? 0);
}

function ratesFor(pricing: Pricing, { inputTokens, band, now }: TokenUse): Rates {
  const { input_token_tiers: tiers, time_bands: bands } = pricing;
  if (tiers !== undefined) {
    // The last tier also covers everything above it.
    const tier = tiers.find(({ max_input_tokens: max }) => inputTokens <= max) ?? tiers.at(-1);
    if (tier !== undefined) return tier;
  }
  if (bands !== undefined) return bandAt(bands, band, now) === 'peak' ? bands.peak : bands.off_peak;
  return headlineOf(pricing);
}

function headlineOf({ input, output, ...rest }: Pricing): Rates {
  return { ...rest, input: input ?? 0, output: output ?? 0 };
}

type TimeBands = NonNullable<Pricing['time_bands']>;

export function bandAt(bands: TimeBands, band: Band, now: Date): 'peak' | 'off_peak' {
  if (band !== 'now') return band;
  const time = new Intl.DateTimeFormat('en-GB', {
    timeZone: bands.timezone,
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  }).format(now);
  const { off_peak_start: start, off_peak_end: end } = bands;
  // `HH:MM` strings sort like the times they name. The off-peak hours may span midnight.
  const isOffPeak = start < end ? start <= time && time < end : start <= time || time < end;
  return isOffPeak ? 'off_peak' : 'peak';
}

/** Amounts are decimal strings. If there is only one price, it is `input`. */
type PriceLine = Readonly<{
  label: string;
  hint?: string;
  input: string;
  output: string | null;
  /** What input costs that a cache was involved in, where that differs. */
  cached: readonly Readonly<{ label: string; price: string }>[];
}>;
type PriceTable = Readonly<{ unit: string; lines: readonly PriceLine[] }>;

const textOf = (price: number) => amountOf(priceUnitsOf(price));
const units = { per_1m_tokens: 'per 1M tokens', per_image: 'per image', per_second: 'per second' } as const;

export function priceTableOf(pricing: Pricing, viewerZone: string, now: Date): PriceTable {
  return { unit: units[pricing.unit], lines: linesOf(pricing, viewerZone, now) };
}

function linesOf(pricing: Pricing, viewerZone: string, now: Date): readonly PriceLine[] {
  const { input_token_tiers: tiers, time_bands: bands, tier_rates: rates } = pricing;
  const pricesOf = ({ input, output, ...cached }: Rates) => ({
    input: textOf(input),
    output: textOf(output),
    cached: cacheMeters.flatMap((meter) => {
      const { [meter]: rate } = cached;
      return rate === undefined ? [] : [{ label: cacheLabels[meter], price: textOf(rate) }];
    }),
  });
  const unitPrice = (label: string, rate: number) => ({
    label,
    input: textOf(rate),
    output: null,
    cached: [],
  });
  if (tiers !== undefined)
    return tiers.map((tier) => ({
      label: `Up to ${formatCountShort(tier.max_input_tokens)} input tokens`,
      ...pricesOf(tier),
    }));
  if (bands !== undefined) {
    const { timezone, off_peak_start: start, off_peak_end: end } = bands;
    const own = (time: string) => timeInZone(time, timezone, viewerZone, now);
    const hours = (from: string, to: string) =>
      `${from}–${to} ${timezone} (${own(from)}–${own(to)} your time)`;
    return [
      { label: bands.peak.name, hint: hours(end, start), ...pricesOf(bands.peak) },
      { label: 'Off-peak', hint: hours(start, end), ...pricesOf(bands.off_peak) },
    ];
  }
  if (pricing.unit === 'per_1m_tokens') return [{ label: 'All requests', ...pricesOf(headlineOf(pricing)) }];
  if (rates !== undefined) return Object.entries(rates).map(([tier, rate]) => unitPrice(tier, rate));
  return [unitPrice('All sizes', pricing.unit_price ?? 0)];
}

/** Converts a time of day from one time zone to another, with the offsets of the given day. */
export function timeInZone(time: string, from: string, to: string, now: Date): string {
  const [hours = 0, minutes = 0] = time.split(':').map(Number);
  const day = 24 * 60;
  const shifted = hours * 60 + minutes + offsetMinutes(to, now) - offsetMinutes(from, now);
  const inDay = ((shifted % day) + day) % day;
  const two = (count: number) => `${count}`.padStart(2, '0');
  return `${two(Math.floor(inDay / 60))}:${two(inDay % 60)}`;
}

/** How far a time zone is ahead of UTC. */
function offsetMinutes(zone: string, at: Date): number {
  const parts = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    hourCycle: 'h23',
  }).formatToParts(at);
  const part = (type: string) => Number(parts.find((candidate) => candidate.type === type)?.value ?? 0);
  const there = Date.UTC(part('year'), part('month') - 1, part('day'), part('hour'), part('minute'));
  const minuteMs = 60_000;
  return Math.round((there - Math.floor(at.getTime() / minuteMs) * minuteMs) / minuteMs);
}
