/** The database's clock, as far as its last answers tell. Decisions that many nodes make on one row need one clock. */
export class DatabaseTime {
  /** The database's time minus this process's. An answer takes time to arrive, so the largest difference is the best. */
  #offsetMs = Number.NEGATIVE_INFINITY;
  #renewAtMs = 0;

  get isKnown(): boolean {
    return this.#offsetMs !== Number.NEGATIVE_INFINITY;
  }

  note(databaseMs: number): void {
    const nowMs = performance.now();
    const offsetMs = databaseMs - nowMs;
    if (offsetMs <= this.#offsetMs && nowMs < this.#renewAtMs) return;
    this.#offsetMs = offsetMs;
    this.#renewAtMs = nowMs + renewMs;
  }

  nowMs(): number {
    return performance.now() + this.#offsetMs;
  }
}

/** Clocks drift apart by less than a millisecond in this time. */
const renewMs = 10_000;
