/** The results as Markdown, for the terminal and for docs/clients.md. */
import type { AgentResult } from './agent-runs.ts';
import { formatModels } from './formats.ts';
import { columns, isExplained, type Outcome } from './outcome.ts';

export type Result = Readonly<{ name: string; version: string; outcomes: readonly Outcome[] }>;

export type Generated = Readonly<{ name: string; version: string; result: string }>;

/** `day` is when these clients were run. */
export function matrix(results: readonly Result[], day: string): string {
  const rows = results.map(({ name, version, outcomes }) => [
    name,
    version,
    ...columns.map((column) => cell(outcomes.find(({ check }) => check === column))),
    day,
  ]);
  return table([['client', 'version', ...columns, 'last run'], ...rows]);
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

/** A task with tools through each format of a provider. */
export function agentTasks(results: readonly AgentResult[], day: string): string {
  const formats = Object.keys(formatModels);
  const rows = results.map(({ name, version, tasks }) => [
    name,
    version,
    ...formats.map((format) => (tasks.get(format) === null ? 'works' : '**failed**')),
    day,
  ]);
  return table([['agent', 'version', ...formats, 'last run'], ...rows]);
}

/** The fresh table with the rows of the old one for everything that was not run, in the order of the names. */
export function merged(old: string, fresh: string, names: readonly string[]): string {
  const [head = '', rule = '', ...rows] = fresh.split('\n');
  const nameOf = (row: string) => row.split(' | ')[0]?.slice(2) ?? '';
  const isFresh = new Set(rows.map(nameOf));
  const kept = old.split('\n').filter((row) => row.startsWith('| ') && !isFresh.has(nameOf(row)));
  const all = [...kept, ...rows];
  return [head, rule, ...names.flatMap((name) => all.filter((row) => nameOf(row) === name))].join('\n');
}

function table([head = [], ...rows]: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), `|${head.map(() => '---').join('|')}|`, ...rows.map(line)].join('\n');
}

/** The text with what is between two marks changed. Marks are empty links, which are not displayed. */
export function replaced(text: string, mark: string, change: (content: string) => string): string {
  const [start, end] = [`[//]: # (${mark})`, `[//]: # (end of ${mark})`];
  const [before, rest] = text.split(start);
  const [content, after] = rest?.split(end) ?? [];
  if (before === undefined || content === undefined || after === undefined)
    throw new Error(`There is no part "${mark}".`);
  return `${before}${start}\n\n${change(content)}\n\n${end}${after}`;
}
