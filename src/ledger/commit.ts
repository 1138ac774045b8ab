/**
 * Decides a batch of operations on the rows that it touches, and writes it in one statement. Each operation is idempotent by
 * its Generation's ID, so a batch whose outcome is unknown is simply sent again.
 */
import type { SQL } from 'bun';
import { type Money, moneyFromDatabase } from '../lib/money.ts';
import { rateAt } from '../lib/rate-limit.ts';
import {
  type AccountState,
  decideCount,
  decideHold,
  decideLate,
  decideRefund,
  decideSettlement,
  deny,
  type Ended,
  type MeterState,
} from './decide.ts';
import { Effects } from './effects.ts';
import {
  type KnownAccount,
  type KnownMeter,
  knownAccount,
  knownMeter,
  meterAt,
  type ReadRows,
} from './known-rows.ts';
import type {
  Count,
  CountResult,
  Hold,
  HoldResult,
  Operation,
  SetAside,
  Settlement,
  SettlementResult,
} from './operations.ts';
import { claimRows } from './rows.ts';
import { closedUnbilled } from './settlement.ts';

export type OperationResult = HoldResult | CountResult | SettlementResult;

/** What a batch is decided on, updated as its operations are applied. */
export type BatchRows = Readonly<{
  accounts: Map<string, KnownAccount>;
  meters: Map<string, KnownMeter>;
  /** The holds of open Generations. */
  openHolds: Map<string, Money>;
  /** How Generations ended that this batch settles, but that are no longer open. */
  ended: Map<string, Ended>;
  /** What this batch has settled so far. */
  settled: Map<string, SettlementResult>;
  nowMs: number;
  month: string;
}>;

export type Decided = Readonly<{ results: OperationResult[]; effects: Effects }>;

export function rowsAt(nowMs: number): BatchRows {
  return {
    accounts: new Map(),
    meters: new Map(),
    openHolds: new Map(),
    ended: new Map(),
    settled: new Map(),
    nowMs,
    month: monthOf(nowMs),
  };
}

/** Its first day, as the database writes it. */
function monthOf(timeMs: number): string {
  return `${new Date(timeMs).toISOString().slice(0, 7)}-01`;
}

export function decideBatch(batch: readonly Operation[], rows: BatchRows): Decided {
  const effects = new Effects();
  return { results: batch.map((operation) => apply(operation, rows, effects)), effects };
}

/** `wanted` are the operations that the results are of. */
export type CommittedLocked = Decided & Readonly<{ wanted: readonly Operation[]; rows: BatchRows }>;

/**
 * The locked path, for whatever cannot be decided on what is remembered: locks and reads everything that the batch touches.
 * `connection` is one connection, not a pool, and nothing else is sent on it meanwhile.
 */
export async function commitLocked(
  connection: SQL,
  batch: readonly Operation[],
  isDurable: boolean,
  isWanted: (operation: Operation) => boolean = () => true,
): Promise<CommittedLocked> {
  return await inTransaction(connection, () => lockAndCommit(connection, batch, isDurable, isWanted));
}

