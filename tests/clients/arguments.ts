/** What the command line asks for: some clients by their names, or all of them, and whether their rows are written. */
export type Arguments = Readonly<{ isWritten: boolean; isWanted: (name: string) => boolean }>;

export function readArguments(words: readonly string[]): Arguments {
  const isWritten = words.includes('--write');
  const wanted = words.filter((word) => word !== '--write');
  return { isWritten, isWanted: (name) => wanted.length === 0 || wanted.some((word) => name.includes(word)) };
}
