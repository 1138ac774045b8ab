/** What a use would cost, by the prices that the model list shows. Exact: amounts are bigints that count 1e-12 USD. */
import type { Pricing } from './listed-model.ts';

export type Band = 'now' | 'peak' | 'off_peak';
type TokenCost = Readonly<{ input: bigint; output: bigint; total: bigint }>;
export type Rates = Readonly<{ input: number; output: number }>;

const scaleDigits = 12;
const ratedTokens = 1_000_000n;

/** Catalogue prices have at most 12 decimals; with up to 15 digits that count, a number still prints as it was written. */
export function unitsOf(price: number): bigint {
  return BigInt(price.toFixed(scaleDigits).replace('.', ''));
}

/** With 12 digits after the point, as every amount of the API has them. */
export function amountOf(units: bigint): string {
  const digits = units.toString().padStart(scaleDigits + 1, '0');
  return `${digits.slice(0, -scaleDigits)}.${digits.slice(-scaleDigits)}`;
}

type TokenUse = Readonly<{ inputTokens: number; outputTokens: number; band: Band; now: Date }>;

export function costOfTokens(pricing: Pricing, use: TokenUse): TokenCost {
  const rates = ratesFor(pricing, use);
  const input = divideHalfUp(BigInt(use.inputTokens) * unitsOf(rates.input), ratedTokens);
  const output = divideHalfUp(BigInt(use.outputTokens) * unitsOf(rates.output), ratedTokens);
  return { input, output, total: input + output };
}

/** Of images or seconds. Without a tier, or with one that has no rate of its own, it is the plain unit price. */
export function costOfUnits(pricing: Pricing, count: number, tier: string | null): bigint {
  const own = new Map(Object.entries(pricing.tier_rates ?? {})).get(tier ?? '');
  return BigInt(count) * unitsOf(own ?? pricing.unit_price ?? 0);
}

function ratesFor(pricing: Pricing, { inputTokens, band, now }: TokenUse): Rates {
  const { input_token_tiers: tiers, time_bands: bands } = pricing;
  if (tiers !== undefined) {
    // The last tier also covers what lies above it.
    const tier = tiers.find(({ max_input_tokens: most }) => inputTokens <= most) ?? tiers.at(-1);
    if (tier !== undefined) return tier;
  }
  if (bands !== undefined) return bandAt(bands, band, now) === 'peak' ? bands.peak : bands.off_peak;
  return { input: pricing.input ?? 0, output: pricing.output ?? 0 };
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
  // `HH:MM` texts sort like the times they name, and the hours may pass midnight.
  const isOffPeak = start < end ? start <= time && time < end : start <= time || time < end;
  return isOffPeak ? 'off_peak' : 'peak';
}

function divideHalfUp(numerator: bigint, denominator: bigint): bigint {
  return (numerator * 2n + denominator) / (denominator * 2n);
}
