/** What a run found, in words and figures. */
import { cpus, release, totalmem, type } from 'node:os';
import { formatMoneyShort } from '../src/lib/money.ts';
import type { Evidence } from './evidence.ts';
import type { ChaosResult } from './run.ts';
import { type Finding, reasonOf, unbilled } from './truths.ts';

const readyWithinMs = 5_000;
const orphansWithinMs = 15_000;
const mostExamples = 5;

export type Timing = Readonly<{ says: string; ms: readonly number[]; withinMs: number }>;

export function timingsOf({ kills, orphansMs }: ChaosResult): Timing[] {
  return [
    { says: 'gateway killed → ready', ms: kills.gatewayReadyMs, withinMs: readyWithinMs },
    { says: 'database killed → takes connections', ms: kills.databaseUpMs, withinMs: readyWithinMs },
    { says: 'database killed → both gateways ready', ms: kills.databaseReadyMs, withinMs: readyWithinMs },
    { says: 'last kill → all orphans resolved', ms: [orphansMs], withinMs: orphansWithinMs },
  ];
}

export const isInTime = ({ ms, withinMs }: Timing) => ms.every((each) => each <= withinMs);
export const isTrue = ({ wrong }: Finding) => wrong.length === 0;

export function formatReport(result: ChaosResult): string {
  const { kills, evidence, options, findings } = result;
  const timings = timingsOf(result);
  const truthsHold = findings.every(isTrue);
  const inTime = timings.every(isInTime);
  return [
    `${kills.gatewayReadyMs.length} gateways and ${kills.databaseReadyMs.length} times PostgreSQL killed with SIGKILL under load:`,
    `${evidence.seen.length} requests on ${options.connections} connections and 2 nodes in ${result.seconds.toFixed(0)} s, seed ${options.seed}.`,
    '',
    'What the clients saw',
    ...counted(evidence.seen.map(({ outcome, code }) => (code === null ? outcome : `${outcome} ${code}`))),
    '',
    `What the provider logged: ${evidence.calls.size} requests, ${countUsages(evidence)} with usage`,
    '',
    'How the Generations ended',
    ...counted([...evidence.ledger.generations.values()].map(reasonOf)),
    '',
    'Usage without a charge, and what it would have cost',
    ...formatUnbilled(evidence),
    '',
    'Truths',
    ...findings.flatMap(formatFinding),
    '',
    'Times',
    ...timings.map(formatTiming),
    '',
    `The longest that any client waited: ${longestSeconds(evidence)} s.`,
    `Starts that found no database and were repeated: ${result.failedStarts}.`,
    `Uses of the command line meanwhile: ${result.commands.count}, ${result.commands.failed} of them while the database was away.`,
    `Spool files left: ${result.spooledFiles}.`,
    '',
    `${truthsHold ? 'All truths hold.' : 'NOT ALL TRUTHS HOLD.'} ${inTime ? 'All in time.' : 'NOT ALL IN TIME.'}`,
  ].join('\n');
}

function formatFinding({ says, checked, wrong }: Finding): string[] {
  const examples = wrong.slice(0, mostExamples).map((example) => `          ${example}`);
  const more = wrong.length > mostExamples ? [`          … ${wrong.length} in all`] : [];
  return [
    `  ${wrong.length === 0 ? 'holds ' : 'BROKEN'}  ${`${checked}`.padStart(7)}  ${says}`,
    ...examples,
    ...more,
  ];
}

function formatTiming(timing: Timing): string {
  const sorted = timing.ms.toSorted((a, b) => a - b);
  const seconds = (ms: number | undefined) => (ms === undefined ? '–' : `${(ms / 1000).toFixed(2)} s`);
  const median = sorted.length > 1 ? `, median ${seconds(sorted[Math.floor(sorted.length / 2)])}` : '';
  return `  ${isInTime(timing) ? 'in time' : 'LATE   '}  ${timing.says}: at most ${seconds(sorted.at(-1))}${median}`;
}

function formatUnbilled(evidence: Evidence): string[] {
  const reasons = [...unbilled(evidence)];
  if (reasons.length === 0) return ['  none'];
  return reasons.map(
    ([reason, { count, amount }]) =>
      `  ${`${count}`.padStart(7)}  ${reason}: ${formatMoneyShort(amount)} USD`,
  );
}

function countUsages({ calls }: Evidence): number {
  return [...calls.values()].flat().filter(({ usage }) => usage !== null).length;
}

function longestSeconds({ seen }: Evidence): string {
  return (seen.reduce((longest, { ms }) => Math.max(longest, ms), 0) / 1000).toFixed(1);
}

function counted(names: readonly string[]): string[] {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts]
    .toSorted(([, a], [, b]) => b - a)
    .map(([name, count]) => `  ${`${count}`.padStart(7)}  ${name}`);
}

/** The page that is kept of a run: when, on what, how, and the report. */
export function formatPage(result: ChaosResult, bursts: string, command: string, date: Date): string {
  const machine = `${cpus().length} × ${cpus()[0]?.model ?? process.arch}, ${Math.round(totalmem() / 2 ** 30)} GB, ${type()} ${release()} ${process.arch}`;
  return `# Chaos

\`npm run chaos\` runs clients against two gateways on one PostgreSQL, with the sandbox as provider, and kills gateways
and database with \`kill -9\` again and again. Half of the database's kills hit the main process alone, half all of its
processes at once. Some clients leave early, some ask the provider for a fault, some spend a balance or a monthly limit
that runs out. Then three logs are joined by request ID: what the clients saw, what the provider says it reported, what
the ledger says. It exits 0 only if every truth holds and every time is kept.

\`\`\`
npm run chaos                                               about a minute
npm run chaos -- --seconds 300                              for five minutes
npm run chaos -- --gateway-kills 100 --database-kills 20    the long form
npm run chaos -- --admission 20                             bursts of 1,000 requests on what covers k of them
\`\`\`

\`--connections N\` sets the number of clients, \`--seed N\` the choices, \`--away MS\` how long every second
killed database stays away (7 s, longer than a settlement may take before its client is told), and \`--write\` adds the bursts and writes this page. A run that fails keeps its logs and says where. The short
form is part of \`npm test\`. Times are counted from the kill, or from the next one if that falls before all is ready.

## Last run

${date.toISOString().slice(0, 10)}, ${machine}; Bun ${Bun.version}, PostgreSQL ${result.postgresVersion} with fsync on.

\`\`\`
$ ${command}

${formatReport(result)}

${bursts.trim()}
\`\`\`
`;
}
