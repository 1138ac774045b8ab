import type { Log } from '../lib/log.ts';

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
        await withinPatience(close);
      } catch (error) {
        log.warn(`not closed: ${what}`, { error });
      }
    }
  }
}

async function withinPatience(close: () => unknown): Promise<void> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    reject(new Error('It took too long.'));
    // Whatever hangs there must not keep a process alive that is done with everything else.
    setTimeout(() => process.exit(), patienceMs).unref();
  }, patienceMs);
  try {
    await Promise.race([close(), late]);
  } finally {
    clearTimeout(timer);
  }
}
