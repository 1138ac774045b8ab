/** The run of `npm run bench`: all subjects side by side, then the ledger alone. */
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { countCharges } from './charges.ts';
import { cleanEnvironment } from './child.ts';
import { onDatabase } from './gateway.ts';
import type { LedgerReport } from './ledger.ts';
import { describeMachine } from './machine.ts';
import { Counts, measure, measureMemory, type Timing, warmUp } from './measure.ts';
import { commandOf, type Options } from './options.ts';
import { openPeer } from './peer.ts';
import { newSamples, type Results, type ScenarioResult } from './results.ts';
import { models, scenariosAt } from './scenarios.ts';
import { type Bench, startBench } from './subjects.ts';
import type { Workshop } from './workshop.ts';

/** `warmUp` is how many requests and streams each subject serves before anything is measured, at least. */
type Plan = Timing &
  Readonly<{
    rounds: number;
    ledgerSeconds: number;
    warmUp: Readonly<{ requests: number; streams: number }>;
  }>;

/** A request passes through so much code that the JIT is still improving it after the first 100,000 of them. */
export const minWarmUp = { requests: 200_000, streams: 1_000 };
const thorough: Plan = {
  rounds: 3,
  warmUpMs: 400,
  runMs: 2_000,
  heldMs: 3_000,
  ledgerSeconds: 5,
  warmUp: minWarmUp,
};
const quick: Plan = {
  rounds: 2,
  warmUpMs: 250,
  runMs: 1_000,
  heldMs: 1_000,
  ledgerSeconds: 1.5,
  warmUp: { ...minWarmUp, requests: 30_000 },
};

type Progress = (text: string) => void;

export async function runBench(workshop: Workshop, options: Options, progress: Progress): Promise<Results> {
  const usual = options.isQuick ? quick : thorough;
  const plan = { ...usual, rounds: options.rounds ?? usual.rounds };
  const startedAt = new Date();
  // Distinguishes a table that was made on a busy machine from one that was not.
  const [loadBefore = 0] = loadavg();
  const counts = new Counts();
  const bench = await startWithPeer(workshop, options, progress);
  const { gateway } = bench;
  // First, while the subjects have done little: memory left behind by load would hide what streams take.
  const memory = await measureAllMemory(bench, plan, options.openStreams, counts, progress);
  for (const subject of bench.subjects.filter(({ name }) => name !== 'direct')) {
    progress(`warming up: ${subject.name}`);
    await warmUp(bench, subject, models.json, plan.warmUp.requests, counts);
    await warmUp(bench, subject, models.fast, plan.warmUp.streams, counts);
  }
  const scenarios = await measureAllScenarios(bench, plan, options.rate, counts, progress);
  const machine = await onDatabase(gateway, describeMachine);
  await gateway.stop();
  await bench.before?.stop();
  progress('audit');
  const { exitCode: auditExitCode, stdout } = await gateway.audit();
  if (auditExitCode !== 0) progress(stdout);
  return {
    startedAt,
    command: commandOf(options),
    machine: [...machine, `Load average before the run: ${loadBefore.toFixed(2)}`],
    scenarios,
    memory,
    counts,
    auditExitCode,
    charges: await onDatabase(gateway, countCharges),
    complaints: gateway.complaints(),
    ledger: await measureLedger(workshop, plan.ledgerSeconds, progress),
  };
}

async function startWithPeer(
  workshop: Workshop,
  { peer, upstreamPort, beforeFolder }: Options,
  progress: Progress,
): Promise<Bench> {
  if (upstreamPort === null) return await startBench(workshop, { beforeFolder });
  const bench = await startBench(workshop, { upstreamPort, beforeFolder });
  if (peer === null) return bench;
  return { ...bench, subjects: [...bench.subjects, await openPeer(peer, upstreamPort, progress)] };
}

/** Rounds go through all subjects in turn, so that whatever else the machine does affects all of them equally. */
async function measureAllScenarios(
  bench: Bench,
  plan: Plan,
  rate: number,
  counts: Counts,
  progress: Progress,
): Promise<ScenarioResult[]> {
  const results = scenariosAt(rate).map((scenario) => ({ scenario, samples: newSamples() }));
  for (let round = 1; round <= plan.rounds; round += 1) {
    for (const { scenario, samples } of results) {
      progress(`round ${round} of ${plan.rounds}: ${scenario.title}, ${scenario.connections} at once`);
      // The others speak chat completions only.
      const isForAll = scenario.format === undefined;
      for (const subject of bench.subjects.filter(({ name }) => isForAll || name === 'gateway')) {
        samples[subject.name].push(await measure(bench, subject, scenario, plan, counts));
      }
    }
  }
  return results;
}

async function measureAllMemory(
  bench: Bench,
  plan: Plan,
  openStreams: number,
  counts: Counts,
  progress: Progress,
): Promise<Results['memory']> {
  const results: Results['memory'][number][] = [];
  for (const subject of bench.subjects.filter(({ name }) => name !== 'direct')) {
    progress(`memory of ${openStreams} open streams: ${subject.name}`);
    const sample = await measureMemory(bench, subject, openStreams, plan, counts);
    progress(`${Math.round(sample.openBytes / 2 ** 20)} MB`);
    results.push({ name: subject.name, sample });
  }
  return results;
}

async function measureLedger(
  { folder, onStop }: Workshop,
  seconds: number,
  progress: Progress,
): Promise<LedgerReport> {
  progress('ledger alone');
  const child = Bun.spawn([process.execPath, join(import.meta.dir, 'ledger.ts'), `${seconds}`], {
    cwd: folder,
    env: cleanEnvironment(),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onStop(async () => {
    child.kill();
    await child.exited;
  });
  return JSON.parse(await child.stdout.text()) as LedgerReport;
}
