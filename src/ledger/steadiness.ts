/**
 * Whether this node may take the silence of others for their death. After the database was away, or this process stood
 * still, every lease may look expired. Whoever lives has renewed it by the time a whole lease has passed without trouble.
 */
export class Steadiness {
  readonly #leaseMs: number;
  #sinceMs: number;
  #lookedAtMs: number;
  #beatAtMs: number;

  constructor(leaseMs: number, nowMs: number) {
    this.#leaseMs = leaseMs;
    this.#sinceMs = nowMs;
    this.#lookedAtMs = nowMs;
    this.#beatAtMs = nowMs;
  }

  disturb(nowMs: number): void {
    this.#sinceMs = nowMs;
  }

  /** The lease was renewed, this long after the time before. A node that was given up itself gives nobody up. */
  beat(nowMs: number, gapMs: number): void {
    if (gapMs > this.#leaseMs) this.disturb(nowMs);
    this.#beatAtMs = nowMs;
  }

  /** To be asked more often than once a lease: whoever comes later than that has stood still. */
  isSteady(nowMs: number): boolean {
    if (nowMs - this.#lookedAtMs > this.#leaseMs || nowMs - this.#beatAtMs > this.#leaseMs)
      this.disturb(nowMs);
    this.#lookedAtMs = nowMs;
    return nowMs - this.#sinceMs >= this.#leaseMs;
  }
}
