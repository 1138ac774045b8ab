/** Holds, within a deadline. */
import type { Money } from '../lib/money.ts';
import { startWallDeadline } from '../lib/wall-deadline.ts';
import { LateError } from '../lib/within.ts';
import { isIntegrityError } from './database-error.ts';
import type { Lane } from './lane.ts';
import type { Hold, HoldResult } from './operations.ts';
import type { PendingOperations } from './pending-operations.ts';
import { pauseBeforeRetry } from './retry.ts';
import { failure, settlementOf } from './settlement.ts';
import { minPatienceMs, type Settling } from './settling.ts';

/** A client gets its response within five seconds, whatever else it had to wait for. */
export const holdPatienceMs = 4_000;

/** It was sent, and nobody knows yet what became of it: there may be a Generation of it, if only one that failed. */
export class UnknownHoldError extends Error {
  override readonly name = 'UnknownHoldError';

  constructor(cause: unknown) {
    super('It is not known whether the hold was committed.', { cause });
  }
}

/**
 * `isOver` once it has been answered. `failure` is why the last attempt failed, and `isDoubtful` says that one of them may have
 * succeeded all the same.
 */
type Effort = { isOver: boolean; isDoubtful: boolean; failure: unknown };

export class Holding {
  readonly #lane: Lane;
  readonly #settling: Settling;
  readonly #pending: PendingOperations;
  readonly #holds: Map<string, Money>;
  #unknownCount = 0;

  /** `holds` gets what Generations hold. */
  constructor(lane: Lane, settling: Settling, pending: PendingOperations, holds: Map<string, Money>) {
    this.#lane = lane;
    this.#settling = settling;
    this.#pending = pending;
    this.#holds = holds;
  }

  /** How many may hold something, but are not known to. */
  get unknownCount(): number {
    return this.#unknownCount;
  }

  /**
   * A hold has its own deadline, because the driver may take much longer to report that the database is gone, and so may
   * the batch in front.
   */
  hold(operation: Hold, waitedMs = 0): Promise<HoldResult> {
    const holdMs = Math.max(holdPatienceMs - waitedMs, minPatienceMs);
    this.#pending.begin(operation);
    this.#unknownCount += 1;
    return new Promise((resolve, reject) => {
      const effort: Effort = { isOver: false, isDoubtful: false, failure: null };
      const deadline = startWallDeadline(holdMs, () => {
        effort.isOver = true;
        this.#pending.giveUp(operation);
        const failure = effort.failure ?? new LateError('The database did not answer in time.');
        const isUnknown = effort.isDoubtful || this.#pending.isSent(operation);
        reject(isUnknown ? new UnknownHoldError(failure) : failure);
      });
      this.#tryToHold(operation, effort, performance.now() + holdMs).then(
        (result) => {
          this.#end(operation);
          if (effort.isOver) return;
          deadline.clear();
          if (result.outcome === 'held') this.#holds.set(operation.generation.id, result.amount);
          resolve(result);
        },
        (error: unknown) => {
          this.#end(operation);
          deadline.clear();
          reject(error);
        },
      );
    });
  }

  #end(operation: Hold): void {
    this.#unknownCount -= 1;
    this.#pending.end(operation);
  }

  /** Goes on until the outcome is known, even when the client no longer waits for it: what was held then is released. */
  async #tryToHold(operation: Hold, effort: Effort, deadlineMs: number): Promise<HoldResult> {
    for (let attempt = 0; ; attempt++) {
      try {
        const { result } = await this.#lane.submit<HoldResult>(operation, effort.isDoubtful);
        if (effort.isOver && result.outcome === 'held') this.#release(operation);
        return result;
      } catch (error) {
        if (isIntegrityError(error)) throw error;
        effort.isDoubtful ||= this.#pending.isSent(operation);
        effort.failure = error;
        if (!effort.isOver) await pauseBeforeRetry(attempt);
        // If this process was suspended meanwhile, other nodes may have closed its Generations.
        if (effort.isOver || performance.now() > deadlineMs) {
          if (!effort.isDoubtful) throw error;
          this.#release(operation);
          throw new UnknownHoldError(error);
        }
      }
    }
  }

  /** It is not in any statement that is still on its way: those of a lost session are stopped before the next one is used. */
  #release(operation: Hold): void {
    const { generation, provider, attempts } = operation;
    const ended = { generation, provider, attempts, isHeld: false };
    const settlement = settlementOf(ended, failure('balance_lookup_failed'));
    this.#settling.settle(settlement).catch(() => undefined);
  }
}
