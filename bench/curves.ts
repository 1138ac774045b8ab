/**
 * `npm run bench -- --curves`: throughput and latency over the number of connections, and the cost of a request over the
 * number of accounts and of stored Generations. Rounds go over all points of a curve, except where points cannot take
 * turns: the number of stored Generations only grows, so the bare proxy next to them shows how the machine changed.
 */
import { loadavg } from 'node:os';
import { createAccounts, type Owner } from './accounts.ts';
import { countCharges } from './charges.ts';
import {
  countGenerations,
  emptyLedger,
  fillGenerations,
  finishMaintenance,
  measureStorage,
  type Storage,
} from './fill.ts';
import { onDatabase } from './gateway.ts';
import { describeMachine } from './machine.ts';
import { Counts, measure, type Sample, type Timing, warmUp } from './measure.ts';
import { commandOf, type Options } from './options.ts';
import { minWarmUp } from './run.ts';
import { models, type Scenario } from './scenarios.ts';
import { type Bench, type Subject, startBench, subjectNamed } from './subjects.ts';
import type { Workshop } from './workshop.ts';

/** Samples in the order of the rounds; `x` is the number of connections, accounts or Generations. */
export type CurvePoint = Readonly<{ x: number; bare: Sample[]; gateway: Sample[] }>;

export type Curves = Readonly<{
  startedAt: Date;
  command: string;
  machine: readonly string[];
  connections: readonly CurvePoint[];
  accounts: readonly CurvePoint[];
  generations: readonly CurvePoint[];
  /** At the last of these points. */
  storage: Storage;
  errorCount: number;
  /** Charges in the ledger, and how many there should be. */
  charges: Readonly<{ found: number; expected: number }>;
  auditExitCode: number;
  isSound: boolean;
}>;

type Plan = Timing & Readonly<{ rounds: number }>;
type Progress = (text: string) => void;

const connectionCounts = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];
const accountCounts = [1, 10, 100, 1_000];
const generationCounts = [10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];
const connections = 64;

const thorough: Plan = { rounds: 3, warmUpMs: 300, runMs: 1_500, heldMs: 0 };
const quick: Plan = { rounds: 1, warmUpMs: 200, runMs: 700, heldMs: 0 };

export async function runCurves(
  workshop: Workshop,
  maxGenerations: number,
  options: Options,
  progress: Progress,
): Promise<Curves> {
  const startedAt = new Date();
  const [loadBefore = 0] = loadavg();
  const plan = options.isQuick ? quick : thorough;
  const bench = await startBench(workshop);
  const { gateway } = bench;
  const owners = await onDatabase(gateway, (sql) => createAccounts(sql, Math.max(...accountCounts)));
  const run = new CurveRun(bench, plan, owners, progress);
  await run.warmUp();
  const overConnections = await run.overConnections();
  const overAccounts = await run.overAccounts();
  const before = { found: await onDatabase(gateway, countCharges), expected: run.completed() };
  const { points: overGenerations, filled } = await run.overGenerations(maxGenerations);
  const storage = await onDatabase(gateway, measureStorage);
  const machine = await onDatabase(gateway, describeMachine);
  await gateway.stop();
  progress('audit');
  const { exitCode: auditExitCode, stdout } = await gateway.audit();
  if (auditExitCode !== 0) progress(stdout);
  const after = await onDatabase(gateway, countCharges);
  // The ledger was emptied in between.
  const charges = { found: before.found + after, expected: run.completed() + filled };
  const errorCount = run.counts.errorCount();
  return {
    startedAt,
    command: commandOf(options),
    machine: [...machine, `Load average before the run: ${loadBefore.toFixed(2)}`],
    connections: overConnections,
    accounts: overAccounts,
    generations: overGenerations,
    storage,
    errorCount,
    charges,
    auditExitCode,
    isSound:
      errorCount === 0 &&
      auditExitCode === 0 &&
      before.found === before.expected &&
      charges.found === charges.expected,
  };
}

