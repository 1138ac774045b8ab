/** A price as lines that people can read. */
import { formatCountShort } from '../../kit/format-figures.ts';
import { amountOf, unitsOf } from './calculate-cost.ts';
import type { Pricing } from './listed-model.ts';
import { timeInZone } from './zone-time.ts';

/** Amounts are decimal texts. Without an output the one price is the input. */
type PriceLine = Readonly<{ label: string; hint?: string; input: string; output: string | null }>;
type PriceTable = Readonly<{ unit: string; lines: readonly PriceLine[] }>;

const textOf = (price: number) => amountOf(unitsOf(price));
const units = { per_1m_tokens: 'per 1M tokens', per_image: 'per image', per_second: 'per second' } as const;

export function priceTableOf(pricing: Pricing, viewerZone: string, now: Date): PriceTable {
  return { unit: units[pricing.unit], lines: linesOf(pricing, viewerZone, now) };
}

function linesOf(pricing: Pricing, viewerZone: string, now: Date): readonly PriceLine[] {
  const { input_token_tiers: tiers, time_bands: bands, tier_rates: rates } = pricing;
  const pair = ({ input, output }: { input: number; output: number }) => ({
    input: textOf(input),
    output: textOf(output),
  });
  if (tiers !== undefined)
    return tiers.map((tier) => ({
      label: `Up to ${formatCountShort(tier.max_input_tokens)} input tokens`,
      ...pair(tier),
    }));
  if (bands !== undefined) {
    const { timezone, off_peak_start: start, off_peak_end: end } = bands;
    const own = (time: string) => timeInZone(time, timezone, viewerZone, now);
    const hours = (from: string, to: string) =>
      `${from}–${to} ${timezone}, which is ${own(from)}–${own(to)} for you`;
    return [
      { label: bands.peak.name, hint: hours(end, start), ...pair(bands.peak) },
      { label: 'Off-peak', hint: hours(start, end), ...pair(bands.off_peak) },
    ];
  }
  if (pricing.unit === 'per_1m_tokens')
    return [{ label: 'All requests', ...pair({ input: pricing.input ?? 0, output: pricing.output ?? 0 }) }];
  if (rates !== undefined)
    return Object.entries(rates).map(([tier, rate]) => ({ label: tier, input: textOf(rate), output: null }));
  return [{ label: 'All sizes', input: textOf(pricing.unit_price ?? 0), output: null }];
}
