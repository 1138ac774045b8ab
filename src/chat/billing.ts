/** What a chat request is charged: the usage its provider reports, within the hold. Pure. */
import type { ErrorCode } from '../errors.ts';
import type { BilledUsage, ProviderUsage } from '../ledger/operations.ts';
import { type Charge, completed, type Ending, failure } from '../ledger/settlement.ts';
import { cachedTokensOf, inputTokensOf, type Meters, plainMeters, withInputUpTo } from '../lib/meters.ts';
import type { Money } from '../lib/money.ts';
import { type CacheWrites, type Cost, costOfTokens, lowestCost } from '../pricing/cost.ts';
import type { Price, TokenPrice } from '../pricing/price.ts';
import { providerCostOfTokens } from '../pricing/provider-cost.ts';
import type { ReportedUsage } from '../providers/chat.ts';

/** What the hold covers: the provider is given the output bound, and the input cannot have more tokens than its bound. */
export type ChatBill = Readonly<{
  price: TokenPrice;
  bounds: Bounds;
  /** What this request can make a provider write to its cache. */
  writes: CacheWrites;
  held: Money;
  /** The fewest tokens the input can have, for an estimate. */
  leastInputTokens: number;
}>;

type Bounds = Readonly<{ inputTokens: number; outputTokens: number }>;

/** Providers count slightly differently: one more stop token, another template around the messages. */
const toleranceTokens = 16;
const tolerancePercent = 1;

/** How far a reported count may exceed its bound and still be charged. */
export function toleranceOf(boundTokens: number): number {
  return toleranceTokens + Math.ceil((boundTokens * tolerancePercent) / 100);
}

/** How much of what a provider reports is believed. */
export function believed(reported: Meters, bounds: Bounds): Meters {
  const isWithin = (count: number, bound: number) => count <= bound + toleranceOf(bound);
  const { inputTokens, outputTokens } = bounds;
  const meters = isWithin(inputTokensOf(reported), inputTokens)
    ? reported
    : withInputUpTo(reported, inputTokens);
  return isWithin(meters.output, outputTokens) ? meters : { ...meters, output: outputTokens };
}

/** The price at `finishedAt` applies. `hasText` is whether anything was delivered. */
type Billed = Readonly<{ usage: ReportedUsage; finishedAt: Date; hasText: boolean }>;

/** A report that contradicts itself is charged by its lowest reading. `providerPrice` is what the operator pays. */
export function chargeOf(
  bill: ChatBill,
  { usage, finishedAt, hasText }: Billed,
  providerPrice: Price | null = null,
): Charge {
  const lowest = lowestReading(bill, usage, finishedAt);
  return {
    usage: billedUsage(lowest.meters),
    cost: lowest.cost,
    reported: usedBy(lowest.reading, bill.bounds, providerPrice, finishedAt),
    loss: discrepancy(bill, usage, lowest, finishedAt, hasText),
  };
}

/** What a provider reported of a call that nobody is charged for: by the reading that would have been charged. */
export function unchargedUsage(
  bill: ChatBill,
  usage: ReportedUsage,
  providerPrice: Price | null,
  at: Date,
): ProviderUsage {
  return usedBy(lowestReading(bill, usage, at).reading, bill.bounds, providerPrice, at);
}

type BilledReading = Readonly<{ reading: Meters; meters: Meters; cost: Cost }>;

function lowestReading(bill: ChatBill, { readings }: ReportedUsage, at: Date): BilledReading {
  const [first, ...others] = readings.map((reading) => billReading(bill, reading, at));
  return others.reduce(
    (low, other) => (other.cost.total < low.cost.total ? other : low),
    first as BilledReading,
  );
}

/** What a provider reported, and what it asks for that. */
export function usedBy(
  reading: Meters,
  bounds: Bounds,
  providerPrice: Price | null,
  at: Date,
): ProviderUsage {
  const usage = {
    inputTokens: inputTokensOf(reading),
    outputTokens: reading.output,
    cached: cachedTokensOf(reading),
  };
  return {
    usage,
    cost: isPossible(reading, bounds) ? providerCostOfTokens(providerPrice, reading, at) : null,
  };
}

/**
 * A provider may count more than the hold covers, and bill it: that is a cost like any other. But nothing counts a hundred
 * times as much. That is a broken counter, and one such report would outweigh the costs of all other calls.
 */
const maxTimesBounds = 100;

function isPossible(reading: Meters, { inputTokens, outputTokens }: Bounds): boolean {
  return inputTokensOf(reading) + reading.output <= maxTimesBounds * (inputTokens + outputTokens);
}

