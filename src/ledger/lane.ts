/**
 * Commits operations in batches, on one connection. A batch is usually decided on what this process remembers and sent as
 * one statement, while the one before it is still being executed. When the database finds that something has changed, or
 * when the outcome of an earlier attempt is unknown, the batch takes the careful way.
 */
import type { SQL } from 'bun';
import { GroupCommit } from '../lib/group-commit.ts';
import type { Log } from '../lib/log.ts';
import type { Money } from '../lib/money.ts';
import {
  type BatchRows,
  commitLocked,
  decideBatch,
  type OperationResult,
  readRows,
  rowsAt,
} from './commit.ts';
import { isConflict, isIntegrityError, isLockTimeout } from './database-error.ts';
import { DatabaseTime } from './database-time.ts';
import { KnownRows, knownAccount, knownMeter, meterAt, RecentMap } from './known-rows.ts';
import type { Operation } from './operations.ts';
import type { Writer } from './writer.ts';

/** Another batch is decided and sent while one is being executed. */
const batchesAtOnce = 2;
/** An account that another node has just used is probably used by it again. */
const contendedMs = 1_000;
const maxContended = 1_000;

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
  readonly #known = new KnownRows();
  readonly #time = new DatabaseTime();
  /** What this process has held. */
  readonly #holds = new Map<string, Money>();
  /** Whether a hold that was submitted has not been given up since. */
  readonly #isWanted = new WeakMap<Operation, () => boolean>();
  /** Generations with an operation whose outcome is unknown. */
  readonly #doubtful = new Set<string>();
  /** Accounts and keys that another node has just changed, and until when to expect that again. */
  readonly #contended = new RecentMap<number>(maxContended);
  /** The batches that share the connection, and the one that has it to itself. */
  readonly #sent = new Set<Promise<unknown>>();
  #alone: Promise<unknown> | null = null;

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
    const isDurable = this.#isAlone && batch.every(({ kind }) => kind !== 'hold');
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
  get #isAlone(): boolean {
    return this.#sent.size === 0 && this.waitingCount === 0;
  }

  async #commit(batch: readonly Operation[], isDurable: boolean): Promise<CommittedBatch> {
    while (this.#alone !== null) await this.#alone.catch(() => undefined);
    if (!this.#isOrdinary(batch)) return await this.#commitAlone(batch, isDurable);
    const committed = this.#writer.use(async (connection, { server }) => ({
      results: await this.#commitKnown(connection, batch, isDurable),
      server,
    }));
    this.#sent.add(committed);
    try {
      const { results, server } = await committed;
      if (results !== null) return { results, server };
    } catch (error) {
      this.#forget(batch);
      // What is out of date may also violate a constraint, before the database notices the rest.
      if (!isConflict(error) && !isIntegrityError(error)) {
        this.#doubt(batch, error);
        throw error;
      }
      if (isConflict(error) && error.detail)
        this.#contended.set(error.detail, performance.now() + contendedMs);
    } finally {
      this.#sent.delete(committed);
    }
    return await this.#commitAlone(batch, isDurable);
  }

  /** Whether everything about the batch is known to this process, unless somebody else has changed it. */
  #isOrdinary(batch: readonly Operation[]): boolean {
    const settling = new Set<string>();
    for (const operation of batch) {
      const { kind, generation } = operation;
      const { id, accountId, keyId } = generation;
      if (this.#isGivenUp(operation)) return false;
      if (this.#doubtful.size > 0 && this.#doubtful.has(id)) return false;
      if (this.#isContended(accountId) || this.#isContended(keyId)) return false;
      if (kind === 'set_aside' || (kind === 'hold' && this.#holds.has(id))) return false;
      if (kind === 'settle' && (!this.#holds.has(id) || settling.has(id))) return false;
      if (kind === 'settle') settling.add(id);
    }
    return true;
  }

  #isGivenUp(operation: Operation): boolean {
    return operation.kind === 'hold' && this.#isWanted.get(operation)?.() === false;
  }

  #isContended(id: string): boolean {
    const untilMs = this.#contended.get(id);
    if (untilMs === undefined) return false;
    if (performance.now() < untilMs) return true;
    this.#contended.delete(id);
    return false;
  }

  async #commitKnown(
    connection: SQL,
    batch: readonly Operation[],
    isDurable: boolean,
  ): Promise<OperationResult[] | null> {
    if (!this.#isKnown(batch)) await this.#read(connection, batch);
    // Another batch may have failed meanwhile, or what was read may have taken the place of something else.
    if (!this.#isKnown(batch) || !this.#isOrdinary(batch)) return null;
    // Nothing is awaited from here until the statement is sent, so batches are decided in the order in which they are sent.
    const rows = this.#knownRows(batch);
    const { results, effects } = decideBatch(batch, rows);
    const written = effects.write(connection, rows, isDurable);
    effects.remember(this.#known, rows);
    this.#time.note(await written);
    this.#note(batch, results);
    return results;
  }

  #isKnown(batch: readonly Operation[]): boolean {
    const { accounts, meters } = this.#known;
    return (
      this.#time.isKnown &&
      batch.every(
        ({ generation }) =>
          accounts.get(generation.accountId) !== undefined && meters.get(generation.keyId) !== undefined,
      )
    );
  }

  async #read(connection: SQL, batch: readonly Operation[]): Promise<void> {
    const { accounts, meters } = this.#known;
    const accountIds = batch.map(({ generation }) => generation.accountId).filter((id) => !accounts.get(id));
    const keyIds = batch.map(({ generation }) => generation.keyId).filter((id) => !meters.get(id));
    const read = await readRows(connection, accountIds, keyIds, null);
    this.#time.note(read.nowMs);
    // What a batch has written meanwhile is newer.
    for (const row of read.accounts ?? []) if (!accounts.get(row.id)) accounts.set(row.id, knownAccount(row));
    for (const row of read.meters ?? []) if (!meters.get(row.keyId)) meters.set(row.keyId, knownMeter(row));
  }

  #knownRows(batch: readonly Operation[]): BatchRows {
    const rows = rowsAt(this.#time.nowMs());
    for (const { kind, generation } of batch) {
      const { id, accountId, keyId } = generation;
      const account = this.#known.accounts.get(accountId);
      if (account !== undefined) rows.accounts.set(accountId, account);
      const meter = this.#known.meters.get(keyId);
      if (meter !== undefined) rows.meters.set(keyId, meterAt(meter, rows.nowMs, rows.month));
      const hold = kind === 'settle' ? this.#holds.get(id) : undefined;
      if (hold !== undefined) rows.openHolds.set(id, hold);
    }
    return rows;
  }

  /** Waits until the connection is free, and keeps it. */
  async #commitAlone(batch: readonly Operation[], isDurable: boolean): Promise<CommittedBatch> {
    while (this.#alone !== null) await this.#alone.catch(() => undefined);
    const committed = this.#commitCarefully(batch, isDurable);
    this.#alone = committed;
    try {
      return await committed;
    } finally {
      this.#alone = null;
    }
  }

  async #commitCarefully(batch: readonly Operation[], isDurable: boolean): Promise<CommittedBatch> {
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
      this.#time.note(rows.nowMs);
      effects.remember(this.#known, rows);
      this.#note(wanted, results);
      for (const { generation } of wanted) this.#doubtful.delete(generation.id);
      const resultOf = new Map(wanted.map((operation, index) => [operation, results[index]]));
      return { results: batch.map((operation) => resultOf.get(operation) ?? givenUp), server };
    } catch (error) {
      this.#forget(wanted);
      this.#doubt(wanted, error);
      throw error;
    }
  }

  #note(batch: readonly Operation[], results: readonly OperationResult[]): void {
    for (const [index, { kind, generation }] of batch.entries()) {
      const result = results[index];
      if (kind !== 'hold') this.#holds.delete(generation.id);
      else if (typeof result === 'object' && result.outcome === 'held')
        this.#holds.set(generation.id, result.amount);
    }
  }

  #forget(batch: readonly Operation[]): void {
    for (const { generation } of batch) {
      this.#known.accounts.delete(generation.accountId);
      this.#known.meters.delete(generation.keyId);
    }
  }

  /** An operation that is tried only once leaves no doubt behind that anyone would resolve. */
  #doubt(batch: readonly Operation[], error: unknown): void {
    if (isIntegrityError(error) || isLockTimeout(error)) return;
    for (const { kind, generation } of batch) if (kind !== 'count') this.#doubtful.add(generation.id);
  }
}

const givenUp = new Error('Nobody waits for this operation any more.');
