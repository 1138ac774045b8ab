/**
 * The decisions of the ledger as pure functions over rows. Nothing here waits, reads a clock or writes; its callers do.
 */
import type { Money } from '../lib/money.ts';
import { type RateLimit, rateAt } from '../lib/rate-limit.ts';
import { minuteMs } from '../lib/time-units.ts';
import {
  afterHold,
  exceeded,
  exceededRate,
  grantedTokens,
  type LimitState,
  leftOf,
  strictestSpend,
  tokenRate,
} from './decide-limits.ts';
import type {
  BilledCost,
  CountResult,
  Denial,
  DenialCode,
  Held,
  Hold,
  HoldResult,
  Settlement,
  TokenRange,
} from './operations.ts';

export type AccountState = Readonly<{
  balance: Money;
  held: Money;
  entryCount: bigint;
  isSuspended: boolean;
  /** Left out if nobody needs to know. */
  limitVersion?: number;
}>;

export type KeyState = Readonly<{
  held: Money;
  monthSpent: Money;
  monthlyLimit: Money | null;
  requestsPerMinute: number;
  maxConcurrent: number;
  /** Open Generations of the key, on all nodes. */
  openCount: number;
  theoreticalArrivalMs: number;
  isRevoked: boolean;
  isExpired: boolean;
}>;

type HoldDecision = Readonly<{
  account: AccountState;
  key: KeyState;
  limits: readonly LimitState[];
  result: HoldResult;
}>;

/** One of the key's requests may end at any moment. */
const concurrencyRetryMs = 100;
/** A request that does not limit its output may hold the spendable amount divided by this. */
export const holdDivisor = 4n;

/** A denial leaves everything as it was: it costs the key neither money nor part of its rate. */
export function decideHold(
  account: AccountState,
  key: KeyState,
  { min, max, tokens }: Pick<Hold, 'min' | 'max' | 'tokens'>,
  nowMs: number,
  limits: readonly LimitState[] = [],
): HoldDecision {
  const unchanged = (result: Denial): HoldDecision => ({ account, key, limits, result });
  const arrival = decideArrival(account, key, nowMs);
  if (arrival.outcome === 'denied') return unchanged(arrival);
  const { rate, nextArrivalMs } = arrival;
  if (key.openCount >= key.maxConcurrent) {
    const details = { retryAfterMs: concurrencyRetryMs, concurrencyLimit: key.maxConcurrent };
    return unchanged(deny('rate_limit_exceeded', rate, details));
  }
  const tooMany = exceededRate(limits, tokens, nowMs);
  if (tooMany !== null) {
    const retryAfterMs = tooMany.freesAtMs === null ? concurrencyRetryMs : tooMany.freesAtMs - nowMs;
    return unchanged(deny('rate_limit_exceeded', rate, { retryAfterMs, limit: tooMany }));
  }

  const free = account.balance - account.held;
  const leftOfMonth = key.monthlyLimit === null ? null : key.monthlyLimit - key.monthSpent - key.held;
  const strictest = strictestSpend(limits);
  let spendable = leftOfMonth === null ? free : smaller(free, larger(leftOfMonth, 0n));
  if (strictest !== null) spendable = smaller(spendable, larger(leftOf(strictest), 0n));
  if (spendable < min) {
    const shortage = { needed: min, available: free, spendable };
    if (leftOfMonth !== null && leftOfMonth < min) {
      const available = larger(leftOfMonth, 0n);
      return unchanged(deny('monthly_spend_limit_exceeded', rate, { shortage: { ...shortage, available } }));
    }
    if (strictest !== null && leftOf(strictest) < min) {
      const limit = exceeded(strictest, min, nowMs);
      const details = { shortage: { ...shortage, available: limit.left }, limit };
      return unchanged(deny('spend_limit_exceeded', rate, details));
    }
    return unchanged(deny('insufficient_balance', rate, { shortage }));
  }
  const amount = smaller(larger(spendable / holdDivisor, min), max);
  const rateAfter = rateAt(key.requestsPerMinute, nextArrivalMs, nowMs);
  const held = { outcome: 'held', amount, rate: rateAfter } as const;
  return {
    ...countTowards(limits, held, tokens, nowMs),
    account: { ...account, held: account.held + amount },
    key: {
      ...key,
      held: key.held + amount,
      openCount: key.openCount + 1,
      theoreticalArrivalMs: nextArrivalMs,
    },
  };
}

