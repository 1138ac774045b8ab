/** How settlements are made. */
import type { ErrorCode } from '../errors.ts';
import type { Attempt, BilledCost, BilledUsage, GenerationFacts, Loss, Settlement } from './operations.ts';

/** What a response costs, by the usage that its provider reported. */
export type Charge = Readonly<{ usage: BilledUsage; cost: BilledCost; loss: Loss | null }>;

/** How a Generation ended, before it is known how much of it can be paid. */
export type Ending = Pick<
  Settlement,
  'status' | 'errorCode' | 'usage' | 'cost' | 'isEstimated' | 'whenShort' | 'whenCharged' | 'loss' | 'kept'
>;

/** What there is to know of a Generation when it ends, however it ends. */
export type EndedGeneration = Readonly<{
  generation: GenerationFacts;
  provider: string;
  attempts: readonly Attempt[];
  firstTokenAtMs?: number | null;
}>;

export function settlementOf(facts: EndedGeneration, ending: Ending): Settlement {
  const { generation, provider, attempts, firstTokenAtMs = null } = facts;
  const completedAtMs = Date.now();
  return {
    kind: 'settle',
    generation,
    provider,
    attempts,
    ...ending,
    completedAtMs,
    latencyMs: completedAtMs - generation.createdAtMs,
    timeToFirstTokenMs: firstTokenAtMs === null ? null : firstTokenAtMs - generation.createdAtMs,
  };
}

/** A charge that the balance does not cover is withheld with its response, or written off when that was delivered. */
export function completed(
  { usage, cost, loss }: Charge,
  status: 'completed' | 'cancelled',
  whenShort: Ending['whenShort'],
  kept: Ending['kept'],
): Ending {
  return {
    status,
    errorCode: null,
    usage,
    cost,
    isEstimated: false,
    whenShort,
    whenCharged: 'stands',
    loss,
    kept,
  };
}

/** Nothing is charged for a failure. Usage that may have been lost with it is recorded for the operator. */
export function failure(errorCode: ErrorCode, lossReason: Loss['reason'] | null = null): Ending {
  return {
    status: 'failed',
    errorCode,
    usage: null,
    cost: null,
    isEstimated: false,
    whenShort: 'withhold',
    whenCharged: 'stands',
    loss: lossReason === null ? null : lossOf(lossReason),
    kept: null,
  };
}

export function lossOf(reason: Loss['reason']): Loss {
  return { reason, amount: null, reported: null };
}

/** For a response that the client never got: nothing is charged, and a charge this process did not know of is refunded. */
export function withheld(settlement: Settlement): Settlement {
  return settlementOf(settlement, {
    ...failure('billing_consistency_error', 'interrupted'),
    whenCharged: 'refund',
  });
}

/** Replaces a settlement that the database refuses, with nothing in it that could be the reason. */
export function closedUnbilled({ generation, provider }: Settlement): Settlement {
  return settlementOf(
    { generation, provider, attempts: [] },
    failure('billing_consistency_error', 'interrupted'),
  );
}
