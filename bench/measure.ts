/** Puts load on subjects and notes what they did and what it cost them. */
import { cpuMicroseconds, postgresCpuMicroseconds, residentBytes } from './cpu.ts';
import type { LoadResult } from './load.ts';
import { type Model, models, type Scenario } from './scenarios.ts';
import { median } from './statistics.ts';
import type { Bench, Subject } from './subjects.ts';

export type Timing = Readonly<{ warmUpMs: number; runMs: number; heldMs: number }>;

/** One run of a scenario on a subject. Times and costs are per request or per chunk, as the scenario says. */
export type Sample = Readonly<{
  perSecond: number;
  cpuMicroseconds: number;
  postgresMicroseconds: number;
  p50Ms: number;
  p99Ms: number;
  chunksPerRead: number;
  /** New connections to the upstream: none when the subject keeps its own alive. */
  connectionsPerRequest: number;
}>;

export type MemorySample = Readonly<{ connections: number; idleBytes: number; openBytes: number }>;

/** Adds up what every answer so far amounts to, also those of warming up. */
export class Counts {
  readonly completed = new Map<string, number>();
  readonly errors = new Map<string, number>();

  add({ name }: Subject, result: LoadResult): void {
    this.completed.set(name, (this.completed.get(name) ?? 0) + result.completed);
    for (const [reason, count] of Object.entries(result.errors)) {
      const key = `${name}: ${reason}`;
      this.errors.set(key, (this.errors.get(key) ?? 0) + count);
    }
  }

  errorCount(): number {
    return [...this.errors.values()].reduce((sum, count) => sum + count, 0);
  }
}

/** In a row, none of them cheaper than the best before: nothing is left to compile. */
const quietWindows = 3;
const windowMs = 1_000;
const noticeableGain = 0.97;

/**
 * Sends requests until they cost no less than before, and at least so many: the compiler alone takes more than a request
 * does in the first seconds.
 */
export async function warmUp(
  { load }: Pick<Bench, 'load'>,
  subject: Subject,
  model: Model,
  least: number,
  counts: Counts,
): Promise<void> {
  const { port, key, processId } = subject;
  const target = { port, key, model };
  counts.add(subject, await load.ask({ type: 'prepare', target, connections: 64, warmUpMs: 0 }));
  let completed = 0;
  let lowestCost = Number.POSITIVE_INFINITY;
  for (let quiet = 0; quiet < quietWindows || completed < least; ) {
    const before = cpuMicroseconds(processId);
    const result = await load.ask({ type: 'run', durationMs: windowMs });
    counts.add(subject, result);
    completed += result.completed;
    const cost = (cpuMicroseconds(processId) - before) / result.completed;
    quiet = cost < lowestCost * noticeableGain ? 0 : quiet + 1;
    lowestCost = Math.min(lowestCost, cost);
  }
}

export async function measure(
  { load, upstream }: Bench,
  subject: Subject,
  scenario: Scenario,
  timing: Timing,
  counts: Counts,
): Promise<Sample> {
  const { port, key } = subject;
  const { model, connections } = scenario;
  const target = { port, key, model };
  counts.add(subject, await load.ask({ type: 'prepare', target, connections, warmUpMs: timing.warmUpMs }));
  const connectionsBefore = await upstream.ask('connections');
  const before = used(subject);
  const result = await load.ask({ type: 'run', durationMs: timing.runMs });
  const after = used(subject);
  counts.add(subject, result);
  const isStream = scenario.unit === 'chunk';
  const count = isStream ? result.chunks : result.completed;
  return {
    perSecond: (count * 1000) / result.elapsedMs,
    cpuMicroseconds: (after.own - before.own) / count,
    postgresMicroseconds: (after.postgres - before.postgres) / count,
    p50Ms: isStream ? result.firstByteP50Ms : result.p50Ms,
    p99Ms: isStream ? result.firstByteP99Ms : result.p99Ms,
    chunksPerRead: result.chunksPerRead,
    connectionsPerRequest: ((await upstream.ask('connections')) - connectionsBefore) / result.completed,
  };
}

function used({ processId, dataFolder }: Subject): { own: number; postgres: number } {
  return {
    own: cpuMicroseconds(processId),
    postgres: dataFolder === null ? Number.NaN : postgresCpuMicroseconds(dataFolder),
  };
}

/** The difference between a subject at rest and one with so many streams open. */
export async function measureMemory(
  { load, upstream }: Bench,
  subject: Subject,
  connections: number,
  timing: Timing,
  counts: Counts,
): Promise<MemorySample> {
  const { port, key } = subject;
  const prepare = async (count: number, warmUpMs: number, model: typeof models.fast | typeof models.held) =>
    counts.add(
      subject,
      await load.ask({ type: 'prepare', target: { port, key, model }, connections: count, warmUpMs }),
    );
  // The program itself is loaded and compiled before the first reading.
  await prepare(4, timing.warmUpMs, models.fast);
  const idleBytes = residentBytes(subject.processId);
  await prepare(connections, 0, models.held);
  counts.add(subject, await load.ask({ type: 'begin' }));
  const readings: number[] = [];
  const endsAtMs = Date.now() + timing.heldMs;
  while (Date.now() < endsAtMs) {
    await Bun.sleep(100);
    readings.push(residentBytes(subject.processId));
  }
  await upstream.ask('release');
  counts.add(subject, await load.ask({ type: 'finish' }));
  return { connections, idleBytes, openBytes: median(readings) };
}
