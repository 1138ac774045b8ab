/**
 * Executes a batch of operations in one transaction with two round trips: lock and read, decide, then write and commit. Each
 * operation is idempotent by its Generation's ID, so a batch whose outcome is unknown is simply sent again.
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

type Rows = Readonly<{
  accounts: Map<string, AccountState>;
  meters: Map<string, MeterState>;
  /** The holds of open Generations, updated as operations of the batch are applied. */
  openHolds: Map<string, Money>;
  /** How Generations ended that this batch settles, but that are no longer open. */
  ended: Map<string, Ended>;
  /** What this batch has settled so far. */
  settled: Map<string, SettlementResult>;
  nowMs: number;
  month: string;
}>;

/** `connection` is one connection, not a pool: its statements are sent together and run in order. */
export async function commitBatch(connection: SQL, batch: readonly Operation[]): Promise<OperationResult[]> {
  try {
    const rows = await lockRows(connection, batch);
    await findEnded(connection, batch, rows);
    const effects = new Effects();
    const results = batch.map((operation) => apply(operation, rows, effects));
    await effects.writeRare(connection);
    await Promise.all([
      effects.write(connection, rows.accounts, rows.meters, rows.month),
      connection.unsafe('commit'),
    ]);
    return results;
  } catch (error) {
    await connection.unsafe('rollback').catch(() => undefined);
    throw error;
  }
}

