/**
 * Many deadlines on one timer. A stream moves its deadline with every chunk; doing that with its own timer would
 * cost more than the chunk. Time that this process itself lost counts against none of them.
 */
import { RunningClock } from './running-clock.ts';

export type Deadline = {
  /** When it passes, on the clock of `nowMs`. May be moved at any time. */
  atMs: number;
  clear: () => void;
};

const tickMs = 100;

class Pending implements Deadline {
  atMs: number;
  readonly expire: () => void;
  readonly #all: Set<Pending>;

  constructor(atMs: number, expire: () => void, all: Set<Pending>) {
    this.atMs = atMs;
    this.expire = expire;
    this.#all = all;
  }

  clear(): void {
    this.#all.delete(this);
  }
}

export class Deadlines {
  readonly #pending = new Set<Pending>();
  readonly #clock = new RunningClock(tickMs);
  #timer: ReturnType<typeof setInterval> | null = null;

  /** The clock of these deadlines. It notices lost time only while there are any. */
  nowMs(): number {
    const realMs = performance.now();
    if (this.#timer === null) this.#clock.start(realMs);
    return this.#clock.nowMs(realMs);
  }

  /** Calls `expire` once when the time has passed, give or take a tick. */
  start(durationMs: number, expire: () => void): Deadline {
    const pending = new Pending(this.nowMs() + durationMs, expire, this.#pending);
    this.#pending.add(pending);
    this.#timer ??= setInterval(() => this.#tick(), tickMs);
    return pending;
  }

  #tick(): void {
    const nowMs = this.#clock.tick(performance.now());
    if (nowMs !== null) this.#expire(nowMs);
    if (this.#pending.size === 0 && this.#timer !== null) {
      clearInterval(this.#timer);
      this.#timer = null;
    }
  }

  #expire(nowMs: number): void {
    for (const pending of this.#pending) {
      if (pending.atMs > nowMs) continue;
      this.#pending.delete(pending);
      pending.expire();
    }
  }
}
