/** The request ID in whatever was pasted: alone, in a header line, or in an address. Null when there is none. */
export function requestIdIn(text: string): string | null {
  return /\breq_[0-9a-f]{32}\b/i.exec(text)?.[0].toLowerCase() ?? null;
}
