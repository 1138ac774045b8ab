/** The curves as tables, and as plots next to them. */
import type { CurvePoint, Curves } from './curves.ts';
import { plot } from './plot.ts';
import { type Figure, middle } from './results.ts';
import { formatNumber, formatTable } from './table.ts';

const rate: Figure = (sample) => sample.perSecond;
const p50: Figure = (sample) => sample.p50Ms;
const p99: Figure = (sample) => sample.p99Ms;
const cpu: Figure = (sample) => sample.cpuMicroseconds;
const postgres: Figure = (sample) => sample.postgresMicroseconds;
const total: Figure = (sample) => sample.cpuMicroseconds + sample.postgresMicroseconds;

const files = {
  throughput: 'bench-throughput.svg',
  latency: 'bench-latency.svg',
  accounts: 'bench-accounts.svg',
  generations: 'bench-generations.svg',
} as const;

export function curveReport(curves: Curves): string {
  const { startedAt, command, machine, errorCount, charges, auditExitCode, isSound } = curves;
  const { tableBytes, indexBytes } = curves.storage;
  const count = (number: number) => number.toLocaleString('en-US');
  return [
    `- ${startedAt.toISOString().slice(0, 16).replace('T', ' ')} UTC, \`${command}\``,
    ...machine.map((line) => `- ${line}`),
    `- Errors: ${count(errorCount)}. ${count(charges.expected)} charges expected, ${count(charges.found)} found, \`tollgate ledger audit\` exits with ${auditExitCode}.`,
    `- This run ${isSound ? 'counts' : 'is VOID'}.`,
    '',
    '### Over connections',
    '',
    image('Requests per second over connections', files.throughput),
    image('Latency over connections', files.latency),
    '',
    formatTable(
      [
        'connections',
        'bare per second',
        'gateway per second',
        'bare p50 ms',
        'gateway p50 ms',
        'bare p99 ms',
        'gateway p99 ms',
        'gateway CPU µs',
        'PostgreSQL µs',
      ],
      curves.connections.map(({ x, bare, gateway }) => [
        count(x),
        ...[rate, p50, p99].flatMap((figure) =>
          [bare, gateway].map((own) => formatNumber(middle(own, figure))),
        ),
        ...[cpu, postgres].map((figure) => formatNumber(middle(gateway, figure))),
      ]),
    ),
    '',
    '### Over accounts',
    '',
    image('CPU per request over accounts', files.accounts),
    '',
    costTable('accounts', curves.accounts),
    '',
    '### Over stored Generations',
    '',
    image('CPU per request over stored Generations', files.generations),
    '',
    costTable('Generations', curves.generations),
    '',
    `Storage: ${count(Math.round(tableBytes + indexBytes))} bytes per Generation, ${count(Math.round(indexBytes))} of them indexes.`,
  ].join('\n');
}

function image(text: string, file: string): string {
  return `![${text}](${file})`;
}

function costTable(title: string, points: readonly CurvePoint[]): string {
  return formatTable(
    [title, 'gateway CPU µs', 'PostgreSQL µs', 'sum µs', 'per second', 'p50 ms', 'p99 ms', 'bare CPU µs'],
    points.map(({ x, bare, gateway }) => [
      x.toLocaleString('en-US'),
      ...[cpu, postgres, total, rate, p50, p99].map((figure) => formatNumber(middle(gateway, figure))),
      formatNumber(middle(bare, cpu)),
    ]),
  );
}

/** The name in docs/ and the content of each. */
export function curveFiles({ connections, accounts, generations }: Curves): (readonly [string, string])[] {
  const line = (
    name: string,
    points: readonly CurvePoint[],
    subject: 'bare' | 'gateway',
    figure: Figure,
  ) => ({
    name,
    points: points.map((point) => ({ x: point.x, y: middle(point[subject], figure) })),
  });
  const costs = (title: string, xLabel: string, points: readonly CurvePoint[]) =>
    plot({
      title,
      xLabel,
      yLabel: 'CPU µs per request',
      xBase: 10,
      yScale: 'linear',
      series: [
        line('sum', points, 'gateway', total),
        line('gateway', points, 'gateway', cpu),
        line('PostgreSQL', points, 'gateway', postgres),
        line('bare proxy', points, 'bare', cpu),
      ],
    });
  const overConnections = { xLabel: 'connections', xBase: 2 } as const;
  return [
    [
      files.throughput,
      plot({
        ...overConnections,
        title: 'Requests per second over connections',
        yLabel: 'requests per second',
        yScale: 'linear',
        series: [
          line('gateway', connections, 'gateway', rate),
          line('bare proxy', connections, 'bare', rate),
        ],
      }),
    ],
    [
      files.latency,
      plot({
        ...overConnections,
        title: 'Latency over connections',
        yLabel: 'ms',
        yScale: 'log',
        series: [
          line('gateway p50', connections, 'gateway', p50),
          line('gateway p99', connections, 'gateway', p99),
          line('bare p50', connections, 'bare', p50),
          line('bare p99', connections, 'bare', p99),
        ],
      }),
    ],
    [files.accounts, costs('CPU per request over accounts', 'accounts', accounts)],
    [files.generations, costs('CPU per request over stored Generations', 'Generations stored', generations)],
  ];
}
