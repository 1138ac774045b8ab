/** Signals, what is closed at the end, and the end itself. */
import type { Log } from '../lib/log.ts';
import { within } from '../lib/within.ts';

export type Signals = Readonly<{
  /** Resolves with the name of the first SIGTERM or SIGINT. */
  stopRequested: Promise<string>;
  /** Resolves with the second one: whoever sent it does not want to wait for open requests. */
  hurryRequested: Promise<void>;
  /** Sets what SIGHUP does from now on. */
  onReload: (reload: () => void) => void;
}>;

/** The same can be asked for without a signal. */
export type SignalControl = Readonly<{
  stop: (signal: string) => void;
  hurry: () => void;
  reload: () => void;
}>;

/** How long the process may take to end after a second signal. */
const hurryMs = 5_000;

/** Must be called before anything slow: without a handler, a signal kills the process. */
export function listenForSignals(): Signals & SignalControl {
  const stop = Promise.withResolvers<string>();
  const hurry = Promise.withResolvers<void>();
  const countOf = signalCounter();
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    process.on(signal, () => {
      const count = countOf(performance.now());
      if (count === 1) stop.resolve(signal);
      if (count === 2) beginHurry();
      if (count === 3) process.exit(1);
    });
  const beginHurry = () => {
    hurry.resolve();
    setTimeout(() => process.exit(1), hurryMs).unref();
  };
  let reload = () => {};
  process.on('SIGHUP', () => reload());
  return {
    stopRequested: stop.promise,
    hurryRequested: hurry.promise,
    onReload: (handler) => {
      reload = handler;
    },
    stop: stop.resolve,
    hurry: beginHurry,
    reload: () => reload(),
  };
}

/** No person means two things within this time. */
const sameIntentMs = 1_000;

/**
 * Counts how often someone asked the process to stop. Ctrl-C under npm arrives twice, from the terminal and from npm; so
 * does what a process manager sends to a whole group. Such a copy follows at once and returns null.
 */
export function signalCounter(): (nowMs: number) => number | null {
  let count = 0;
  let lastMs = Number.NEGATIVE_INFINITY;
  return (nowMs) => {
    if (nowMs - lastMs < sameIntentMs) return null;
    lastMs = nowMs;
    count += 1;
    return count;
  };
}

/** The embedded PostgreSQL takes the longest, because it writes everything to disk when it stops. */
const patienceMs = 20_000;
/** A statement of upkeep that the database does not answer is given up: another node, or the next start, does it again. */
const upkeepPatienceMs = 3_000;

type Closer = Readonly<{ what: string; close: () => unknown }>;

/** Closed at the end, in reverse order. One that fails or hangs does not keep the rest open. */
export class Closers {
  readonly #log: Log;
  readonly #closers: Closer[] = [];
  readonly #upkeep: Closer[] = [];
  readonly #ended = new AbortController();

  constructor(log: Log) {
    this.#log = log;
  }

  /** Aborted as soon as everything is to be closed for good. */
  get ended(): AbortSignal {
    return this.#ended.signal;
  }

  /** What a start opens after it was given up is closed at once. */
  add(what: string, close: () => unknown): void {
    this.#closers.push({ what, close });
    if (this.ended.aborted) this.closeAll().catch(() => undefined);
  }

  /** What is done again and again, and on which nothing else depends: it is stopped first, all at once. */
  addUpkeep(what: string, stop: () => unknown): void {
    this.#upkeep.push({ what, close: stop });
    if (this.ended.aborted) this.closeAll().catch(() => undefined);
  }

  async closeAll(): Promise<void> {
    await Promise.all(this.#upkeep.splice(0).map((one) => this.#close(one, upkeepPatienceMs)));
    for (const one of this.#closers.splice(0).toReversed()) await this.#close(one, patienceMs);
  }

  async #close({ what, close }: Closer, maxMs: number): Promise<void> {
    try {
      await within(maxMs, Promise.resolve(close()));
    } catch (error) {
      this.#log.warn(`not closed: ${what}`, { error });
    }
  }

  async end(): Promise<void> {
    this.#ended.abort();
    await this.closeAll();
  }
}

/** Ends the process, whatever is still open in it, once everything that was printed has been written. */
export async function endProcess(exitCode: number): Promise<never> {
  const written = [process.stdout, process.stderr].map(
    (stream) => new Promise<void>((resolve) => stream.write('', () => resolve())),
  );
  await Promise.all(written);
  process.exit(exitCode);
}
