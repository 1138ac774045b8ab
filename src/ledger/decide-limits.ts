/**
 * How a request counts towards the limits of its account, its key and its end user, besides those that the key has itself.
 * Whatever a limit is about, it leaves its amount less what was used in its window and what is held. Requests and tokens
 * are counted on the scale of money, so that one rule fits all.
 */
import { type Money, moneyScaleDigits } from '../lib/money.ts';
import type { RateLimit } from '../lib/rate-limit.ts';
import { minuteMs } from '../lib/time-units.ts';
import type { ExceededLimit, LimitKind, LimitMeter, TokenRange } from './operations.ts';

export type LimitState = Readonly<{
  meter: LimitMeter;
  /** With its temporary increase, if that has not ended. */
  amount: Money;
  /** In the current window. */
  used: Money;
  held: Money;
}>;

/** One request or token. */
export const countUnit: Money = 10n ** BigInt(moneyScaleDigits);
/** A request that does not say how many tokens it may use gets what is left divided by this. */
const tokenDivisor = 4n;

export function isSpend(kind: LimitKind): boolean {
  return kind === 'spend_per_day' || kind === 'spend_per_week' || kind === 'spend_per_month';
}

export function leftOf({ amount, used, held }: LimitState): Money {
  return amount - used - held;
}

/** The first limit of requests or tokens that leaves too little. */
export function exceededRate(
  limits: readonly LimitState[],
  tokens: TokenRange | undefined,
  nowMs: number,
): ExceededLimit | null {
  for (const limit of limits) {
    if (isSpend(limit.meter.kind)) continue;
    const needed = countUnit * BigInt(limit.meter.kind === 'tokens_per_minute' ? (tokens?.min ?? 0) : 1);
    if (needed > 0n && leftOf(limit) < needed) return exceeded(limit, needed, nowMs);
  }
  return null;
}

/** The limit of spend that leaves least; null if there is none. */
export function strictestSpend(limits: readonly LimitState[]): LimitState | null {
  let strictest: LimitState | null = null;
  for (const limit of limits)
    if (isSpend(limit.meter.kind) && (strictest === null || leftOf(limit) < leftOf(strictest)))
      strictest = limit;
  return strictest;
}

export function exceeded(
  { meter, amount, ...state }: LimitState,
  needed: Money,
  nowMs: number,
): ExceededLimit {
  const left = leftOf({ meter, amount, ...state });
  return {
    kind: meter.kind,
    scope: meter.scope,
    amount,
    left: left > 0n ? left : 0n,
    needed,
    freesAtMs: windowEndMs(meter.kind, nowMs),
  };
}

/** When the next window of a limit begins, in UTC; null if it has none. */
export function windowEndMs(kind: LimitKind, nowMs: number): number | null {
  const now = new Date(nowMs);
  const [year, month, day] = [now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate()];
  switch (kind) {
    case 'spend_per_day':
      return Date.UTC(year, month, day + 1);
    case 'spend_per_week':
      // Sunday is 0, and Monday begins the week.
      return Date.UTC(year, month, day + 7 - ((now.getUTCDay() + 6) % 7));
    case 'spend_per_month':
      return Date.UTC(year, month + 1, 1);
    case 'requests_per_minute':
    case 'tokens_per_minute':
      return (Math.floor(nowMs / minuteMs) + 1) * minuteMs;
    case 'concurrent_requests':
      return null;
  }
}

/** How many tokens a request may use; null if no limit counts them. It needs at least `min`, which must be left. */
export function grantedTokens(
  limits: readonly LimitState[],
  { min, max }: TokenRange = { min: 0, max: 0 },
): number | null {
  let granted: number | null = null;
  for (const limit of limits) {
    if (limit.meter.kind !== 'tokens_per_minute') continue;
    const share = countOf(leftOf(limit) / tokenDivisor);
    granted = least(granted ?? max, share < min ? min : share);
  }
  return granted;
}

/** The state of the strictest limit of tokens; null if there is none. */
export function tokenRate(
  limits: readonly Pick<LimitState, 'meter' | 'amount' | 'used' | 'held'>[],
  nowMs: number,
): RateLimit | null {
  let strictest: RateLimit | null = null;
  for (const limit of limits) {
    if (limit.meter.kind !== 'tokens_per_minute') continue;
    const left = countOf(leftOf(limit));
    const remaining = left < 0 ? 0 : left;
    if (strictest === null || remaining < strictest.remaining)
      strictest = {
        limit: countOf(limit.amount),
        remaining,
        resetMs: minuteMs - (nowMs % minuteMs),
      };
  }
  return strictest;
}

function countOf(amount: Money): number {
  const tokens = amount / countUnit;
  return Number(tokens);
}

function least(one: number, other: number): number {
  return one < other ? one : other;
}

/** What a hold of this amount takes of a limit. What counts by the minute is not given back when the request ends. */
export function takenBy(
  kind: LimitKind,
  amount: Money,
  tokens: number,
): Readonly<{ used: Money; held: Money }> {
  if (isSpend(kind)) return { used: 0n, held: amount };
  if (kind === 'concurrent_requests') return { used: 0n, held: countUnit };
  return { used: countUnit * BigInt(kind === 'tokens_per_minute' ? tokens : 1), held: 0n };
}

export function afterHold(limit: LimitState, amount: Money, tokens: number): LimitState {
  const taken = takenBy(limit.meter.kind, amount, tokens);
  return { ...limit, used: limit.used + taken.used, held: limit.held + taken.held };
}

/** `hold` is null if nothing is held any more. */
export function afterSettlement(limit: LimitState, hold: Money | null, charged: Money): LimitState {
  const { kind } = limit.meter;
  if (isSpend(kind)) return { ...limit, used: limit.used + charged, held: limit.held - (hold ?? 0n) };
  if (kind === 'concurrent_requests' && hold !== null) return { ...limit, held: limit.held - countUnit };
  return limit;
}
