/** The times that an export is about. It never reaches up to now, because what happens now is not yet to be seen. */
import type { SQL } from 'bun';
import { invalidQuery, type Query } from '../http/query.ts';
import { parseTime } from '../lib/calendar.ts';

export type ExportRange = Readonly<{ from: Date; to: Date }>;

/**
 * Rows have the time at which their transaction began, and are seen when it has ended, on a replica a few seconds later. The
 * next export begins where this one ended, so nothing may appear before that. Only tests change it.
 */
export const settling = { seconds: 60 };

/** By the clock of the database, because its rows have their times from there: the latest `to`. */
export async function findLatestEnd(sql: SQL): Promise<Date> {
  const [{ latest }] = await sql<[{ latest: Date }]>`
    select clock_timestamp() - make_interval(secs => ${settling.seconds}::int) as latest`;
  return latest;
}

export function parseExportRange(query: Query, latestEnd: Date): ExportRange {
  const from = parseInstant('from', query.get('from'));
  if (from === null) throw invalidQuery('from', 'a day or a time');
  const given = parseInstant('to', query.get('to'));
  const to = endOf(given, latestEnd);
  if (from >= to) throw invalidQuery('from', 'a time before `to`, and more than a minute ago');
  return { from, to };
}

/** A `to` that is later, or none, means the latest one. */
export function endOf(given: Date | null, latestEnd: Date): Date {
  return given === null || given > latestEnd ? latestEnd : given;
}

const firstTime = new Date('2000-01-01T00:00:00Z');

function parseInstant(name: string, text: string | null): Date | null {
  if (text === null) return null;
  const time = parseTime(text);
  if (time === null || time < firstTime)
    throw invalidQuery(name, 'a day such as 2026-11-01, or a time such as 2026-11-01T12:00:00Z');
  return time;
}
