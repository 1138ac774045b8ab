/**
 * `npm run bench -- --compare NAME`: the gateway with two settings, in turn. PostgreSQL, the upstream and the load generator
 * run on the same cores, so a second worker adds less here than it would on a machine of its own.
 */
import { compareHeader, compareRows, type Sample } from './compare-report.ts';
import { cpuWithChildren } from './cpu.ts';
import { type Gateway, startGateway } from './gateway.ts';
import { localTarget, models } from './scenarios.ts';
import { type Load, startUpstreamAndLoad } from './subjects.ts';
import { formatTable } from './table.ts';
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
const rounds = 10;
const warmUpMs = 8_000;
const runMs = 2_000;

const workloads = [
  { title: 'JSON', unit: 'requests', model: models.json },
  { title: 'stream, unpaced', unit: 'chunks', model: models.fast },
] as const;

export async function compare(
  comparison: Comparison,
  workshop: Workshop,
  report: (text: string) => void,
): Promise<string> {
  const { load, upstreamPort } = await startUpstreamAndLoad(workshop);
  const variants: { name: string; gateway: Gateway; samples: Sample[] }[] = [];
  for (const [name, settings] of Object.entries<Settings>(comparisons[comparison])) {
    const gateway = await startGateway(upstreamPort, workshop, [], { name, settings });
    variants.push({ name, gateway, samples: [] });
  }
  const rows: string[][] = [];
  for (const { title, unit, model } of workloads) {
    for (const { samples } of variants) samples.length = 0;
    for (let round = 0; round <= rounds; round += 1) {
      for (const { name, gateway, samples } of inOrderOf(round, variants)) {
        report(`${title}, ${name}, round ${round} of ${rounds}`);
        const sample = await measureOne(load, gateway, model, round === 0 ? warmUpMs : runMs);
        // The first round is for the compiler.
        if (round > 0) samples.push(sample);
      }
    }
    rows.push(...compareRows(title, unit, variants));
  }
  for (const { gateway } of variants) await gateway.stop();
  return formatTable(compareHeader, rows);
}

/** Every other round is in reverse order: the second variant may find a warmer machine, or a busier one. */
export function inOrderOf<Variant>(round: number, variants: readonly Variant[]): readonly Variant[] {
  return round % 2 === 0 ? variants : variants.toReversed();
}

async function measureOne(
  load: Load,
  { port, key, processId }: Gateway,
  model: (typeof workloads)[number]['model'],
  durationMs: number,
): Promise<Sample> {
  const targets = [localTarget(port, [key])];
  await load.ask({ type: 'prepare', targets, model, connections, warmUpMs: 250 });
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
