/** The table of `--compare`: medians of each variant, and the pairwise differences from the first one. */
import { median, quartiles } from './statistics.ts';
import { formatAdded, formatNumber } from './table.ts';

export type Sample = Readonly<{
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
  cpuMicroseconds: number;
  cores: number;
}>;

/** Samples are in the order of the rounds. */
type Variant = Readonly<{ name: string; samples: readonly Sample[] }>;

export const compareHeader = [
  '64 connections',
  'settings',
  'per second',
  'p50 ms',
  'p99 ms',
  'CPU µs',
  'more than the first',
  'quartiles',
  'cores',
];

export function compareRows(title: string, unit: string, variants: readonly Variant[]): string[][] {
  const first = variants[0]?.samples ?? [];
  return variants.map(({ name, samples }, index) => {
    const middle = (figure: (sample: Sample) => number) => formatNumber(median(samples.map(figure)));
    const differences = samples.map(
      ({ cpuMicroseconds }, round) => cpuMicroseconds - (first[round]?.cpuMicroseconds ?? Number.NaN),
    );
    const [lower, middleDifference, upper] = quartiles(differences);
    return [
      title,
      name,
      `${middle(({ perSecond }) => perSecond)} ${unit}`,
      middle(({ p50Ms }) => p50Ms),
      middle(({ p99Ms }) => p99Ms),
      middle(({ cpuMicroseconds }) => cpuMicroseconds),
      index === 0 ? '–' : formatAdded(middleDifference),
      index === 0 ? '–' : `${formatAdded(lower)} to ${formatAdded(upper)}`,
      middle(({ cores }) => cores),
    ];
  });
}
