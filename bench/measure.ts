/** Puts load on subjects and notes what they did and what it cost them. */
import { cpuMicroseconds } from './cpu.ts';
import type { LoadResult } from './load.ts';
import { eventsPerStream, isLate, type Model, models, type Scenario } from './scenarios.ts';
import { median, percentile } from './statistics.ts';
import type { Bench, Subject } from './subjects.ts';
import type { Wait } from './upstream.ts';

export type Timing = Readonly<{ warmUpMs: number; runMs: number; heldMs: number }>;

/** One run of a scenario on a subject. Times and costs are per request or per chunk, as the scenario says. */
export type Sample = Readonly<{
  perSecond: number;
  cpuMicroseconds: number;
  postgresMicroseconds: number;
  /** Without the upstream's own time where that is known: for late answers on one connection. */
  p50Ms: number;
  p99Ms: number;
  /** Until the upstream had the request; NaN where it is not known. */
  calledP50Ms: number;
  chunksPerRead: number;
  /** New connections to the upstream: none if the subject keeps them alive. */
  connectionsPerRequest: number;
  /** How much of a core the load generator itself used. */
  loadCores: number;
}>;

export type MemorySample = Readonly<{ connections: number; idleBytes: number; openBytes: number }>;

/** Adds up all answers so far, including those of the warm-up. */
export class Counts {
  readonly completed = new Map<string, number>();
  readonly errors = new Map<string, number>();

  add({ name }: Subject, result: LoadResult): void {
    this.completed.set(name, (this.completed.get(name) ?? 0) + result.completed);
    for (const [reason, count] of Object.entries(result.errors)) this.#addErrors(`${name}: ${reason}`, count);
  }

  /** Streams that were to be open while memory was measured, and were not. */
  addMissingStreams({ name }: Subject, count: number): void {
    if (count > 0) this.#addErrors(`${name}: stream not open`, count);
  }

  #addErrors(key: string, count: number): void {
    this.errors.set(key, (this.errors.get(key) ?? 0) + count);
  }

  errorCount(): number {
    return [...this.errors.values()].reduce((sum, count) => sum + count, 0);
  }
}

/** This many in a row, none of them cheaper than the best before, mean that nothing is left to compile. */
const quietWindows = 3;
const windowMs = 1_000;
const noticeableGain = 0.97;
/** A slow peer need not serve all of them. */
const maxWarmUpMs = 120_000;

/**
 * Sends requests until they cost no less than before, and at least a minimum: in the first seconds the compiler takes
 * more time than the requests.
 */
export async function warmUp(
  { load }: Pick<Bench, 'load'>,
  subject: Subject,
  model: Model,
  minRequests: number,
  counts: Counts,
): Promise<void> {
  const { targets } = subject;
  counts.add(subject, await load.ask({ type: 'prepare', targets, model, connections: 64, warmUpMs: 0 }));
  const endsAtMs = Date.now() + maxWarmUpMs;
  let completed = 0;
  let lowestCost = Number.POSITIVE_INFINITY;
  for (let quiet = 0; quiet < quietWindows || completed < minRequests; ) {
    if (Date.now() > endsAtMs) return;
    const before = subject.cpu();
    const result = await load.ask({ type: 'run', durationMs: windowMs });
    counts.add(subject, result);
    if (Object.keys(result.errors).length > 0)
      throw new Error(`Requests to ${subject.name} fail: ${JSON.stringify(result.errors)}`);
    completed += result.completed;
    const cost = (subject.cpu().own - before.own) / result.completed;
    quiet = cost < lowestCost * noticeableGain ? 0 : quiet + 1;
    lowestCost = Math.min(lowestCost, cost);
  }
}

