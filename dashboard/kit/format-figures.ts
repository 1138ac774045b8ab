/** Counts, shares, durations and times as text. */
const counts = new Intl.NumberFormat('en-US');
const shortCounts = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 });

export function formatCount(count: number): string {
  return counts.format(count);
}

/** `1.2K`, for the axes of charts. */
export function formatCountShort(count: number): string {
  return shortCounts.format(count);
}

/** A share from 0 to 1 as a percentage. It is 100% only for all, and 0% only for nothing. */
export function formatShare(share: number): string {
  const percent = Math.round(share * 1000) / 10;
  if (percent >= 100 && share < 1) return '99.9%';
  if (percent <= 0 && share > 0) return '0.1%';
  return `${percent}%`;
}

export function formatDuration(durationMs: number): string {
  if (durationMs < 1_000) return `${Math.round(durationMs)} ms`;
  if (durationMs < 59_995) return `${(durationMs / 1_000).toFixed(2)} s`;
  const seconds = Math.round(durationMs / 1_000);
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 1_440) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  const hours = Math.round(minutes / 60);
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** The ends of the first range and of the last but one. Within the first and the last, nothing is known. */
const shortestMs = 50;
const longestMs = 300_000;

/**
 * A percentile, with the two digits that are known of it: `≈ 5.1 s`. The gateway counts durations in ranges of which each ends at
 * 1.7 times its beginning or less, and knows no more than the range that a percentile is in.
 */
export function formatEstimate(durationMs: number): string {
  if (durationMs === 0) return '0 ms';
  if (durationMs <= shortestMs) return `< ${shortestMs} ms`;
  if (durationMs >= longestMs) return `> ${longestMs / 60_000} min`;
  const ms = Number(durationMs.toPrecision(2));
  if (ms < 1_000) return `≈ ${ms} ms`;
  const [size, unit] =
    ms < 60_000 ? [ms / 1_000, 's'] : [Number((durationMs / 60_000).toPrecision(2)), 'min'];
  return `≈ ${size.toFixed(size < 10 ? 1 : 0)} ${unit}`;
}

export const estimateHint = 'Estimated: the exact duration is at most 1.7 times as long, or as short';

/** `2025-03-01 14:05:09 UTC`: the same for everyone. */
export function formatUtc(instant: Date): string {
  return `${instant.toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

export type TimeStyle = 'moment' | 'exact' | 'brief' | 'date' | 'minute' | 'day' | 'weekday' | 'clock';

const styles: Readonly<Record<TimeStyle, Intl.DateTimeFormatOptions>> = {
  moment: { day: 'numeric', month: 'short', year: 'numeric', hour: '2-digit', minute: '2-digit' },
  exact: {
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  },
  /** For long lists; the title has the year. */
  brief: { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit', second: '2-digit' },
  date: { day: 'numeric', month: 'short', year: 'numeric' },
  /** For charts. */
  minute: { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' },
  day: { day: 'numeric', month: 'short' },
  weekday: { weekday: 'short', day: 'numeric', month: 'short' },
  clock: { hour: '2-digit', minute: '2-digit' },
};

/** In the viewer's time zone by default. */
export function formatTime(instant: Date, style: TimeStyle, timeZone?: string): string {
  return new Intl.DateTimeFormat('en-GB', {
    ...styles[style],
    hourCycle: 'h23',
    ...(timeZone === undefined ? {} : { timeZone }),
  }).format(instant);
}

const steps: readonly [unit: Intl.RelativeTimeFormatUnit, lengthMs: number][] = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
];
const distances = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });

/** `5 minutes ago` or `in 3 days`; null beyond a month, where a date is more useful. */
export function formatDistance(instant: Date, now: Date): string | null {
  const distanceMs = instant.getTime() - now.getTime();
  if (Math.abs(distanceMs) > 30 * 86_400_000) return null;
  const step = steps.find(([, lengthMs]) => Math.abs(distanceMs) >= lengthMs);
  if (step === undefined) return distanceMs > 0 ? 'in a moment' : 'just now';
  const [unit, lengthMs] = step;
  return distances.format(Math.trunc(distanceMs / lengthMs), unit);
}

/** A day of the API (`YYYY-MM-DD`, in UTC) as `1 Mar` or `1 Mar 2025`, independent of the time zone. */
export function formatDay(day: string, hasYear = false): string {
  return new Intl.DateTimeFormat('en-GB', {
    day: 'numeric',
    month: 'short',
    ...(hasYear ? { year: 'numeric' } : {}),
    timeZone: 'UTC',
  }).format(new Date(`${day}T00:00:00Z`));
}

/** Days of the API, the first and the last, as `12–18 Mar 2025`. */
export function formatDays(from: string, to: string): string {
  const format = new Intl.DateTimeFormat('en-GB', {
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    timeZone: 'UTC',
  });
  return format.formatRange(new Date(`${from}T00:00:00Z`), new Date(`${to}T00:00:00Z`));
}
