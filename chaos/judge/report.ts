/** The report of a run as text. */
import { cpus, release, totalmem, type } from 'node:os';
import { formatMoneyShort } from '../../src/lib/money.ts';
import type { Bystanders } from '../trials/honest-clients.ts';
import type { KillLog } from '../trials/kills.ts';
import type { ChaosOptions } from '../trials/options.ts';
import { networkProviders } from '../world/catalog.ts';
import { isPaid, reasonOf, unbilled } from './billing.ts';
import type { Evidence } from './evidence.ts';
import type { RecordedGeneration } from './ledger-log.ts';
import { lostRequests } from './lost-holds.ts';
import type { Truth } from './truth.ts';
import { earlyCalls } from './unheld-calls.ts';

export type ChaosResult = Readonly<{
  options: ChaosOptions;
  seconds: number;
  evidence: Evidence;
  kills: KillLog;
  bystanders: Bystanders;
  truths: readonly Truth[];
  /** From the last kill until everything that was open at that moment had been closed. */
  orphansMs: number;
  failedStarts: number;
  commands: Readonly<{ count: number; failed: number }>;
  /** Usage that still waits in the spool although the database is up. */
  spooledFiles: number;
  postgresVersion: string;
  folder: string;
  /** Deletes the logs of the run. */
  remove: () => void;
}>;

const readyWithinMs = 5_000;
const orphansWithinMs = 15_000;
const maxExamples = 5;

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
export const isTrue = ({ wrong }: Truth) => wrong.length === 0;

export function formatReport(result: ChaosResult): string {
  const { kills, evidence, options, truths } = result;
  const calls = [...evidence.calls.values()].flat();
  const timings = timingsOf(result);
  const truthsHold = truths.every(isTrue);
  const inTime = timings.every(isInTime);
  return [
    `${kills.gatewayReadyMs.length} gateway kills and ${kills.databaseReadyMs.length} PostgreSQL kills with SIGKILL under load,`,
    `${kills.freezes.length} gateways frozen past their lease of ${options.leaseMs / 1000} s, ${kills.clockJumps.length} clock jumps:`,
    `${evidence.seen.length} requests on ${options.connections} connections and 2 nodes in ${result.seconds.toFixed(0)} s, seed ${options.seed}.`,
    '',
    'What the clients saw',
    ...counted(evidence.seen.map(({ outcome, code }) => (code === null ? outcome : `${outcome} ${code}`))),
    '',
    `What the provider logged: ${calls.length} calls for ${evidence.calls.size} requests, ${calls.filter(({ usage }) => usage !== null).length} of them with usage`,
    '',
    ...formatNetwork(evidence),
    '',
    'How the Generations ended',
    ...counted([...evidence.ledger.generations.values()].map(reasonOf)),
    '',
    'Usage without a charge, and what it would have cost',
    ...formatUnbilled(evidence),
    '',
    ...formatEarlyCalls(evidence),
    '',
    'Requests that left no trace: a crash of the database lost the hold, and the gateway was killed',
    ...listed(lostRequests(evidence)),
    '',
    ...formatFreezes(result),
    '',
    ...formatByHand(evidence),
    '',
    ...formatOutside(evidence),
    '',
    ...formatBystanders(result),
    '',
    'Truths',
    ...truths.flatMap(formatTruth),
    '',
    'Times',
    ...timings.map(formatTiming),
    '',
    `Longest wait of any client: ${maxSeconds(evidence)} s.`,
    `Starts retried because the database was away: ${result.failedStarts}.`,
    `Commands run in the meantime: ${result.commands.count}, ${result.commands.failed} of them while the database was away.`,
    `Spool files left: ${result.spooledFiles}.`,
    '',
    `${truthsHold ? 'All truths hold.' : 'NOT ALL TRUTHS HOLD.'} ${inTime ? 'All in time.' : 'NOT ALL IN TIME.'}`,
  ].join('\n');
}