/** Writes that this request cannot have caused are charged as such only as far as the hold covers them. */
function billReading({ price, bounds, writes, held }: ChatBill, reading: Meters, at: Date): BilledReading {
  const meters = believed(reading, bounds);
  const cost = costWithin(price, meters, bounds, at);
  if (cost.total <= held || !exceeds(meters, writes)) return { reading, meters, cost };
  const possible = withWrites(meters, writes);
  return { reading, meters: possible, cost: costWithin(price, possible, bounds, at) };
}

function exceeds({ cacheWrite, cacheWriteLong }: Meters, writes: CacheWrites): boolean {
  return (writes !== 'long' && cacheWriteLong > 0) || (writes === 'none' && cacheWrite > 0);
}

function withWrites(meters: Meters, writes: CacheWrites): Meters {
  const { freshInput, cacheWrite, cacheWriteLong } = meters;
  const written = cacheWrite + cacheWriteLong;
  return writes === 'none'
    ? { ...meters, freshInput: freshInput + written, cacheWrite: 0, cacheWriteLong: 0 }
    : { ...meters, cacheWrite: written, cacheWriteLong: 0 };
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
  /** The provider sent a finish reason. */
  isFinished: boolean;
  isEnded: boolean;
  /** An event that was skipped because it was too long may have held the usage. */
  isUsageLost: boolean;
  /** Why nothing more was passed on, although reading went on. */
  failure: Readonly<{ code: ErrorCode }> | null;
  /** What was delivered has at least this many tokens. */
  deliveredTokens: number;
}>;

/** Charges what was delivered: by the reported usage, or by an estimate if the gateway did not wait for it. */
export function streamEnding(
  bill: ChatBill,
  charge: Charge | null,
  progress: Streamed,
  { code, isEndedHere, finishedAt }: StreamOutcome,
  isGone: boolean,
  stored: Ending['stored'],
): Ending {
  const { isUsageLost, deliveredTokens } = progress;
  const failed = isGone
    ? ({ status: 'cancelled', errorCode: null } as const)
    : ({ status: 'failed', errorCode: code ?? 'usage_missing' } as const);
  if (charge !== null && coversAnswer(progress, code)) {
    const ending = completed(charge, 'completed', 'write_off', stored);
    return code === null && !isGone ? ending : { ...ending, ...failed };
  }
  if (isEndedHere || isUsageLost)
    return { ...estimated(bill, deliveredTokens, finishedAt), ...failed, stored };
  return { ...failure('usage_missing', 'usage_missing'), ...failed };
}

/**
 * Whether usage that was reported is that of the whole answer. `code` is why it is incomplete. Usage that arrives after the
 * answer failed or exceeded a limit also covers all of it.
 */
export function coversAnswer(
  { isEnded, isFinished, failure }: Pick<Streamed, 'isEnded' | 'isFinished' | 'failure'>,
  code: ErrorCode | null,
): boolean {
  return isEnded || (isFinished && (code === null || failure !== null));
}

/**
 * For a call that the gateway ended before its usage was known: no more than the provider would have reported. All of the
 * input may have come from a cache.
 */
function estimated(
  { price, bounds, leastInputTokens }: ChatBill,
  deliveredTokens: number,
  endedAt: Date,
): Ending {
  const meters = plainMeters(
    Math.min(leastInputTokens, bounds.inputTokens),
    Math.min(deliveredTokens, bounds.outputTokens),
  );
  return {
    ...failure('usage_missing', 'usage_missing'),
    usage: billedUsage(meters),
    cost: lowestCost(price, meters, endedAt),
    isEstimated: true,
    onInsufficientBalance: 'write_off',
  };
}

function billedUsage(meters: Meters): BilledUsage {
  const inputTokens = inputTokensOf(meters);
  const outputTokens = meters.output;
  return {
    inputTokens,
    outputTokens,
    cached: cachedTokensOf(meters),
    units: inputTokens + outputTokens,
    unit: 'tokens',
    tier: null,
  };
}

/** A tolerated token must not lift the whole request into a higher tier than the hold assumed. */
function costWithin(price: TokenPrice, meters: Meters, bounds: Bounds, at: Date): Cost {
  return costOfTokens(price, meters, at, Math.min(inputTokensOf(meters), bounds.inputTokens));
}

/** What the operator has to sort out with the provider. */
function discrepancy(
  { price }: ChatBill,
  { readings, contradiction }: ReportedUsage,
  { reading, meters, cost }: BilledReading,
  at: Date,
  hasText: boolean,
): Ending['loss'] {
  const isPlausible = meters === reading && (reading.output > 0 || !hasText);
  if (contradiction === null && isPlausible) return null;
  const claims = readings.map((each) => costOfTokens(price, each, at).total);
  const unpaid = claims.reduce((most, claim) => (claim > most ? claim : most), cost.total) - cost.total;
  return {
    reason: 'implausible_usage',
    amount: unpaid > 0n ? unpaid : null,
    reported: { inputTokens: inputTokensOf(reading), outputTokens: reading.output },
    counts: contradiction,
  };
}
