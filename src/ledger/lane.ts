/**
 * Commits operations in batches, on one connection. A batch is usually decided on what this process remembers and sent as
 * one statement, while the one before it is still being executed. When the database finds that something has changed, or
 * when the outcome of an earlier attempt is unknown, the batch has the connection to itself and locks what it reads.
 */
import type { SQL } from 'bun';
import { GroupCommit } from '../lib/group-commit.ts';
import type { Log } from '../lib/log.ts';
import { commitLocked, decideBatch, type OperationResult, readRows } from './commit.ts';
import { isConflict, isIntegrityError, isLockTimeout } from './database-error.ts';
import { Memory } from './memory.ts';
import type { Operation } from './operations.ts';
import type { Writer } from './writer.ts';

/** Another batch is decided and sent while one is being executed. */
const batchesAtOnce = 2;

/** Unless `isDurable`, a crash of the database may still undo it. `server` is where it was committed. */
type Committed<Result = OperationResult> = Readonly<{ result: Result; isDurable: boolean; server: string }>;
type CommittedBatch = Readonly<{ results: readonly (OperationResult | Error)[]; server: string }>;

export class Lane {
  readonly #writer: Writer;
  readonly #log: Log;
  readonly #onCommit: (batchSize: number) => void;
  readonly #batches = new GroupCommit<Operation, Committed>(
    (batch) => this.#commitOrIsolate(batch),
    batchesAtOnce,
  );
  readonly #memory = new Memory();
  /** Whether a hold that was submitted has not been given up since. */
  readonly #isWanted = new WeakMap<Operation, () => boolean>();
  /** The batches that share the connection, and the one that has it to itself. */
  readonly #sent = new Set<Promise<unknown>>();
  #exclusive: Promise<unknown> | null = null;

  constructor(writer: Writer, log: Log, onCommit: (batchSize: number) => void) {
    this.#writer = writer;
    this.#log = log;
    this.#onCommit = onCommit;
  }

  get waitingCount(): number {
    return this.#batches.waitingCount;
  }

  submit<Result extends OperationResult>(
    operation: Operation,
    isWanted?: () => boolean,
  ): Promise<Committed<Result>> {
    if (isWanted !== undefined) this.#isWanted.set(operation, isWanted);
    return this.#batches.submit(operation, isWanted) as Promise<Committed<Result>>;
  }

  /** Operations that the database rejects must not fail the rest of their batch. Their result is the error. */
  async #commitOrIsolate(batch: readonly Operation[]): Promise<readonly (Committed | Error)[]> {
    const isDurable = this.#isIdle && batch.every(({ kind }) => kind !== 'hold');
    try {
      const { results, server } = await this.#commit(batch, isDurable);
      this.#onCommit(batch.length);
      return results.map((result) => (result instanceof Error ? result : { result, isDurable, server }));
    } catch (error) {
      if (isLockTimeout(error)) {
        const byAccount = Map.groupBy(batch, ({ generation }) => generation.accountId);
        if (byAccount.size > 1) return await this.#commitParts(batch, [...byAccount.values()]);
      }
      if (!isIntegrityError(error)) throw error;
      this.#log.error('the database rejected a batch', { count: batch.length, error });
      if (batch.length === 1) return [error];
      return await this.#commitParts(
        batch,
        batch.map((operation) => [operation]),
      );
    }
  }

  async #commitParts(
    batch: readonly Operation[],
    parts: readonly (readonly Operation[])[],
  ): Promise<readonly (Committed | Error)[]> {
    const outcomes = new Map<Operation, Committed | Error>();
    for (const part of parts) {
      const committed = await this.#commitOrIsolate(part).catch((error: Error) => part.map(() => error));
      part.forEach((operation, index) => {
        outcomes.set(operation, committed[index] as Committed | Error);
      });
    }
    return batch.map((operation) => outcomes.get(operation) as Committed | Error);
  }

  /** Nothing would wait behind a batch that waits for the disk. */
  get #isIdle(): boolean {
    return this.#sent.size === 0 && this.waitingCount === 0;
  }

  async #commit(batch: readonly Operation[], isDurable: boolean): Promise<CommittedBatch> {
    while (this.#exclusive !== null) await this.#exclusive.catch(() => undefined);
    if (!this.#canRelyOnMemory(batch)) return await this.#commitExclusively(batch, isDurable);
    const committed = this.#writer.use(async (connection, { server }) => ({
      results: await this.#commitRemembered(connection, batch, isDurable),
      server,
    }));
    this.#sent.add(committed);
    try {
      const { results, server } = await committed;
      if (results !== null) return { results, server };
    } catch (error) {
      this.#memory.failed(batch, error);
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
  async #commitExclusively(batch: readonly Operation[], isDurable: boolean): Promise<CommittedBatch> {
    while (this.#exclusive !== null) await this.#exclusive.catch(() => undefined);
    const committed = this.#commitWithLocks(batch, isDurable);
    this.#exclusive = committed;
    try {
      return await committed;
    } finally {
      this.#exclusive = null;
    }
  }

  async #commitWithLocks(batch: readonly Operation[], isDurable: boolean): Promise<CommittedBatch> {
    await Promise.allSettled(this.#sent);
    // The release of a hold that was given up may be committed already: nobody would release the hold again.
    const wanted = batch.filter((operation) => !this.#isGivenUp(operation));
    try {
      const { results, effects, rows, server } = await this.#writer.use(
        async (connection, { server: at }) => ({
          ...(await commitLocked(connection, wanted, isDurable)),
          server: at,
        }),
      );
      this.#memory.remember(effects, rows);
      this.#memory.committed(wanted, results, rows.nowMs);
      this.#memory.resolve(wanted);
      const resultOf = new Map(wanted.map((operation, index) => [operation, results[index]]));
      return { results: batch.map((operation) => resultOf.get(operation) ?? givenUp), server };
    } catch (error) {
      this.#memory.failed(wanted, error);
      throw error;
    }
  }
}

const givenUp = new Error('Nobody waits for this operation any more.');
