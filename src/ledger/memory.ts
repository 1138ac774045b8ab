/**
 * What a process remembers of the ledger, so that it can decide a batch without asking the database first: accounts and
 * keys, its own holds, and what it must not rely on.
 */
import type { Money } from '../lib/money.ts';
import { RecentMap } from '../lib/recent-map.ts';
import { isConflict, isIntegrityError, isLocked } from './database-error.ts';
import type { Effects } from './effects.ts';
import {
  type BatchRows,
  KnownRows,
  keyAt,
  knownAccount,
  knownKey,
  type ReadRows,
  rowsAt,
} from './known-rows.ts';
import type { Operation, OperationResult } from './operations.ts';

/** Another node that has just used an account will probably use it again. */
const contendedMs = 1_000;
const maxContended = 1_000;
/** Far more than a node has in flight. */
const maxDoubtful = 100_000;
/** Clocks drift apart by less than a millisecond in this time. */
const renewClockMs = 10_000;

export class Memory {
  readonly #known = new KnownRows();
  readonly #time = new DatabaseTime();
  /** What this process has held. */
  readonly #holds = new Map<string, Money>();
  /** Generations with an operation whose outcome is unknown. */
  readonly #doubtful = new RecentMap<true>(maxDoubtful);
  /** Accounts and keys that another node has just changed, and until when to expect that again. */
  readonly #contended = new RecentMap<number>(maxContended);
  #failedCount = 0;

  /** Whether the batch may be decided on what is remembered. The database still checks that nobody has changed it. */
  isReliable(batch: readonly Operation[]): boolean {
    const settling = new Set<string>();
    for (const { kind, generation } of batch) {
      const { id, accountId, keyId } = generation;
      if (this.#doubtful.get(id)) return false;
      if (this.#isContended(accountId) || this.#isContended(keyId)) return false;
      if (kind === 'set_aside' || (kind === 'hold' && this.#holds.has(id))) return false;
      if (kind === 'settle' && (!this.#holds.has(id) || settling.has(id))) return false;
      if (kind === 'settle') settling.add(id);
    }
    return true;
  }

  #isContended(id: string): boolean {
    const untilMs = this.#contended.get(id);
    if (untilMs === undefined) return false;
    if (performance.now() < untilMs) return true;
    this.#contended.delete(id);
    return false;
  }

  /** Whether the rows of the batch, and the database's time, are remembered at all. */
  isComplete(batch: readonly Operation[]): boolean {
    if (!this.#time.isKnown) return false;
    const { accounts, keys } = this.#known;
    for (const { generation } of batch)
      if (!accounts.get(generation.accountId) || !keys.get(generation.keyId)) return false;
    return true;
  }

  missingIds(batch: readonly Operation[]): Readonly<{ accountIds: string[]; keyIds: string[] }> {
    const { accounts, keys } = this.#known;
    return {
      accountIds: batch.map(({ generation }) => generation.accountId).filter((id) => !accounts.get(id)),
      keyIds: batch.map(({ generation }) => generation.keyId).filter((id) => !keys.get(id)),
    };
  }

  learn({ nowMs, accounts: accountRows, meters: keyRows }: ReadRows): void {
    const { accounts, keys } = this.#known;
    this.#time.note(nowMs);
    // What a batch has written since the rows were asked for is newer.
    for (const row of accountRows ?? []) if (!accounts.get(row.id)) accounts.set(row.id, knownAccount(row));
    for (const row of keyRows ?? []) if (!keys.get(row.keyId)) keys.set(row.keyId, knownKey(row));
  }

  /** The rows of a batch that is complete. */
  rowsOf(batch: readonly Operation[]): BatchRows {
    const rows = rowsAt(this.#time.nowMs());
    for (const { kind, generation } of batch) {
      const { id, accountId, keyId } = generation;
      const account = this.#known.accounts.get(accountId);
      if (account !== undefined) rows.accounts.set(accountId, account);
      const key = this.#known.keys.get(keyId);
      if (key !== undefined) rows.keys.set(keyId, keyAt(key, rows.nowMs, rows.month));
      const hold = kind === 'settle' ? this.#holds.get(id) : undefined;
      if (hold !== undefined) rows.openHolds.set(id, hold);
    }
    return rows;
  }

  /** To be called when the statement is sent: the next batch is decided on it. */
  remember(effects: Effects, rows: BatchRows): void {
    effects.remember(this.#known, rows);
  }

  committed(batch: readonly Operation[], results: readonly OperationResult[], databaseMs: number): void {
    this.#time.note(databaseMs);
    for (const [index, { kind, generation }] of batch.entries()) {
      const result = results[index];
      if (kind !== 'hold') this.#holds.delete(generation.id);
      else if (typeof result === 'object' && result.outcome === 'held')
        this.#holds.set(generation.id, result.amount);
    }
  }

  /** The outcome of an earlier attempt of these may have been unknown. Now it is known. */
  resolve(batch: readonly Operation[]): void {
    for (const { generation } of batch) this.#doubtful.delete(generation.id);
  }

  /** The rows are read again when they are needed. */
  forgetRows(batch: readonly Operation[]): void {
    for (const { generation } of batch) {
      this.#known.accounts.delete(generation.accountId);
      this.#known.keys.delete(generation.keyId);
    }
  }

  /** How many batches have failed. One decided before the last failure may have relied on rows that were never written. */
  get failedCount(): number {
    return this.#failedCount;
  }

  /**
   * Forgets what a batch relied on, and notes what its error says about others and about the next attempt. `failedBefore`
   * is the count when it was decided.
   */
  failed(batch: readonly Operation[], error: unknown, failedBefore = this.#failedCount): void {
    const isConsequence = this.#failedCount > failedBefore;
    this.#failedCount += 1;
    this.forgetRows(batch);
    if (isConflict(error)) {
      if (error.detail && !isConsequence) this.#contended.set(error.detail, performance.now() + contendedMs);
      return;
    }
    if (isIntegrityError(error) || isLocked(error)) return;
    // A count is tried only once, so nobody would resolve a doubt about it.
    for (const { kind, generation } of batch) if (kind !== 'count') this.#doubtful.set(generation.id, true);
  }
}

/** The database's clock, as far as its last answers tell. Decisions that many nodes make on one row need one clock. */
class DatabaseTime {
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
    this.#renewAtMs = nowMs + renewClockMs;
  }

  nowMs(): number {
    return performance.now() + this.#offsetMs;
  }
}