/** What a hold leaves of its limits, and how many tokens it may use. */
function countTowards(
  limits: readonly LimitState[],
  held: Held,
  range: TokenRange | undefined,
  nowMs: number,
): Pick<HoldDecision, 'limits' | 'result'> {
  if (limits.length === 0) return { limits, result: held };
  const count = grantedTokens(limits, range);
  const after = limits.map((limit) => afterHold(limit, held.amount, count ?? 0));
  const rate = tokenRate(after, nowMs);
  if (count === null || rate === null) return { limits: after, result: held };
  return { limits: after, result: { ...held, tokens: { count, countedAtMs: nowMs, rate } } };
}

/** A request that costs nothing, such as a replay, still counts towards the rate of its key. */
export function decideCount(
  account: AccountState,
  key: KeyState,
  nowMs: number,
): Readonly<{ key: KeyState; result: CountResult }> {
  const arrival = decideArrival(account, key, nowMs);
  if (arrival.outcome === 'denied') return { key, result: arrival };
  const { nextArrivalMs } = arrival;
  return {
    key: { ...key, theoreticalArrivalMs: nextArrivalMs },
    result: { outcome: 'counted', rate: rateAt(key.requestsPerMinute, nextArrivalMs, nowMs) },
  };
}

/** `rate` is what is left before this request counts. */
type Arrival = Readonly<{ outcome: 'arrived'; nextArrivalMs: number; rate: RateLimit }>;

/** Whether the key is in force and within its rate, whatever the request costs. */
function decideArrival(account: AccountState, key: KeyState, nowMs: number): Arrival | Denial {
  if (account.isSuspended || key.isRevoked) return deny('invalid_api_key', null);
  if (key.isExpired) return deny('expired_api_key', null);
  const intervalMs = minuteMs / key.requestsPerMinute;
  const rate = rateAt(key.requestsPerMinute, key.theoreticalArrivalMs, nowMs);
  const nextArrivalMs = Math.max(key.theoreticalArrivalMs, nowMs) + intervalMs;
  const tooEarlyMs = nextArrivalMs - nowMs - minuteMs;
  // The database stores microseconds, so a smaller difference does not count.
  if (tooEarlyMs > 0.001) return deny('rate_limit_exceeded', rate, { retryAfterMs: tooEarlyMs });
  return { outcome: 'arrived', nextArrivalMs, rate };
}

export function deny(
  code: DenialCode,
  rate: RateLimit | null,
  details: Partial<Pick<Denial, 'retryAfterMs' | 'shortage' | 'concurrencyLimit' | 'limit'>> = {},
): Denial {
  const none = { retryAfterMs: null, shortage: null, concurrencyLimit: null, limit: null };
  return { outcome: 'denied', code, rate, ...none, ...details };
}

function smaller(one: Money, other: Money): Money {
  return one < other ? one : other;
}

function larger(one: Money, other: Money): Money {
  return one > other ? one : other;
}

export type SettlementDecision = Readonly<{
  account: AccountState;
  key: KeyState;
  /** Null when nothing is billed. */
  charge: BilledCost | null;
  /** What the operator bears. */
  shortfall: Money;
}>;

