/** Settlements that charge nothing. */
import type { ErrorCode } from '../errors.ts';
import type { Attempt, GenerationFacts, Loss, Settlement } from './operations.ts';

export function lossOf(reason: Loss['reason']): Loss {
  return { reason, amount: null, reported: null };
}

/** Releases a hold: the Generation failed for this reason. */
export function released(
  generation: GenerationFacts,
  provider: string,
  errorCode: ErrorCode,
  attempts: readonly Attempt[],
  loss: Loss | null,
): Settlement {
  const completedAtMs = Date.now();
  return {
    kind: 'settle',
    generation,
    provider,
    status: 'failed',
    errorCode,
    usage: null,
    cost: null,
    isEstimated: false,
    whenShort: 'withhold',
    whenCharged: 'stands',
    loss,
    attempts,
    kept: null,
    completedAtMs,
    latencyMs: completedAtMs - generation.createdAtMs,
    timeToFirstTokenMs: null,
  };
}

/** For a response that nobody got: nothing is charged, and what was charged unknown to us is given back. */
export function withheld({ generation, provider, attempts }: Settlement): Settlement {
  return {
    ...released(generation, provider, 'billing_consistency_error', attempts, lossOf('interrupted')),
    whenCharged: 'refund',
  };
}

/** In place of a settlement that the database refuses, with nothing in it that could be the reason. */
export function closedUnbilled({ generation, provider }: Settlement): Settlement {
  return released(generation, provider, 'billing_consistency_error', [], lossOf('interrupted'));
}
