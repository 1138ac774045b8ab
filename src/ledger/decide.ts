/**
 * The decisions of the ledger as pure functions over the rows that a transaction has locked. Nothing here waits, reads
 * a clock or writes; `commit.ts` does.
 */
import type { RateLimit } from '../errors.ts';
import type { Money } from '../lib/money.ts';
import type { BilledCost, Hold, HoldResult, Settlement } from './operations.ts';

export type AccountState = Readonly<{
  balance: Money;
  held: Money;
  entryCount: bigint;
  isSuspended: boolean;
}>;

export type MeterState = Readonly<{
  held: Money;
  monthSpent: Money;
  monthlyLimit: Money | null;
  requestsPerMinute: number;
  theoreticalArrivalMs: number;
  isRevoked: boolean;
  isExpired: boolean;
}>;

export type HoldDecision = Readonly<{ account: AccountState; meter: MeterState; result: HoldResult }>;

const minuteMs = 60_000;

/** A refusal leaves everything as it was: it costs the key neither money nor a place in its minute. */
export function decideHold(
  account: AccountState,
  meter: MeterState,
  { amount }: Pick<Hold, 'amount'>,
  nowMs: number,
): HoldDecision {
  const refuse = (result: Omit<Extract<HoldResult, { outcome: 'refused' }>, 'outcome'>): HoldDecision => ({
    account,
    meter,
    result: { outcome: 'refused', ...result },
  });
  if (account.isSuspended || meter.isRevoked) {
    return refuse({ code: 'invalid_api_key', rate: null, retryAfterMs: null });
  }
  if (meter.isExpired) return refuse({ code: 'expired_api_key', rate: null, retryAfterMs: null });

  // GCRA: requests arrive one interval apart in theory; a key may be ahead of that by one minute's worth.
  const intervalMs = minuteMs / meter.requestsPerMinute;
  const unchanged = rateState(meter, meter.theoreticalArrivalMs, nowMs);
  const nextArrivalMs = Math.max(meter.theoreticalArrivalMs, nowMs) + intervalMs;
  const tooEarlyMs = nextArrivalMs - nowMs - minuteMs;
  // The database keeps microseconds; what is less than one apart is the same.
  if (tooEarlyMs > 0.001)
    return refuse({ code: 'rate_limit_exceeded', rate: unchanged, retryAfterMs: tooEarlyMs });

  if (meter.monthlyLimit !== null && meter.monthSpent + meter.held + amount > meter.monthlyLimit) {
    return refuse({ code: 'monthly_spend_limit_exceeded', rate: unchanged, retryAfterMs: null });
  }
  if (account.balance - account.held < amount) {
    return refuse({ code: 'insufficient_balance', rate: unchanged, retryAfterMs: null });
  }
  return {
    account: { ...account, held: account.held + amount },
    meter: { ...meter, held: meter.held + amount, theoreticalArrivalMs: nextArrivalMs },
    result: { outcome: 'held', rate: rateState(meter, nextArrivalMs, nowMs) },
  };
}

function rateState(
  { requestsPerMinute }: MeterState,
  theoreticalArrivalMs: number,
  nowMs: number,
): RateLimit {
  const aheadMs = Math.max(0, theoreticalArrivalMs - nowMs);
  const remaining = Math.floor(((minuteMs - aheadMs) * requestsPerMinute) / minuteMs + 0.001);
  return { limit: requestsPerMinute, remaining: Math.max(0, remaining), resetMs: aheadMs };
}

export type SettlementDecision = Readonly<{
  account: AccountState;
  meter: MeterState;
  /** What is debited; null when nothing is billed at all. */
  charge: BilledCost | null;
  /** What the operator has to bear. */
  shortfall: Money;
}>;

/** The hold always goes. What is charged comes from it and from what no other hold has reserved, never below zero. */
export function decideSettlement(
  account: AccountState,
  meter: MeterState,
  hold: Money,
  { cost, whenShort }: Pick<Settlement, 'cost' | 'whenShort'>,
): SettlementDecision {
  const charge = cost === null ? null : affordable(cost, account.balance - account.held + hold, whenShort);
  const total = charge?.total ?? 0n;
  return {
    account: {
      ...account,
      balance: account.balance - total,
      held: account.held - hold,
      entryCount: account.entryCount + (charge === null ? 0n : 1n),
    },
    meter: { ...meter, held: meter.held - hold, monthSpent: meter.monthSpent + total },
    charge,
    shortfall: (cost?.total ?? 0n) - total,
  };
}

/** The input is paid first, so that both parts of what was billed sum to it. */
function affordable(
  cost: BilledCost,
  available: Money,
  whenShort: Settlement['whenShort'],
): BilledCost | null {
  if (cost.total <= available) return cost;
  if (whenShort === 'withhold') return null;
  const input = cost.input < available ? cost.input : available;
  return { input, output: available - input, total: available };
}
