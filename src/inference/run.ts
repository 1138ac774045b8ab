/**
 * The life of an inference request: admit → attempt(s) → settle. The only place where money meets attempts. Everything
 * that a provider can do wrong ends here as a settled Generation and an error of the catalogue.
 */
import { ApiError, type ErrorCode } from '../errors.ts';
import type { SettlementResult } from '../ledger/operations.ts';
import { ProviderError } from '../providers/upstream.ts';
import type { Candidate, Turn, Turns } from '../routing/candidates.ts';
import { refusesRequest } from '../routing/findings.ts';
import { type Ending, failure, type OpenGeneration } from './generation.ts';

/** A request that one provider finds fault with would be refused by the others too. Whatever else goes wrong, they may not share. */
function isWorthAnother(problem: ProviderError): boolean {
  return !refusesRequest(problem);
}

export type NoteAttempts = (generation: OpenGeneration) => Promise<void>;

/**
 * Tries the candidates in turn until one succeeds. When none does, the Generation is settled as failed and the last
 * failure is thrown. The attempt that succeeded is still in progress; whoever uses its result ends it.
 */
export async function attemptInTurn<Result>(
  generation: OpenGeneration,
  turns: Turns,
  client: AbortSignal,
  noteAttempts: NoteAttempts,
  attempt: (candidate: Candidate) => Promise<Result>,
): Promise<Result> {
  let turn = turns.current;
  if (turn === null) throw await settleUntried(generation, turns);
  for (;;) {
    try {
      return await attempt(turn.candidate);
    } catch (thrown) {
      const problem = await asProviderError(generation, thrown);
      generation.attemptFailed(problem);
      // Nobody waits for another answer once the client has gone.
      const next = isWorthAnother(problem) && !client.aborted ? turns.next() : null;
      if (next === null) throw await settleFailure(generation, problem);
      await recordNextAttempt(generation, next, noteAttempts);
      if (client.aborted) {
        generation.attemptCancelled(null);
        throw await settleFailure(generation, problem);
      }
      turn = next;
    }
  }
}

async function recordNextAttempt(
  generation: OpenGeneration,
  turn: Turn,
  noteAttempts: NoteAttempts,
): Promise<void> {
  generation.startAttempt(turn);
  try {
    await noteAttempts(generation);
  } catch (cause) {
    generation.attemptCancelled(null, 'provider_attempt_create_failed');
    await generation.settle(failure('provider_attempt_create_failed'));
    throw new ApiError('provider_attempt_create_failed', { cause });
  }
}

/** What escaped an attempt, if it is the provider's. Anything else is a defect of ours: the hold is given back first. */
async function asProviderError(generation: OpenGeneration, thrown: unknown): Promise<ProviderError> {
  if (thrown instanceof ProviderError) return thrown;
  generation.attemptCancelled(null, 'internal_error');
  await generation.settle(failure('internal_error', 'interrupted'));
  throw thrown;
}

async function settleUntried(generation: OpenGeneration, turns: Turns): Promise<ApiError> {
  turns.turnAway();
  const retryAfterSeconds = turns.waitSeconds();
  await generation.settle(failure('all_providers_unavailable'));
  return new ApiError('all_providers_unavailable', { retryAfterSeconds });
}

/** A provider that answered with success, first or last, has most likely charged for what could not be used. */
async function settleFailure(generation: OpenGeneration, problem: ProviderError): Promise<ApiError> {
  const { code, retryAfterSeconds } = problem;
  const wasAnswered = generation.attempts.some(
    ({ upstreamStatus: status }) => status !== null && status < 300,
  );
  await generation.settle(failure(code, wasAnswered ? 'usage_missing' : null));
  return new ApiError(code, retryAfterSeconds === null ? {} : { retryAfterSeconds });
}

/**
 * Settles a result that has not been delivered yet. It may be delivered only when this returns: otherwise the hold is
 * given back, nothing is charged, and the refusal is thrown.
 */
export async function settleBeforeDelivery(
  generation: OpenGeneration,
  ending: Ending,
  whenCharged: Ending['whenCharged'],
): Promise<void> {
  const withheld: Ending = { ...failure('billing_consistency_error', 'interrupted'), whenCharged };
  const result = await generation.settle(ending, withheld);
  const code = refusalOf[result];
  if (code !== null) throw new ApiError(code);
}

const refusalOf: Readonly<Record<SettlementResult | 'late', ErrorCode | null>> = {
  settled: null,
  short: 'insufficient_balance',
  interrupted: 'billing_consistency_error',
  refused: 'billing_consistency_error',
  late: 'billing_consistency_error',
};

/** Settles what has been delivered already; says which error the client must still be told, if any. */
export async function settleAfterDelivery(
  generation: OpenGeneration,
  ending: Ending,
): Promise<ErrorCode | null> {
  const result = await generation.settle(ending);
  return result === 'late' ? 'billing_temporarily_unavailable' : refusalOf[result];
}
