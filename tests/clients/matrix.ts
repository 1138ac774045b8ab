/** The results as Markdown, for the terminal and for docs/clients.md. */
import { columns, isExplained, type Outcome } from './outcome.ts';

export type Result = Readonly<{ name: string; version: string; outcomes: readonly Outcome[] }>;

export type Generated = Readonly<{ name: string; version: string; result: string }>;

export function matrix(results: readonly Result[]): string {
  const rows = results.map(({ name, version, outcomes }) => [
    name,
    version,
    ...columns.map((column) => cell(outcomes.find(({ check }) => check === column))),
  ]);
  return table([['client', 'version', ...columns], ...rows]);
}

function cell(outcome: Outcome | undefined): string {
  if (outcome === undefined) return '**failed**';
  if (!isExplained(outcome)) return '**failed**';
  if (outcome.outcome === 'refused') return `refused: \`${outcome.param || outcome.code}\``;
  return outcome.outcome === 'works' ? 'works' : outcome.outcome;
}

/** Settings and calls of clients beyond the columns: which of them the contract rejects, and which work. */
export function furtherChecks(results: readonly Result[]): string {
  const rows = results.flatMap(({ name, outcomes }) =>
    outcomes
      .filter(({ check }) => !(columns as readonly string[]).includes(check))
      .map((outcome) => [name, `\`${outcome.check}\``, cell(outcome)]),
  );
  return table([['client', 'setting or call', 'result'], ...rows]);
}

export function generatedClients(generated: readonly Generated[]): string {
  const rows = generated.map(({ name, version, result }) => [name, version, result]);
  return table([['generator', 'version', 'the client'], ...rows]);
}

function table([head = [], ...rows]: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), `|${head.map(() => '---').join('|')}|`, ...rows.map(line)].join('\n');
}

/** The text with everything between two marks replaced. Marks are empty links, which are not displayed. */
export function replaced(text: string, mark: string, content: string): string {
  const [start, end] = [`[//]: # (${mark})`, `[//]: # (end of ${mark})`];
  const [before, rest] = text.split(start);
  const after = rest?.split(end)[1];
  if (before === undefined || after === undefined) throw new Error(`There is no part "${mark}".`);
  return `${before}${start}\n\n${content}\n\n${end}${after}`;
}
