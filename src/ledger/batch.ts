/** Decides the operations of a batch in order, each on the state that the ones before it left, and collects the changes. */
import type { Money } from '../lib/money.ts';
import { rateAt } from '../lib/rate-limit.ts';
import {
  type AccountState,
  decideCount,
  decideHold,
  decideLate,
  decideRefund,
  decideSettlement,
  deny,
  type MeterState,
} from './decide.ts';
import { Effects } from './effects.ts';
import type { BatchRows, KnownAccount, KnownMeter } from './known-rows.ts';
import type {
  Count,
  CountResult,
  Hold,
  HoldResult,
  Operation,
  OperationResult,
  SetAside,
  Settlement,
  SettlementResult,
} from './operations.ts';
import { closedUnbilled } from './settlement.ts';

export type Decided = Readonly<{ results: OperationResult[]; effects: Effects }>;

export function decideBatch(batch: readonly Operation[], rows: BatchRows): Decided {
  const effects = new Effects();
  return { results: batch.map((operation) => apply(operation, rows, effects)), effects };
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
  // Already held: it is submitted again because its outcome was unknown.
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
    effects.refund(settlement, rows);
    return 'settled';
  }
  // Gives the key a new version: the statement of a hold that was given up may still be on its way.
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
