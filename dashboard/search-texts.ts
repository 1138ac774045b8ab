/** The part of an address behind the question mark, as plain texts: what looks like a number stays what was written. */
export function parseSearch(search: string): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(search));
}

export function stringifySearch(search: Record<string, unknown>): string {
  const words = new URLSearchParams();
  for (const [name, value] of Object.entries(search)) {
    if (typeof value === 'string' && value !== '') words.set(name, value);
  }
  return words.size === 0 ? '' : `?${words}`;
}
