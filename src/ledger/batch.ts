/** Decides the operations of a batch in order, each on the state that the ones before it left, and collects the changes. */
import type { Money } from '../lib/money.ts';
import { rateAt } from '../lib/rate-limit.ts';
import type { BatchRow, BatchRows } from './batch-rows.ts';
import {
  type AccountState,
  decideCount,
  decideHold,
  decideLate,
  decideRefund,
  decideSettlement,
  deny,
  type KeyState,
} from './decide.ts';
import { afterSettlement, type LimitState, tokenRate } from './decide-limits.ts';
import { Effects } from './effects.ts';
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
/** The hold was made with other limits than the account has. */
const outdated = deny('limits_changed', null);

function applyHold(hold: Hold, rows: BatchRows, effects: Effects): HoldResult {
  const { accountId, keyId, id } = hold.generation;
  const account = rows.accounts.get(accountId);
  const key = rows.keys.get(keyId);
  if (!account || !key) return unknownKey;
  const amount = rows.openHolds.get(id);
  // Already held: it is submitted again because its outcome was unknown.
  if (amount !== undefined) {
    const rate = rateAt(key.state.requestsPerMinute, key.state.theoreticalArrivalMs, rows.nowMs);
    const ofTokens = tokenRate(limitsOf(hold, rows), rows.nowMs);
    if (ofTokens === null) return { outcome: 'held', amount, rate };
    // How many tokens it was granted is not known, but surely as many as it needs.
    const tokens = { count: hold.tokens?.min ?? 0, countedAtMs: rows.nowMs, rate: ofTokens };
    return { outcome: 'held', amount, rate, tokens };
  }
  const { limits } = hold.generation;
  const { limitVersion } = account.state;
  if (limitVersion !== undefined && limitVersion !== (limits?.version ?? 0)) return outdated;
  const decision = decideHold(account.state, key.state, hold, rows.nowMs, limitsOf(hold, rows));
  if (decision.result.outcome === 'held') {
    update(rows, hold, decision);
    for (const limit of decision.limits) updateLimit(rows, limit);
    rows.openHolds.set(id, decision.result.amount);
    effects.hold(hold, decision.result.amount);
  }
  return decision.result;
}

function applyCount({ generation }: Count, rows: BatchRows, effects: Effects): CountResult {
  const account = rows.accounts.get(generation.accountId);
  const key = rows.keys.get(generation.keyId);
  if (!account || !key) return unknownKey;
  const decision = decideCount(account.state, key.state, rows.nowMs);
  if (decision.result.outcome === 'counted') {
    rows.keys.set(generation.keyId, { ...key, state: decision.key });
    effects.count(generation.keyId);
  }
  return decision.result;
}

function applySettlement(settlement: Settlement, rows: BatchRows, effects: Effects): SettlementResult {
  const { accountId, keyId, id } = settlement.generation;
  const account = rows.accounts.get(accountId);
  const key = rows.keys.get(keyId);
  if (!account || !key) return 'interrupted';
  const hold = rows.openHolds.get(id);
  if (hold !== undefined) {
    rows.openHolds.delete(id);
    return close(settlement, account.state, key.state, hold, rows, effects);
  }
  const ended = rows.ended.get(id);
  if (ended === undefined) throw new Error('Nothing is known of a Generation that is to be settled.');
  const decision = decideLate(ended, settlement);
  if (decision === 'reopen' || decision === 'record') {
    if (decision === 'reopen') effects.reopen(id);
    const reopened = { ...key.state, openCount: key.state.openCount + 1 };
    return close(settlement, account.state, reopened, null, rows, effects);
  }
  if (decision === 'refund') {
    update(rows, settlement, decideRefund(account.state, key.state, ended));
    effects.refund(settlement, rows);
    return 'settled';
  }
  if (decision === 'interrupted') effects.noteLateLoss(settlement);
  return decision;
}

/** `hold` is null when nothing is held for it any more. */
function close(
  settlement: Settlement,
  account: AccountState,
  key: KeyState,
  hold: Money | null,
  rows: BatchRows,
  effects: Effects,
): SettlementResult {
  const decision = decideSettlement(account, key, hold ?? 0n, settlement);
  update(rows, settlement, decision);
  for (const limit of limitsOf(settlement, rows))
    updateLimit(rows, afterSettlement(limit, hold, decision.charge?.total ?? 0n));
  effects.settle(settlement, decision, hold);
  return decision.shortfall > 0n ? 'short' : 'settled';
}

/** An open Generation is closed. One that has ended, and was to be charged late or refunded, is left for the retry. */
function applySetAside(operation: SetAside, rows: BatchRows, effects: Effects): SettlementResult {
  if (rows.openHolds.has(operation.generation.id))
    applySettlement(closedUnbilled(operation.settlement), rows, effects);
  effects.setAside(operation);
  return 'set_aside';
}

/** Those that have not been removed. */
function limitsOf({ generation }: Hold | Settlement, { limits }: BatchRows): readonly LimitState[] {
  if (!generation.limits) return noLimits;
  return generation.limits.meters.flatMap(({ id }) => limits.get(id)?.state ?? []);
}

const noLimits: readonly LimitState[] = [];

function updateLimit({ limits }: BatchRows, state: LimitState): void {
  const { before } = limits.get(state.meter.id) as BatchRow<LimitState>;
  limits.set(state.meter.id, { before, state });
}

function update(
  { accounts, keys }: BatchRows,
  { generation: { accountId, keyId } }: Operation,
  { account, key }: Readonly<{ account: AccountState; key: KeyState }>,
): void {
  accounts.set(accountId, { ...(accounts.get(accountId) as BatchRow<AccountState>), state: account });
  keys.set(keyId, { ...(keys.get(keyId) as BatchRow<KeyState>), state: key });
}
