/**
 * Commits a batch with its rows locked, for operations that cannot be decided on remembered rows. Each operation is
 * idempotent by its Generation's ID, so those of a batch whose outcome is unknown are simply submitted again. `connection` is one
 * connection, not a pool, and nothing else is sent on it meanwhile.
 */
import type { SQL } from 'bun';
import { moneyFromDatabase } from '../lib/money.ts';
import { type Decided, decideBatch } from './batch.ts';
import { RowLockedError } from './database-error.ts';
import type { Ended } from './decide.ts';
import { type BatchRows, keyAt, knownAccount, knownKey, type ReadRows, rowsAt } from './known-rows.ts';
import type { Committed, Operation, Outcome } from './operations.ts';
import { claimRows } from './rows.ts';

/** `wanted` are the operations that the results belong to. */
export type CommittedLocked = Decided & Readonly<{ wanted: readonly Operation[]; rows: BatchRows }>;

/** Locks and reads everything that the batch touches, waiting for rows that others have locked. */
export async function commitLocked(
  connection: SQL,
  batch: readonly Operation[],
  isDurable: boolean,
  isWanted: (operation: Operation) => boolean = () => true,
): Promise<CommittedLocked> {
  return await inTransaction(connection, () => lockAndCommit(connection, batch, isDurable, isWanted));
}

/** `lockedRowOf` returns the ID of a locked row that an operation needed; null for an operation that was committed. */
export type CommittedFree = Readonly<{
  lockedRowOf: (operation: Operation) => string | null;
  /** Null when all of them were locked. */
  committed: CommittedLocked | null;
}>;

/**
 * Commits the operations whose account and key nobody else has locked. The row `awaited` is waited for before anything is
 * locked, so nobody waits for this transaction meanwhile.
 */
export async function commitFree(
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
    const lockedRowOf = ({ generation: { accountId, keyId } }: Operation) => {
      if (locked.has(accountId)) return accountId;
      return locked.has(keyId) ? keyId : null;
    };
    const free = batch.filter((operation) => lockedRowOf(operation) === null);
    const committed = free.length === 0 ? null : await lockAndCommit(connection, free, false, isWanted);
    if (committed === null) await connection`rollback`;
    return { lockedRowOf, committed };
  });
}

const givenUp = new Error('Nobody waits for this operation any more.');

/** One outcome per operation of the batch: an error for those whose rows were locked, or that nobody wanted any more. */
export function outcomesOf(
  batch: readonly Operation[],
  { committed, lockedRowOf }: CommittedFree,
  where: Pick<Committed, 'isDurable' | 'server'>,
): Outcome[] {
  const { wanted, results } = committed ?? { wanted: [], results: [] };
  const resultOf = new Map(wanted.map((operation, index) => [operation, results[index]]));
  return batch.map((operation) => {
    const result = resultOf.get(operation);
    if (result !== undefined) return { result, ...where };
    const rowId = lockedRowOf(operation);
    return rowId === null ? givenUp : new RowLockedError(rowId);
  });
}

/** Ends the transaction that it is called in. */
async function lockAndCommit(
  connection: SQL,
  batch: readonly Operation[],
  isDurable: boolean,
  isWanted: (operation: Operation) => boolean,
): Promise<CommittedLocked> {
  const rows = await lockRows(connection, batch);
  // Asked only now: a hold that was given up may have been released before its rows were locked, and nobody would release
  // it again.
  const wanted = batch.filter(isWanted);
  await findEnded(connection, wanted, rows);
  const decided = decideBatch(wanted, rows);
  await decided.effects.writeRare(connection);
  await Promise.all([decided.effects.write(connection, rows, isDurable), connection.unsafe('commit')]);
  return { ...decided, wanted, rows };
}

/** `work` ends the transaction, unless it fails. */
async function inTransaction<Result>(connection: SQL, work: () => Promise<Result>): Promise<Result> {
  try {
    // A query is sent when it is awaited, unless it is executed before.
    const begun = connection.unsafe('begin').execute();
    const [result] = await Promise.all([work(), begun]);
    return result;
  } catch (error) {
    await connection.unsafe('rollback').catch(() => undefined);
    throw error;
  }
}

async function lockRows(connection: SQL, batch: readonly Operation[]): Promise<BatchRows> {
  const accountIds = batch.map(({ generation }) => generation.accountId);
  const keyIds = batch.map(({ generation }) => generation.keyId);
  const generationIds = batch.map(({ generation }) => generation.id);
  const read = await readRows(connection, accountIds, keyIds, generationIds);
  const rows = rowsAt(read.nowMs);
  for (const row of read.accounts ?? []) rows.accounts.set(row.id, knownAccount(row));
  for (const row of read.meters ?? []) rows.keys.set(row.keyId, keyAt(knownKey(row), rows.nowMs, rows.month));
  for (const { id, hold } of read.open ?? []) rows.openHolds.set(id, moneyFromDatabase(hold));
  return rows;
}

/** With the IDs of Generations, all of the rows stay locked until the transaction ends. */
export async function readRows(
  connection: SQL,
  accountIds: readonly string[],
  keyIds: readonly string[],
  generationIds: readonly string[] | null,
): Promise<ReadRows> {
  const [{ rows }] = await connection<[{ rows: ReadRows }]>`
    select ledger_read(${uuidArray(accountIds)}::text::uuid[], ${uuidArray(keyIds)}::text::uuid[],
      ${generationIds === null ? null : uuidArray(generationIds)}::text::uuid[], ${generationIds !== null}) as rows`;
  return rows;
}

/** UUIDs need no quoting. */
function uuidArray(ids: readonly string[]): string {
  return `{${[...new Set(ids)].join(',')}}`;
}

type EndedRow = Omit<Ended, 'charged'> & { id: string; charged: string | null };

/**
 * A Generation that is no longer open was settled when this batch was sent before, was closed by another node, was set
 * aside, or was lost when the database crashed.
 */
async function findEnded(
  connection: SQL,
  batch: readonly Operation[],
  { openHolds, ended, month }: BatchRows,
): Promise<void> {
  const missing = batch.flatMap((operation) => {
    if (operation.kind !== 'settle' || openHolds.has(operation.generation.id)) return [];
    const { id, keyId, idempotencyHash } = operation.generation;
    return [{ keyId, name: idempotencyHash, requestId: id }];
  });
  if (missing.length === 0) return;
  const rows = await connection<EndedRow[]>`
    select * from ledger_find_missing(${claimRows.literal(missing)}::text::ledger_claim_row[], ${month}::text::date)`;
  for (const { id, ...row } of rows)
    ended.set(id, { ...row, charged: row.charged === null ? null : moneyFromDatabase(row.charged) });
}

/**
 * Accounts before keys, as everywhere: whoever has locked the account finds its keys free, unless somebody has locked
 * only the key. Locked rows are skipped.
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
