/** The results as Markdown that also reads well in a terminal: one table, the proof that it is sound, the targets. */

import { againstBefore } from './before-report.ts';
import {
  differences,
  type Figure,
  isSound,
  middle,
  type Results,
  ratios,
  type ScenarioResult,
} from './results.ts';
import { models } from './scenarios.ts';
import { median } from './statistics.ts';
import { type SubjectName, subjectNames } from './subjects.ts';
import { formatAdded, formatNumber, formatTable } from './table.ts';
import { judge } from './targets.ts';

const header = [
  'measured',
  'at once',
  'subject',
  'per second',
  'CPU µs',
  '÷ bare',
  'PostgreSQL µs',
  'p50 ms',
  'p99 ms',
  'over direct p50, p99',
  'over bare p50, p99',
  'upstream called ms',
  'chunks per read',
  'new connections',
  'memory',
];

/** The load generator is at its limit here. */
const limitConnections = 64;

const titles: Readonly<Record<SubjectName, string>> = {
  direct: 'upstream, direct',
  bare: 'bare proxy',
  before: 'gateway before',
  gateway: 'gateway',
  peer: 'peer',
};

export function report(results: Results): string {
  const rows = [...results.scenarios.flatMap(scenarioRows), ...memoryRows(results), ...ledgerRows(results)];
  return [
    `- ${results.startedAt.toISOString().slice(0, 16).replace('T', ' ')} UTC, \`${results.command}\``,
    ...results.machine.map((line) => `- ${line}`),
    '',
    formatTable(header, rows),
    '',
    ...loadLimit(results.scenarios),
    ...soundness(results),
    '',
    ...againstBefore(results.scenarios),
    formatTable(
      ['target', 'measured', 'rounds', 'verdict'],
      judge(results).map(({ text, measured: { median: middleValue, min, max }, verdict }) => [
        text,
        formatNumber(middleValue),
        // Not a range when there was one round, or none.
        min < max ? `${formatNumber(min)} to ${formatNumber(max)}` : '–',
        verdict,
      ]),
    ),
  ].join('\n');
}

const p50: Figure = (sample) => sample.p50Ms;
const p99: Figure = (sample) => sample.p99Ms;
const cpu: Figure = (sample) => sample.cpuMicroseconds;

function scenarioRows({ scenario, samples }: ScenarioResult): string[][] {
  const { direct, bare } = samples;
  const added = (of: SubjectName, others: typeof direct) =>
    `${formatAdded(median(differences(samples[of], others, p50)))}, ${formatAdded(median(differences(samples[of], others, p99)))}`;
  const isGateway = (name: SubjectName) => name !== 'direct' && name !== 'bare';
  const measured = subjectNames.filter((name) => samples[name].length > 0);
  return measured.map((name) => {
    const own = samples[name];
    return [
      `${scenario.title}, ${scenario.unit}s`,
      `${scenario.connections}`,
      titles[name],
      formatNumber(middle(own, (sample) => sample.perSecond)),
      formatNumber(middle(own, cpu)),
      isGateway(name) ? formatNumber(median(ratios(own, bare, cpu))) : '–',
      formatNumber(middle(own, (sample) => sample.postgresMicroseconds)),
      formatNumber(middle(own, p50)),
      formatNumber(middle(own, p99)),
      name === 'direct' ? '–' : added(name, direct),
      isGateway(name) ? added(name, bare) : '–',
      formatNumber(middle(own, (sample) => sample.calledP50Ms)),
      scenario.unit === 'chunk' ? formatNumber(middle(own, (sample) => sample.chunksPerRead)) : '–',
      name === 'direct' ? '–' : formatNumber(middle(own, (sample) => sample.connectionsPerRequest)),
      '–',
    ];
  });
}

function memoryRows({ memory }: Results): string[][] {
  return memory.map(({ name, sample: { connections, idleBytes, openBytes } }) => {
    const perStreamKb = (openBytes - idleBytes) / connections / 1024;
    const cells = Array.from(header, () => '–');
    const megabytes = (bytes: number) => `${formatNumber(bytes / 2 ** 20)} MB`;
    cells[0] = 'open streams';
    cells[1] = connections.toLocaleString('en-US');
    cells[2] = titles[name];
    cells[header.length - 1] =
      `${megabytes(openBytes)}, idle ${megabytes(idleBytes)}, ${formatNumber(perStreamKb)} KB each`;
    return cells;
  });
}

function ledgerRows({ ledger }: Results): string[][] {
  return ledger.samples.map((sample) => [
    `hold + settle, pairs, ${sample.accounts === 1 ? 'one account' : `${sample.accounts.toLocaleString('en-US')} accounts`}`,
    `${sample.concurrency}`,
    'ledger',
    formatNumber(sample.pairsPerSecond),
    formatNumber(sample.cpuMicroseconds),
    '–',
    formatNumber(sample.postgresMicroseconds),
    formatNumber(sample.p50Ms),
    formatNumber(sample.p99Ms),
    ...Array.from({ length: header.length - 9 }, () => '–'),
  ]);
}

function soundness(results: Results): string[] {
  const { counts, charges, auditExitCode, ledger, complaints } = results;
  const errors = [...counts.errors].map(([reason, count]) => `${reason} ×${count}`).join(', ');
  const count = (number: number) => number.toLocaleString('en-US');
  return [
    `- Errors: ${count(counts.errorCount())}${errors === '' ? '' : ` (${errors})`}. Warnings in the gateway's log: ${complaints.length}.`,
    `- Gateway: ${count(counts.completed.get('gateway') ?? 0)} requests completed, ${count(charges)} charges, \`tollgate ledger audit\` exits with ${auditExitCode}.`,
    `- Ledger alone: ${count(ledger.pairs)} pairs, ${count(ledger.charges)} charges, audit ${ledger.holds ? 'sound' : 'BROKEN'}, ${count(Math.round(ledger.walBytesPerPair))} bytes of WAL per pair.`,
    `- This run ${isSound(results) ? 'counts' : 'is VOID'}.`,
  ];
}

/** What the load generator itself can do, so that a figure close to that is not taken for a limit of the subject. */
function loadLimit(results: readonly ScenarioResult[]): string[] {
  const saturated = results.find(
    ({ scenario }) =>
      scenario.model === models.json &&
      scenario.connections === limitConnections &&
      scenario.perSecond === undefined,
  );
  if (saturated === undefined) return [];
  const share = (name: SubjectName) =>
    `${formatNumber(middle(saturated.samples[name], (sample) => sample.loadCores * 100))} %`;
  const { direct } = saturated.samples;
  const rate = formatNumber(middle(direct, ({ perSecond }) => perSecond));
  const perRequest = formatNumber(middle(direct, (sample) => (sample.loadCores * 1e6) / sample.perSecond));
  return [
    `- Load generator: reaches ${rate} requests/s direct to the upstream with ${limitConnections} connections, where it takes ${share('direct')} of a core, ${perRequest} µs per request; with the bare proxy it takes ${share('bare')}, with the gateway ${share('gateway')}.`,
  ];
}
