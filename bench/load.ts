/**
 * The load generator, in a process of its own: raw kept-alive sockets, in a closed loop or at a fixed rate. The bench asks
 * it to prepare, so that connecting and warming up are not measured, and then to run.
 */
import { pace } from './arrivals.ts';
import { answerParent } from './child.ts';
import { LoadConnection, newTally, type Tally } from './load-connection.ts';
import {
  eventsPerStream,
  type Format,
  isLate,
  isStreamed,
  type Model,
  models,
  requestBytes,
  type Target,
} from './scenarios.ts';
import { spread } from './spread.ts';
import { percentile } from './statistics.ts';

/** Whom to ask for what. Connections take the targets in turn. The format is chat completions unless it is given. */
type LoadSetup = Readonly<{
  targets: readonly Target[];
  model: Model;
  format?: Format | undefined;
  connections: number;
}>;

export type LoadQuestion =
  | (LoadSetup & Readonly<{ type: 'prepare'; warmUpMs: number }>)
  | Readonly<{ type: 'run'; durationMs: number }>
  /** Requests arrive at this rate, on whichever connection is free. */
  | Readonly<{ type: 'pace'; perSecond: number; durationMs: number }>
  /** Sends requests on the prepared connections until it is asked to stop, and returns at once. */
  | Readonly<{ type: 'start' }>
  | Readonly<{ type: 'stop' }>
  /** Connects, sends a request on each connection as soon as it is open, and returns when all answers have begun. */
  | (LoadSetup & Readonly<{ type: 'begin' }>)
  /** Waits for the answers that have begun. */
  | Readonly<{ type: 'finish' }>;

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
  /** When requests were sent, by the shared clock, in the order of their answers; empty unless one connection asks late models. */
  sentAtMs: readonly number[];
  /** The latencies themselves, for the same requests: of the first byte and of the whole response. */
  firstBytesMs: readonly number[];
  latenciesMs: readonly number[];
}>;

/** An answer that takes longer than this after the end of the run is given up. */
const patienceMs = 30_000;

/** Load that nobody stops ends by itself. */
const maxStartedMs = 60_000;

/** The same for streams that are held open, from the first one on. */
const heldPatienceMs = 180_000;
/** How many connections and streams are opened at once: more would overflow the backlog of a listener. */
const groupSize = 250;

let connections: LoadConnection[] = [];
let areTimesKept = false;
let begun: Promise<LoadResult> | null = null;
let beginTimer: Timer | undefined;

async function answer(question: LoadQuestion): Promise<LoadResult> {
  switch (question.type) {
    case 'prepare':
      return await prepare(question);
    case 'run':
      return await runAll(question.durationMs);
    case 'pace':
      return await timed(question.durationMs, (tally) =>
        pace(connections, tally, question.perSecond, question.durationMs),
      );
    case 'start':
      begun = runAll(maxStartedMs);
      return summary(newTally(), 0);
    case 'stop':
      for (const connection of connections) connection.stop();
      return await (begun ?? runAll(0));
    case 'begin':
      await begin(question);
      return summary(newTally(), 0);
    case 'finish':
      return await (begun ?? runAll(0)).finally(() => clearTimeout(beginTimer));
  }
}

async function prepare(question: Extract<LoadQuestion, { type: 'prepare' }>): Promise<LoadResult> {
  replaceConnections(question);
  const { warmUpMs } = question;
  await inGroups((connection) => connection.connect());
  return warmUpMs > 0 ? await runAll(warmUpMs) : summary(newTally(), 0);
}

function replaceConnections({ targets, model, format = 'chat', connections: count }: LoadSetup): void {
  for (const connection of connections) connection.abandon();
  const newConnections = targets.map((target) => {
    const nextRequest = inTurn(requestBytes(target, model, format));
    // How much a held stream sends depends on when it is let go.
    const hasFixedEvents = target.passesEventsSingly && model !== models.held;
    const events = hasFixedEvents ? eventsPerStream[format] : null;
    const expected = { format: isStreamed(model) ? format : null, events };
    return () => new LoadConnection(target, nextRequest, expected);
  });
  areTimesKept = isLate(model) && count === 1;
  connections = spread(count, newConnections).map((newConnection) => newConnection());
}

function inTurn(requests: readonly Buffer[]): () => Buffer {
  let next = 0;
  return () => {
    const request = requests[next % requests.length];
    next += 1;
    if (request === undefined) throw new Error('There is no key to send.');
    return request;
  };
}

async function begin(question: Extract<LoadQuestion, { type: 'begin' }>): Promise<void> {
  replaceConnections(question);
  const tally = newTally();
  const startedAtMs = performance.now();
  beginTimer = setTimeout(() => {
    for (const connection of connections) connection.abandon();
  }, heldPatienceMs);
  const answers: Promise<void>[] = [];
  // A server closes idle connections, so the first must not wait until all of them are open.
  await inGroups(async (connection) => {
    await connection.connect();
    answers.push(connection.run(tally, 0));
    await connection.whenBegun();
  });
  begun = Promise.all(answers).then(() => summary(tally, performance.now() - startedAtMs));
}

async function inGroups(work: (connection: LoadConnection) => Promise<void>): Promise<void> {
  for (let start = 0; start < connections.length; start += groupSize)
    await Promise.all(connections.slice(start, start + groupSize).map(work));
}

function runAll(durationMs: number): Promise<LoadResult> {
  return timed(durationMs, async (tally) => {
    const untilMs = performance.now() + durationMs;
    await Promise.all(connections.map((connection) => connection.run(tally, untilMs)));
  });
}

async function timed(durationMs: number, work: (tally: Tally) => Promise<void>): Promise<LoadResult> {
  const tally = newTally();
  const startedAtMs = performance.now();
  const timer = setTimeout(() => {
    for (const connection of connections) connection.abandon();
  }, durationMs + patienceMs);
  await work(tally);
  clearTimeout(timer);
  return summary(tally, performance.now() - startedAtMs);
}

const noTimes = { sentAtMs: [], latenciesMs: [], firstBytesMs: [] };

function summary(tally: Tally, elapsedMs: number): LoadResult {
  const { completed, chunks, reads, sentAtMs, latenciesMs, firstBytesMs, errors } = tally;
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
    ...(areTimesKept ? { sentAtMs, latenciesMs, firstBytesMs } : noTimes),
  };
}

answerParent(answer);
