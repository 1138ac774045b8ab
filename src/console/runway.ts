/** How long the money of an account lasts, by what it spent in the last 7 days. */
import type { Money } from '../lib/money.ts';
import { hourMs, minuteMs } from '../lib/time-units.ts';
import type { Runway } from './contract.ts';

/** The hours of the last 7 days in which something was spent, of which there is at least one. */
export type Use = Readonly<{ hours: number; spent: Money; firstHourMs: number }>;

export type Means = Readonly<{
  available: Money;
  /** What its requests usually hold; null when that is not known. */
  typicalHold: Money | null;
}>;

/** Until it was used for a day, the first hours of an account say nothing about the others of a day. */
export const leastWindowHours = 24;
/** Nobody plans for longer. */
const farthestMs = 365 * 24 * hourMs;

/** Nothing is known without use. */
export function runwayOf(use: Use | null, means: Means, nowMs: number): Runway {
  if (use === null) return { hours_left: null, hours_used: 0, runs_out_at: null };
  return {
    hours_left: hoursLeft(use, means.available),
    hours_used: use.hours,
    runs_out_at: runsOutAt(use, means, nowMs),
  };
}

/** Whether the next request is refused, because it usually holds more than there is. */
export function isOut({ available, typicalHold }: Means): boolean {
  return available <= 0n || (typicalHold !== null && available < typicalHold);
}

/** What is available, by the average of the hours that were used. Rounded down to tenths. */
function hoursLeft({ hours, spent }: Use, available: Money): number {
  return available <= 0n ? 0 : Number((available * BigInt(hours) * 10n) / spent) / 10;
}

/**
 * Hours without requests count here: an account that is used in one hour of three lasts three times as long as the hours of use
 * that it pays for. They count from the first hour that was used, because before it the account may not have been in use at all.
 * Rounded down to minutes: running out earlier than announced is worse than later.
 */
function runsOutAt(use: Use, means: Means, nowMs: number): string | null {
  const leftMs = isOut(means) ? 0n : (means.available * BigInt(windowMs(use, nowMs))) / use.spent;
  if (leftMs > BigInt(farthestMs)) return null;
  return new Date(Math.floor((nowMs + Number(leftMs)) / minuteMs) * minuteMs).toISOString();
}

/** Whole hours, of which the last has only begun. */
function windowMs({ firstHourMs }: Use, nowMs: number): number {
  const hours = Math.floor(nowMs / hourMs) + 1 - firstHourMs / hourMs;
  return Math.max(hours, leastWindowHours) * hourMs;
}
