/** Which test files the arguments of `npm test` select. */

export type Selection =
  | Readonly<{
      /** Null: all of them. */
      files: readonly string[] | null;
      /** What is left to the runner. */
      options: readonly string[];
    }>
  | Readonly<{ unknown: string; rooms: readonly string[] }>;

/** Options of the runner whose value may be the next argument. */
const optionsWithValue = [
  '-t',
  '--test-name-pattern',
  '--timeout',
  '--seed',
  '--shard',
  '--retry',
  '--rerun-each',
  '--max-concurrency',
  '--path-ignore-patterns',
];

/** `files` are all test files, as paths that start with `tests/`. */
export function selectionOf(words: readonly string[], files: readonly string[]): Selection {
  const options: string[] = [];
  const names: string[] = [];
  for (const [at, word] of words.entries()) {
    const isValue = optionsWithValue.includes(words[at - 1] ?? '');
    (isValue || word.startsWith('-') ? options : names).push(word);
  }
  const unknown = names.find((name) => filesOf(name, files).length === 0);
  if (unknown !== undefined) return { unknown, rooms: roomsOf(files) };
  const selected = new Set(names.flatMap((name) => filesOf(name, files)));
  return { files: names.length === 0 ? null : [...selected], options };
}

/** A room is a folder in tests. Any other name selects the files whose path contains it. */
function filesOf(name: string, files: readonly string[]): string[] {
  const path = name.replace(/^\.\//, '').replace(/^tests\//, '');
  const room = `tests/${path.replace(/\/$/, '')}/`;
  const inRoom = files.filter((file) => file.startsWith(room));
  return inRoom.length > 0 ? inRoom : files.filter((file) => file.slice('tests/'.length).includes(path));
}

function roomsOf(files: readonly string[]): string[] {
  const rooms = files.map((file) => file.split('/')).filter((parts) => parts.length > 2);
  return [...new Set(rooms.map(([, room = '']) => room))].sort();
}
