/** What the command line asks for: some clients by their names, or all of them, with the page written. */
export type Arguments = Readonly<{ isWritten: boolean; isWanted: (name: string) => boolean }>;

/** Null for --write with only some of the clients: one run makes all tables of the page. */
export function readArguments(words: readonly string[]): Arguments | null {
  const isWritten = words.includes('--write');
  const wanted = words.filter((word) => word !== '--write');
  if (isWritten && wanted.length > 0) return null;
  return { isWritten, isWanted: (name) => wanted.length === 0 || wanted.some((word) => name.includes(word)) };
}
