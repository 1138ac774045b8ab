/** What `--deployments` found, as Markdown that also reads well in a terminal. */
import { againstBefore } from './before-report.ts';
import { areDeploymentsSound, type DeploymentResults, type Served } from './deployment-results.ts';
import type { Sample } from './measure.ts';
import { differences, type Figure, middle, type ScenarioResult } from './results.ts';
import { median } from './statistics.ts';
import type { SubjectName } from './subjects.ts';
import { formatAdded, formatNumber, formatSpread, formatTable } from './table.ts';

const titles = { direct: 'upstream, direct', before: 'gateway before', gateway: 'gateway' } as const;
type Measured = keyof typeof titles;

const header = [
  'measured',
  'at once',
  'subject',
  'per second',
  'CPU µs',
  'PostgreSQL µs',
  'p50 ms',
  'p99 ms',
  'over direct p50',
  'upstream called ms',
];

export function deploymentsReport(results: DeploymentResults): string {
  const { startedAt, command, machine } = results;
  const scenarios = Object.values(results.scenarios);
  const all = scenarios.flatMap(({ crowd, ...own }): Served[] => (crowd === null ? [own] : [own, crowd]));
  return [
    `- ${startedAt.toISOString().slice(0, 16).replace('T', ' ')} UTC, \`${command}\``,
    ...machine.map((line) => `- ${line}`),
    '',
    formatTable(header, all.flatMap(scenarioRows)),
    '',
    ...soundness(results),
    '',
    ...againstBefore(all),
    withinVersions(results),
  ].join('\n');
}

const p50: Figure = (sample) => sample.p50Ms;
const perSecond: Figure = (sample) => sample.perSecond;

function scenarioRows({ scenario, samples }: Served): string[][] {
  // Those that were borrowed from another scenario are in its own rows.
  const isOwn = (name: Measured) => name !== 'direct' || scenario.hasDirect;
  const measured = (Object.keys(titles) as Measured[]).filter(
    (name) => samples[name].length > 0 && isOwn(name),
  );
  return measured.map((name) => {
    const own = samples[name];
    const cell = (figure: Figure) => formatNumber(middle(own, figure));
    return [
      `${scenario.title}, ${scenario.unit}s`,
      `${scenario.connections}`,
      titles[name],
      cell(perSecond),
      cell((sample) => sample.cpuMicroseconds),
      cell((sample) => sample.postgresMicroseconds),
      cell(p50),
      cell((sample) => sample.p99Ms),
      name === 'direct' ? '–' : formatAdded(median(differences(own, samples.direct, p50))),
      cell((sample) => sample.calledP50Ms),
    ];
  });
}

function soundness(results: DeploymentResults): string[] {
  const { counts, versions } = results;
  const count = (number: number) => number.toLocaleString('en-US');
  const errors = [...counts.errors].map(([reason, times]) => `${reason} ×${times}`).join(', ');
  return [
    `- Errors: ${count(counts.errorCount())}${errors === '' ? '' : ` (${errors})`}.`,
    ...versions.map(
      ({ name, completed, charges, auditExitCode, complaints }) =>
        `- ${titles[name]}: ${count(completed)} requests completed, ${count(charges)} charges, \`tollgate ledger audit\` exits with ${auditExitCode}, ${complaints.length} warnings in the logs.`,
    ),
    `- This run ${areDeploymentsSound(results) ? 'counts' : 'is VOID'}.`,
  ];
}

type Comparison = Readonly<{ title: string; of: ScenarioResult; to: ScenarioResult; figure: Figure }>;

/** What sharing, and a database that is not near, cost each version: one scenario as a multiple of another of the same round. */
function withinVersions({ scenarios }: DeploymentResults): string {
  const { neighboursAlone, neighboursOfTwo, neighboursOfShared } = scenarios;
  const { jsonNear, jsonFar, streamNear, streamFar } = scenarios;
  const added = ({ samples }: ScenarioResult): Figure => {
    const base = middle(samples.direct, p50);
    return (sample) => p50(sample) - base;
  };
  const comparisons: readonly Comparison[] = [
    ...[neighboursAlone, neighboursOfTwo].flatMap((to) => [
      { title: 'per second', of: neighboursOfShared, to, figure: perSecond },
      { title: 'p50', of: neighboursOfShared, to, figure: p50 },
    ]),
    { title: 'p50 over direct', of: jsonFar, to: jsonNear, figure: added(jsonNear) },
    { title: 'first byte over direct', of: streamFar, to: streamNear, figure: added(streamNear) },
  ];
  const names = (['before', 'gateway'] as const).filter((name) => neighboursAlone.samples[name].length > 0);
  return formatTable(
    ['within a round', 'figure', ...names.map((name) => titles[name]), ...(names.length > 1 ? ['÷'] : [])],
    comparisons.map(({ title, of, to, figure }) => {
      const quotients = names.map((name) => quotientsOf(of, to, name, figure));
      return [
        `${of.scenario.title} ÷ ${to.scenario.title}`,
        title,
        ...quotients.map(formatSpread),
        ...secondToFirst(quotients),
      ];
    }),
  );
}

function quotientsOf(of: ScenarioResult, to: ScenarioResult, name: SubjectName, figure: Figure): number[] {
  const figures = (samples: readonly Sample[]) => samples.map(figure);
  const divisors = figures(to.samples[name]);
  return figures(of.samples[name]).map((value, round) => value / (divisors[round] ?? Number.NaN));
}

function secondToFirst([first = [], second]: readonly (readonly number[])[]): string[] {
  if (second === undefined) return [];
  return [formatSpread(second.map((value, round) => value / (first[round] ?? Number.NaN)))];
}
