/** A Retry-After header as whole seconds from now, in any of the forms of RFC 9110. */

/** About thirty years. */
const noLimitSeconds = 999_999_999;

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const time = '(?<hour>\\d{2}):(?<minute>\\d{2}):(?<second>\\d{2})';
const month = `(?<month>${months.join('|')})`;
const dateForms = [
  // Sun, 06 Nov 1994 08:49:37 GMT
  new RegExp(`^[A-Z][a-z]{2}, (?<day>\\d{2}) ${month} (?<year>\\d{4}) ${time} GMT$`),
  // Sunday, 06-Nov-94 08:49:37 GMT
  new RegExp(`^[A-Z][a-z]{5,8}, (?<day>\\d{2})-${month}-(?<year>\\d{2}) ${time} GMT$`),
  // Sun Nov  6 08:49:37 1994
  new RegExp(`^[A-Z][a-z]{2} ${month} (?<day>[ \\d]\\d) ${time} (?<year>\\d{4})$`),
];

/** Null without a valid header, or when it asks for more than `maxSeconds`. A moment in the past means 0. */
export function readRetryAfter(
  header: string | null,
  nowMs: number,
  maxSeconds = noLimitSeconds,
): number | null {
  const text = header?.trim() ?? '';
  const seconds = /^\d{1,9}$/.test(text) ? Number(text) : secondsUntil(readDate(text, nowMs), nowMs);
  return seconds !== null && seconds <= maxSeconds ? seconds : null;
}

function secondsUntil(atMs: number | null, nowMs: number): number | null {
  return atMs === null ? null : Math.max(0, Math.ceil((atMs - nowMs) / 1000));
}

function readDate(text: string, nowMs: number): number | null {
  for (const form of dateForms) {
    const parts = form.exec(text)?.groups;
    if (parts === undefined) continue;
    const { year = '', month: name = '', day, hour, minute, second } = parts;
    const fullYear = year.length === 4 ? Number(year) : nearestYear(Number(year), nowMs);
    const date = [fullYear, months.indexOf(name), Number(day), Number(hour), Number(minute)] as const;
    // A leap second is valid too.
    const atMs = Date.UTC(...date, Math.min(Number(second), 59));
    return isSameDate(new Date(atMs), date) && Number(second) <= 60 ? atMs : null;
  }
  return null;
}

/** Two digits that would be more than fifty years ahead belong to the previous century. */
function nearestYear(digits: number, nowMs: number): number {
  const thisYear = new Date(nowMs).getUTCFullYear();
  const year = thisYear - (thisYear % 100) + digits;
  return year > thisYear + 50 ? year - 100 : year;
}

/** Date.UTC takes 31 February for a day in March. */
function isSameDate(
  date: Date,
  [year, monthIndex, day, hour, minute]: readonly [number, number, number, number, number],
): boolean {
  return (
    date.getUTCFullYear() === year &&
    date.getUTCMonth() === monthIndex &&
    date.getUTCDate() === day &&
    date.getUTCHours() === hour &&
    date.getUTCMinutes() === minute
  );
}
