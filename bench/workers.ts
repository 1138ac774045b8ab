/**
 * `npm run bench -- --workers`: what a second worker adds on this machine. PostgreSQL, the upstream and the load generator
 * run on the same cores, so this is less than the gateway could do alone.
 */
import { cpuWithChildren } from './cpu.ts';
import { type Gateway, startGateway } from './gateway.ts';
import { models } from './scenarios.ts';
import { median } from './statistics.ts';
import { type Load, startUpstreamAndLoad } from './subjects.ts';
import { formatNumber, formatTable } from './table.ts';
import type { Workshop } from './workshop.ts';

const workerCounts = [1, 2] as const;
const connections = 64;
const rounds = 5;
const warmUpMs = 8_000;
const runMs = 2_000;

const workloads = [
  { title: 'JSON', unit: 'requests', model: models.json },
  { title: 'stream, unpaced', unit: 'chunks', model: models.fast },
] as const;

type Sample = Readonly<{ perSecond: number; p50Ms: number; p99Ms: number; cores: number }>;

export async function compareWorkers(workshop: Workshop, say: (text: string) => void): Promise<string> {
  const { load, upstreamPort } = await startUpstreamAndLoad(workshop);
  const gateways: Gateway[] = [];
  for (const workers of workerCounts)
    gateways.push(
      await startGateway(upstreamPort, workshop, [], {
        name: `workers-${workers}`,
        settings: { WORKERS: `${workers}` },
      }),
    );
  const rows: string[][] = [];
  for (const { title, unit, model } of workloads) {
    const samples = workerCounts.map((): Sample[] => []);
    for (let round = 0; round <= rounds; round += 1) {
      for (const [index, gateway] of gateways.entries()) {
        say(`${title}, ${workerCounts[index]} workers, round ${round} of ${rounds}`);
        const sample = await measureOne(load, gateway, model, round === 0 ? warmUpMs : runMs);
        // The first round is for the compiler.
        if (round > 0) samples[index]?.push(sample);
      }
    }
    for (const [index, all] of samples.entries()) {
      const middle = (figure: (sample: Sample) => number) => formatNumber(median(all.map(figure)));
      rows.push([
        title,
        `${workerCounts[index]}`,
        `${middle(({ perSecond }) => perSecond)} ${unit}`,
        middle(({ p50Ms }) => p50Ms),
        middle(({ p99Ms }) => p99Ms),
        middle(({ cores }) => cores),
      ]);
    }
  }
  for (const gateway of gateways) await gateway.stop();
  return formatTable(
    ['64 connections', 'workers', 'per second', 'p50 ms', 'p99 ms', 'cores used by the gateway'],
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
  return {
    perSecond: ((isStream ? result.chunks : result.completed) * 1000) / result.elapsedMs,
    p50Ms: isStream ? result.firstByteP50Ms : result.p50Ms,
    p99Ms: isStream ? result.firstByteP99Ms : result.p99Ms,
    cores: cpu / 1000 / result.elapsedMs,
  };
}
