/**
 * The interface of the ledger: hold before a call, settle after it. Both are gathered into batches that one connection
 * commits. A hold soon gives up when the database is unavailable; a settlement never does while the process lives.
 */
import type { SQL } from 'bun';
import type { Log } from '../lib/log.ts';
import { startWallDeadline } from '../lib/wall-deadline.ts';
import { LateError, within } from '../lib/within.ts';
import { isIntegrityError, isLocked } from './database-error.ts';
import { Durability, DurableLane } from './durability.ts';
import { Lane, pauseBeforeRetry } from './lane.ts';
import type { Count, CountResult, Hold, HoldResult, Settlement, SettlementResult } from './operations.ts';
import { failure, settlementOf } from './settlement.ts';
import { minPatienceMs, Settling } from './settling.ts';
import type { Spool } from './spool.ts';
import { flushSettings, laneSettings, lockedLaneSettings, Writer } from './writer.ts';

export type Ledger = Readonly<{
  /** `waitedMs` is how long the client has waited for the database already. */
  hold: (hold: Hold, waitedMs?: number) => Promise<HoldResult>;
  /** Tried once, because the client can retry. */
  count: (count: Count) => Promise<CountResult>;
  /**
   * Returns `late` when it takes longer than a caller should wait who has already waited for `waitedMs`. From then on the
   * settlement that `onTimeout` returns is retried for as long as it takes.
   */
  settle: (
    settlement: Settlement,
    onTimeout?: () => Settlement,
    waitedMs?: number,
  ) => Promise<SettlementResult | 'late'>;
  /** For Generations of another node. Tried once, because the caller retries later. What the database rejects is set aside. */
  settleOnce: (settlement: Settlement) => Promise<SettlementResult>;
  /** Whether this process has anything held or unsettled. */
  isBusy: () => boolean;
  /** Operations that wait for a commit, and settlements that are not committed yet. */
  counts: () => Readonly<{ waiting: number; unsettled: number }>;
  /** What is still unsettled stays in the spool. */
  close: () => Promise<void>;
}>;

/** A client gets its response within five seconds, whatever else it had to wait for. */
const holdPatienceMs = 4_000;
const defaultSilenceMs = 10_000;

/**
 * `openWriter` opens a database client for the ledger alone. One that has not answered for `silenceMs` is replaced.
 */
export function openLedger(
  openWriter: () => SQL,
  spool: Spool,
  log: Log,
  silenceMs: number = defaultSilenceMs,
  onCommit: (batchSize: number) => void = () => undefined,
): Ledger {
  const writer = new Writer(openWriter, laneSettings, silenceMs, log);
  const lockedWriter = new Writer(openWriter, lockedLaneSettings, silenceMs, log);
  const flusher = new Writer(openWriter, flushSettings, silenceMs, log);
  const lane = new Lane(writer, lockedWriter, log, onCommit);
  const durableLane = new DurableLane(lane, new Durability(flusher, writer, lockedWriter));
  /** What this process has held and not settled. */
  const held = new Set<string>();
  const settling = new Settling(durableLane, spool, log, (generationId) => held.delete(generationId));
  const holding = new Holding(lane, settling, held);
  return {
    hold: (operation, waitedMs) => holding.hold(operation, waitedMs),
    count: (count) => within(holdPatienceMs, durableLane.submitWhenFree<CountResult>(count)),
    settle: (settlement, onTimeout, waitedMs) => settling.settle(settlement, onTimeout, waitedMs),
    settleOnce: (settlement) => settling.settleOnce(settlement),
    isBusy: () => held.size + settling.unsettledCount > 0,
    counts: () => ({ waiting: lane.waitingCount, unsettled: settling.unsettledCount }),
    close: async () => {
      settling.close();
      await Promise.all([writer.close(), lockedWriter.close(), flusher.close()]);
    },
  };
}

/** Whether a hold has been answered, whether it may be in the database, and why the last attempt failed. */
type Effort = { isOver: boolean; isSent: boolean; failure: unknown };

class Holding {
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
