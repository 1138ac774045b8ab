/** An open loop: requests arrive at a fixed rate, however slowly earlier ones are answered. */
import type { LoadConnection, Tally } from './load-connection.ts';

const tickMs = 1;
/** A timer this late is not the subject's fault. */
export const timerSlackMs = 2;

/** Which requests have arrived, each with the moment from which its latency counts. */
export class Arrivals {
  readonly #startedAtMs: number;
  readonly #intervalMs: number;
  readonly #total: number;
  #arrived = 0;

  constructor(startedAtMs: number, perSecond: number, durationMs: number) {
    this.#startedAtMs = startedAtMs;
    this.#intervalMs = 1000 / perSecond;
    this.#total = Math.round((perSecond * durationMs) / 1000);
  }

  get areOver(): boolean {
    return this.#arrived >= this.#total;
  }

  /** A request counts from now; if it is far too late, because the machine was busy, from when it was due. */
  take(nowMs: number): number[] {
    const taken: number[] = [];
    for (; !this.areOver; this.#arrived += 1) {
      const dueAtMs = this.#startedAtMs + this.#arrived * this.#intervalMs;
      if (dueAtMs > nowMs) break;
      taken.push(Math.min(nowMs, dueAtMs + timerSlackMs));
    }
    return taken;
  }
}

/** Resolves with the last response. A request that finds all connections busy waits for one, which counts as latency. */
export async function pace(
  connections: readonly LoadConnection[],
  tally: Tally,
  perSecond: number,
  durationMs: number,
): Promise<void> {
  const arrivals = new Arrivals(performance.now(), perSecond, durationMs);
  const idle = [...connections];
  const waiting: number[] = [];
  const done = Promise.withResolvers<void>();

  function send(): void {
    while (waiting.length > 0 && idle.length > 0) {
      const connection = idle.shift();
      const sinceMs = waiting.shift();
      if (connection === undefined || sinceMs === undefined) return;
      connection.askOnce(tally, sinceMs).then(() => {
        idle.push(connection);
        send();
      }, done.reject);
    }
    if (arrivals.areOver && waiting.length === 0 && idle.length === connections.length) done.resolve();
  }

  const timer = setInterval(() => {
    waiting.push(...arrivals.take(performance.now()));
    send();
  }, tickMs);
  try {
    await done.promise;
  } finally {
    clearInterval(timer);
  }
}