export function formatTruth({ says, checked, wrong }: Truth): string[] {
  const examples = wrong.slice(0, maxExamples).map((example) => `          ${example}`);
  const more = wrong.length > maxExamples ? [`          … ${wrong.length} in all`] : [];
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

function listed(lines: readonly string[]): string[] {
  return lines.length === 0 ? ['  none'] : lines.map((line) => `  ${line}`);
}

function formatUnbilled(evidence: Evidence): string[] {
  return formatLosses(unbilled(evidence));
}

function formatLosses(losses: ReadonlyMap<string, { count: number; amount: bigint }>): string[] {
  if (losses.size === 0) return ['  none'];
  return [...losses].map(
    ([reason, { count, amount }]) =>
      `  ${`${count}`.padStart(7)}  ${reason}: ${formatMoneyShort(amount)} USD`,
  );
}

function formatEarlyCalls(evidence: Evidence): string[] {
  const { begunEarly, longestMs, unheld } = earlyCalls(evidence);
  const total = [...unheld.values()].reduce((sum, { count }) => sum + count, 0);
  return [
    `Requests whose provider was called before their hold was committed: ${begunEarly}, by up to ${longestMs.toFixed(0)} ms.`,
    `Calls that ran without a hold: ${total}. By what became of the hold, and what their usage would have cost`,
    ...formatLosses(unheld),
    `On record as cancelled: ${evidence.ledger.cancelledCalls.size}.`,
  ];
}

function formatNetwork({ network, ledger }: Evidence): string[] {
  const { connections, requestBytes, answerBytes } = network.counters;
  const fallbacks = [...ledger.generations.values()].filter(({ isFallback }) => isFallback);
  const fromNetwork = fallbacks.filter(({ attempts }) =>
    attempts.slice(0, -1).some(({ provider }) => networkProviders.has(provider)),
  );
  const saved = ({ status }: RecordedGeneration) => status === 'completed';
  return [
    'How often the bad network played each fault',
    ...ranked(network.played),
    `${network.struck} open connections hit; the answers to ${network.harmed.size} requests affected:`,
    ...counted([...network.harmed.values()].flatMap((kinds) => [...kinds])),
    `${connections} connections, ${requestBytes} bytes of requests and ${answerBytes} bytes of answers passed through.`,
    '',
    `Generations that fell back to another provider: ${fallbacks.length}, ${fallbacks.filter(saved).length} of them completed;`,
    `from those behind the bad network: ${fromNetwork.length}, ${fromNetwork.filter(saved).length} of them completed.`,
  ];
}

function formatFreezes({ kills, evidence }: ChaosResult): string[] {
  const { generations } = evidence.ledger;
  const open = kills.freezes.flatMap((freeze) => freeze.open);
  const ended = open.flatMap((id) => generations.get(id) ?? []);
  const late = [...generations.values()].filter(({ hold, charges }) => hold === null && charges.length > 0);
  const estimates = [...generations.values()].filter(({ isEstimated }) => isEstimated).length;
  const refunds = [...generations.values()].filter((generation) => generation.refunds.length > 0).length;
  return [
    `Frozen gateways had ${open.length} Generations open, which the other one closed as interrupted. In the end they were`,
    ...counted(ended.map((one) => `${reasonOf(one)}${isPaid(one) ? ', charged' : ', not charged'}`)),
    `Charges after the Generation had been closed by another node: ${late.length}; estimated charges: ${estimates}; refunds: ${refunds}.`,
    'Clocks were off by',
    ...kills.clockJumps.map(
      ({ shiftMs, said, during }) =>
        `  ${`${Math.round(shiftMs / 1000)} s`.padStart(7)}  ${said ?? 'ready'}; requests then: ${during.map(({ outcome, code }) => code ?? outcome)[0] ?? ''}`,
    ),
  ];
}

function formatByHand({ movements, askedLimits, exports }: Evidence): string[] {
  const lines = exports.reduce((sum, { cursors }) => sum + cursors.length, 0);
  const goneOn = exports.filter((one) => one.goneOn > 0).length;
  const resent = [...movements, ...askedLimits].filter(({ sent }) => sent > 1).length;
  return [
    `Movements by hand: ${movements.length}`,
    ...counted(
      movements.map(({ kind, answer, code }) => `${kind} ${answer}${code === null ? '' : ` ${code}`}`),
    ),
    `Changes of limits: ${askedLimits.length}`,
    ...counted(
      askedLimits.map(({ action, answer, code }) => `${action} ${answer}${code === null ? '' : ` ${code}`}`),
    ),
    `Sent again because the answer was lost, or the database was away: ${resent}.`,
    `Exports: ${exports.length} with ${lines} lines, ${goneOn} of them broke off and went on.`,
  ];
}

/** How many of these spans have a kill of a gateway or of the database in them. */
function withKill({ kills, outages }: Evidence, spans: readonly (readonly [number, number])[]): number {
  const times = [...kills.map(({ atMs }) => atMs), ...outages.map(({ fromMs }) => fromMs)];
  return spans.filter(([from, to]) => times.some((atMs) => from < atMs && atMs < to)).length;
}

function formatOutside(evidence: Evidence): string[] {
  const { events: log, payments, outside, endedGrants } = evidence;
  const { deliveries } = log;
  const distinct = new Set(deliveries.map(({ endpoint, webhookId }) => `${endpoint} ${webhookId}`)).size;
  const received = new Map(
    deliveries.filter(({ reply }) => reply === 'done').map(({ webhookId, atMs }) => [webhookId, atMs]),
  );
  const credited = new Map(payments.orders.map(({ id, creditedAtMs }) => [id, creditedAtMs ?? 0]));
  const refused = deliveries.filter(({ reply }) => reply !== 'done').length;
  const resent = outside.accessChanges.filter(({ sent }) => sent > 1).length;
  const paid = payments.payments.filter(({ state }) => state === 'paid').length;
  const refunds = payments.stripeReversals.filter(({ kind }) => kind === 'refund').length;
  const disputes = payments.stripeReversals.length - refunds;
  return [
    `Events: ${log.events.length}; deliveries: ${deliveries.length}, ${deliveries.length - distinct} of them repeated, ${refused} not answered with success.`,
    ...counted(log.events.map(({ type: told }) => told)),
    `Kills came between ${withKill(
      evidence,
      log.events.map(({ id, atMs }) => [atMs, received.get(id) ?? 0]),
    )} events and their last delivery, and between ${withKill(
      evidence,
      payments.payments.map(({ order, paidAtMs }) => [paidAtMs ?? 0, credited.get(order) ?? 0]),
    )} payments and their credit.`,
    `Keys and suspensions changed: ${outside.accessChanges.length} times, ${resent} of them sent again.`,
    `Payments: ${payments.orders.length} orders, ${paid} paid, ${payments.credits.length} credited; refunds: ${refunds}, disputes: ${disputes}.`,
    ...counted(payments.orders.map(({ kind, state }) => `${kind} ${state}`)),
    `Events of Stripe: ${outside.eventsSent} sent, with repeats; ${outside.eventsLost} never.`,
    `Grants that ended: ${endedGrants.length}, ${outside.grantsVoided} of them voided.`,
    `All of this was at rest ${(outside.rest.ms / 1000).toFixed(1)} s after the rest${outside.rest.left.length === 0 ? '' : `, except ${outside.rest.left.join(', ')}`}.`,
  ];
}

function formatBystanders({ bystanders, options }: ChaosResult): string[] {
  const rows = Object.entries(bystanders.honest).map(([company, lines]) => {
    const succeeded = lines.filter(({ outcome }) => outcome === 'success');
    const sorted = lines.map(({ ms }) => ms).toSorted((a, b) => a - b);
    const at = (share: number) => `${sorted[Math.floor((sorted.length - 1) * share)] ?? '–'}`.padStart(7);
    const rate = lines.length === 0 ? '–' : `${((succeeded.length / lines.length) * 100).toFixed(2)} %`;
    return `  ${company.padEnd(20)}${`${lines.length}`.padStart(9)}${rate.padStart(11)}${at(0.5)}${at(0.99)}`;
  });
  return [
    `Honest clients after the kills, ${options.hostileRounds} rounds of ${options.hostileMs / 1000} s each (milliseconds)`,
    `  ${''.padEnd(20)} requests  succeeded    p50    p99`,
    ...rows,
    'What the hostile ones did, and the responses they got',
    ...ranked(bystanders.deeds),
  ];
}

function maxSeconds({ seen }: Evidence): string {
  return (seen.reduce((longest, { ms }) => Math.max(longest, ms), 0) / 1000).toFixed(1);
}

function counted(names: readonly string[]): string[] {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return ranked(counts);
}

export function ranked(counts: ReadonlyMap<string, number>): string[] {
  return [...counts]
    .toSorted(([, a], [, b]) => b - a)
    .map(([name, count]) => `  ${`${count}`.padStart(7)}  ${name}`);
}

/** The headings on the page under which reports are written. */
export type Section = 'Last run' | 'Last hostile run';

/** The page with the section under that heading replaced by this run: date, machine, command and report. */
export function formatPage(
  page: string,
  section: Section,
  report: string,
  command: string,
  postgresVersion: string,
  date: Date,
): string {
  const machine = `${cpus().length} × ${cpus()[0]?.model ?? process.arch}, ${Math.round(totalmem() / 2 ** 30)} GB, ${type()} ${release()} ${process.arch}`;
  const heading = `## ${section}\n`;
  const start = page.indexOf(heading);
  if (start < 0) throw new Error(`The page has no heading "${section}".`);
  const next = page.indexOf('\n## ', start + heading.length);
  return `${page.slice(0, start)}${heading}
${date.toISOString().slice(0, 10)}, ${machine}; Bun ${Bun.version}, PostgreSQL ${postgresVersion} with fsync on.

\`\`\`
$ ${command}

${report.trim()}
\`\`\`
${next < 0 ? '' : page.slice(next)}`;
}
