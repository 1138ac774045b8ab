/**
 * How much each key may have stored for its retries. What a key has is counted from time to time, and this node adds up
 * what it stores in between: a row of totals would make every request of a key wait for the one before it. Several nodes
 * together may exceed a limit by what they store between two counts.
 */
import type { SQL } from 'bun';
import { countStored, type StoredTotals } from './claim-store.ts';

/**
 * Seven requests a minute around the clock, or a hundred images of ordinary size a day; more keys allow for more. It
 * bounds what a key costs the database, and is low enough to be counted in a few milliseconds.
 */
export const defaultLimit: StoredTotals = { count: 10_000, bytes: 268_435_456 };

const minPauseMs = 5_000;
/** Counting takes at most this share of one connection's time, however much there is to count. */
const countingPart = 1 / 200;

type Tally = { count: number; bytes: number; countAgainAtMs: number; counting: Promise<void> | null };

export class StorageLimit {
  readonly #sql: SQL;
  readonly #limit: StoredTotals;
  readonly #tallies = new Map<string, Tally>();

  constructor(sql: SQL, limit: StoredTotals = defaultLimit) {
    this.#sql = sql;
    this.#limit = limit;
  }

  /** Whether nothing more can be stored for this key. */
  async isReached(keyId: string): Promise<boolean> {
    let tally = this.#tallies.get(keyId);
    if (tally === undefined) {
      tally = { count: 0, bytes: 0, countAgainAtMs: 0, counting: null };
      this.#tallies.set(keyId, tally);
    }
    const isFirst = tally.countAgainAtMs === 0;
    if (performance.now() >= tally.countAgainAtMs) tally.counting ??= this.#count(keyId, tally);
    // Later counts run in the background.
    if (isFirst) await tally.counting;
    return tally.count >= this.#limit.count || tally.bytes >= this.#limit.bytes;
  }

  fits(keyId: string, bytes: number): boolean {
    return (this.#tallies.get(keyId)?.bytes ?? 0) + bytes <= this.#limit.bytes;
  }

  /** Adds what this node stores; negative for what it does not store after all. */
  add(keyId: string, count: number, bytes: number): void {
    const tally = this.#tallies.get(keyId);
    if (tally === undefined) return;
    tally.count += count;
    tally.bytes += bytes;
  }

  /** Forgets the keys that have not been used for a while. */
  tidy(): void {
    const nowMs = performance.now();
    for (const [keyId, { counting, countAgainAtMs }] of this.#tallies)
      if (counting === null && countAgainAtMs < nowMs) this.#tallies.delete(keyId);
  }

  /** Never throws: when counting fails, the tally stays as it is. */
  async #count(keyId: string, tally: Tally): Promise<void> {
    const startedAtMs = performance.now();
    const { count, bytes } = tally;
    try {
      const stored = await countStored(this.#sql, keyId, this.#limit.count);
      // Keeps what has been added meanwhile.
      tally.count += stored.count - count;
      tally.bytes += stored.bytes - bytes;
    } catch {
      // It is counted again after the pause.
    }
    const nowMs = performance.now();
    tally.countAgainAtMs = nowMs + Math.max(minPauseMs, (nowMs - startedAtMs) / countingPart);
    tally.counting = null;
  }
}
