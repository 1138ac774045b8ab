/**
 * Which of the calls that a provider logged must be charged, and why the usage of others may go uncharged. A provider's
 * report may be lost on the way; then another provider is called, and reports again.
 */
import { believed, readingsOf } from '../world/bounds.ts';
import { networkProviders, priceOf } from '../world/catalog.ts';
import type { FaultKind } from '../world/fault.ts';
import type { ProviderCall, Usage } from '../world/upstream.ts';
import { askedFor, type Evidence, isRefused } from './evidence.ts';
import type { RecordedGeneration } from './ledger-log.ts';
import { wasKilled } from './lost-holds.ts';

/** Faults after which an answer is incomplete. The others only make it late. */
const breaking: readonly FaultKind[] = ['cut', 'reset', 'black-hole', 'refuse'];

/**
 * Whether the gateway goes on reading for the usage after it has told the client of this failure. What happens to the
 * call afterwards does not show: this failure stays on record.
 */
export function isReadOn(code: string | null): boolean {
  return code === 'malformed_stream_chunk' || code === 'repeated_streaming_chunk_limit';
}

export function reasonOf({ status, errorCode }: RecordedGeneration): string {
  return errorCode === null ? status : `${status} ${errorCode}`;
}

/** What was charged, less what the gateway refunded by itself. What people refund says nothing about the charge. */
export function standingCharge({ charges, refunds }: RecordedGeneration): bigint {
  return sum(charges) - sum(refunds);
}

/** What is left of the charge after all refunds. */
export function keptCharge(generation: RecordedGeneration): bigint {
  return standingCharge(generation) - sum(generation.refundsByHand);
}

export function isPaid({ charges, refunds }: RecordedGeneration): boolean {
  return charges.length > refunds.length;
}

/**
 * The call that a charge must be for: that to the provider with which the Generation ended. If an early call was cancelled
 * because less was held, the same provider was called again.
 */
export function callToCharge({ calls }: Evidence, generation: RecordedGeneration): ProviderCall | null {
  const made = calls.get(generation.requestId) ?? [];
  return made.findLast(({ provider }) => provider === generation.provider) ?? null;
}

export type Due = Readonly<{
  usage: Usage;
  /** What the provider reported, by its cheapest reading. */
  reported: Usage;
  /** The price of reported usage beyond what the hold covers, and beyond the cheapest reading. */
  unbelieved: bigint;
}>;

/** The usage that a charge must be for; null when none was reported. */
export function dueFor(evidence: Evidence, generation: RecordedGeneration): Due | null {
  const logged = callToCharge(evidence, generation)?.usage ?? null;
  if (logged === null) return null;
  const readings = readingsOf(logged);
  const [reported] = readings;
  const usage = believed(reported, askedFor(evidence, generation.requestId)?.bounds ?? null);
  return { usage, reported, unbelieved: priceOf(readings.at(-1) ?? reported) - priceOf(usage) };
}

/** Whether a Generation has these tokens, meter by meter. */
export function isSameUsage(
  { inputTokens, outputTokens, readTokens = 0, writtenTokens = 0 }: Usage,
  generation: RecordedGeneration,
): boolean {
  const { cached } = generation;
  return (
    inputTokens === generation.inputTokens &&
    outputTokens === generation.outputTokens &&
    readTokens === (cached?.readTokens ?? 0) &&
    writtenTokens === (cached?.writtenTokens ?? 0) &&
    (cached === null) === (readTokens + writtenTokens === 0)
  );
}

export type UsedCall = Readonly<{ generation: RecordedGeneration; call: ProviderCall; usage: Usage }>;

/** Every call whose usage the provider reported. */
export function usedCalls({ calls, ledger }: Evidence): UsedCall[] {
  return [...ledger.generations.values()].flatMap((generation) =>
    (calls.get(generation.requestId) ?? []).flatMap((call) =>
      call.usage === null ? [] : [{ generation, call, usage: call.usage }],
    ),
  );
}

export function isCharged({ generation, call }: UsedCall): boolean {
  return isPaid(generation) && call.provider === generation.provider;
}

/** Why usage may go uncharged; null when nothing allows it. */
export function excuseOf(evidence: Evidence, used: UsedCall): string | null {
  const { generation, call } = used;
  // A charge shows that another provider's answer was good, so the Generation's outcome is no excuse here.
  if (!isPaid(generation) && isExcused(evidence, generation)) {
    const kind = askedFor(evidence, generation.requestId)?.kind ?? 'unknown';
    return `${reasonOf(generation)} (${kind})`;
  }
  return lossOnNetwork(evidence, generation, call);
}

/** Whether all usage that was reported for a Generation may go uncharged. */
function isExcused(evidence: Evidence, generation: RecordedGeneration): boolean {
  const asked = askedFor(evidence, generation.requestId);
  const kind = asked?.kind;
  switch (reasonOf(generation)) {
    // A gateway that was only frozen charges for what it had open as soon as it resumes.
    case 'failed gateway_interrupted':
      return asked !== null && wasKilled(evidence, asked);
    // Withheld: nobody got what was not paid for.
    case 'failed insufficient_balance':
      // A hold that was lost in a crash covers nothing.
      return !generation.streaming && (kind === 'overrun' || generation.hold === null);
    case 'failed billing_consistency_error':
      return !generation.streaming;
    // It was held, but the gateway did not learn of that in time, and cancelled the early call.
    case 'failed balance_lookup_failed':
      return asked !== null && (asked.firstByteAtMs === null || isRefused(asked));
    default:
      return false;
  }
}

/** The gateway must have recorded the failure, and a fault of the network must explain it. */
function lossOnNetwork(
  { network }: Evidence,
  { requestId, attempts }: RecordedGeneration,
  call: ProviderCall,
): string | null {
  const attempt = attempts.find(({ provider }) => provider === call.provider);
  if (!networkProviders.has(call.provider) || attempt?.status !== 'failed') return null;
  const done = network.harmed.get(requestId) ?? new Set();
  // On a busy machine an answer can be too late by itself. After an unreadable event the rest is read for its usage, and
  // a failure in that is not recorded: anything that the network did may be the reason.
  const isExplained =
    attempt.errorCode === 'provider_timeout' ||
    (isReadOn(attempt.errorCode) && done.size > 0) ||
    breaking.some((kind) => done.has(kind));
  if (!isExplained) return null;
  return `lost on the network, ${attempt.errorCode} (${[...done].join(', ') || 'by itself'})`;
}

/** Usage without a charge, by reason: how many calls, and what they would have cost. */
export function unbilled(evidence: Evidence): ReadonlyMap<string, { count: number; amount: bigint }> {
  const reasons = new Map<string, { count: number; amount: bigint }>();
  for (const used of usedCalls(evidence)) {
    if (isCharged(used)) continue;
    const reason = excuseOf(evidence, used) ?? `NOT ALLOWED: ${reasonOf(used.generation)}`;
    const so = reasons.get(reason) ?? { count: 0, amount: 0n };
    const [usage] = readingsOf(used.usage);
    reasons.set(reason, { count: so.count + 1, amount: so.amount + priceOf(usage) });
  }
  return reasons;
}

function sum(amounts: readonly bigint[]): bigint {
  return amounts.reduce((total, amount) => total + amount, 0n);
}
