/** What a chat request is charged: the usage its provider reports, within the hold. Pure. */
import type { ErrorCode } from '../errors.ts';
import { type Charge, completed, type Ending, failure } from '../ledger/settlement.ts';
import { type Cost, costOfTokens } from '../pricing/cost.ts';
import type { TokenPrice } from '../pricing/price.ts';
import type { TokenUsage } from '../providers/chat.ts';

/** What the hold covers: the provider is given the output bound, and the input cannot have more tokens than its bound. */
export type ChatBill = Readonly<{
  price: TokenPrice;
  bounds: TokenUsage;
  /** The fewest tokens the input can have, for an estimate. */
  leastInputTokens: number;
}>;

/** Providers count slightly differently: one more stop token, another template around the messages. */
const toleranceTokens = 16;
const tolerancePercent = 1;

/** How far a reported count may exceed its bound and still be charged. */
export function toleranceOf(boundTokens: number): number {
  return toleranceTokens + Math.ceil((boundTokens * tolerancePercent) / 100);
}

/** How much of what a provider reports is believed. */
export function believed(reported: TokenUsage, bounds: TokenUsage): TokenUsage {
  return {
    inputTokens: believedCount(reported.inputTokens, bounds.inputTokens),
    outputTokens: believedCount(reported.outputTokens, bounds.outputTokens),
  };
}

function believedCount(reported: number, bound: number): number {
  return reported <= bound + toleranceOf(bound) ? reported : bound;
}

/** The price at `finishedAt` applies. `hasText` is whether anything was delivered. */
type Billed = Readonly<{ usage: TokenUsage; finishedAt: Date; hasText: boolean }>;

export function chargeOf(
  { price, bounds }: ChatBill,
  { usage: reported, finishedAt, hasText }: Billed,
): Charge {
  const usage = believed(reported, bounds);
  const cost = costWithin(price, usage, bounds, finishedAt);
  return {
    usage: billedUsage(usage),
    cost,
    loss: discrepancy(price, reported, usage, cost, finishedAt, hasText),
  };
}

/** How reading a stream from the provider ended. */
export type StreamOutcome = Readonly<{
  /** Why the answer is incomplete; null when it is complete. */
  code: ErrorCode | null;
  /** The gateway stopped reading, by its own decision and before the provider could report usage. */
  isEndedHere: boolean;
  /** When the provider was done, not counting the time it had to wait for the client. */
  finishedAt: Date;
}>;

/** What is known of a stream when it is over. */
type Streamed = Readonly<{
  usage: TokenUsage | null;
  /** The provider sent a finish reason. */
  isFinished: boolean;
  isEnded: boolean;
  /** An event that was skipped because it was too long may have held the usage. */
  isUsageLost: boolean;
  /** Why nothing more was passed on, although reading went on. */
  failure: Readonly<{ code: ErrorCode }> | null;
  hasText: boolean;
  /** What was delivered has at least this many tokens. */
  deliveredTokens: number;
}>;

/** Charges what was delivered: by the reported usage, or by an estimate if the gateway did not wait for it. */
export function streamEnding(
  bill: ChatBill,
  { usage, isFinished, isEnded, isUsageLost, failure: limit, hasText, deliveredTokens }: Streamed,
  { code, isEndedHere, finishedAt }: StreamOutcome,
  isGone: boolean,
  stored: Ending['stored'],
): Ending {
  const failed = isGone
    ? ({ status: 'cancelled', errorCode: null } as const)
    : ({ status: 'failed', errorCode: code ?? 'usage_missing' } as const);
  // Usage that arrives after the answer failed or exceeded a limit also covers the whole answer.
  if (usage !== null && (isEnded || (isFinished && (code === null || limit !== null)))) {
    const charge = chargeOf(bill, { usage, finishedAt, hasText });
    const ending = completed(charge, 'completed', 'write_off', stored);
    return code === null && !isGone ? ending : { ...ending, ...failed };
  }
  if (isEndedHere || isUsageLost)
    return { ...estimated(bill, deliveredTokens, finishedAt), ...failed, stored };
  return { ...failure('usage_missing', 'usage_missing'), ...failed };
}

/** For a call that the gateway ended before its usage was known: no more than the provider would have reported. */
function estimated(
  { price, bounds, leastInputTokens }: ChatBill,
  deliveredTokens: number,
  endedAt: Date,
): Ending {
  const usage = {
    inputTokens: Math.min(leastInputTokens, bounds.inputTokens),
    outputTokens: Math.min(deliveredTokens, bounds.outputTokens),
  };
  return {
    ...failure('usage_missing', 'usage_missing'),
    usage: billedUsage(usage),
    cost: costWithin(price, usage, bounds, endedAt),
    isEstimated: true,
    onInsufficientBalance: 'write_off',
  };
}

function billedUsage({ inputTokens, outputTokens }: TokenUsage): NonNullable<Ending['usage']> {
  return { inputTokens, outputTokens, units: inputTokens + outputTokens, unit: 'tokens', tier: null };
}

/** A tolerated token must not lift the whole request into a higher tier than the hold assumed. */
function costWithin(price: TokenPrice, usage: TokenUsage, bounds: TokenUsage, at: Date): Cost {
  return costOfTokens(price, usage, at, Math.min(usage.inputTokens, bounds.inputTokens));
}

/** What the operator has to sort out with the provider. */
function discrepancy(
  price: TokenPrice,
  reported: TokenUsage,
  usage: TokenUsage,
  cost: Cost,
  at: Date,
  hasText: boolean,
): Ending['loss'] {
  const isCapped = reported.inputTokens !== usage.inputTokens || reported.outputTokens !== usage.outputTokens;
  if (!isCapped && (reported.outputTokens > 0 || !hasText)) return null;
  const unpaid = costOfTokens(price, reported, at).total - cost.total;
  return { reason: 'implausible_usage', amount: unpaid > 0n ? unpaid : null, reported };
}