/** The hold is always released. The charge takes at most what no other hold reserves, so no balance becomes negative. */
export function decideSettlement(
  account: AccountState,
  key: KeyState,
  hold: Money,
  { cost, onInsufficientBalance }: Pick<Settlement, 'cost' | 'onInsufficientBalance'>,
): SettlementDecision {
  const charge =
    cost === null ? null : affordable(cost, account.balance - account.held + hold, onInsufficientBalance);
  const total = charge?.total ?? 0n;
  return {
    account: {
      ...account,
      balance: account.balance - total,
      held: account.held - hold,
      entryCount: account.entryCount + (charge === null ? 0n : 1n),
    },
    key: {
      ...key,
      held: key.held - hold,
      // A wrong count is for the audit to find: it must not keep money from being settled.
      openCount: Math.max(0, key.openCount - 1),
      monthSpent: key.monthSpent + total,
    },
    charge,
    shortfall: (cost?.total ?? 0n) - total,
  };
}

/** The input is paid first, so that both parts add up to the charge. */
function affordable(
  cost: BilledCost,
  available: Money,
  onInsufficientBalance: Settlement['onInsufficientBalance'],
): BilledCost | null {
  if (cost.total <= available) return cost;
  if (onInsufficientBalance === 'withhold') return null;
  const input = smaller(cost.input, available);
  return {
    input,
    output: available - input,
    total: available,
    cached: cost.cached && affordableParts(cost.cached, input),
  };
}

/** The parts of the input's cost, as far as the input is paid. */
function affordableParts(
  cached: NonNullable<BilledCost['cached']>,
  input: Money,
): NonNullable<BilledCost['cached']> {
  const read = smaller(cached.read, input);
  const write = smaller(cached.write, input - read);
  const writeLong = smaller(cached.writeLong, input - read - write);
  return { ...cached, read, write, writeLong };
}

/** A Generation that is to be settled, but is no longer open. */
export type Ended = Readonly<{
  /** There is no trace of it: the database lost the hold when it crashed. */
  isLost: boolean;
  errorCode: string | null;
  /** It was set aside because the database rejected its settlement. */
  isDeadLetter: boolean;
  /** Whether this Generation still has the claim of its idempotency key, if there is one. */
  isClaimed: boolean;
  /** What was charged and not refunded; null when nothing was. */
  charged: Money | null;
  /** Whether the charge counted towards the current month. */
  isThisMonth: boolean;
}>;

/**
 * `reopen`: another node closed it too early, so it is settled after all. `record`: its hold was lost in a crash of the
 * database, which changes nothing about what it cost. `refund`: its charge is refunded, because the
 * response was never delivered. Otherwise it stays as it ended.
 */
export type LateDecision = 'reopen' | 'record' | 'refund' | 'settled' | 'short' | 'interrupted';

export function decideLate(
  ended: Ended,
  { onAlreadyCharged, errorCode, isHeld }: Pick<Settlement, 'onAlreadyCharged' | 'errorCode' | 'isHeld'>,
): LateDecision {
  if (ended.isLost) return isHeld && ended.isClaimed ? 'record' : 'interrupted';
  // The response was stored with the charge if there was a claim to store it with, which nobody releases afterwards.
  const isRefunded =
    onAlreadyCharged === 'refund_unless_stored' ? !ended.isClaimed : onAlreadyCharged === 'refund';
  if (ended.charged !== null && isRefunded) return 'refund';
  if (ended.errorCode === 'gateway_interrupted' || ended.isDeadLetter) {
    // Another node that closes it as an orphan knows no more than the first one did.
    const knowsBetter = errorCode !== 'gateway_interrupted' && ended.isClaimed;
    return knowsBetter ? 'reopen' : 'interrupted';
  }
  return ended.errorCode === 'insufficient_balance' ? 'short' : 'settled';
}

/** A refund is a separate entry. The month gets back what had counted towards it. */
export function decideRefund(
  account: AccountState,
  key: KeyState,
  { charged, isThisMonth }: Pick<Ended, 'charged' | 'isThisMonth'>,
): Readonly<{ account: AccountState; key: KeyState }> {
  const amount = charged ?? 0n;
  return {
    account: { ...account, balance: account.balance + amount, entryCount: account.entryCount + 1n },
    key: isThisMonth ? { ...key, monthSpent: key.monthSpent - amount } : key,
  };
}
