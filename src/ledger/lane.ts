/**
 * Commits operations in batches, on one connection. A batch is usually decided on what this process remembers and sent as
 * one statement, while the one before it is still being executed. When the database finds that something has changed, or
 * when the outcome of an earlier attempt is unknown, the batch has the connection to itself and locks what it reads. Nothing
 * waits here for long for a row that others have locked: such operations go to `locked-lane.ts`.
 */
import type { SQL } from 'bun';
import { GroupCommit } from '../lib/group-commit.ts';
import type { Log } from '../lib/log.ts';
import { commitLocked, decideBatch, type OperationResult, readRows } from './commit.ts';
import { type Committed, outcomesOf } from './committed.ts';
import { isConflict, isIntegrityError, isLocked } from './database-error.ts';
import { commitOrIsolate } from './isolation.ts';
import { LockedLane } from './locked-lane.ts';
import { Memory } from './memory.ts';
import type { Operation } from './operations.ts';
import type { Writer } from './writer.ts';

/** Another batch is decided and sent while one is being executed. */
const batchesAtOnce = 2;

export class Lane {
  readonly #writer: Writer;
  readonly #log: Log;
  readonly #onCommit: (batchSize: number) => void;
  readonly #batches = new GroupCommit<Operation, Committed>(
    (batch) => commitOrIsolate(batch, (part) => this.#commitUnlessLocked(part), this.#log),
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
  constructor(writer: Writer, lockedWriter: Writer, log: Log, onCommit: (batchSize: number) => void) {
    this.#writer = writer;
    this.#log = log;
    this.#onCommit = onCommit;
    this.#locked = new LockedLane(
      lockedWriter,
      this.#memory,
      log,
      (operation) => !this.#isGivenUp(operation),
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
      : this.#batches.submit(operation, isWanted);
    return committed as Promise<Committed<Result>>;
  }

  async #commitUnlessLocked(batch: readonly Operation[]): Promise<readonly (Committed | Error)[]> {
    const isDurable = this.#isIdle && batch.every(({ kind }) => kind !== 'hold');
    try {
      const outcomes = await this.#commit(batch, isDurable);
      this.#onCommit(batch.length);
      return outcomes;
    } catch (error) {
      if (!isLocked(error)) throw error;
      return await Promise.all(
        batch.map((operation) => this.#locked.submit(operation).catch((failed: Error) => failed)),
      );
    }
  }

  /** Nothing would wait behind a batch that waits for the disk. */
  get #isIdle(): boolean {
    return this.#sent.size === 0 && this.#batches.waitingCount === 0;
  }

  async #commit(batch: readonly Operation[], isDurable: boolean): Promise<readonly (Committed | Error)[]> {
    while (this.#exclusive !== null) await this.#exclusive.catch(() => undefined);
    if (!this.#canRelyOnMemory(batch)) return await this.#commitExclusively(batch, isDurable);
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
      // What is out of date may also violate a constraint, before the database notices the rest.
      if (!isConflict(error) && !isIntegrityError(error)) throw error;
    } finally {
      this.#sent.delete(committed);
    }
    return await this.#commitExclusively(batch, isDurable);
  }

  #canRelyOnMemory(batch: readonly Operation[]): boolean {
    return this.#memory.isReliable(batch) && !batch.some((operation) => this.#isGivenUp(operation));
  }

  #isGivenUp(operation: Operation): boolean {
    return operation.kind === 'hold' && this.#isWanted.get(operation)?.() === false;
  }

  /** Null when it cannot be done: another batch failed meanwhile, or what was read took the place of something else. */
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
    return results;
  }

  /** Waits until the connection is free, and keeps it. */
  async #commitExclusively(
    batch: readonly Operation[],
    isDurable: boolean,
  ): Promise<readonly (Committed | Error)[]> {
    while (this.#exclusive !== null) await this.#exclusive.catch(() => undefined);
    const committed = this.#commitWithLocks(batch, isDurable);
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
  ): Promise<readonly (Committed | Error)[]> {
    await Promise.allSettled(this.#sent);
    const isWanted = (operation: Operation) => !this.#isGivenUp(operation);
    try {
      const { wanted, results, effects, rows, server } = await this.#writer.use(
        async (connection, { server: at }) => ({
          ...(await commitLocked(connection, batch, isDurable, isWanted)),
          server: at,
        }),
      );
      this.#memory.remember(effects, rows);
      this.#memory.committed(wanted, results, rows.nowMs);
      this.#memory.resolve(wanted);
      return outcomesOf(batch, wanted, results, { isDurable, server });
    } catch (error) {
      this.#memory.failed(batch, error);
      throw error;
    }
  }
}
