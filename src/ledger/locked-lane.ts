/**
 * Operations on accounts and keys that another transaction keeps locked. They have their own connection, which commits
 * those whose rows are free and waits, briefly, for one locked row at a time. The rest are submitted again, so no
 * operation is held up by a row that it does not need.
 */
import { GroupCommit } from '../lib/group-commit.ts';
import type { Log } from '../lib/log.ts';
import { RecentMap } from '../lib/recent-map.ts';
import { commitInParts } from './commit-in-parts.ts';
import { isLocked, RowLockedError } from './database-error.ts';
import { type CommittedLocked, commitFree, outcomesOf } from './locked-commit.ts';
import type { Memory } from './memory.ts';
import type { Committed, Operation, Outcome } from './operations.ts';
import type { Outlook } from './outlook.ts';
import type { Writer } from './writer.ts';

/** Whoever has locked a row may soon lock it again: only after this time do its operations share a batch with others. */
const calmMs = 1_000;
const maxLocked = 10_000;

export class LockedLane {
  readonly #writer: Writer;
  readonly #memory: Memory;
  readonly #log: Log;
  readonly #isWanted: (operation: Operation) => boolean;
  readonly #outlook: Outlook;
  readonly #batches = new GroupCommit<Operation, Committed>((batch) => this.#commit(batch));
  /** Accounts and keys that were found locked. The time is infinite until they are found free. */
  readonly #lockedUntilMs = new RecentMap<number>(maxLocked);

  constructor(
    writer: Writer,
    memory: Memory,
    log: Log,
    isWanted: (operation: Operation) => boolean,
    outlook: Outlook,
  ) {
    this.#outlook = outlook;
    this.#writer = writer;
    this.#memory = memory;
    this.#log = log;
    this.#isWanted = isWanted;
  }

  get waitingCount(): number {
    return this.#batches.waitingCount;
  }

  /** Whether an operation belongs here: its account or its key was locked a moment ago. */
  has({ generation: { accountId, keyId } }: Operation): boolean {
    return this.#isLocked(accountId) || this.#isLocked(keyId);
  }

  #isLocked(id: string): boolean {
    const untilMs = this.#lockedUntilMs.get(id);
    if (untilMs === undefined) return false;
    if (performance.now() < untilMs) return true;
    this.#lockedUntilMs.delete(id);
    return false;
  }

  submit(operation: Operation): Promise<Committed> {
    return this.#batches.submit(operation);
  }

  /** Other nodes lock rows all the time, for milliseconds. Without any wait, a busy row would hardly ever be found free. */
  async #commit(batch: readonly Operation[]): Promise<readonly Outcome[]> {
    const outcomes = await commitInParts(batch, (part) => this.#commitFree(part, null), this.#log);
    const rowIds = outcomes.map((outcome) => (outcome instanceof RowLockedError ? outcome.rowId : null));
    const awaited = rowIds.find((rowId) => rowId !== null);
    if (awaited === undefined || awaited === null) return outcomes;
    const waiting = batch.filter((_operation, index) => rowIds[index] === awaited);
    const waited = await commitInParts(waiting, (part) => this.#commitFree(part, awaited), this.#log).catch(
      (error: Error) => waiting.map(() => error),
    );
    const outcomeOf = new Map(waiting.map((operation, index) => [operation, waited[index]]));
    return batch.map((operation, index) => outcomeOf.get(operation) ?? (outcomes[index] as Outcome));
  }

  async #commitFree(batch: readonly Operation[], awaited: string | null): Promise<readonly Outcome[]> {
    try {
      const { server, ...done } = await this.#writer.use(async (connection, session) => ({
        ...(await commitFree(connection, batch, awaited, this.#isWanted)),
        server: session.server,
      }));
      if (done.committed !== null) this.#noteCommitted(done.committed);
      for (const operation of batch) {
        const rowId = done.lockedRowOf(operation);
        if (rowId === null) this.#noteFree(operation);
        else this.noteLocked(rowId);
      }
      return outcomesOf(batch, done, { isDurable: false, server });
    } catch (error) {
      this.#memory.failed(batch, error);
      if (awaited === null && isLocked(error)) this.#noteAccountLocked(batch);
      throw error;
    }
  }

  /** From now on, operations that need this account or key belong here. */
  noteLocked(rowId: string): void {
    this.#lockedUntilMs.set(rowId, Number.POSITIVE_INFINITY);
  }

  /** The rows are not remembered: on the other connection, a later batch may have changed them since. */
  #noteCommitted({ wanted, results, rows }: CommittedLocked): void {
    this.#memory.forgetRows(wanted);
    this.#memory.committed(wanted, results, rows.nowMs);
    this.#memory.resolve(wanted);
    this.#outlook.saw(rows);
  }

  /** After a lock on any other row, or on a table. If the batch has one account, the row belongs to it. */
  #noteAccountLocked(batch: readonly Operation[]): void {
    const [accountId = '', ...others] = new Set(batch.map(({ generation }) => generation.accountId));
    if (others.length === 0) this.noteLocked(accountId);
  }

  #noteFree({ generation: { accountId, keyId } }: Operation): void {
    for (const id of [accountId, keyId])
      if (this.#lockedUntilMs.get(id) === Number.POSITIVE_INFINITY)
        this.#lockedUntilMs.set(id, performance.now() + calmMs);
  }
}
