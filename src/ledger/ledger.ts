/**
 * The interface of the ledger: hold before a call, settle after it. Both are gathered into batches that one connection
 * commits. A hold soon gives up when the database is unavailable; a settlement never does while the process lives.
 */
import type { SQL } from 'bun';
import { backOffMs } from '../lib/back-off.ts';
import { Deadlines } from '../lib/deadlines.ts';
import type { Log } from '../lib/log.ts';
import { logSparingly } from '../lib/log-sparingly.ts';
import { startWallDeadline } from '../lib/wall-deadline.ts';
import { LateError, within } from '../lib/within.ts';
import type { OperationResult } from './commit.ts';
import { isIntegrityError, isLocked, summarizeError } from './database-error.ts';
import { Durability } from './durability.ts';
import { Lane } from './lane.ts';
import type {
  Count,
  CountResult,
  Hold,
  HoldResult,
  Operation,
  Settlement,
  SettlementResult,
} from './operations.ts';
import { flushSettings, laneSettings, lockedLaneSettings } from './session-settings.ts';
import { failure, settlementOf } from './settlement.ts';
import type { Spool } from './spool.ts';
import { Writer } from './writer.ts';

export type Ledger = Readonly<{
  /** `waitedMs` is how long the client has waited for the database already. */
  hold: (hold: Hold, waitedMs?: number) => Promise<HoldResult>;
  /** Tried once, because the client can retry. */
  count: (count: Count) => Promise<CountResult>;
  /**
   * Returns `late` when it takes longer than a caller should wait, who has waited for `waitedMs` already. From then on the
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

const patienceMs = 5_000;
/** A client gets its response within five seconds, whatever else it had to wait for. */
const holdPatienceMs = 4_000;
const minPatienceMs = 1_000;
const lockPatienceMs = 500;
const minPauseMs = 20;
const maxPauseMs = 1_000;
const defaultSilenceMs = 10_000;
const deadlines = new Deadlines();

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
  const lane = new Lane(writer, lockedWriter, log, onCommit);
  const flusher = new Writer(openWriter, flushSettings, silenceMs, log);
  const durability = new Durability(flusher, writer, lockedWriter);
  /** What this process has held and not settled, and how many settlements are in progress. */
  const held = new Set<string>();
  let unsettledCount = 0;
  let isClosed = false;
  const logUnsettled = logSparingly((fields) => log.error('not settled yet, trying again', fields));
  const logNotSpooled = logSparingly((fields) => log.error('not written to the spool', fields));

  async function submitDurably<Result extends OperationResult>(operation: Operation): Promise<Result> {
    const known = durability.session();
    const session = known instanceof Promise ? await known : known;
    const { result, isDurable, server } = await lane.submit<Result>(operation);
    if (!isDurable) await durability.confirm(session, server);
    return result;
  }

  /** For what is tried only once: a row that is locked may be free again in a moment. */
  async function submitWhenFree<Result extends OperationResult>(operation: Operation): Promise<Result> {
    const deadlineMs = performance.now() + lockPatienceMs;
    for (let attempt = 0; ; attempt++) {
      try {
        return await submitDurably<Result>(operation);
      } catch (error) {
        if (!isLocked(error) || performance.now() > deadlineMs) throw error;
        await Bun.sleep(backOffMs(attempt, minPauseMs, maxPauseMs));
      }
    }
  }

  /**
   * The deadline is the hold's own, because the driver may take much longer to report that the database is gone, and so
   * may the batch in front.
   */
  function hold(operation: Hold, waitedMs = 0): Promise<HoldResult> {
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
        if (effort.isSent && !isIntegrityError(error)) release(operation);
        reject(error);
      };
      const deadline = startWallDeadline(holdMs, () =>
        giveUp(effort.failure ?? new LateError('The database did not answer in time.')),
      );
      tryToHold(operation, effort, holdMs).then((result) => {
        // The client has its response already, and the release follows in a later batch.
        if (effort.isOver) return;
        end();
        if (result.outcome === 'held') held.add(operation.generation.id);
        resolve(result);
      }, giveUp);
    });
  }

  async function tryToHold(operation: Hold, effort: Effort, holdMs: number): Promise<HoldResult> {
    const deadlineMs = performance.now() + holdMs;
    const isWanted = () => {
      effort.isSent ||= !effort.isOver;
      return !effort.isOver;
    };
    for (let attempt = 0; ; attempt++) {
      const { isSent } = effort;
      try {
        const { result } = await lane.submit<HoldResult>(operation, isWanted);
        return result;
      } catch (error) {
        if (effort.isOver || isIntegrityError(error)) throw error;
        if (isLocked(error)) effort.isSent = isSent;
        effort.failure = error;
        await Bun.sleep(backOffMs(attempt, minPauseMs, maxPauseMs));
        // If this process was suspended meanwhile, other nodes may have closed its Generations.
        if (performance.now() > deadlineMs) throw error;
      }
    }
  }

  /** For a hold whose outcome is unknown: what it may have held is released as soon as the database is back. */
  function release(operation: Hold): void {
    const settlement = settlementOf({ ...operation, isHeld: false }, failure('balance_lookup_failed'));
    settle(settlement).catch(() => undefined);
  }

  function settle(
    settlement: Settlement,
    onTimeout = () => settlement,
    waitedMs = 0,
  ): Promise<SettlementResult | 'late'> {
    return new Promise((resolve, reject) => {
      unsettledCount += 1;
      const end = () => {
        unsettledCount -= 1;
        held.delete(settlement.generation.id);
      };
      const becomeLate = () => {
        const late = onTimeout();
        // In the spool before the caller learns of it: from now on this is what happened.
        inSpool('keep', late);
        resolve('late');
        return late;
      };
      settleUntilDone(settlement, Math.max(patienceMs - waitedMs, minPatienceMs), becomeLate).then(
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

  /**
   * Never gives up. When it takes too long, `becomeLate` returns what is to be settled from then on. The attempt in
   * progress may still succeed; what `becomeLate` returned follows all the same, and refunds a charge that must not stand.
   */
  async function settleUntilDone(
    first: Settlement,
    lateAfterMs: number,
    becomeLate: () => Settlement,
  ): Promise<SettlementResult> {
    let settlement = first;
    const deadline = deadlines.start(lateAfterMs, () => {
      // It may be committed although nobody knows: without it, the spool would leave what follows to other nodes.
      inSpool('keep', first);
      settlement = becomeLate();
    });
    try {
      for (let attempt = 0; ; attempt++) {
        const sent = settlement;
        const result = await trySettling(sent, submitDurably);
        if (sent !== settlement) continue;
        if (!(result instanceof Error)) {
          inSpool('forget', sent);
          return result;
        }
        inSpool('keep', sent);
        if (isClosed) throw result;
        logUnsettled({ generationId: sent.generation.id, error: result });
        await Bun.sleep(backOffMs(attempt, minPauseMs, maxPauseMs));
      }
    } finally {
      deadline.clear();
    }
  }

  async function settleOnce(settlement: Settlement): Promise<SettlementResult> {
    const result = await trySettling(settlement, submitWhenFree);
    if (result instanceof Error) throw result;
    return result;
  }

  /** Returns the error of an attempt that may be repeated. What the database rejects for good is set aside. */
  async function trySettling(
    settlement: Settlement,
    submit: typeof submitDurably,
  ): Promise<SettlementResult | Error> {
    try {
      return await submit<SettlementResult>(settlement);
    } catch (error) {
      if (isIntegrityError(error) && (await setAside(settlement, error))) return 'set_aside';
      return error as Error;
    }
  }

  /**
   * A retry would fail again, so the hold is released and the settlement stored for the operator. False when even that
   * failed.
   */
  async function setAside(settlement: Settlement, error: unknown): Promise<boolean> {
    const { generation } = settlement;
    try {
      await submitDurably({ kind: 'set_aside', generation, settlement, error: summarizeError(error) });
    } catch {
      return false;
    }
    log.error('settlement rejected and set aside', { generationId: generation.id, error });
    return true;
  }

  /** A disk that is full or broken must not end a settlement that may still succeed. */
  function inSpool(change: 'keep' | 'forget', settlement: Settlement): void {
    try {
      spool[change](settlement);
    } catch (error) {
      logNotSpooled({ generationId: settlement.generation.id, error });
    }
  }

  return {
    hold,
    count: (count) => within(holdPatienceMs, submitWhenFree<CountResult>(count)),
    settle,
    settleOnce,
    isBusy: () => held.size + unsettledCount > 0,
    counts: () => ({
      waiting: lane.waitingCount,
      unsettled: unsettledCount,
    }),
    close: async () => {
      isClosed = true;
      await Promise.all([writer.close(), lockedWriter.close(), flusher.close()]);
    },
  };
}

/** Whether a hold has been answered, whether it may be in the database, and why the last attempt failed. */
type Effort = { isOver: boolean; isSent: boolean; failure: unknown };
