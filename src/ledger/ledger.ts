/**
 * The interface of the ledger: hold before a call, settle after it. Both are gathered into batches that one connection
 * commits. A hold soon gives up when the database is unavailable; a settlement never does while the process lives.
 */
import type { SQL } from 'bun';
import type { Log } from '../lib/log.ts';
import type { Money } from '../lib/money.ts';
import { within } from '../lib/within.ts';
import { Durability, DurableLane } from './durability.ts';
import { Holding, holdPatienceMs } from './holding.ts';
import { Lane } from './lane.ts';
import { LostSessions } from './lost-sessions.ts';
import type { Count, CountResult, Hold, HoldResult, Settlement, SettlementResult } from './operations.ts';
import { Outlook } from './outlook.ts';
import { PendingOperations } from './pending-operations.ts';
import { Settling } from './settling.ts';
import type { Spool } from './spool.ts';
import { flushSettings, laneSettings, lockingLaneSettings, Writer } from './writer.ts';

export type Ledger = Readonly<{
  /** `waitedMs` is how long the client has waited for the database already. */
  hold: (hold: Hold, waitedMs?: number) => Promise<HoldResult>;
  /** What this process expects of holds. It is only a hint. */
  outlook: Pick<Outlook, 'expected' | 'surprised'>;
  /** Somebody waits for a hold that was patient when it was submitted. */
  hurry: () => void;
  /** Tried for a moment, because the client can retry. */
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
  /** For Generations of another node. Tried for a moment, because the caller retries later. What the database rejects is set aside. */
  settleOnce: (settlement: Settlement) => Promise<SettlementResult>;
  /** Whether this process has anything held or unsettled. */
  isBusy: () => boolean;
  /** Operations that wait for a commit, and settlements that are not committed yet. */
  counts: () => Readonly<{ waiting: number; unsettled: number }>;
  /** What is still unsettled stays in the spool. */
  close: () => Promise<void>;
}>;

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
  const lostSessions = new LostSessions();
  const writer = new Writer(openWriter, laneSettings, silenceMs, log, lostSessions);
  const lockingWriter = new Writer(openWriter, lockingLaneSettings, silenceMs, log, lostSessions);
  const flusher = new Writer(openWriter, flushSettings, silenceMs, log);
  /** What this process has held and not settled, by Generation. */
  const holds = new Map<string, Money>();
  const pending = new PendingOperations();
  const outlook = new Outlook();
  const lane = new Lane({
    writer,
    lockingWriter,
    holds,
    pending,
    log,
    onCommit,
    onAdmitted: (admitted) => outlook.saw(admitted),
  });
  const durableLane = new DurableLane(lane, new Durability(flusher, writer, lockingWriter));
  const settling = new Settling(durableLane, spool, log, pending, (generationId) =>
    holds.delete(generationId),
  );
  const holding = new Holding(lane, settling, pending, holds);
  return {
    hold: (operation, waitedMs) => outlook.follow(operation, holding.hold(operation, waitedMs)),
    outlook,
    hurry: () => lane.hurry(),
    count: (count) => within(holdPatienceMs, durableLane.submitBriefly<CountResult>(count)),
    settle: (settlement, onTimeout, waitedMs) => settling.settle(settlement, onTimeout, waitedMs),
    settleOnce: (settlement) => settling.settleOnce(settlement),
    isBusy: () => holds.size + holding.unknownCount + settling.unsettledCount > 0,
    counts: () => ({ waiting: lane.waitingCount, unsettled: settling.unsettledCount }),
    close: async () => {
      settling.close();
      await Promise.all([writer.close(), lockingWriter.close(), flusher.close()]);
    },
  };
}
