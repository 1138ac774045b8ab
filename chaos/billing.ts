/**
 * Which of the calls that a provider logged is the one to be charged, and why the usage of others may stay without a
 * charge. What a provider reports may be lost on the way; then another provider is asked, and reports again.
 */
import { networkProviders, priceOf } from './catalog.ts';
import { type Evidence, kindOf } from './evidence.ts';
import type { FaultKind } from './fault.ts';
import type { RecordedGeneration } from './ledger-log.ts';
import type { ProviderCall, Usage } from './upstream.ts';

/** Why all usage that providers reported for a Generation may remain without a charge. */
const excuses = new Set([
  'failed gateway_interrupted',
  'failed insufficient_balance',
  'failed billing_consistency_error',
  'cancelled',
]);

/** A stream with a broken chunk is given up there; the provider may have reported usage behind it all the same. */
const brokenStreamExcuse = 'failed malformed_stream_chunk';

/** Faults after which an answer is not whole. The others only make it late. */
const breaking: readonly FaultKind[] = ['cut', 'reset', 'black-hole', 'refuse'];

export function reasonOf({ status, errorCode }: RecordedGeneration): string {
  return errorCode === null ? status : `${status} ${errorCode}`;
}

/** The usage that a charge must be for: what was reported to the provider that the Generation ended with. */
export function usageToCharge({ calls }: Evidence, generation: RecordedGeneration): Usage | null {
  const answered = calls.get(generation.requestId)?.find(({ provider }) => provider === generation.provider);
  return answered?.usage ?? null;
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
  return generation.charges.length > 0 && call.provider === generation.provider;
}

/** Why usage remains without a charge; null when nothing allows it. */
export function excuseOf(evidence: Evidence, { generation, call }: UsedCall): string | null {
  const reason = reasonOf(generation);
  const kind = kindOf(evidence, generation.requestId);
  const isExcused = excuses.has(reason) || (reason === brokenStreamExcuse && kind === 'malformed');
  // A charge shows that the answer of another provider was good, so how the Generation ended excuses nothing here.
  if (isExcused && generation.charges.length === 0) return `${reason} (${kind})`;
  return lossOnNetwork(evidence, generation, call);
}

/** The gateway must have noted the failure, and the network must have done something that explains it. */
function lossOnNetwork(
  { network }: Evidence,
  { requestId, attempts }: RecordedGeneration,
  call: ProviderCall,
): string | null {
  const attempt = attempts.find(({ provider }) => provider === call.provider);
  if (!networkProviders.has(call.provider) || attempt?.status !== 'failed') return null;
  const done = network.harmed.get(requestId) ?? new Set();
  // On a machine that is busy enough an answer can be too late by itself.
  const isExplained = attempt.errorCode === 'provider_timeout' || breaking.some((kind) => done.has(kind));
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
    reasons.set(reason, { count: so.count + 1, amount: so.amount + priceOf(used.usage) });
  }
  return reasons;
}
