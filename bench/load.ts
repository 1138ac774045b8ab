/**
 * The load generator, in a process of its own: a closed loop over raw kept-alive sockets. The bench asks it to prepare,
 * so that connecting and warming up lie outside of what is measured, and then to run.
 */
import { answerParent } from './child.ts';
import { LoadConnection, newTally, type Tally } from './load-connection.ts';
import { eventsPerStream, type Model, models, requestBytes } from './scenarios.ts';
import { percentile } from './statistics.ts';

export type LoadQuestion =
  | Readonly<{ type: 'prepare'; target: LoadTarget; connections: number; warmUpMs: number }>
  | Readonly<{ type: 'run'; durationMs: number }>
  /** Starts one answer on each connection and returns when all have begun. */
  | Readonly<{ type: 'begin' }>
  /** Waits for the answers that were begun. */
  | Readonly<{ type: 'finish' }>;

export type LoadTarget = Readonly<{ port: number; key: string; model: Model }>;

export type LoadResult = Readonly<{
  elapsedMs: number;
  completed: number;
  chunks: number;
  chunksPerRead: number;
  p50Ms: number;
  p99Ms: number;
  firstByteP50Ms: number;
  firstByteP99Ms: number;
  errors: Readonly<Record<string, number>>;
}>;

/** An answer that takes longer than this after the end of the run is given up. */
const patienceMs = 30_000;

let connections: LoadConnection[] = [];
let begun: Promise<LoadResult> | null = null;

async function answer(question: LoadQuestion): Promise<LoadResult> {
  switch (question.type) {
    case 'prepare':
      return await prepare(question.target, question.connections, question.warmUpMs);
    case 'run':
      return await runAll(question.durationMs);
    case 'begin': {
      begun = runAll(0);
      await Promise.all(connections.map((connection) => connection.whenBegun()));
      return summary(newTally(), 0);
    }
    case 'finish':
      return await (begun ?? runAll(0));
  }
}

async function prepare(
  { port, key, model }: LoadTarget,
  count: number,
  warmUpMs: number,
): Promise<LoadResult> {
  for (const connection of connections) connection.abandon();
  const request = requestBytes(port, key, model);
  // How much a held stream says before it is let go depends on when that is.
  const hasFixedEvents = model === models.fast || model === models.paced;
  const expected = { isStream: model !== models.json, events: hasFixedEvents ? eventsPerStream : null };
  connections = Array.from({ length: count }, () => new LoadConnection(request, expected));
  await Promise.all(connections.map((connection) => connection.connect(port)));
  return warmUpMs > 0 ? await runAll(warmUpMs) : summary(newTally(), 0);
}

async function runAll(durationMs: number): Promise<LoadResult> {
  const tally = newTally();
  const startedAtMs = performance.now();
  const untilMs = startedAtMs + durationMs;
  const timer = setTimeout(() => {
    for (const connection of connections) connection.abandon();
  }, durationMs + patienceMs);
  await Promise.all(connections.map((connection) => connection.run(tally, untilMs)));
  clearTimeout(timer);
  return summary(tally, performance.now() - startedAtMs);
}

function summary(tally: Tally, elapsedMs: number): LoadResult {
  const { completed, chunks, reads, latenciesMs, firstBytesMs, errors } = tally;
  return {
    elapsedMs,
    completed,
    chunks,
    chunksPerRead: chunks / reads,
    p50Ms: percentile(latenciesMs, 0.5),
    p99Ms: percentile(latenciesMs, 0.99),
    firstByteP50Ms: percentile(firstBytesMs, 0.5),
    firstByteP99Ms: percentile(firstBytesMs, 0.99),
    errors: Object.fromEntries(errors),
  };
}

answerParent(answer);
