/**
 * A clock that stands still while this process does: suspended, stopped by a signal, or starved of the processor. What
 * arrived meanwhile waits to be read, and nobody else is to blame for that time. Pure: real time is passed in.
 */

/** Work alone never delays a tick by this much. */
const standstillMs = 1_000;
/** After a standstill nothing is late for this long, so that what has arrived can be read. */
const readingMs = 2_000;
/** A process that stands still again and again gets that time at most this many times in a row. */
const maxInARow = 3;

export class RunningClock {
  readonly #tickMs: number;
  #lastTickMs = 0;
  #lostMs = 0;
  #readingUntilMs = Number.NEGATIVE_INFINITY;
  #inARow = 0;

  /** From `start` on, `tick` has to be called about every `tickMs`. */
  constructor(tickMs: number) {
    this.#tickMs = tickMs;
  }

  start(realMs: number): void {
    this.#lastTickMs = realMs;
  }

  /** Also notices a standstill that no tick has followed yet: what was read right after it came in time. */
  nowMs(realMs: number): number {
    const lateMs = realMs - this.#lastTickMs - this.#tickMs;
    if (lateMs > standstillMs) {
      this.#lostMs += lateMs;
      this.#lastTickMs += lateMs;
      if (this.#inARow++ < maxInARow) this.#readingUntilMs = realMs - this.#lostMs + readingMs;
    }
    return realMs - this.#lostMs;
  }

  /** The time up to which deadlines have passed; null while what arrived during a standstill is being read. */
  tick(realMs: number): number | null {
    const nowMs = this.nowMs(realMs);
    this.#lastTickMs = realMs;
    if (nowMs < this.#readingUntilMs) return null;
    this.#inARow = 0;
    return nowMs;
  }
}
