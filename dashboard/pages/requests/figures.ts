/** The figures of many requests: totals, and how they changed against the period before. */
import type { RequestFigures } from '../../../src/console/request-contract.ts';

type Outcomes = Pick<RequestFigures, 'completed' | 'failed' | 'cancelled' | 'refused'>;

export function countRequests({ completed, failed, cancelled, refused }: Outcomes): number {
  return completed + failed + cancelled + refused;
}

/** Failed and refused, of all that ended; null without any. */
export function errorRateOf(figures: Outcomes): number | null {
  const count = countRequests(figures);
  return count === 0 ? null : (figures.failed + figures.refused) / count;
}

/** As a fraction: 0.5 is half as much again. Null where nothing can be compared. */
export function changeOf(now: number | null, before: number | null | undefined): number | null {
  if (now === null || before === null || before === undefined || before === 0) return null;
  return now / before - 1;
}

/** From here on a percentage says less than how many times as much it is. */
const manyTimes = 10;

/** `+12%`, or `more than 10×`; null for none. */
export function formatChange(change: number | null): string | null {
  if (change === null) return null;
  if (change + 1 > manyTimes) return `more than ${manyTimes}×`;
  const percent = Math.round(change * 100);
  if (percent === 0) return '±0%';
  return `${percent > 0 ? '+' : '−'}${Math.abs(percent)}%`;
}

/** The difference of two shares, in points of a percentage: `+2.1 pts`. */
export function formatPoints(now: number | null, before: number | null): string | null {
  if (now === null || before === null) return null;
  const points = Math.round((now - before) * 1_000) / 10;
  return points === 0 ? '±0 pts' : `${points > 0 ? '+' : '−'}${Math.abs(points)} pts`;
}

/*
 * One rule for the whole dashboard: a share of errors is coloured from where it matters, and a change only if it is for the worse, and more than chance. More requests, tokens or
 * money are neither good nor bad.
 */
const worsePoints = 0.01;
const slowerBy = 0.25;
/** Of fewer, a percentile is that of one or two requests. */
const enoughRequests = 20;

const manyErrors = 0.01;
/** Of which something is surely wrong. */
const tooManyErrors = 0.05;

/** Of a share of errors, as it is shown: with one decimal of a percentage. */
export function toneOfErrors(share: number | null): 'bad' | 'warn' | 'plain' {
  const shown = Math.round((share ?? 0) * 1_000) / 1_000;
  if (shown >= tooManyErrors) return 'bad';
  return shown >= manyErrors ? 'warn' : 'plain';
}

/** Of two shares of errors. */
export function isMoreErrors(now: number | null, before: number | null | undefined): boolean {
  // What is shown as a whole point is one, whatever its digits are in binary.
  return (
    typeof before === 'number' && now !== null && Math.round((now - before) * 1_000) >= worsePoints * 1_000
  );
}

/** Of two percentiles of durations, of as many requests. */
export function isSlower(
  now: number | null,
  before: number | null | undefined,
  requests: readonly number[],
): boolean {
  return requests.every((count) => count >= enoughRequests) && (changeOf(now, before) ?? 0) >= slowerBy;
}

/** Those that were sent to a provider, and so took some time. */
export function countTimed({ completed, failed, cancelled }: Outcomes): number {
  return completed + failed + cancelled;
}
