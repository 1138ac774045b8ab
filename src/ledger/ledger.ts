/**
 * The way into the ledger: hold before a call, settle after it. Both are gathered into batches that one connection
 * commits. A hold gives up soon when the database is away; a settlement never does while the process lives.
 */
import type { ReservedSQL, SQL } from 'bun';
import { Deadlines } from '../lib/deadlines.ts';
import { GroupCommit } from '../lib/group-commit.ts';
import type { Log } from '../lib/log.ts';
import { commitBatch, type OperationResult } from './commit.ts';
import type { Hold, HoldResult, Operation, Settlement, SettlementResult } from './operations.ts';
import type { Spool } from './spool.ts';

export type Ledger = Readonly<{
  hold: (hold: Hold) => Promise<HoldResult>;
  /**
   * Settles, or says `late` when that takes longer than a caller should wait. From then on `whenLate` is what will be
   * settled, for as long as it takes.
   */
  settle: (settlement: Settlement, whenLate?: () => Settlement) => Promise<SettlementResult | 'late'>;
  /** Resolves when nothing is waiting to be settled, or after a while: what is left then is in the spool. */
  whenSettled: () => Promise<void>;
  close: () => Promise<void>;
}>;

const patienceMs = 5_000;
const shortestPauseMs = 20;
const longestPauseMs = 1_000;
const farewellMs = 10_000;
const deadlines = new Deadlines();

/** An operation that the database refused, among others that it did not. */
class Refused {
  readonly error: unknown;

  constructor(error: unknown) {
    this.error = error;
  }
}

/** `writer` is a client of the database for the ledger alone. */
export function openLedger(writer: SQL, spool: Spool, log: Log): Ledger {
  const lane = new GroupCommit<Operation, OperationResult | Refused>(commitOrIsolate);
  const unsettled = new Set<Promise<unknown>>();
  let connection: ReservedSQL | null = null;

  /** One connection for the whole transaction: a lost one must fail the batch, not run the rest of it elsewhere. */
  async function commit(batch: readonly Operation[]): Promise<OperationResult[]> {
    connection ??= await writer.reserve();
    try {
      return await commitBatch(connection, batch);
    } catch (error) {
      const broken = connection;
      connection = null;
      await broken.release();
      throw error;
    }
  }

  /** One operation that the database refuses must not fail the others it happens to travel with. */
  async function commitOrIsolate(batch: readonly Operation[]): Promise<(OperationResult | Refused)[]> {
    try {
      return await commit(batch);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      log.error('the database refused a batch', { count: batch.length, error });
      if (batch.length === 1) return [new Refused(error)];
    }
    const results: (OperationResult | Refused)[] = [];
    for (const operation of batch) results.push(...(await commitOrIsolate([operation])));
    return results;
  }

  async function submit<Result extends OperationResult>(operation: Operation): Promise<Result> {
    const result = await lane.submit(operation);
    if (result instanceof Refused) throw result.error;
    return result as Result;
  }

  async function hold(operation: Hold): Promise<HoldResult> {
    const deadline = performance.now() + patienceMs;
    for (let pauseMs = shortestPauseMs; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
      try {
        return await submit<HoldResult>(operation);
      } catch (error) {
        if (isRefusal(error)) throw error;
        if (performance.now() + pauseMs > deadline) {
          // Whether it was held after all is unknown, so it is released as soon as the database can be asked.
          track(settleUntilDone(() => release(operation))).catch(() => undefined);
          throw error;
        }
        await Bun.sleep(pauseMs);
      }
    }
  }

  async function settle(
    settlement: Settlement,
    whenLate = () => settlement,
  ): Promise<SettlementResult | 'late'> {
    let current = settlement;
    const settled = track(settleUntilDone(() => current));
    return await new Promise((resolve, reject) => {
      const deadline = deadlines.start(patienceMs, () => {
        current = whenLate();
        resolve('late');
      });
      settled.then(resolve, reject).finally(deadline.clear);
    });
  }

  async function settleUntilDone(current: () => Settlement): Promise<SettlementResult> {
    for (let pauseMs = shortestPauseMs; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
      const settlement = current();
      try {
        const result = await submit<SettlementResult>(settlement);
        spool.forget(settlement);
        return result;
      } catch (error) {
        spool.keep(settlement);
        log.error('not settled yet, trying again', { generationId: settlement.generation.id, error });
        await Bun.sleep(pauseMs);
      }
    }
  }

  function track<Result>(settled: Promise<Result>): Promise<Result> {
    unsettled.add(settled);
    return settled.finally(() => unsettled.delete(settled));
  }

  return {
    hold,
    settle,
    whenSettled: async () => {
      const deadline = performance.now() + farewellMs;
      while (unsettled.size > 0 && performance.now() < deadline) await Bun.sleep(shortestPauseMs);
    },
    close: async () => {
      await connection?.release();
      await writer.close({ timeout: 5 });
    },
  };
}

/** Gives back what may have been held for a request that was told it was not. */
function release({ generation, provider, attempts }: Hold): Settlement {
  const completedAtMs = Date.now();
  return {
    kind: 'settle',
    generation,
    provider,
    status: 'failed',
    errorCode: 'balance_lookup_failed',
    usage: null,
    cost: null,
    whenShort: 'withhold',
    loss: null,
    attempts,
    completedAtMs,
    latencyMs: completedAtMs - generation.createdAtMs,
    timeToFirstTokenMs: null,
  };
}

/** PostgreSQL answered and said no, as opposed to not being there: data exceptions and broken constraints. */
function isRefusal(error: unknown): boolean {
  const code = error instanceof Error && 'errno' in error ? String(error.errno) : '';
  return code.startsWith('22') || code.startsWith('23');
}
