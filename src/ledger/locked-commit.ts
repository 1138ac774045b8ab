/**
 * Commits the operations of a batch whose rows nobody else has locked, with these rows locked. Each operation is idempotent
 * by its Generation's ID, so those of a batch whose outcome is unknown are simply submitted again. `connection` is one
 * connection, not a pool, and nothing else is sent on it meanwhile.
 */
import type { SQL } from 'bun';
import { moneyFromDatabase } from '../lib/money.ts';
import { decideBatch } from './batch.ts';
import {
  type Admitted,
  addLimits,
  type BatchRows,
  type LimitRow,
  type LockedRows,
  rowsFrom,
} from './batch-rows.ts';
import type { Ended } from './decide.ts';
import { metersOf, type Operation, type OperationResult } from './operations.ts';
import type { PendingOperations } from './pending-operations.ts';
import { claimRows, limitMeterRows } from './rows.ts';

/** `wanted` are the operations that the results belong to. Those that are not among them need a locked row, or were given up. */
export type LockedCommit = Readonly<{
  lockedIds: ReadonlySet<string>;
  wanted: readonly Operation[];
  results: readonly OperationResult[];
  /** Null if nothing was admitted. */
  admitted: Admitted | null;
}>;

/** The row `awaited` is waited for before anything is locked, so nobody waits for this transaction meanwhile. */
export async function commitLocked(
  connection: SQL,
  batch: readonly Operation[],
  awaited: string | null,
  pending: PendingOperations,
): Promise<LockedCommit> {
  try {
    // A query is sent when it is awaited, unless it is executed before.
    const begun = connection.unsafe('begin').execute();
    const [committed] = await Promise.all([lockAndCommit(connection, batch, awaited, pending), begun]);
    return committed;
  } catch (error) {
    await connection.unsafe('rollback').catch(() => undefined);
    throw error;
  }
}

async function lockAndCommit(
  connection: SQL,
  batch: readonly Operation[],
  awaited: string | null,
  pending: PendingOperations,
): Promise<LockedCommit> {
  const locked = await lockRows(connection, batch, awaited);
  const lockedIds = new Set(locked.locked);
  const wanted = batch.filter((operation) => isFree(operation, lockedIds) && !pending.isGivenUp(operation));
  if (wanted.length === 0) {
    await connection.unsafe('rollback');
    return { lockedIds, wanted, results: [], admitted: null };
  }
  pending.noteSent(wanted);
  const rows = rowsFrom(locked);
  await readLimits(connection, wanted, rows);
  await findEnded(connection, wanted, rows);
  const { results, effects } = decideBatch(wanted, rows);
  await effects.writeRare(connection);
  const how = { atMs: rows.nowMs, needs: null, isDurable: false };
  const [admitted] = await Promise.all([
    effects.hasRows ? effects.write(connection, rows, how) : null,
    connection.unsafe('commit'),
  ]);
  return { lockedIds, wanted, results, admitted };
}

function isFree(
  { generation: { id, accountId, keyId } }: Operation,
  lockedIds: ReadonlySet<string>,
): boolean {
  return !lockedIds.has(accountId) && !lockedIds.has(keyId) && !lockedIds.has(id);
}

async function lockRows(
  connection: SQL,
  batch: readonly Operation[],
  awaited: string | null,
): Promise<LockedRows> {
  const [{ rows }] = await connection<[{ rows: LockedRows }]>`
    select ledger_lock_rows(
      ${awaited}::uuid,
      ${uuidArray(batch.map(({ generation }) => generation.accountId))}::text::uuid[],
      ${uuidArray(batch.map(({ generation }) => generation.keyId))}::text::uuid[],
      ${uuidArray(batch.map(({ generation }) => generation.id))}::text::uuid[]) as rows`;
  return rows;
}

/** UUIDs need no quoting. */
function uuidArray(ids: readonly string[]): string {
  return `{${[...new Set(ids)].join(',')}}`;
}

/** Whoever counts towards limits has locked their account. Only upkeep has not, so the meters are locked as well. */
async function readLimits(connection: SQL, batch: readonly Operation[], rows: BatchRows): Promise<void> {
  const meters = new Map(batch.flatMap(metersOf).map((meter) => [meter.id, meter]));
  if (meters.size === 0) return;
  const found = await connection<LimitRow[]>`
    select id, amount::text, used::text, held::text from ledger_read_limits(
      ${limitMeterRows.literal([...meters.values()])}::text::ledger_limit_meter[], ${rows.nowMs}::float8)`;
  addLimits(rows, meters, found);
}

type EndedRow = Omit<Ended, 'charged'> & { id: string; charged: string | null };

/**
 * A Generation that is no longer open was settled when this batch was sent before, was closed by another node, was set
 * aside, or was lost when the database crashed.
 */
async function findEnded(
  connection: SQL,
  batch: readonly Operation[],
  { openHolds, ended, nowMs }: BatchRows,
): Promise<void> {
  const missing = batch.flatMap((operation) => {
    if (operation.kind !== 'settle' || openHolds.has(operation.generation.id)) return [];
    const { id, keyId, idempotencyHash } = operation.generation;
    return [{ keyId, name: idempotencyHash, requestId: id }];
  });
  if (missing.length === 0) return;
  const rows = await connection<EndedRow[]>`
    select * from ledger_find_missing(${claimRows.literal(missing)}::text::ledger_claim_row[],
      ${monthOf(nowMs)}::text::date)`;
  for (const { id, ...row } of rows)
    ended.set(id, { ...row, charged: row.charged === null ? null : moneyFromDatabase(row.charged) });
}

/** Its first day. */
function monthOf(timeMs: number): string {
  return `${new Date(timeMs).toISOString().slice(0, 7)}-01`;
}
