import type { Log } from '../lib/log.ts';
import { LateError, within } from '../lib/within.ts';

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
