/**
 * `npm run bench`: the upstream alone, a bare proxy and the gateway side by side, in one run, as one table. `--quick` is
 * shorter and rougher; `--write` also puts the table into docs/bench.md. `--compare workers` or `--compare metrics` compares
 * two settings instead.
 */
import { writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { SQL } from 'bun';
import { readConfig } from '../src/config.ts';
import { openDatabase } from '../src/database/connection.ts';
import { countCharges } from './charges.ts';
import { cleanEnvironment } from './child.ts';
import { compare, comparisonNamed } from './compare.ts';
import type { Gateway } from './gateway.ts';
import type { LedgerReport } from './ledger.ts';
import { describeMachine } from './machine.ts';
import { Counts, measure, measureMemory, type Timing, warmUp } from './measure.ts';
import { page } from './page.ts';
import { report } from './report.ts';
import { isSound, type Results, type ScenarioResult } from './results.ts';
import { models, scenarios } from './scenarios.ts';
import { type Bench, startBench } from './subjects.ts';
import { type Workshop, withWorkshop } from './workshop.ts';

/** `warmUp` is how many requests and streams each subject answers before anything is measured, at least. */
type Plan = Timing &
  Readonly<{
    rounds: number;
    ledgerSeconds: number;
    warmUp: Readonly<{ requests: number; streams: number }>;
  }>;

const warm = { requests: 30_000, streams: 1_000 };
const thorough: Plan = {
  rounds: 3,
  warmUpMs: 400,
  runMs: 2_000,
  heldMs: 3_000,
  ledgerSeconds: 5,
  warmUp: warm,
};
const quick: Plan = {
  rounds: 2,
  warmUpMs: 250,
  runMs: 1_000,
  heldMs: 1_000,
  ledgerSeconds: 1.5,
  warmUp: warm,
};
const openStreams = 1_000;

const { values: options } = parseArgs({
  options: { quick: { type: 'boolean' }, write: { type: 'boolean' }, compare: { type: 'string' } },
});

await withWorkshop(async (workshop) => {
  if (options.compare !== undefined) {
    process.stdout.write(`\n${await compare(comparisonNamed(options.compare), workshop, say)}\n`);
    return;
  }
  const results = await runBench(workshop, options.quick ? quick : thorough);
  const text = report(results);
  process.stdout.write(`\n${text}\n`);
  for (const line of results.complaints.slice(0, 5)) say(`the gateway logged: ${line.slice(0, 500)}`);
  if (options.write) writeFileSync(join(import.meta.dir, '../docs/bench.md'), page(text));
  process.exitCode = isSound(results) ? 0 : 1;
});

async function runBench(workshop: Workshop, plan: Plan): Promise<Results> {
  const startedAt = new Date();
  // Tells a table that was made on a busy machine from one that was not.
  const [loadBefore = 0] = loadavg();
  const counts = new Counts();
  const bench = await startBench(workshop);
  const { gateway } = bench;
  // First, while the subjects have done little: memory that load has left behind would hide what streams take.
  const memory = await measureAllMemory(bench, plan, counts);
  for (const subject of bench.subjects.filter(({ name }) => name !== 'direct')) {
    say(`warming up: ${subject.name}`);
    await warmUp(bench, subject, models.json, plan.warmUp.requests, counts);
    await warmUp(bench, subject, models.fast, plan.warmUp.streams, counts);
  }
  const scenarioResults = await measureAllScenarios(bench, plan, counts);
  const machine = await onDatabase(gateway, describeMachine);
  await gateway.stop();
  say('audit');
  const { exitCode: auditExitCode, stdout } = await gateway.audit();
  if (auditExitCode !== 0) say(stdout);
  return {
    startedAt,
    command: `npm run bench${options.quick ? ' -- --quick' : ''}`,
    machine: [...machine, `Load average before the run: ${loadBefore.toFixed(2)}`],
    scenarios: scenarioResults,
    memory,
    counts,
    auditExitCode,
    charges: await onDatabase(gateway, countCharges),
    complaints: gateway.complaints(),
    ledger: await measureLedger(workshop, plan.ledgerSeconds),
  };
}

/** Rounds go through all subjects in turn, so that whatever else the machine does hits all of them alike. */
async function measureAllScenarios(bench: Bench, plan: Plan, counts: Counts): Promise<ScenarioResult[]> {
  const results: ScenarioResult[] = scenarios.map((scenario) => ({
    scenario,
    samples: { direct: [], bare: [], gateway: [] },
  }));
  for (let round = 1; round <= plan.rounds; round += 1) {
    for (const { scenario, samples } of results) {
      say(`round ${round} of ${plan.rounds}: ${scenario.title}, ${scenario.connections} at once`);
      for (const subject of bench.subjects) {
        samples[subject.name].push(await measure(bench, subject, scenario, plan, counts));
      }
    }
  }
  return results;
}

async function measureAllMemory(bench: Bench, plan: Plan, counts: Counts): Promise<Results['memory']> {
  const results: Results['memory'][number][] = [];
  for (const subject of bench.subjects.filter(({ name }) => name !== 'direct')) {
    say(`memory of ${openStreams} open streams: ${subject.name}`);
    const sample = await measureMemory(bench, subject, openStreams, plan, counts);
    results.push({ name: subject.name, sample });
  }
  return results;
}

async function measureLedger({ folder, onStop }: Workshop, seconds: number): Promise<LedgerReport> {
  say('ledger alone');
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

async function onDatabase<Result>(
  { dataFolder }: Gateway,
  query: (sql: SQL) => Promise<Result>,
): Promise<Result> {
  const database = await openDatabase(readConfig({ TOLLGATE_DATA: dataFolder }));
  try {
    return await query(database.sql);
  } finally {
    await database.close();
  }
}

function say(text: string): void {
  process.stderr.write(`${text}\n`);
}