export async function measure(
  { load, upstream }: Pick<Bench, 'load' | 'upstream'>,
  subject: Subject,
  scenario: Scenario,
  timing: Timing,
  counts: Counts,
): Promise<Sample> {
  const { targets } = subject;
  const { model, format = 'chat', connections, perSecond } = scenario;
  // A late answer takes so long that few fit into the usual time.
  const durationMs = isLate(model) ? timing.runMs * 2 : timing.runMs;
  const { warmUpMs } = timing;
  counts.add(subject, await load.ask({ type: 'prepare', targets, model, format, connections, warmUpMs }));
  // Those of the warm-up.
  await upstream.ask('waits');
  const { count: connectionsBefore } = await upstream.ask('connections');
  const before = subject.cpu();
  const loadBefore = cpuMicroseconds(load.processId);
  const result = await load.ask(
    perSecond === undefined ? { type: 'run', durationMs } : { type: 'pace', perSecond, durationMs },
  );
  const loadAfter = cpuMicroseconds(load.processId);
  const after = subject.cpu();
  counts.add(subject, result);
  const { waits } = await upstream.ask('waits');
  const { count: connectionsAfter } = await upstream.ask('connections');
  const isStream = scenario.unit === 'chunk';
  // Another gateway may merge or add events; they are counted as the upstream sends them.
  const areEventsSingle = targets.every(({ passesEventsSingly }) => passesEventsSingly);
  const chunks = areEventsSingle ? result.chunks : result.completed * eventsPerStream[format];
  const count = isStream ? chunks : result.completed;
  return {
    perSecond: (count * 1000) / result.elapsedMs,
    cpuMicroseconds: (after.own - before.own) / count,
    postgresMicroseconds: (after.postgres - before.postgres) / count,
    ...latencies(result, waits, isStream),
    chunksPerRead: result.chunksPerRead,
    connectionsPerRequest: (connectionsAfter - connectionsBefore) / result.completed,
    loadCores: (loadAfter - loadBefore) / 1000 / result.elapsedMs,
  };
}

type Latencies = Pick<Sample, 'p50Ms' | 'p99Ms' | 'calledP50Ms'>;

/** A late upstream's own time is far longer than what is measured, and its timer is not precise. */
export function latencies(result: LoadResult, waits: readonly Wait[], isStream: boolean): Latencies {
  const own = isStream ? result.firstBytesMs : result.latenciesMs;
  if (own.length === 0) {
    return {
      p50Ms: isStream ? result.firstByteP50Ms : result.p50Ms,
      p99Ms: isStream ? result.firstByteP99Ms : result.p99Ms,
      calledP50Ms: Number.NaN,
    };
  }
  // With the upstream's own time in it, a latency would say nothing about the subject.
  if (own.length !== waits.length) return { p50Ms: Number.NaN, p99Ms: Number.NaN, calledP50Ms: Number.NaN };
  const added = waits.map(
    ({ askedAtMs, answeredAtMs }, index) => (own[index] ?? Number.NaN) - (answeredAtMs - askedAtMs),
  );
  const called = waits.map(({ askedAtMs }, index) => askedAtMs - (result.sentAtMs[index] ?? Number.NaN));
  return {
    p50Ms: percentile(added, 0.5),
    p99Ms: percentile(added, 0.99),
    calledP50Ms: percentile(called, 0.5),
  };
}

/** The difference between a subject at rest and with this many streams open. */
export async function measureMemory(
  { load, upstream }: Bench,
  subject: Subject,
  connections: number,
  timing: Timing,
  counts: Counts,
): Promise<MemorySample> {
  const { targets } = subject;
  // The program itself is loaded and compiled before the first reading.
  const { warmUpMs } = timing;
  const warmed = await load.ask({ type: 'prepare', targets, model: models.fast, connections: 4, warmUpMs });
  counts.add(subject, warmed);
  const idleBytes = subject.residentBytes();
  await load.ask({ type: 'begin', targets, model: models.held, connections });
  const readings: number[] = [];
  const endsAtMs = Date.now() + timing.heldMs;
  while (Date.now() < endsAtMs) {
    await Bun.sleep(100);
    readings.push(subject.residentBytes());
  }
  counts.addMissingStreams(subject, connections - (await upstream.ask('release')).count);
  counts.add(subject, await load.ask({ type: 'finish' }));
  return { connections, idleBytes, openBytes: median(readings) };
}
