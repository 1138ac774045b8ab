/** Times as a browser's field for them has them: without a zone, by the clock that the reader has chosen. */

/** Empty for a time that is none. */
export function textOfInput(time: string | null, isUtc: boolean): string {
  const ms = Date.parse(time ?? '');
  if (Number.isNaN(ms)) return '';
  const offsetMs = isUtc ? 0 : new Date(ms).getTimezoneOffset() * 60_000;
  return new Date(ms - offsetMs).toISOString().slice(0, 16);
}

export function instantOfInput(text: string, isUtc: boolean): number | null {
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?$/.test(text)) return null;
  const ms = Date.parse(isUtc ? `${text}Z` : text);
  return Number.isNaN(ms) ? null : ms;
}
