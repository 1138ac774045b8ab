/**
 * `npm run bench -- --compare NAME`: the gateway with two settings, in turn. PostgreSQL, the upstream and the load generator
 * run on the same cores, so a second worker adds less here than the gateway could do alone.
 */
import { cpuWithChildren } from './cpu.ts';
import { type Gateway, startGateway } from './gateway.ts';
import { models } from './scenarios.ts';
import { median } from './statistics.ts';
import { type Load, startUpstreamAndLoad } from './subjects.ts';
import { formatNumber, formatTable } from './table.ts';
import type { Workshop } from './workshop.ts';

type Settings = Readonly<Record<string, string>>;

const comparisons = {
  workers: { 'WORKERS=1': { WORKERS: '1' }, 'WORKERS=2': { WORKERS: '2' } },
  metrics: { 'METRICS=off': { METRICS: 'off' }, 'METRICS=on': { METRICS: 'on' } },
} as const satisfies Readonly<Record<string, Readonly<Record<string, Settings>>>>;

export type Comparison = keyof typeof comparisons;

export function comparisonNamed(name: string): Comparison {
  const known = Object.keys(comparisons);
  if (!known.includes(name)) throw new Error(`--compare takes one of ${known.join(', ')}.`);
  return name as Comparison;
}

const connections = 64;
const rounds = 9;
const warmUpMs = 8_000;
const runMs = 2_000;

const workloads = [
  { title: 'JSON', unit: 'requests', model: models.json },
  { title: 'stream, unpaced', unit: 'chunks', model: models.fast },
] as const;

type Sample = Readonly<{
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
  cpuMicroseconds: number;
  cores: number;
}>;

export async function compare(
  comparison: Comparison,
  workshop: Workshop,
  say: (text: string) => void,
): Promise<string> {
  const { load, upstreamPort } = await startUpstreamAndLoad(workshop);
  const variants: { name: string; gateway: Gateway }[] = [];
  for (const [name, settings] of Object.entries<Settings>(comparisons[comparison]))
    variants.push({ name, gateway: await startGateway(upstreamPort, workshop, [], { name, settings }) });
  const rows: string[][] = [];
  for (const { title, unit, model } of workloads) {
    const samples = variants.map((): Sample[] => []);
    for (let round = 0; round <= rounds; round += 1) {
      for (const [index, { name, gateway }] of variants.entries()) {
        say(`${title}, ${name}, round ${round} of ${rounds}`);
        const sample = await measureOne(load, gateway, model, round === 0 ? warmUpMs : runMs);
        // The first round is for the compiler.
        if (round > 0) samples[index]?.push(sample);
      }
    }
    for (const [index, all] of samples.entries()) {
      const middle = (figure: (sample: Sample) => number) => formatNumber(median(all.map(figure)));
      rows.push([
        title,
        variants[index]?.name ?? '',
        `${middle(({ perSecond }) => perSecond)} ${unit}`,
        middle(({ p50Ms }) => p50Ms),
        middle(({ p99Ms }) => p99Ms),
        middle(({ cpuMicroseconds }) => cpuMicroseconds),
        formatNumber(
          median(
            all.map(
              ({ cpuMicroseconds }, round) => cpuMicroseconds - (samples[0]?.[round]?.cpuMicroseconds ?? 0),
            ),
          ),
        ),
        middle(({ cores }) => cores),
      ]);
    }
  }
  for (const { gateway } of variants) await gateway.stop();
  return formatTable(
    [
      '64 connections',
      'settings',
      'per second',
      'p50 ms',
      'p99 ms',
      'CPU µs',
      'more than the first',
      'cores',
    ],
    rows,
  );
}

async function measureOne(
  load: Load,
  { port, key, processId }: Gateway,
  model: (typeof workloads)[number]['model'],
  durationMs: number,
): Promise<Sample> {
  await load.ask({ type: 'prepare', target: { port, key, model }, connections, warmUpMs: 250 });
  const before = cpuWithChildren(processId);
  const result = await load.ask({ type: 'run', durationMs });
  const cpu = cpuWithChildren(processId) - before;
  const errors = Object.entries(result.errors);
  if (errors.length > 0) throw new Error(`Requests failed: ${JSON.stringify(errors)}`);
  const isStream = model !== models.json;
  const count = isStream ? result.chunks : result.completed;
  return {
    perSecond: (count * 1000) / result.elapsedMs,
    p50Ms: isStream ? result.firstByteP50Ms : result.p50Ms,
    p99Ms: isStream ? result.firstByteP99Ms : result.p99Ms,
    cpuMicroseconds: cpu / count,
    cores: cpu / 1000 / result.elapsedMs,
  };
}
