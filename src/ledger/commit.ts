/**
 * Carries out a batch of operations in one transaction of two round trips: lock and read, then decide, then write and
 * commit. Each operation is idempotent by its Generation's ID, so a batch whose outcome is unknown is simply sent again.
 */
import type { SQL } from 'bun';
import type { Money } from '../lib/money.ts';
import { type AccountState, decideHold, decideSettlement, type MeterState } from './decide.ts';
import { Effects } from './effects.ts';
import type { Hold, HoldResult, Operation, Settlement, SettlementResult } from './operations.ts';

export type OperationResult = HoldResult | SettlementResult;

type Rows = Readonly<{
  accounts: Map<string, AccountState>;
  meters: Map<string, MeterState>;
  /** The holds of the Generations of this batch that are open, kept up as the batch goes on. */
  openHolds: Map<string, Money>;
  /** How the Generations of this batch that are to be settled, but are open no more, have ended. */
  ended: Map<string, SettlementResult>;
  nowMs: number;
  month: string;
}>;

/** `connection` is one connection, not a pool: its statements are sent together and run in order. */
export async function commitBatch(connection: SQL, batch: readonly Operation[]): Promise<OperationResult[]> {
  try {
    const rows = await lockRows(connection, batch);
    await findEnded(connection, batch, rows);
    const effects = new Effects();
    const results = batch.map((operation) =>
      operation.kind === 'hold'
        ? applyHold(operation, rows, effects)
        : applySettlement(operation, rows, effects),
    );
    await effects.writeLateLosses(connection);
    await effects.writeClaims(connection);
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

function applyHold(hold: Hold, rows: Rows, effects: Effects): HoldResult {
  const { accountId, keyId, id } = hold.generation;
  const account = rows.accounts.get(accountId);
  const meter = rows.meters.get(keyId);
  if (!account || !meter)
    return { outcome: 'refused', code: 'invalid_api_key', rate: null, retryAfterMs: null };
  // Held already: this is a batch that was sent again because its outcome was unknown.
  if (rows.openHolds.has(id))
    return { outcome: 'held', rate: { limit: meter.requestsPerMinute, remaining: 0, resetMs: 0 } };
  const decision = decideHold(account, meter, hold, rows.nowMs);
  if (decision.result.outcome === 'held') {
    rows.accounts.set(accountId, decision.account);
    rows.meters.set(keyId, decision.meter);
    rows.openHolds.set(id, hold.amount);
    effects.hold(hold);
  }
  return decision.result;
}

function applySettlement(settlement: Settlement, rows: Rows, effects: Effects): SettlementResult {
  const { accountId, keyId, id } = settlement.generation;
  const account = rows.accounts.get(accountId);
  const meter = rows.meters.get(keyId);
  const hold = rows.openHolds.get(id);
  if (hold === undefined || !account || !meter)
    return effects.tooLate(settlement, rows.ended.get(id) ?? 'interrupted');
  const decision = decideSettlement(account, meter, hold, settlement);
  rows.accounts.set(accountId, decision.account);
  rows.meters.set(keyId, decision.meter);
  effects.settle(settlement, decision);
  const result = decision.shortfall > 0n ? 'short' : 'settled';
  rows.openHolds.delete(id);
  rows.ended.set(id, result);
  return result;
}

/** Amounts are whole numbers of units, as text: JSON has no integers of that size. */
type AccountRow = { id: string; balance: string; held: string; entry_count: string; is_suspended: boolean };
type MeterRow = {
  key_id: string;
  held: string;
  month_spent: string;
  monthly_limit: string | null;
  requests_per_minute: number;
  theoretical_arrival_ms: number;
  is_revoked: boolean;
  is_expired: boolean;
};
type LockedRows = {
  accounts: AccountRow[] | null;
  meters: MeterRow[] | null;
  open: { id: string; hold: string }[] | null;
  now_ms: number;
  month: string;
};

async function lockRows(connection: SQL, batch: readonly Operation[]): Promise<Rows> {
  const accountIds = uuidArray(batch.map(({ generation }) => generation.accountId));
  const keyIds = uuidArray(batch.map(({ generation }) => generation.keyId));
  const generationIds = uuidArray(batch.map(({ generation }) => generation.id));
  const [, [{ locked }]] = await Promise.all([
    connection.unsafe('begin'),
    connection<[{ locked: LockedRows }]>`
      select lock_for_ledger(${accountIds}::text::uuid[], ${keyIds}::text::uuid[], ${generationIds}::text::uuid[]) as locked`,
  ]);
  return {
    accounts: new Map(locked.accounts?.map((row) => [row.id, accountState(row)])),
    meters: new Map(locked.meters?.map((row) => [row.key_id, meterState(row)])),
    openHolds: new Map(locked.open?.map((row) => [row.id, BigInt(row.hold)])),
    ended: new Map(),
    nowMs: locked.now_ms,
    month: locked.month,
  };
}

/** These are UUIDs of our own, so nothing in them needs quoting. */
function uuidArray(ids: readonly string[]): string {
  return `{${[...new Set(ids)].join(',')}}`;
}

/** A Generation that is open no more was settled by an earlier sending of this batch, or given up by another node. */
async function findEnded(
  connection: SQL,
  batch: readonly Operation[],
  { openHolds, ended }: Rows,
): Promise<void> {
  const missing = batch.filter(({ kind, generation }) => kind === 'settle' && !openHolds.has(generation.id));
  if (missing.length === 0) return;
  const ids = uuidArray(missing.map(({ generation }) => generation.id));
  const rows = await connection<{ id: string; error_code: string | null }[]>`
    select id, error_code from generations where id = any(${ids}::text::uuid[])`;
  for (const { id, error_code: code } of rows) ended.set(id, resultOf(code));
}

function resultOf(errorCode: string | null): SettlementResult {
  if (errorCode === 'gateway_interrupted') return 'interrupted';
  return errorCode === 'insufficient_balance' ? 'short' : 'settled';
}

function accountState(row: AccountRow): AccountState {
  return {
    balance: BigInt(row.balance),
    held: BigInt(row.held),
    entryCount: BigInt(row.entry_count),
    isSuspended: row.is_suspended,
  };
}

function meterState(row: MeterRow): MeterState {
  return {
    held: BigInt(row.held),
    monthSpent: BigInt(row.month_spent),
    monthlyLimit: row.monthly_limit === null ? null : BigInt(row.monthly_limit),
    requestsPerMinute: row.requests_per_minute,
    theoreticalArrivalMs: row.theoretical_arrival_ms,
    isRevoked: row.is_revoked,
    isExpired: row.is_expired,
  };
}
