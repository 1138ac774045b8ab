/**
 * Many deadlines on one timer. A stream moves its deadline with every chunk; doing that with a timer of its own would
 * cost more than the chunk.
 */
export type Deadline = {
  /** Moves the deadline to this many milliseconds from now. */
  extend: (durationMs: number) => void;
  clear: () => void;
};

const tickMs = 100;
/** Work alone never delays a tick by this much. */
const standstillMs = 1_000;

type Pending = { atMs: number; expire: () => void };

export class Deadlines {
  readonly #pending = new Set<Pending>();
  #timer: ReturnType<typeof setInterval> | null = null;
  #lastTickMs = 0;

  /** Calls `expire` once when the time has passed, give or take a tick. */
  start(durationMs: number, expire: () => void): Deadline {
    const pending: Pending = { atMs: performance.now() + durationMs, expire };
    this.#pending.add(pending);
    if (this.#timer === null) {
      this.#lastTickMs = performance.now();
      this.#timer = setInterval(() => this.#tick(), tickMs);
    }
    return {
      extend: (ms) => {
        pending.atMs = performance.now() + ms;
      },
      clear: () => {
        this.#pending.delete(pending);
      },
    };
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