/** Ends the transaction that it is called in. */
export async function lockAndCommit(
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
export async function inTransaction<Result>(connection: SQL, work: () => Promise<Result>): Promise<Result> {
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

function apply(operation: Operation, rows: BatchRows, effects: Effects): OperationResult {
  switch (operation.kind) {
    case 'hold':
      return applyHold(operation, rows, effects);
    case 'settle':
      return applySettlement(operation, rows, effects);
    case 'count':
      return applyCount(operation, rows, effects);
    case 'set_aside':
      return applySetAside(operation, rows, effects);
  }
}

const unknownKey = deny('invalid_api_key', null);

function applyHold(hold: Hold, rows: BatchRows, effects: Effects): HoldResult {
  const { accountId, keyId, id } = hold.generation;
  const account = rows.accounts.get(accountId);
  const meter = rows.meters.get(keyId);
  if (!account || !meter) return unknownKey;
  const amount = rows.openHolds.get(id);
  // Already held: the batch is being sent again because its outcome was unknown.
  if (amount !== undefined) {
    const rate = rateAt(meter.state.requestsPerMinute, meter.state.theoreticalArrivalMs, rows.nowMs);
    return { outcome: 'held', amount, rate };
  }
  const decision = decideHold(account.state, meter.state, hold, rows.nowMs);
  if (decision.result.outcome === 'held') {
    update(rows, hold, decision);
    rows.openHolds.set(id, decision.result.amount);
    effects.hold(hold, decision.result.amount);
  }
  return decision.result;
}

function applyCount({ generation }: Count, rows: BatchRows, effects: Effects): CountResult {
  const account = rows.accounts.get(generation.accountId);
  const meter = rows.meters.get(generation.keyId);
  if (!account || !meter) return unknownKey;
  const decision = decideCount(account.state, meter.state, rows.nowMs);
  if (decision.result.outcome === 'counted') {
    rows.meters.set(generation.keyId, { ...meter, state: decision.meter });
    effects.touchKey(generation.keyId);
  }
  return decision.result;
}

function applySettlement(settlement: Settlement, rows: BatchRows, effects: Effects): SettlementResult {
  const { accountId, keyId, id } = settlement.generation;
  const account = rows.accounts.get(accountId);
  const meter = rows.meters.get(keyId);
  if (!account || !meter) return 'interrupted';
  const hold = rows.openHolds.get(id);
  if (hold !== undefined) {
    rows.openHolds.delete(id);
    return close(settlement, account.state, meter.state, hold, rows, effects);
  }
  const ended = rows.ended.get(id);
  if (ended === undefined) return rows.settled.get(id) ?? 'interrupted';
  const decision = decideLate(ended, settlement);
  if (decision === 'reopen' || decision === 'record') {
    if (decision === 'reopen') effects.reopen(id);
    rows.ended.delete(id);
    const reopened = { ...meter.state, openCount: meter.state.openCount + 1 };
    return close(settlement, account.state, reopened, null, rows, effects);
  }
  if (decision === 'refund') {
    update(rows, settlement, decideRefund(account.state, meter.state, ended));
    rows.ended.set(id, { ...ended, charged: null });
    effects.refund(settlement.generation, rows);
    return 'settled';
  }
  // Gives the key another version: the statement of a hold that was given up may still be on its way.
  if (ended.isLost) effects.touchKey(keyId);
  if (decision === 'interrupted') effects.noteLateLoss(settlement);
  return decision;
}

/** `hold` is null when nothing is held for it any more. */
function close(
  settlement: Settlement,
  account: AccountState,
  meter: MeterState,
  hold: Money | null,
  rows: BatchRows,
  effects: Effects,
): SettlementResult {
  const decision = decideSettlement(account, meter, hold ?? 0n, settlement);
  update(rows, settlement, decision);
  effects.settle(settlement, decision, hold);
  const result = decision.shortfall > 0n ? 'short' : 'settled';
  rows.settled.set(settlement.generation.id, result);
  return result;
}

/** An open Generation is closed. One that has ended, and was to be charged late or refunded, is left for the retry. */
function applySetAside(operation: SetAside, rows: BatchRows, effects: Effects): SettlementResult {
  if (rows.openHolds.has(operation.generation.id))
    applySettlement(closedUnbilled(operation.settlement), rows, effects);
  effects.setAside(operation);
  return 'set_aside';
}

function update(
  { accounts, meters }: BatchRows,
  { generation: { accountId, keyId } }: Operation,
  { account, meter }: Readonly<{ account: AccountState; meter: MeterState }>,
): void {
  accounts.set(accountId, { ...(accounts.get(accountId) as KnownAccount), state: account });
  meters.set(keyId, { ...(meters.get(keyId) as KnownMeter), state: meter });
}

async function lockRows(connection: SQL, batch: readonly Operation[]): Promise<BatchRows> {
  const accountIds = batch.map(({ generation }) => generation.accountId);
  const keyIds = batch.map(({ generation }) => generation.keyId);
  const generationIds = batch.map(({ generation }) => generation.id);
  const read = await readRows(connection, accountIds, keyIds, generationIds);
  const rows = rowsAt(read.nowMs);
  for (const row of read.accounts ?? []) rows.accounts.set(row.id, knownAccount(row));
  for (const row of read.meters ?? [])
    rows.meters.set(row.keyId, meterAt(knownMeter(row), rows.nowMs, rows.month));
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
export function uuidArray(ids: readonly string[]): string {
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
