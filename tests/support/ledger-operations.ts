/** Holds and settlements as the gateway makes them, for tests and benches that call the ledger themselves. */
import type { Attempt, GenerationFacts, Hold, Settlement } from '../../src/ledger/operations.ts';
import { newId } from '../../src/lib/ids.ts';

type Owner = Pick<GenerationFacts, 'accountId' | 'keyId' | 'priceListId'>;

export function newGeneration(owner: Owner, changes: Partial<GenerationFacts> = {}): GenerationFacts {
  const { accountId, keyId, priceListId } = owner;
  return {
    id: newId(),
    accountId,
    keyId,
    workload: 'chat',
    model: 'm',
    streaming: false,
    priceListId,
    idempotencyHash: null,
    createdAtMs: Date.now(),
    ...changes,
  };
}

/** A first call to a provider, in progress. */
export function newAttempt(changes: Partial<Attempt> = {}): Attempt {
  return {
    index: 1,
    provider: 'P',
    status: 'in_progress',
    startedAtMs: Date.now(),
    completedAtMs: null,
    upstreamStatus: null,
    errorCode: null,
    uncharged: null,
    ...changes,
  };
}

/** The same call, answered. */
export function succeeded(attempt: Attempt, completedAtMs = Date.now()): Attempt {
  return { ...attempt, status: 'succeeded', completedAtMs, upstreamStatus: 200 };
}

export function newHold(
  generation: GenerationFacts,
  nodeId: string,
  amount: bigint,
  changes: Partial<Hold> = {},
): Hold {
  return {
    kind: 'hold',
    generation,
    nodeId,
    provider: 'P',
    min: amount,
    max: amount,
    attempts: [],
    ...changes,
  };
}

/** Completed at this cost, or failed without one. */
export function newSettlement(
  generation: GenerationFacts,
  total: bigint | null,
  changes: Partial<Settlement> = {},
): Settlement {
  const isCompleted = total !== null;
  return {
    kind: 'settle',
    generation,
    isHeld: true,
    provider: 'P',
    status: isCompleted ? 'completed' : 'failed',
    errorCode: isCompleted ? null : 'provider_unavailable',
    usage: isCompleted
      ? { inputTokens: 1, outputTokens: 2, cached: null, units: 3, unit: 'tokens', tier: null }
      : null,
    cost: isCompleted ? { input: total, output: 0n, total, cached: null } : null,
    providerCost: null,
    isEstimated: false,
    onInsufficientBalance: 'withhold',
    onAlreadyCharged: 'stands',
    loss: null,
    attempts: [],
    stored: null,
    completedAtMs: Date.now(),
    latencyMs: 5,
    timeToFirstTokenMs: null,
    ...changes,
  };
}