class CurveRun {
  readonly counts = new Counts();
  readonly #bench: Bench;
  readonly #plan: Plan;
  readonly #owners: readonly Owner[];
  readonly #progress: Progress;
  readonly #bare: Subject;
  readonly #gateway: Subject;

  constructor(bench: Bench, plan: Plan, owners: readonly Owner[], progress: Progress) {
    this.#bench = bench;
    this.#plan = plan;
    this.#owners = owners;
    this.#progress = progress;
    this.#bare = subjectNamed(bench, 'bare');
    this.#gateway = subjectNamed(bench, 'gateway');
  }

  /** Requests to the gateway so far, each of which is a charge. */
  completed(): number {
    return this.counts.completed.get('gateway') ?? 0;
  }

  async warmUp(): Promise<void> {
    for (const subject of [this.#bare, this.#gateway]) {
      this.#progress(`warming up: ${subject.name}`);
      await warmUp(this.#bench, subject, models.json, minWarmUp.requests, this.counts);
    }
  }

  async overConnections(): Promise<CurvePoint[]> {
    const points = connectionCounts.map(newPoint);
    for (let round = 1; round <= this.#plan.rounds; round += 1) {
      for (const point of points) {
        this.#progress(`round ${round} of ${this.#plan.rounds}: ${point.x} connections`);
        await this.#measure(point, point.x, this.#gateway);
      }
    }
    return points;
  }

  async overAccounts(): Promise<CurvePoint[]> {
    const points = accountCounts.map(newPoint);
    for (let round = 1; round <= this.#plan.rounds; round += 1) {
      for (const point of points) {
        this.#progress(`round ${round} of ${this.#plan.rounds}: ${point.x} accounts`);
        await this.#measure(point, connections, this.#gatewayWith(point.x));
      }
    }
    return points;
  }

  /** `x` is how many there were in the middle of the measurement, which adds some itself. */
  async overGenerations(max: number): Promise<{ points: CurvePoint[]; filled: number }> {
    const count = () => onDatabase(this.#bench.gateway, countGenerations);
    const points: CurvePoint[] = [];
    let filled = 0;
    await onDatabase(this.#bench.gateway, emptyLedger);
    for (const wanted of generationCounts.filter((generations) => generations <= max)) {
      const missing = wanted - (await count());
      if (missing > 0) filled += await this.#fill(missing);
      const before = await count();
      const point = newPoint(before);
      for (let round = 1; round <= this.#plan.rounds; round += 1) {
        this.#progress(`round ${round} of ${this.#plan.rounds}: ${before} Generations`);
        await this.#measure(point, connections, this.#gatewayWith(this.#owners.length));
      }
      points.push({ ...point, x: Math.round((before + (await count())) / 2) });
    }
    return { points, filled };
  }

  async #fill(missing: number): Promise<number> {
    return await onDatabase(this.#bench.gateway, async (sql) => {
      const filled = await fillGenerations(sql, this.#owners, missing, (soFar) =>
        this.#progress(`filling: ${soFar} of ${missing} Generations`),
      );
      await finishMaintenance(sql);
      return filled;
    });
  }

  #gatewayWith(accounts: number): Subject {
    const keys = this.#owners.slice(0, accounts).map(({ key }) => key);
    return {
      ...this.#gateway,
      targets: this.#gateway.targets.map((target) => ({ ...target, keys })),
    };
  }

  async #measure({ bare, gateway }: CurvePoint, atOnce: number, subject: Subject): Promise<void> {
    const scenario: Scenario = { title: 'JSON', unit: 'request', model: models.json, connections: atOnce };
    bare.push(await measure(this.#bench, this.#bare, scenario, this.#plan, this.counts));
    gateway.push(await measure(this.#bench, subject, scenario, this.#plan, this.counts));
  }
}

function newPoint(x: number): CurvePoint {
  return { x, bare: [], gateway: [] };
}
