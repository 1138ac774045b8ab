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

const maxPercent = 999;

/** `+12%`; null for none. */
export function formatChange(change: number | null): string | null {
  if (change === null) return null;
  const percent = Math.round(change * 100);
  if (percent === 0) return '±0%';
  const size = Math.abs(percent) > maxPercent ? `>${maxPercent}` : `${Math.abs(percent)}`;
  return `${percent > 0 ? '+' : '−'}${size}%`;
}

/** The difference of two shares, in points of a percentage: `+2.1 pts`. */
export function formatPoints(now: number | null, before: number | null): string | null {
  if (now === null || before === null) return null;
  const points = Math.round((now - before) * 1_000) / 10;
  return points === 0 ? '±0 pts' : `${points > 0 ? '+' : '−'}${Math.abs(points)} pts`;
}

/*
 * One rule for the whole dashboard: a change is coloured only if it is for the worse, and more than chance. More requests, tokens or
 * money are neither good nor bad.
 */
const worsePoints = 0.01;
const slowerBy = 0.25;

/** Of two shares of errors. */
export function isMoreErrors(now: number | null, before: number | null | undefined): boolean {
  // What is shown as a whole point is one, whatever its digits are in binary.
  return (
    typeof before === 'number' && now !== null && Math.round((now - before) * 1_000) >= worsePoints * 1_000
  );
}

/** Of two durations. */
export function isSlower(now: number | null, before: number | null | undefined): boolean {
  return (changeOf(now, before) ?? 0) >= slowerBy;
}
