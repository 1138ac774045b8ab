/** What a run found, as a table. */
import type { Mutant } from './mutants.ts';

/** `types`: the tests passed, but the mutant does not compile. `explained`: it is on the list of equivalent ones. */
export type Finding = Readonly<{ mutant: Mutant; verdict: 'killed' | 'types' | 'explained' | 'survived' }>;

/** The part of all mutants that has to be killed. */
export const aimPercent = 90;

export function percentKilled(findings: readonly Finding[]): number {
  const killed = findings.filter(({ verdict }) => verdict === 'killed' || verdict === 'types');
  return (100 * killed.length) / findings.length;
}

export function formatTable(findings: readonly Finding[]): string {
  const files = Map.groupBy(findings, ({ mutant }) => mutant.file);
  const rows = [...files].map(([file, found]) => cells(`\`${file}\``, found));
  return [
    '| file | mutants | killed | of these by types | survived | of these explained | killed % |',
    '| --- | ---: | ---: | ---: | ---: | ---: | ---: |',
    ...[...rows, cells('all', findings)].map((row) => `| ${row.join(' | ')} |`),
  ].join('\n');
}

function cells(name: string, found: readonly Finding[]): readonly string[] {
  const count = (...verdicts: Finding['verdict'][]) =>
    `${found.filter(({ verdict }) => verdicts.includes(verdict)).length}`;
  return [
    name,
    `${found.length}`,
    count('killed', 'types'),
    count('types'),
    count('survived', 'explained'),
    count('explained'),
    percentKilled(found).toFixed(1),
  ];
}

export function formatMutant({ file, line, within, change }: Mutant): string {
  return `${file}:${line} ${within}: ${change}`;
}

const heading = '## Last run';

/** The page with the result of this run in place of the last one. */
export function formatPage(page: string, command: string, at: Date, findings: readonly Finding[]): string {
  const day = at.toISOString().slice(0, 10);
  const before = page.slice(0, page.indexOf(heading));
  return `${before}${heading}\n\n${day}, \`${command}\`\n\n${formatTable(findings)}\n`;
}
