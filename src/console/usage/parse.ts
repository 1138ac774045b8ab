/** The days that usage is asked for. Nothing is clamped: figures of other days than asked for would be a surprise. */
import { invalidQuery, type Query } from '../../http/query.ts';
import { parseTime } from '../../lib/calendar.ts';
import { addDays, countDays } from '../../usage/days.ts';

/** Both included. */
export type DayRange = Readonly<{ from: string; to: string }>;

export const rangeParameters = ['from', 'to'] as const;

const defaultDays = 30;
const mostDays = 366;
/** Nothing was used before the first, and nobody will ask after the last. */
const firstDay = '2000-01-01';
const lastDay = '2199-12-31';

/** Without `to` up to today, without `from` the 30 days that end there. */
export function parseRange(query: Query, today: string): DayRange {
  const to = parseDay('to', query.get('to')) ?? today;
  const from = parseDay('from', query.get('from')) ?? addDays(to, 1 - defaultDays);
  if (from > to) throw invalidQuery('from', `a day that is not after ${to}`);
  if (countDays(from, to) > mostDays) throw invalidQuery('from', `at most ${mostDays} days up to ${to}`);
  return { from, to };
}

function parseDay(param: string, text: string | null): string | null {
  if (text === null) return null;
  const isDay = /^\d{4}-\d{2}-\d{2}$/.test(text) && parseTime(text) !== null;
  if (!isDay || text < firstDay || text > lastDay)
    throw invalidQuery(param, `a day as YYYY-MM-DD, from ${firstDay} to ${lastDay}`);
  return text;
}
