/** Signals, and what is closed at the end. */
import type { Log } from '../lib/log.ts';
import { LateError, within } from '../lib/within.ts';

export type Signals = Readonly<{
  /** Resolves with the name of the first SIGTERM or SIGINT. */
  stopRequested: Promise<string>;
  /** Sets what SIGHUP does from now on. */
  onReload: (reload: () => void) => void;
}>;

/**
 * Must be called before anything slow: without a handler, a signal kills the process. The handlers stay, because Ctrl-C
 * under npm arrives twice, from the terminal and from npm, and the second must not cut the drain short.
 */
export function listenForSignals(): Signals {
  const { promise: stopRequested, resolve } = Promise.withResolvers<string>();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => resolve(signal));
  let reload = () => {};
  process.on('SIGHUP', () => reload());
  return {
    stopRequested,
    onReload: (handler) => {
      reload = handler;
    },
  };
}

/** The embedded PostgreSQL takes the longest, because it writes everything to disk when it stops. */
const patienceMs = 20_000;

/** Closed at the end, in reverse order. One that fails or hangs does not keep the rest open. */
export class Closers {
  readonly #closers: { what: string; close: () => unknown }[] = [];

  add(what: string, close: () => unknown): void {
    this.#closers.push({ what, close });
  }

  async closeAll(log: Log): Promise<void> {
    for (const { what, close } of this.#closers.splice(0).toReversed()) {
      try {
        await within(patienceMs, Promise.resolve(close()));
      } catch (error) {
        log.warn(`not closed: ${what}`, { error });
        // Whatever hangs must not keep the process alive.
        if (error instanceof LateError) setTimeout(() => process.exit(), patienceMs).unref();
      }
    }
  }
}
