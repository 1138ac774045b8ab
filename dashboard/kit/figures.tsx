/** Values with their details on hover: money, times, durations, and shares as bars. */
import { type ClipboardEvent, createContext, useContext, useEffect, useState } from 'react';
import {
  type AmountStyle,
  formatAmount,
  formatMoneyExactly,
  missingZeros,
  plainAmount,
  signOfMoney,
} from './amounts.ts';
import { classNames } from './class-names.ts';
import {
  estimateHint,
  formatDistance,
  formatDuration,
  formatEstimate,
  formatTime,
  formatUtc,
  type TimeStyle,
} from './format-figures.ts';

/** In place of a value that does not exist. */
export function Dash() {
  return <span className="text-ink-faint">–</span>;
}

type MoneyProps = Readonly<{
  /** A decimal string with up to 12 decimals, as in the API. Null shows a dash. */
  amount: string | null;
  /** Every digit: where the money of one request is explained, and for amounts that someone chose. */
  isExact?: boolean;
  /** A sum of many, in cents. */
  isTotal?: boolean;
  /** In cents, rounded down, so that a balance never looks higher than it is. */
  isBalance?: boolean;
  /** Whether what is added has a plus. */
  hasSign?: boolean;
  className?: string | undefined;
}>;

/** How many decimals the exact amounts of a table's column have. Outside of one, each has as many as it needs. */
export const ColumnDecimals = createContext<number | undefined>(undefined);

/** What a request cost, unless it says otherwise. All digits are in its title, and in what is copied. */
export function Money({ amount, className, hasSign = false, ...looks }: MoneyProps) {
  const decimals = useContext(ColumnDecimals);
  if (amount === null) return <Dash />;
  const written = formatAmount(amount, styleOf(looks));
  return (
    <span
      title={`${formatMoneyExactly(amount)} USD`}
      onCopy={(event) => copyExactly(event, amount)}
      className={classNames('figures whitespace-nowrap', className)}
    >
      {hasSign && signOfMoney(amount) > 0 && '+'}
      {written}
      {looks.isExact === true && <PaddingZeros written={written} decimals={decimals ?? 0} />}
    </span>
  );
}

function styleOf({
  isExact,
  isTotal,
  isBalance,
}: Omit<MoneyProps, 'amount' | 'hasSign' | 'className'>): AmountStyle {
  if (isExact === true) return 'exact';
  if (isBalance === true) return 'balance';
  return isTotal === true ? 'total' : 'short';
}

/** A selection that goes beyond the amount is copied as it is. */
function copyExactly(event: ClipboardEvent<HTMLElement>, amount: string): void {
  const selection = getSelection();
  const { currentTarget } = event;
  const isWithin = [selection?.anchorNode, selection?.focusNode].every(
    (node) => node instanceof Node && currentTarget.contains(node),
  );
  if (!isWithin) return;
  event.clipboardData.setData('text/plain', plainAmount(amount));
  event.preventDefault();
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

/** Whether the reader has chosen UTC for this page. */
export const UtcClock = createContext(false);

/** In the viewer's time zone, with UTC on hover; or the other way round. */
export function Time({ at, style = 'moment', otherwise = '–' }: TimeProps) {
  const isUtc = useContext(UtcClock);
  if (at === null) return <span className="text-ink-faint">{otherwise}</span>;
  const instant = new Date(at);
  const isInUtc = isUtc && style !== 'distance';
  return (
    <time
      dateTime={at}
      title={isInUtc ? `${formatTime(instant, 'exact')} local time` : titleOf(instant, style)}
      className="whitespace-nowrap"
    >
      {style === 'distance' ? (
        <Distance instant={instant} />
      ) : isUtc ? (
        `${formatTime(instant, style, 'UTC')} UTC`
      ) : (
        formatTime(instant, style)
      )}
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

/** A percentile of durations. */
export function EstimatedDuration({ ms }: Readonly<{ ms: number | null }>) {
  if (ms === null) return <Dash />;
  return (
    <span title={estimateHint} className="figures whitespace-nowrap">
      {formatEstimate(ms)}
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
