/** Holds, within a deadline. */
import { startWallDeadline } from '../lib/wall-deadline.ts';
import { LateError } from '../lib/within.ts';
import { isIntegrityError, isLocked } from './database-error.ts';
import type { Lane } from './lane.ts';
import type { Hold, HoldResult } from './operations.ts';
import { pauseBeforeRetry } from './retry.ts';
import { failure, settlementOf } from './settlement.ts';
import { minPatienceMs, type Settling } from './settling.ts';

/** A client gets its response within five seconds, whatever else it had to wait for. */
export const holdPatienceMs = 4_000;

/** Whether a hold has been answered, whether it may be in the database, and why the last attempt failed. */
type Effort = { isOver: boolean; isSent: boolean; failure: unknown };

export class Holding {
  readonly #lane: Lane;
  readonly #settling: Settling;
  readonly #held: Set<string>;

  /** `held` gets the Generations that hold something. */
  constructor(lane: Lane, settling: Settling, held: Set<string>) {
    this.#lane = lane;
    this.#settling = settling;
    this.#held = held;
  }

  /**
   * A hold has its own deadline, because the driver may take much longer to report that the database is gone, and so may
   * the batch in front.
   */
  hold(operation: Hold, waitedMs = 0): Promise<HoldResult> {
    const holdMs = Math.max(holdPatienceMs - waitedMs, minPatienceMs);
    return new Promise((resolve, reject) => {
      const effort: Effort = { isOver: false, isSent: false, failure: null };
      const end = () => {
        effort.isOver = true;
        deadline.clear();
      };
      const giveUp = (error: unknown) => {
        if (effort.isOver) return;
        end();
        if (effort.isSent && !isIntegrityError(error)) this.#release(operation);
        reject(error);
      };
      const deadline = startWallDeadline(holdMs, () =>
        giveUp(effort.failure ?? new LateError('The database did not answer in time.')),
      );
      this.#tryToHold(operation, effort, holdMs).then((result) => {
        // The client has its response already, and the release follows in a later batch.
        if (effort.isOver) return;
        end();
        if (result.outcome === 'held') this.#held.add(operation.generation.id);
        resolve(result);
      }, giveUp);
    });
  }

  async #tryToHold(operation: Hold, effort: Effort, holdMs: number): Promise<HoldResult> {
    const deadlineMs = performance.now() + holdMs;
    const isWanted = () => {
      effort.isSent ||= !effort.isOver;
      return !effort.isOver;
    };
    for (let attempt = 0; ; attempt++) {
      const { isSent } = effort;
      try {
        const { result } = await this.#lane.submit<HoldResult>(operation, isWanted);
        return result;
      } catch (error) {
        if (effort.isOver || isIntegrityError(error)) throw error;
        if (isLocked(error)) effort.isSent = isSent;
        effort.failure = error;
        await pauseBeforeRetry(attempt);
        // If this process was suspended meanwhile, other nodes may have closed its Generations.
        if (performance.now() > deadlineMs) throw error;
      }
    }
  }

  /** For a hold whose outcome is unknown: what it may have held is released as soon as the database is back. */
  #release(operation: Hold): void {
    const settlement = settlementOf({ ...operation, isHeld: false }, failure('balance_lookup_failed'));
    this.#settling.settle(settlement).catch(() => undefined);
  }
}
