/** Values with their details on hover: money, times, durations, and shares as bars. */
import { createContext, useContext, useEffect, useState } from 'react';
import { formatAmount, formatMoneyExactly, missingZeros } from './amounts.ts';
import { classNames } from './class-names.ts';
import { formatDistance, formatDuration, formatTime, formatUtc, type TimeStyle } from './format-figures.ts';

/** In place of a value that does not exist. */
export function Dash() {
  return <span className="text-ink-faint">–</span>;
}

type MoneyProps = Readonly<{
  /** A decimal string with up to 12 decimals, as in the API. Null shows a dash. */
  amount: string | null;
  /** Shows every digit, for a statement or a single charge. */
  isExact?: boolean;
  /** Rounds down, so that a balance never looks higher than it is. */
  isBalance?: boolean;
  className?: string | undefined;
}>;

/** How many decimals the amounts of a table's column have. Outside of one, each has as many as it needs. */
export const ColumnDecimals = createContext<number | undefined>(undefined);

/** Short by default, with all digits in the title. */
export function Money({ amount, isExact = false, isBalance = false, className }: MoneyProps) {
  const decimals = useContext(ColumnDecimals);
  if (amount === null) return <Dash />;
  const written = formatAmount(amount, isExact ? 'exact' : isBalance ? 'balance' : 'short', decimals);
  return (
    <span
      title={`${formatMoneyExactly(amount)} USD`}
      className={classNames('figures whitespace-nowrap', className)}
    >
      {written}
      <PaddingZeros written={written} decimals={decimals ?? 0} />
    </span>
  );
}

/** Faint, because they only make the decimal points line up. On a narrow screen there are no columns. */
export function PaddingZeros({ written, decimals }: Readonly<{ written: string; decimals: number }>) {
  const zeros = missingZeros(written, decimals);
  if (zeros === '') return null;
  return (
    <span aria-hidden className="font-normal text-ink-faint max-md:hidden">
      {zeros}
    </span>
  );
}

const tickMs = 30_000;

type TimeProps = Readonly<{
  /** ISO 8601, as in the API. Null shows `otherwise`. */
  at: string | null;
  style?: TimeStyle | 'distance';
  otherwise?: string;
}>;

/** In the viewer's time zone, with UTC on hover. */
export function Time({ at, style = 'moment', otherwise = '–' }: TimeProps) {
  if (at === null) return <span className="text-ink-faint">{otherwise}</span>;
  const instant = new Date(at);
  return (
    <time dateTime={at} title={titleOf(instant, style)} className="whitespace-nowrap">
      {style === 'distance' ? <Distance instant={instant} /> : formatTime(instant, style)}
    </time>
  );
}

export function titleOf(instant: Date, style: TimeStyle | 'distance'): string {
  const utc = formatUtc(instant);
  return style === 'distance' ? `${formatTime(instant, 'exact')} · ${utc}` : utc;
}

function Distance({ instant }: Readonly<{ instant: Date }>) {
  const [now, setNow] = useState(() => new Date());
  useEffect(() => {
    const timer = setInterval(() => setNow(new Date()), tickMs);
    return () => clearInterval(timer);
  }, []);
  return formatDistance(instant, now) ?? formatTime(instant, 'date');
}

export function Duration({ ms }: Readonly<{ ms: number | null }>) {
  if (ms === null) return <Dash />;
  return (
    <span title={`${ms} ms`} className="figures whitespace-nowrap">
      {formatDuration(ms)}
    </span>
  );
}

type MeterProps = Readonly<{
  label: string;
  /** From 0 to 1; anything above is shown as full. */
  share: number;
  /** The part that is final; the rest is drawn lighter. */
  certainShare?: number;
  tone?: 'accent' | 'good' | 'warn' | 'bad' | 'plain';
  className?: string;
}>;

const tones = {
  accent: 'bg-accent',
  good: 'bg-good',
  warn: 'bg-chart-3',
  bad: 'bg-bad',
  plain: 'bg-edge',
} as const;

/** A share as a bar. The same must be stated as text next to it. */
export function Meter({ label, share, certainShare = share, tone = 'accent', className }: MeterProps) {
  const percent = percentOf(share);
  const certainPercent = percentOf(Math.min(certainShare, share));
  return (
    // biome-ignore lint/a11y/useSemanticElements: browsers render the element in different ways.
    <span
      role="meter"
      aria-label={label}
      aria-valuenow={percent}
      aria-valuemin={0}
      aria-valuemax={100}
      className={classNames('flex h-1.5 overflow-hidden rounded-full bg-hover', className)}
    >
      <span style={{ width: `${certainPercent}%` }} className={classNames('h-full', tones[tone])} />
      <span
        style={{ width: `${percent - certainPercent}%` }}
        className={classNames('h-full opacity-50', tones[tone])}
      />
    </span>
  );
}

function percentOf(share: number): number {
  return Math.round(Math.min(1, Math.max(0, share)) * 1000) / 10;
}
