/**
 * The life of a gateway's process: start, wait for a signal, drain, close everything, end. However far a start got, the
 * process never remains half started: it says why, closes what was open, and ends.
 */
import { isPassing } from '../database/explain.ts';
import type { Log } from '../lib/log.ts';
import { describeFailure } from '../lib/operator-error.ts';
import { Closers, endProcess, type SignalControl, type Signals } from './lifecycle.ts';

type Started = Readonly<{ drain: () => Promise<void> }>;

type Life = Readonly<{
  log: Log;
  signals: Signals & SignalControl;
  /** Whether it logs that it stops. The parent of workers does so for all of them. */
  isReported: boolean;
  start: (closers: Closers) => Promise<Started>;
  /** A failure in words that the operator can act on. */
  explain: (error: unknown) => unknown;
  /** How often to log that the start is not over yet. */
  noticeMs?: number;
  maxClosingMs?: number;
}>;

const maxStarts = 3;

/** Longer than an ordinary start takes, a new database included. */
const defaultNoticeMs = 30_000;

/** The embedded PostgreSQL may take that long to stop on a slow machine. */
const defaultClosingMs = 30_000;

export async function runToEnd(life: Life): Promise<never> {
  const { log, signals, isReported, maxClosingMs = defaultClosingMs } = life;
  const closers = new Closers(log);
  try {
    // Nobody who asks a gateway to stop wants to wait until it has started.
    const started = await Promise.race([
      startPatiently(life, closers),
      signals.stopRequested.then(() => null),
    ]);
    const signal = await signals.stopRequested;
    if (isReported) log.info(started === null ? 'stopping before the start is over' : 'draining', { signal });
    await started?.drain();
    await closers.end();
  } catch (error) {
    process.stderr.write(`${describeFailure(life.explain(error))}\n`);
    setTimeout(() => process.exit(1), maxClosingMs);
    signals.stopRequested.then(signals.hurry).catch(() => undefined);
    await closers.end();
    await endProcess(1);
  }
  if (isReported) log.info('stopped');
  return await endProcess(0);
}

/** A start that the database interrupted is repeated from the beginning, with nothing left of the first one. */
async function startPatiently(life: Life, closers: Closers): Promise<Started> {
  const { start, log, noticeMs = defaultNoticeMs } = life;
  // A lock or a migration may take any time, and so may a database that no longer answers. Nobody should have to guess.
  const notice = setInterval(
    () => log.warn('the start is not over yet: the database is busy, locked, or does not answer'),
    noticeMs,
  );
  try {
    for (let count = 1; ; count += 1) {
      try {
        return await start(closers);
      } catch (error) {
        if (!isPassing(error) || count === maxStarts || closers.ended.aborted) throw error;
        log.warn('the database interrupted the start, starting again', { error });
        await closers.closeAll();
      }
    }
  } finally {
    clearInterval(notice);
  }
}
