import type { Finding, Level } from './finding.ts';

const marks: Readonly<Record<Level, string>> = { good: '✓', warning: '!', problem: '✗' };

/** One line per finding, aligned, with what to do about it on the next. */
export function formatReport(findings: readonly Finding[]): string {
  const width = Math.max(0, ...findings.map(({ about }) => about.length));
  const indent = ' '.repeat(width + 4);
  const lines = findings.flatMap(({ about, level, text, remedy }) => [
    `${marks[level]} ${about.padEnd(width)}  ${text.replaceAll('\n', `\n${indent}`)}`,
    ...(remedy === null ? [] : [`${indent}→ ${remedy}`]),
  ]);
  return [...lines, '', summaryOf(findings)].join('\n');
}

function summaryOf(findings: readonly Finding[]): string {
  const problems = findings.filter(({ level }) => level === 'problem').length;
  const warnings = findings.filter(({ level }) => level === 'warning').length;
  if (problems + warnings === 0) return 'Everything is in order.';
  return `${countOf(problems, 'problem')}, ${countOf(warnings, 'warning')}.`;
}

function countOf(count: number, what: string): string {
  return count === 1 ? `1 ${what}` : `${count} ${what}s`;
}
