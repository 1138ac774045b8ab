/**
 * Whether this node may conclude that silent nodes are dead. After the database was unavailable, or this process was
 * suspended, every lease may look expired. Live nodes have renewed theirs once a whole lease has passed without trouble.
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

  /** The lease was renewed, `gapMs` after the last time. A node whose own lease had expired must not judge others yet. */
  beat(nowMs: number, gapMs: number): void {
    if (gapMs > this.#leaseMs) this.disturb(nowMs);
    this.#beatAtMs = nowMs;
  }

  /** Must be called more often than once per lease: a longer pause means that this process was suspended. */
  isSteady(nowMs: number): boolean {
    if (nowMs - this.#lookedAtMs > this.#leaseMs || nowMs - this.#beatAtMs > this.#leaseMs)
      this.disturb(nowMs);
    this.#lookedAtMs = nowMs;
    return nowMs - this.#sinceMs >= this.#leaseMs;
  }
}
