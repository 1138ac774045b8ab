/** When the process stops or reloads, and what it closes at the end. */
import type { Log } from '../lib/log.ts';
import { LateError, within } from '../lib/within.ts';

export type Signals = Readonly<{
  /** Resolves with the name of the first signal to stop. */
  stopRequested: Promise<string>;
  /** Sets what SIGHUP does from now on. */
  onReload: (reload: () => void) => void;
}>;

/**
 * To be called before anything slow: until a handler is there, a signal ends the process. The handlers stay, because
 * Ctrl-C under npm arrives twice, from the terminal and from npm, and the second must not cut the drain short.
 */
export function listenForSignals(): Signals {
  const { promise: stopRequested, resolve } = Promise.withResolvers<string>();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => resolve(signal));
  let reload = () => {};
  process.on('SIGHUP', () => reload());
  return {
    stopRequested,
    onReload: (given) => {
      reload = given;
    },
  };
}

/** Embedded PostgreSQL writes everything out when it stops, which takes the longest. */
const patienceMs = 20_000;

/** What has to be closed at the end, in the reverse order. One that fails or hangs does not keep the rest open. */
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
        // Whatever hangs there must not keep a process alive that is done with everything else.
        if (error instanceof LateError) setTimeout(() => process.exit(), patienceMs).unref();
      }
    }
  }
}
