const pattern = /^(\d{4}-\d{2}-\d{2})(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?(?:Z|[+-]\d{2}:\d{2}))?$/;

/** Parses a date (as midnight UTC) or a date and time with an offset; null when it is neither or does not exist. */
export function parseTime(text: string): Date | null {
  const date = pattern.exec(text)?.[1];
  if (date === undefined) return null;
  const day = new Date(`${date}T00:00:00Z`);
  const time = new Date(text);
  // 30 February would silently become 1 or 2 March.
  const isInCalendar = !Number.isNaN(day.getTime()) && day.toISOString().startsWith(date);
  return isInCalendar && !Number.isNaN(time.getTime()) ? time : null;
}
