/**
 * Commits operations that have to be decided with their rows locked: because something is short, because an earlier
 * attempt may have succeeded, or because others keep a row locked. It has its own connection, which commits what is free
 * and waits, briefly, for one locked row at a time. The rest are submitted again, so no operation is held up by a row that
 * it does not need.
 */
import { GroupCommit } from '../lib/group-commit.ts';
import type { Log } from '../lib/log.ts';
import type { Money } from '../lib/money.ts';
import { RecentMap } from '../lib/recent-map.ts';
import type { Admitted } from './batch-rows.ts';
import { commitInParts } from './commit-in-parts.ts';
import { isLocked, isRejection, RowLockedError } from './database-error.ts';
import { commitLocked } from './locked-commit.ts';
import {
  type Committed,
  type LimitMeter,
  metersOf,
  type Operation,
  type OperationResult,
  type Outcome,
} from './operations.ts';
import { givenUp, type PendingOperations } from './pending-operations.ts';
import type { Writer } from './writer.ts';

/** What was locked may be so again: only after this time do its operations take the express lane. */
const calmMs = 1_000;
/** What is short usually stays so. Whoever is in a batch with it would have to be sent again each time. */
const shortageMs = 5_000;
/** About 10 MB. */
const maxDiverted = 100_000;

/** What both lanes share. `writer` is for the express lane. */
export type LaneParts = Readonly<{
  writer: Writer;
  lockingWriter: Writer;
  /** What this process holds, by Generation. */
  holds: ReadonlyMap<string, Money>;
  pending: PendingOperations;
  log: Log;
  onCommit: (batchSize: number) => void;
  onAdmitted: (admitted: Admitted) => void;
}>;

export class LockingLane {
  readonly #parts: LaneParts;
  readonly #batches = new GroupCommit<Operation, Committed>((batch) => this.#commit(batch));
  /** Accounts, keys and Generations that were found short or locked. Those that are locked stay until they are found free. */
  readonly #divertedUntilMs = new RecentMap<number>(maxDiverted);

  /** Meters of end users that are known to exist. */
  readonly #meters = new RecentMap<true>(maxDiverted);

  constructor(parts: LaneParts) {
    this.#parts = parts;
  }

  get waitingCount(): number {
    return this.#batches.waitingCount;
  }

  /** Whether an operation belongs here. */
  takes(operation: Operation): boolean {
    if (operation.kind === 'hold' && metersOf(operation).some((meter) => this.#isNew(meter))) return true;
    if (this.#divertedUntilMs.size === 0) return false;
    const { id, accountId, keyId } = operation.generation;
    return this.#isDiverted(accountId) || this.#isDiverted(keyId) || this.#isDiverted(id);
  }

  /** The meter of an end user is made in this lane. */
  #isNew({ id, endUser }: LimitMeter): boolean {
    return endUser !== null && this.#meters.get(id) === undefined;
  }

  #isDiverted(id: string): boolean {
    const untilMs = this.#divertedUntilMs.get(id);
    if (untilMs === undefined) return false;
    if (performance.now() < untilMs) return true;
    this.#divertedUntilMs.delete(id);
    return false;
  }

  /** For a while, what needs this row belongs here. */
  divert(id: string, forMs = shortageMs): void {
    this.#divertedUntilMs.set(id, performance.now() + forMs);
  }

  submit(operation: Operation): Promise<Committed> {
    return this.#batches.submit(operation);
  }

  /** Other nodes lock rows all the time, for milliseconds. Without any wait, a busy row would hardly ever be found free. */
  async #commit(batch: readonly Operation[]): Promise<readonly Outcome[]> {
    const outcomes = await commitInParts(batch, (part) => this.#commitFree(part, null), this.#parts.log);
    const rowIds = outcomes.map((outcome) => (outcome instanceof RowLockedError ? outcome.rowId : null));
    const awaited = rowIds.find((rowId) => rowId !== null) ?? null;
    if (awaited === null) return outcomes;
    const waiting = batch.filter((_operation, place) => rowIds[place] === awaited);
    const waited = await commitInParts(
      waiting,
      (part) => this.#commitFree(part, awaited),
      this.#parts.log,
    ).catch((error: Error) => waiting.map(() => error));
    const outcomeOf = new Map(waiting.map((operation, place) => [operation, waited[place]]));
    return batch.map((operation, place) => outcomeOf.get(operation) ?? (outcomes[place] as Outcome));
  }

  async #commitFree(batch: readonly Operation[], awaited: string | null): Promise<readonly Outcome[]> {
    const { lockingWriter, pending, onCommit, onAdmitted } = this.#parts;
    try {
      const { server, lockedIds, wanted, results, admitted } = await lockingWriter.use(
        async (connection, session) => ({
          ...(await commitLocked(connection, batch, awaited, pending)),
          server: session.server,
        }),
      );
      if (admitted !== null) onAdmitted(admitted);
      onCommit(wanted.length);
      const resultOf = new Map(wanted.map((operation, place) => [operation, results[place]]));
      this.#noteMeters(resultOf);
      return batch.map((operation) => {
        const rowId = rowIdsOf(operation).find((id) => lockedIds.has(id));
        if (rowId !== undefined) return this.#noteLocked(rowId);
        this.#noteFree(operation);
        const result = resultOf.get(operation);
        return result === undefined ? givenUp : { result, isDurable: false, server };
      });
    } catch (error) {
      if (isRejection(error)) pending.noteRejected(batch);
      if (awaited === null && isLocked(error)) this.#noteAccountLocked(batch);
      throw error;
    }
  }

  /** Only a hold that was granted makes some: clients choose the names of end users. */
  #noteMeters(results: ReadonlyMap<Operation, OperationResult | undefined>): void {
    for (const [operation, result] of results)
      if (typeof result === 'object' && result.outcome === 'held')
        for (const { id, endUser } of metersOf(operation)) if (endUser !== null) this.#meters.set(id, true);
  }

  #noteLocked(rowId: string): RowLockedError {
    this.#divertedUntilMs.set(rowId, Number.POSITIVE_INFINITY);
    return new RowLockedError(rowId);
  }

  #noteFree(operation: Operation): void {
    for (const id of rowIdsOf(operation))
      if (this.#divertedUntilMs.get(id) === Number.POSITIVE_INFINITY) this.divert(id, calmMs);
  }

  /** After a lock on any other row, or on a table. If the batch has one account, the row belongs to it. */
  #noteAccountLocked(batch: readonly Operation[]): void {
    const [accountId = '', ...others] = new Set(batch.map(({ generation }) => generation.accountId));
    if (others.length === 0) this.#noteLocked(accountId);
  }
}

function rowIdsOf({ generation: { id, accountId, keyId } }: Operation): readonly string[] {
  return [accountId, keyId, id];
}
