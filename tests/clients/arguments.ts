/** What the command line asks for: part of the clients by their names, or all of them and the page written. */
export type Arguments = Readonly<{ isWritten: boolean; isWanted: (name: string) => boolean }>;

/** Null for a page that only some of the clients would be on: one run makes all of its tables. */
export function readArguments(words: readonly string[]): Arguments | null {
  const isWritten = words.includes('--write');
  const wanted = words.filter((word) => word !== '--write');
  if (isWritten && wanted.length > 0) return null;
  return { isWritten, isWanted: (name) => wanted.length === 0 || wanted.some((word) => name.includes(word)) };
}
