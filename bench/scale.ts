/**
 * The arithmetic of docs/scale.md. Its first two tables are the input, measured figures and assumptions, which people
 * change; every table between `<!-- name -->` and `<!-- end -->` follows from them.
 */
import { eventsPerStream } from './scenarios.ts';
import { formatNumber, formatTable } from './table.ts';

const labels = {
  requestCpu: 'gateway CPU per JSON request, µs',
  postgresCpu: 'PostgreSQL CPU per request, µs',
  chunkCpu: 'gateway CPU per chunk of a stream, µs',
  streamKb: 'memory per open stream, KB',
  idleMb: 'memory of an idle gateway, MB',
  accountRate: 'hold + settle pairs per second on one account',
  walBytes: 'WAL per request, bytes',
  storedBytes: 'storage per Generation, bytes',
  usedPercent: 'share of a core in use at peak, %',
  streamSeconds: 'duration of a stream, s',
  storedDays: 'days that Generations stay in the database',
  connections: 'database connections per gateway process',
  primaryCores: 'cores of the primary',
  primaryTb: 'storage of the primary, TB',
  primaryWalMb: 'WAL that the primary can write, MB/s',
  replicaWalMb: 'WAL that a replica can replay, MB/s',
  maxConnections: 'connections that the primary accepts',
} as const;

export type ScaleInput = Readonly<Record<keyof typeof labels, number>>;

const loads = [1_000, 10_000, 100_000];
const secondsPerDay = 86_400;

/** Throws when a figure is missing. */
export function readScaleInput(page: string): ScaleInput {
  const cells = new Map(
    page
      .split('\n')
      .filter((line) => line.startsWith('| '))
      .map((line) => line.split('|').map((cell) => cell.trim()))
      .map(([, label = '', value = '']) => [label, Number(value.replaceAll(',', ''))]),
  );
  return Object.fromEntries(
    Object.entries(labels).map(([name, label]) => {
      const value = cells.get(label);
      if (value === undefined || !(value > 0)) throw new Error(`docs/scale.md has no figure for "${label}".`);
      return [name, value];
    }),
  ) as ScaleInput;
}

/** Requests per second. */
function ratesOf(input: ScaleInput) {
  const microseconds = (input.usedPercent / 100) * 1e6;
  const json = microseconds / input.requestCpu;
  const streams = microseconds / (eventsPerStream.chat * input.chunkCpu);
  const postgres = microseconds / input.postgresCpu;
  return { json, streams, postgres };
}

/** A resource of one primary, and how many requests per second use all of it, the scarcest first. */
export function limitsOf(input: ScaleInput): { resource: string; arithmetic: string; perSecond: number }[] {
  const { postgres, streams } = ratesOf(input);
  const number = (value: number) => value.toLocaleString('en-US');
  return [
    {
      resource: 'CPU of the primary',
      arithmetic: `${number(input.primaryCores)} cores × ${formatNumber(postgres)}`,
      perSecond: input.primaryCores * postgres,
    },
    {
      resource: `storage for ${number(input.storedDays)} days`,
      arithmetic: `${number(input.primaryTb)} TB ÷ (${number(input.storedBytes)} bytes × ${number(input.storedDays)} days)`,
      perSecond: (input.primaryTb * 1e12) / (input.storedBytes * input.storedDays * secondsPerDay),
    },
    {
      resource: 'WAL written by the primary',
      arithmetic: `${number(input.primaryWalMb)} MB/s ÷ ${number(input.walBytes)} bytes`,
      perSecond: (input.primaryWalMb * 1e6) / input.walBytes,
    },
    {
      resource: 'WAL replayed by a replica',
      arithmetic: `${number(input.replicaWalMb)} MB/s ÷ ${number(input.walBytes)} bytes`,
      perSecond: (input.replicaWalMb * 1e6) / input.walBytes,
    },
    {
      resource: 'connections, if all requests are streams',
      arithmetic: `${number(input.maxConnections)} ÷ ${number(input.connections)} per gateway process × ${formatNumber(streams)}`,
      perSecond: (input.maxConnections / input.connections) * streams,
    },
  ].toSorted((a, b) => a.perSecond - b.perSecond);
}

export function scaleTables(input: ScaleInput): Record<'cores' | 'deployments' | 'limits', string> {
  const { json, streams, postgres } = ratesOf(input);
  const used = input.usedPercent / 100;
  const limits = limitsOf(input);
  const lowest = limits[0]?.perSecond ?? Number.NaN;
  const row = (title: string, figure: (perSecond: number) => string) => [title, ...loads.map(figure)];
  const whole = (value: number) => Math.ceil(value).toLocaleString('en-US');
  return {
    cores: formatTable(
      ['one core of', 'arithmetic', 'per second'],
      [
        [
          'the gateway',
          `${used} × 1,000,000 µs ÷ ${input.requestCpu}`,
          `${formatNumber(json)} JSON requests`,
        ],
        [
          'the gateway',
          `${used} × 1,000,000 µs ÷ (${eventsPerStream.chat} × ${input.chunkCpu})`,
          `${formatNumber(streams)} streams`,
        ],
        ['PostgreSQL', `${used} × 1,000,000 µs ÷ ${input.postgresCpu}`, `${formatNumber(postgres)} requests`],
      ],
    ),
    deployments: formatTable(
      ['requests per second', ...loads.map((load) => load.toLocaleString('en-US'))],
      [
        row('gateway processes, if all are JSON', (load) => whole(load / json)),
        row('gateway processes, if all are streams', (load) => whole(load / streams)),
        row('streams open at once', (load) => whole(load * input.streamSeconds)),
        row('memory of these gateways, GB', (load) =>
          formatNumber(
            (Math.ceil(load / streams) * input.idleMb) / 1024 +
              (load * input.streamSeconds * input.streamKb) / 1024 ** 2,
          ),
        ),
        row('PostgreSQL cores', (load) => whole(load / postgres)),
        row('WAL, MB/s', (load) => formatNumber((load * input.walBytes) / 1e6)),
        row('stored per day, GB', (load) => formatNumber((load * input.storedBytes * secondsPerDay) / 1e9)),
        row(`stored in ${input.storedDays} days, TB`, (load) =>
          formatNumber((load * input.storedBytes * secondsPerDay * input.storedDays) / 1e12),
        ),
        row('database connections, if all are streams', (load) =>
          whole(Math.ceil(load / streams) * input.connections),
        ),
        row('accounts, at least', (load) => whole(load / input.accountRate)),
        row('primaries', (load) => whole(load / lowest)),
      ],
    ),
    limits: formatTable(
      ['resource', 'arithmetic', 'requests per second'],
      limits.map(({ resource, arithmetic, perSecond }) => [resource, arithmetic, formatNumber(perSecond)]),
    ),
  };
}

/** The page with its tables derived again from the first two. */
export function renderScale(page: string): string {
  return Object.entries(scaleTables(readScaleInput(page))).reduce((text, [name, table]) => {
    const place = new RegExp(`(<!-- ${name} -->\n)[^]*?(<!-- end -->)`);
    if (!place.test(text)) throw new Error(`docs/scale.md has no place for the table "${name}".`);
    return text.replace(place, (_, start: string, end: string) => `${start}\n${table}\n\n${end}`);
  }, page);
}
