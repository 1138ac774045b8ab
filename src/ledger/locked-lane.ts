/**
 * Operations on accounts and keys that another transaction keeps locked. They have a connection of their own, which commits
 * what is free and waits for one locked row at a time, and not for long. Whoever submitted the rest tries again, so nothing
 * is held up by a row that it does not need.
 */
import type { SQL } from 'bun';
import { GroupCommit } from '../lib/group-commit.ts';
import type { Log } from '../lib/log.ts';
import { type CommittedLocked, inTransaction, lockAndCommit, uuidArray } from './commit.ts';
import { type Committed, outcomesOf } from './committed.ts';
import { isLocked, RowLockedError } from './database-error.ts';
import { commitOrIsolate } from './isolation.ts';
import { RecentMap } from './known-rows.ts';
import type { Memory } from './memory.ts';
import type { Operation } from './operations.ts';
import type { Writer } from './writer.ts';

/** Whoever has locked a row may soon lock it again: only after this time do its operations share a batch with others. */
const calmMs = 1_000;
const maxLocked = 10_000;

type Outcomes = readonly (Committed | Error)[];

export class LockedLane {
  readonly #writer: Writer;
  readonly #memory: Memory;
  readonly #log: Log;
  readonly #isWanted: (operation: Operation) => boolean;
  readonly #batches = new GroupCommit<Operation, Committed>((batch) => this.#commit(batch));
  /** Accounts and keys that were found locked. The time is infinite until they are found free. */
  readonly #lockedUntilMs = new RecentMap<number>(maxLocked);

  constructor(writer: Writer, memory: Memory, log: Log, isWanted: (operation: Operation) => boolean) {
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

  /** Other nodes lock rows all the time, for milliseconds. Without any wait, a busy one would hardly ever be found free. */
  async #commit(batch: readonly Operation[]): Promise<Outcomes> {
    const outcomes = await commitOrIsolate(batch, (part) => this.#commitFree(part, null), this.#log);
    const rowIds = outcomes.map((outcome) => (outcome instanceof RowLockedError ? outcome.rowId : null));
    const awaited = rowIds.find((rowId) => rowId !== null);
    if (awaited === undefined || awaited === null) return outcomes;
    const waiting = batch.filter((_operation, index) => rowIds[index] === awaited);
    const waited = await commitOrIsolate(waiting, (part) => this.#commitFree(part, awaited), this.#log).catch(
      (error: Error) => waiting.map(() => error),
    );
    const outcomeOf = new Map(waiting.map((operation, index) => [operation, waited[index]]));
    return batch.map(
      (operation, index) => outcomeOf.get(operation) ?? (outcomes[index] as Committed | Error),
    );
  }

  async #commitFree(batch: readonly Operation[], awaited: string | null): Promise<Outcomes> {
    try {
      const { locked, committed, server } = await this.#writer.use(async (connection, session) => ({
        ...(await commitFree(connection, batch, awaited, this.#isWanted)),
        server: session.server,
      }));
      if (committed !== null) this.#noteCommitted(committed);
      const { wanted, results } = committed ?? nothing;
      const outcomes = outcomesOf(batch, wanted, results, { isDurable: false, server });
      return batch.map((operation, index) => {
        const rowId = lockedRowOf(operation, locked);
        if (rowId === null) this.#noteFree(operation);
        else this.#lockedUntilMs.set(rowId, Number.POSITIVE_INFINITY);
        return rowId === null ? (outcomes[index] as Committed | Error) : new RowLockedError(rowId);
      });
    } catch (error) {
      this.#memory.failed(batch, error);
      if (awaited === null && isLocked(error)) this.#noteLocked(batch);
      throw error;
    }
  }

  /** The rows are not remembered: on the other connection, a later batch may have changed them since. */
  #noteCommitted({ wanted, results, rows }: CommittedLocked): void {
    this.#memory.forgetRows(wanted);
    this.#memory.committed(wanted, results, rows.nowMs);
    this.#memory.resolve(wanted);
  }

  /** After a lock on any other row, or on a table. If the batch has one account, the row is one of that. */
  #noteLocked(batch: readonly Operation[]): void {
    const [accountId = '', ...others] = new Set(batch.map(({ generation }) => generation.accountId));
    if (others.length === 0) this.#lockedUntilMs.set(accountId, Number.POSITIVE_INFINITY);
  }

  #noteFree({ generation: { accountId, keyId } }: Operation): void {
    for (const id of [accountId, keyId])
      if (this.#lockedUntilMs.get(id) === Number.POSITIVE_INFINITY)
        this.#lockedUntilMs.set(id, performance.now() + calmMs);
  }
}

const nothing: Pick<CommittedLocked, 'wanted' | 'results'> = { wanted: [], results: [] };

type CommittedFree = Readonly<{ locked: ReadonlySet<string>; committed: CommittedLocked | null }>;

/**
 * Commits the operations whose account and key nobody else has locked; `locked` are the IDs of the others. The row `awaited`
 * is waited for before anything is locked, so nobody waits for this transaction meanwhile.
 */
async function commitFree(
  connection: SQL,
  batch: readonly Operation[],
  awaited: string | null,
  isWanted: (operation: Operation) => boolean,
): Promise<CommittedFree> {
  return await inTransaction(connection, async () => {
    if (awaited !== null) {
      await connection`select 1 from accounts where id = ${awaited} for no key update`;
      await connection`select 1 from api_key_meters where key_id = ${awaited} for no key update`;
    }
    const locked = await lockFreeRows(connection, batch);
    const free = batch.filter((operation) => lockedRowOf(operation, locked) === null);
    const committed = free.length === 0 ? null : await lockAndCommit(connection, free, false, isWanted);
    if (committed === null) await connection`rollback`;
    return { locked, committed };
  });
}

/**
 * Accounts before keys, as everywhere: whoever has the account finds its keys free, unless somebody keeps just the key. What
 * is locked is skipped.
 */
async function lockFreeRows(connection: SQL, batch: readonly Operation[]): Promise<Set<string>> {
  const accountIds = uuidArray(batch.map(({ generation }) => generation.accountId));
  const lockedAccounts = await connection<{ id: string }[]>`
    with free as materialized (
      select id from accounts where id = any (${accountIds}::text::uuid[]) for no key update skip locked
    )
    select id from accounts where id = any (${accountIds}::text::uuid[]) and id not in (select id from free)`;
  const locked = new Set(lockedAccounts.map(({ id }) => id));
  const others = batch.filter(({ generation }) => !locked.has(generation.accountId));
  if (others.length === 0) return locked;
  const keyIds = uuidArray(others.map(({ generation }) => generation.keyId));
  const lockedKeys = await connection<{ id: string }[]>`
    with free as materialized (
      select key_id from api_key_meters where key_id = any (${keyIds}::text::uuid[]) for no key update skip locked
    )
    select key_id as id from api_key_meters
    where key_id = any (${keyIds}::text::uuid[]) and key_id not in (select key_id from free)`;
  for (const { id } of lockedKeys) locked.add(id);
  return locked;
}

/** The ID of a row that keeps an operation from being committed. */
function lockedRowOf({ generation }: Operation, locked: ReadonlySet<string>): string | null {
  const { accountId, keyId } = generation;
  if (locked.has(accountId)) return accountId;
  return locked.has(keyId) ? keyId : null;
}
