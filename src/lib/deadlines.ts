/**
 * Many deadlines on one timer. A stream moves its deadline with every chunk; doing that with a timer of its own would
 * cost more than the chunk.
 */
export type Deadline = {
  /** When it passes, on the clock of `performance.now`. May be moved at any time. */
  atMs: number;
  clear: () => void;
};

const tickMs = 100;
/** Work alone never delays a tick by this much. */
const standstillMs = 1_000;

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
  #timer: ReturnType<typeof setInterval> | null = null;
  #lastTickMs = 0;

  /** Calls `expire` once when the time has passed, give or take a tick. */
  start(durationMs: number, expire: () => void): Deadline {
    const nowMs = performance.now();
    const pending = new Pending(nowMs + durationMs, expire, this.#pending);
    this.#pending.add(pending);
    if (this.#timer === null) {
      this.#lastTickMs = nowMs;
      this.#timer = setInterval(() => this.#tick(), tickMs);
    }
    return pending;
  }

  #tick(): void {
    const nowMs = performance.now();
    const lateMs = nowMs - this.#lastTickMs - tickMs;
    this.#lastTickMs = nowMs;
    // What we wait for may have arrived while this process was suspended, so every deadline is extended by that time.
    if (lateMs > standstillMs) for (const pending of this.#pending) pending.atMs += lateMs;
    for (const pending of this.#pending) {
      if (pending.atMs > nowMs) continue;
      this.#pending.delete(pending);
      pending.expire();
    }
    if (this.#pending.size === 0 && this.#timer !== null) {
      clearInterval(this.#timer);
      this.#timer = null;
    }
  }
}