function apply(operation: Operation, rows: Rows, effects: Effects): OperationResult {
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

function applyHold(hold: Hold, rows: Rows, effects: Effects): HoldResult {
  const { accountId, keyId, id } = hold.generation;
  const account = rows.accounts.get(accountId);
  const meter = rows.meters.get(keyId);
  if (!account || !meter) return unknownKey;
  const amount = rows.openHolds.get(id);
  // Already held: the batch is being sent again because its outcome was unknown.
  if (amount !== undefined) {
    const rate = rateAt(meter.requestsPerMinute, meter.theoreticalArrivalMs, rows.nowMs);
    return { outcome: 'held', amount, rate };
  }
  const decision = decideHold(account, meter, hold, rows.nowMs);
  if (decision.result.outcome === 'held') {
    rows.accounts.set(accountId, decision.account);
    rows.meters.set(keyId, decision.meter);
    rows.openHolds.set(id, decision.result.amount);
    effects.hold(hold, decision.result.amount);
  }
  return decision.result;
}

function applyCount({ generation }: Count, rows: Rows, effects: Effects): CountResult {
  const account = rows.accounts.get(generation.accountId);
  const meter = rows.meters.get(generation.keyId);
  if (!account || !meter) return unknownKey;
  const decision = decideCount(account, meter, rows.nowMs);
  if (decision.result.outcome === 'counted') {
    rows.meters.set(generation.keyId, decision.meter);
    effects.touchKey(generation.keyId);
  }
  return decision.result;
}

function applySettlement(settlement: Settlement, rows: Rows, effects: Effects): SettlementResult {
  const { accountId, keyId, id } = settlement.generation;
  const account = rows.accounts.get(accountId);
  const meter = rows.meters.get(keyId);
  if (!account || !meter) return 'interrupted';
  const hold = rows.openHolds.get(id);
  if (hold !== undefined) return close(settlement, account, meter, hold, rows, effects);
  const ended = rows.ended.get(id);
  if (ended === undefined) return rows.settled.get(id) ?? 'interrupted';
  const decision = decideLate(ended, settlement);
  if (decision === 'reopen') {
    effects.reopen(id);
    rows.ended.delete(id);
    return close(settlement, account, { ...meter, openCount: meter.openCount + 1 }, 0n, rows, effects);
  }
  if (decision === 'refund') {
    const refunded = decideRefund(account, meter, ended);
    rows.accounts.set(accountId, refunded.account);
    rows.meters.set(keyId, refunded.meter);
    rows.ended.set(id, { ...ended, charged: null });
    effects.refund(settlement.generation, refunded.account);
    return 'settled';
  }
  if (decision === 'interrupted') effects.noteLateLoss(settlement);
  return decision;
}

function close(
  settlement: Settlement,
  account: AccountState,
  meter: MeterState,
  hold: Money,
  rows: Rows,
  effects: Effects,
): SettlementResult {
  const { accountId, keyId, id } = settlement.generation;
  const decision = decideSettlement(account, meter, hold, settlement);
  rows.accounts.set(accountId, decision.account);
  rows.meters.set(keyId, decision.meter);
  effects.settle(settlement, decision);
  const result = decision.shortfall > 0n ? 'short' : 'settled';
  rows.openHolds.delete(id);
  rows.settled.set(id, result);
  return result;
}

/** An open Generation is closed. One that has ended, and was to be charged late or refunded, is left for the retry. */
function applySetAside(operation: SetAside, rows: Rows, effects: Effects): SettlementResult {
  if (rows.openHolds.has(operation.generation.id))
    applySettlement(closedUnbilled(operation.settlement), rows, effects);
  effects.setAside(operation);
  return 'set_aside';
}

/** A row as JSON: big integers and amounts are strings. */
type AsJson<Row> = {
  [Name in keyof Row]: Row[Name] extends bigint
    ? string
    : bigint extends Row[Name]
      ? string | null
      : Row[Name];
};
type LockedRows = {
  accounts: (AsJson<AccountState> & { id: string })[] | null;
  meters: (AsJson<MeterState> & { keyId: string })[] | null;
  open: { id: string; hold: string }[] | null;
  nowMs: number;
  month: string;
};

async function lockRows(connection: SQL, batch: readonly Operation[]): Promise<Rows> {
  const accountIds = uuidArray(batch.map(({ generation }) => generation.accountId));
  const keyIds = uuidArray(batch.map(({ generation }) => generation.keyId));
  const generationIds = uuidArray(batch.map(({ generation }) => generation.id));
  const [, [{ locked }]] = await Promise.all([
    connection.unsafe('begin'),
    connection<[{ locked: LockedRows }]>`
      select ledger_lock(${accountIds}::text::uuid[], ${keyIds}::text::uuid[], ${generationIds}::text::uuid[]) as locked`,
  ]);
  return {
    accounts: new Map(locked.accounts?.map(({ id, ...row }) => [id, accountState(row)])),
    meters: new Map(locked.meters?.map(({ keyId, ...row }) => [keyId, meterState(row)])),
    openHolds: new Map(locked.open?.map(({ id, hold }) => [id, moneyFromDatabase(hold)])),
    ended: new Map(),
    settled: new Map(),
    nowMs: locked.nowMs,
    month: locked.month,
  };
}

/** UUIDs need no quoting. */
function uuidArray(ids: readonly string[]): string {
  return `{${[...new Set(ids)].join(',')}}`;
}

function accountState(row: AsJson<AccountState>): AccountState {
  return {
    ...row,
    balance: moneyFromDatabase(row.balance),
    held: moneyFromDatabase(row.held),
    entryCount: BigInt(row.entryCount),
  };
}

function meterState(row: AsJson<MeterState>): MeterState {
  return {
    ...row,
    held: moneyFromDatabase(row.held),
    monthSpent: moneyFromDatabase(row.monthSpent),
    monthlyLimit: row.monthlyLimit === null ? null : moneyFromDatabase(row.monthlyLimit),
  };
}

/**
 * A Generation that is no longer open was settled when this batch was sent before, was closed by another node, or was set
 * aside.
 */
async function findEnded(
  connection: SQL,
  batch: readonly Operation[],
  { openHolds, ended, month }: Rows,
): Promise<void> {
  const missing = batch.flatMap((operation) => {
    if (operation.kind !== 'settle' || openHolds.has(operation.generation.id)) return [];
    const { id, keyId, idempotencyHash } = operation.generation;
    return [{ keyId, name: idempotencyHash, requestId: id }];
  });
  if (missing.length === 0) return;
  const rows = await connection<(AsJson<Ended> & { id: string })[]>`
    select * from ledger_find_ended(${claimRows.literal(missing)}::text::ledger_claim_row[], ${month}::text::date)`;
  for (const { id, ...row } of rows)
    ended.set(id, { ...row, charged: row.charged === null ? null : moneyFromDatabase(row.charged) });
}
