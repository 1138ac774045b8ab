/** What a run found, as the rows of a table. */
import type { Mutant } from './mutants.ts';
import type { Verdict } from './tree.ts';

/** `late`: the tests did not end. `types`: they passed, but the mutant does not compile. `explained`: it is on the list of equivalent ones. */
export type Finding = Readonly<{ mutant: Mutant; verdict: Verdict | 'types' | 'explained' }>;

/** `killed` includes those of `late` and `types`, and `survived` those that are `explained`. */
export type Row = Readonly<{
  name: string;
  mutants: number;
  killed: number;
  late: number;
  types: number;
  survived: number;
  explained: number;
}>;

/** The part of all mutants that has to be killed. */
export const aimPercent = 90;

export function rowsOf(findings: readonly Finding[]): readonly Row[] {
  const files = Map.groupBy(findings, ({ mutant }) => mutant.file);
  return [...files].map(([name, found]) => {
    const count = (...verdicts: Finding['verdict'][]) =>
      found.filter(({ verdict }) => verdicts.includes(verdict)).length;
    return {
      name,
      mutants: found.length,
      killed: count('killed', 'late', 'types'),
      late: count('late'),
      types: count('types'),
      survived: count('survived', 'explained'),
      explained: count('explained'),
    };
  });
}

export function sumOf(rows: readonly Row[]): Row {
  const sum = (field: Exclude<keyof Row, 'name'>) => rows.reduce((total, row) => total + row[field], 0);
  return {
    name: 'all',
    mutants: sum('mutants'),
    killed: sum('killed'),
    late: sum('late'),
    types: sum('types'),
    survived: sum('survived'),
    explained: sum('explained'),
  };
}

export function percentKilled({ killed, mutants }: Row): number {
  return mutants === 0 ? 0 : (100 * killed) / mutants;
}

export function formatTable(rows: readonly Row[]): string {
  return [
    '| file | mutants | killed | of these late | of these by types | survived | of these explained | killed % |',
    '| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |',
    ...[...rows, sumOf(rows)].map((row) => {
      const { name, mutants, killed, late, types, survived, explained } = row;
      const cells = [name, mutants, killed, late, types, survived, explained, percentKilled(row).toFixed(1)];
      return `| ${cells.join(' | ')} |`;
    }),
  ].join('\n');
}

export function formatMutant({ file, line, within, change }: Mutant): string {
  return `${file}:${line} ${within}: ${change}`;
}

const heading = '## Last run of each file';
const rowPattern = /^\| (src\/\S+) \| (\d+) \| (\d+) \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|/gm;

/** The page with these rows in place of the ones that these files had. Files that are no longer targets are left out. */
export function formatPage(page: string, rows: readonly Row[], files: readonly string[]): string {
  const known = new Map<string, Row>();
  for (const [, name = '', ...counts] of page.matchAll(rowPattern)) {
    const [mutants = 0, killed = 0, late = 0, types = 0, survived = 0, explained = 0] = counts.map(Number);
    known.set(name, { name, mutants, killed, late, types, survived, explained });
  }
  for (const row of rows) known.set(row.name, row);
  const all = files.flatMap((file) => known.get(file) ?? []);
  return `${page.slice(0, page.indexOf(heading))}${heading}\n\n${formatTable(all)}\n`;
}
