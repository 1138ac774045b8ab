/**
 * Commits operations in batches, on one connection. A batch is usually decided on what this process remembers and sent as
 * one statement, while the one before it is still being executed. When the database finds that something has changed, or
 * when the outcome of an earlier attempt is unknown, the batch has the connection to itself and locks what it reads. Nothing
 * waits here for long for a row that others have locked: such operations go to `locked-lane.ts`.
 */
import type { SQL } from 'bun';
import { GroupCommit } from '../lib/group-commit.ts';
import type { Log } from '../lib/log.ts';
import { decideBatch } from './batch.ts';
import { commitInParts } from './commit-in-parts.ts';
import { isConflict, isIntegrityError, isLocked, RowLockedError } from './database-error.ts';
import {
  type CommittedFree,
  type CommittedLocked,
  commitFree,
  commitLocked,
  outcomesOf,
  readRows,
} from './locked-commit.ts';
import { LockedLane } from './locked-lane.ts';
import { Memory } from './memory.ts';
import type { Committed, Operation, OperationResult, Outcome } from './operations.ts';
import type { Outlook } from './outlook.ts';
import type { Writer } from './writer.ts';

/** Another batch is decided and sent while one is being executed. */
const batchesAtOnce = 2;

export class Lane {
  readonly #writer: Writer;
  readonly #log: Log;
  readonly #onCommit: (batchSize: number) => void;
  readonly #outlook: Outlook;
  readonly #batches = new GroupCommit<Operation, Committed>(
    (batch) => commitInParts(batch, (part) => this.#commitPart(part), this.#log),
    batchesAtOnce,
  );
  readonly #locked: LockedLane;
  readonly #memory = new Memory();
  /** Whether a hold that was submitted has not been given up since. */
  readonly #isWanted = new WeakMap<Operation, () => boolean>();
  /** The batches that share the connection, and the one that has it to itself. */
  readonly #sent = new Set<Promise<unknown>>();
  #exclusive: Promise<unknown> | null = null;

