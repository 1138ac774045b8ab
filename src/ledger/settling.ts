/**
 * Settles Generations. A settlement is retried for as long as the process lives, and kept in the spool while it cannot be
 * stored. One that the database rejects for good is set aside.
 */
import { Deadlines } from '../lib/deadlines.ts';
import type { Log } from '../lib/log.ts';
import { logSparingly } from '../lib/log-sparingly.ts';
import { isIntegrityError, summarizeError } from './database-error.ts';
import type { DurableLane } from './durability.ts';
import type { Settlement, SettlementResult } from './operations.ts';
import type { PendingOperations } from './pending-operations.ts';
import { pauseBeforeRetry } from './retry.ts';
import type { Spool } from './spool.ts';

const patienceMs = 5_000;
/** For a caller who has waited for something else before. */
export const minPatienceMs = 1_000;
const deadlines = new Deadlines();

export class Settling {
  readonly #lane: DurableLane;
  readonly #spool: Spool;
  readonly #log: Log;
  readonly #pending: PendingOperations;
  readonly #onEnd: (generationId: string) => void;
  readonly #logUnsettled: ReturnType<typeof logSparingly>;
  readonly #logNotSpooled: ReturnType<typeof logSparingly>;
  #unsettledCount = 0;
  #isClosed = false;

  /** `onEnd` gets each Generation whose settlement has ended. */
  constructor(
    lane: DurableLane,
    spool: Spool,
    log: Log,
    pending: PendingOperations,
    onEnd: (generationId: string) => void,
  ) {
    this.#lane = lane;
    this.#spool = spool;
    this.#pending = pending;
    this.#log = log;
    this.#onEnd = onEnd;
    this.#logUnsettled = logSparingly((fields) => log.error('not settled yet, trying again', fields));
    this.#logNotSpooled = logSparingly((fields) => log.error('not written to the spool', fields));
  }

  /** How many settlements are in progress. */
  get unsettledCount(): number {
    return this.#unsettledCount;
  }

  /** From now on, a settlement that fails is not tried again. */
  close(): void {
    this.#isClosed = true;
  }

  settle(
    settlement: Settlement,
    onTimeout: () => Settlement = () => settlement,
    waitedMs = 0,
  ): Promise<SettlementResult | 'late'> {
    return new Promise((resolve, reject) => {
      this.#unsettledCount += 1;
      const end = () => {
        this.#unsettledCount -= 1;
        this.#onEnd(settlement.generation.id);
      };
      const becomeLate = () => {
        const late = onTimeout();
        // In the spool before the caller learns of it: from now on this is what happened.
        this.#inSpool('keep', late);
        resolve('late');
        return late;
      };
      this.#settleUntilDone(settlement, Math.max(patienceMs - waitedMs, minPatienceMs), becomeLate).then(
        (result) => {
          end();
          resolve(result);
        },
        (error: unknown) => {
          end();
          reject(error);
        },
      );
    });
  }

  /** Tried for a moment. */
  async settleOnce(settlement: Settlement): Promise<SettlementResult> {
    const result = await this.#try(settlement, 'submitBriefly');
    if (result instanceof Error) throw result;
    return result;
  }

  /**
   * Never gives up. When it takes too long, `becomeLate` returns what is to be settled from then on. An attempt that was
   * sent may still succeed; what `becomeLate` returned follows all the same, and refunds a charge that must not stand.
   */
  async #settleUntilDone(
    first: Settlement,
    lateAfterMs: number,
    becomeLate: () => Settlement,
  ): Promise<SettlementResult> {
    let settlement = first;
    const deadline = deadlines.start(lateAfterMs, () => {
      // It may be committed without our knowing. The spool ignores a settlement without a cost unless it has this one.
      this.#inSpool('keep', first);
      settlement = becomeLate();
      if (settlement !== first) this.#pending.giveUp(first);
    });
    try {
      for (let attempt = 0; ; attempt++) {
        const sent = settlement;
        this.#pending.begin(sent);
        const result = await this.#try(sent, 'submit');
        this.#pending.end(sent);
        if (sent !== settlement) continue;
        if (!(result instanceof Error)) {
          this.#inSpool('forget', sent);
          return result;
        }
        this.#inSpool('keep', sent);
        if (this.#isClosed) throw result;
        this.#logUnsettled({ generationId: sent.generation.id, error: result });
        await pauseBeforeRetry(attempt);
      }
    } finally {
      deadline.clear();
    }
  }

  /** Returns the error of an attempt that may be repeated. What the database rejects for good is set aside. */
  async #try(settlement: Settlement, how: 'submit' | 'submitBriefly'): Promise<SettlementResult | Error> {
    try {
      return await this.#lane[how]<SettlementResult>(settlement);
    } catch (error) {
      if (isIntegrityError(error) && (await this.#setAside(settlement, error))) return 'set_aside';
      return error as Error;
    }
  }

  /**
   * A retry would fail again, so the hold is released and the settlement stored for the operator. False when even that
   * failed.
   */
  async #setAside(settlement: Settlement, error: unknown): Promise<boolean> {
    const { generation } = settlement;
    try {
      await this.#lane.submit({ kind: 'set_aside', generation, settlement, error: summarizeError(error) });
    } catch {
      return false;
    }
    this.#log.error('settlement rejected and set aside', { generationId: generation.id, error });
    return true;
  }

  /** A disk that is full or broken must not end a settlement that may still succeed. */
  #inSpool(change: 'keep' | 'forget', settlement: Settlement): void {
    try {
      this.#spool[change](settlement);
    } catch (error) {
      this.#logNotSpooled({ generationId: settlement.generation.id, error });
    }
  }
}
