/** Calendar days in UTC, as YYYY-MM-DD: they sort and compare as strings. */
import { dayMs } from '../lib/time-units.ts';

export function dayOf(time: Date): string {
  return time.toISOString().slice(0, 10);
}

export function addDays(day: string, count: number): string {
  return dayOf(new Date(Date.parse(day) + count * dayMs));
}

/** Both ends are included. */
export function countDays(from: string, to: string): number {
  return Math.round((Date.parse(to) - Date.parse(from)) / dayMs) + 1;
}

/** Both ends are included. */
export function everyDay(from: string, to: string): string[] {
  return Array.from({ length: Math.max(0, countDays(from, to)) }, (_, index) => addDays(from, index));
}
