/** Days of the calendar in UTC, written YYYY-MM-DD: as such they sort, compare and travel as text. */

const dayMs = 24 * 60 * 60 * 1000;

export function dayOf(time: Date): string {
  return time.toISOString().slice(0, 10);
}

/** `count` days later, or earlier when it is negative. */
export function addDays(day: string, count: number): string {
  return dayOf(new Date(Date.parse(day) + count * dayMs));
}

/** How many days there are from one to another, both included. */
export function countDays(from: string, to: string): number {
  return Math.round((Date.parse(to) - Date.parse(from)) / dayMs) + 1;
}

/** Every day from one to another, both included, the oldest first. */
export function everyDay(from: string, to: string): string[] {
  return Array.from({ length: Math.max(0, countDays(from, to)) }, (_, index) => addDays(from, index));
}