  /** `lockedWriter` is for operations on rows that others keep locked. */
  constructor(
    writer: Writer,
    lockedWriter: Writer,
    log: Log,
    onCommit: (batchSize: number) => void,
    outlook: Outlook,
  ) {
    this.#outlook = outlook;
    this.#writer = writer;
    this.#log = log;
    this.#onCommit = onCommit;
    this.#locked = new LockedLane(
      lockedWriter,
      this.#memory,
      log,
      (operation) => !this.#isGivenUp(operation),
      outlook,
    );
  }

  get waitingCount(): number {
    return this.#batches.waitingCount + this.#locked.waitingCount;
  }

  submit<Result extends OperationResult>(
    operation: Operation,
    isWanted?: () => boolean,
  ): Promise<Committed<Result>> {
    if (isWanted !== undefined) this.#isWanted.set(operation, isWanted);
    const committed = this.#locked.has(operation)
      ? this.#locked.submit(operation)
      : this.#batches.submit(operation, isWanted).catch((error: unknown) => {
          if (!isLocked(error)) throw error;
          return this.#locked.submit(operation);
        });
    return committed as Promise<Committed<Result>>;
  }

  /** The outcome of an operation that has to wait for a lock is an error: `submit` passes it on to the other lane. */
  async #commitPart(batch: readonly Operation[]): Promise<readonly Outcome[]> {
    if (batch.some((operation) => this.#locked.has(operation))) return await this.#commitUnlocked(batch);
    const isDurable = this.#isIdle && batch.every(({ kind }) => kind !== 'hold');
    try {
      const outcomes = await this.#commit(batch, isDurable);
      for (const outcome of outcomes)
        if (outcome instanceof RowLockedError) this.#locked.noteLocked(outcome.rowId);
      this.#onCommit(batch.length);
      return outcomes;
    } catch (error) {
      if (!isLocked(error)) throw error;
      return batch.map(() => error as Error);
    }
  }

  /** For a batch of which some rows were found locked while it waited for its turn. */
  async #commitUnlocked(batch: readonly Operation[]): Promise<readonly Outcome[]> {
    const free = batch.filter((operation) => !this.#locked.has(operation));
    const outcomes = free.length === 0 ? [] : await this.#commitPart(free);
    const outcomeOf = new Map(free.map((operation, index) => [operation, outcomes[index]]));
    return batch.map(
      (operation) => outcomeOf.get(operation) ?? new RowLockedError(operation.generation.keyId),
    );
  }

  /** Nothing would wait behind a batch that waits for the disk. */
  get #isIdle(): boolean {
    return this.#sent.size === 0 && this.#batches.waitingCount === 0;
  }

  async #commit(batch: readonly Operation[], isDurable: boolean): Promise<readonly Outcome[]> {
    while (this.#exclusive !== null) await this.#exclusive.catch(() => undefined);
    if (!this.#canRelyOnMemory(batch)) return await this.#commitExclusively(batch, isDurable, false);
    let isLockedOut = false;
    const failedBefore = this.#memory.failedCount;
    const committed = this.#writer.use(async (connection, { server }) => ({
      results: await this.#commitRemembered(connection, batch, isDurable),
      server,
    }));
    this.#sent.add(committed);
    try {
      const { results, server } = await committed;
      if (results !== null) return results.map((result) => ({ result, isDurable, server }));
    } catch (error) {
      this.#memory.failed(batch, error, failedBefore);
      isLockedOut = isLocked(error);
      // A batch decided on outdated rows may violate a constraint before the database compares their versions.
      if (!isLockedOut && !isConflict(error) && !isIntegrityError(error)) throw error;
    } finally {
      this.#sent.delete(committed);
    }
    return await this.#commitExclusively(batch, isDurable, isLockedOut);
  }

  #canRelyOnMemory(batch: readonly Operation[]): boolean {
    return this.#memory.isReliable(batch) && !batch.some((operation) => this.#isGivenUp(operation));
  }

  #isGivenUp(operation: Operation): boolean {
    return operation.kind === 'hold' && this.#isWanted.get(operation)?.() === false;
  }

  /** Null when it cannot be done: another batch failed meanwhile, or the rows that were read evicted others of the batch. */
  async #commitRemembered(
    connection: SQL,
    batch: readonly Operation[],
    isDurable: boolean,
  ): Promise<OperationResult[] | null> {
    const memory = this.#memory;
    if (!memory.isComplete(batch)) {
      const { accountIds, keyIds } = memory.missingIds(batch);
      memory.learn(await readRows(connection, accountIds, keyIds, null));
    }
    if (!memory.isComplete(batch) || !this.#canRelyOnMemory(batch)) return null;
    // Nothing is awaited from here until the statement is sent, so batches are decided in the order in which they are sent.
    const rows = memory.rowsOf(batch);
    const { results, effects } = decideBatch(batch, rows);
    const written = effects.write(connection, rows, isDurable);
    memory.remember(effects, rows);
    memory.committed(batch, results, await written);
    this.#outlook.saw(rows);
    return results;
  }

  /** Waits until the connection is free, and keeps it. If `isLockedOut`, operations on locked rows are left out. */
  async #commitExclusively(
    batch: readonly Operation[],
    isDurable: boolean,
    isLockedOut: boolean,
  ): Promise<readonly Outcome[]> {
    while (this.#exclusive !== null) await this.#exclusive.catch(() => undefined);
    const committed = this.#commitWithLocks(batch, isDurable && !isLockedOut, isLockedOut);
    this.#exclusive = committed;
    try {
      return await committed;
    } finally {
      this.#exclusive = null;
    }
  }

  async #commitWithLocks(
    batch: readonly Operation[],
    isDurable: boolean,
    isLockedOut: boolean,
  ): Promise<readonly Outcome[]> {
    await Promise.allSettled(this.#sent);
    const isWanted = (operation: Operation) => !this.#isGivenUp(operation);
    const commit = async (connection: SQL): Promise<CommittedFree> => {
      if (isLockedOut) return await commitFree(connection, batch, null, isWanted);
      const committed = await commitLocked(connection, batch, isDurable, isWanted);
      return { committed, lockedRowOf: () => null };
    };
    try {
      const { server, ...done } = await this.#writer.use(async (connection, session) => ({
        ...(await commit(connection)),
        server: session.server,
      }));
      if (done.committed !== null) this.#noteCommitted(done.committed);
      return outcomesOf(batch, done, { isDurable, server });
    } catch (error) {
      this.#memory.failed(batch, error);
      if (isLocked(error) && !isLockedOut) return await this.#commitWithLocks(batch, false, true);
      throw error;
    }
  }

  #noteCommitted({ wanted, results, effects, rows }: CommittedLocked): void {
    this.#memory.remember(effects, rows);
    this.#memory.committed(wanted, results, rows.nowMs);
    this.#memory.resolve(wanted);
    this.#outlook.saw(rows);
  }
}
