/** What a run of `bun test` reported: the counts of its JUnit file, and what it printed about the files that failed. */

export type Counts = Readonly<{ total: number; failed: number }>;

/** By file. A file that could not even be loaded is not in the report. */
export function countsIn(junit: string): Map<string, Counts> {
  const counts = new Map<string, Counts>();
  for (const [, attributes = ''] of junit.matchAll(/<testsuite ([^>]*)>/g)) {
    const file = /\bfile="([^"]*)"/.exec(attributes)?.[1] ?? '';
    const count = (name: string) => Number(new RegExp(`\\b${name}="(\\d+)"`).exec(attributes)?.[1] ?? 0);
    // The suite of a file comes before those of its describe blocks, which it includes.
    if (counts.has(file)) continue;
    counts.set(file, {
      total: count('tests') - count('skipped'),
      failed: count('failures') + count('errors'),
    });
  }
  return counts;
}

/** The files in which a test or a hook failed, or whose process died. */
export function failedFilesOf(counts: ReadonlyMap<string, Counts>): string[] {
  return [...counts].filter(([, { failed }]) => failed > 0).map(([file]) => file);
}

const heading = /^(\S+\.test\.tsx?):$/;
const summary = /^(\d+ tests? failed:| \d+ pass)$/;

/**
 * What was printed for a file, except for what passed. Files run at the same time, so the runner prints a heading
 * whenever the output of another file follows.
 */
export function outputOf(file: string, output: string): string {
  const lines: string[] = [];
  let current = '';
  for (const line of output.split('\n')) {
    if (summary.test(line)) break;
    const next = heading.exec(line)?.[1];
    if (next !== undefined) current = next;
    else if (current === file && !line.startsWith('(pass) ')) lines.push(line);
  }
  return lines.join('\n').trim();
}

/** Whether a property was refuted. Running it again would choose other values, and might not find them. */
export function hasCounterexample(output: string): boolean {
  return /^\s*(error: )?Property failed after \d+ tests?$/m.test(output);
}

/** How many errors happened outside of any test. The runner does not reliably say in which file. */
export function errorsIn(output: string): number {
  return Number(/^ (\d+) errors?$/m.exec(output)?.[1] ?? 0);
}

/** The same in the output of one file, which has no summary. */
export function errorsBetweenTests(output: string): number {
  return output.match(/^# Unhandled error between tests$/gm)?.length ?? 0;
}

export function sumOf(counts: ReadonlyMap<string, Counts>): Counts {
  let total = 0;
  let failed = 0;
  for (const count of counts.values()) {
    total += count.total;
    failed += count.failed;
  }
  return { total, failed };
}
