/**
 * The life of an inference request: admit → attempt(s) → settle. The only place where money meets attempts. Everything
 * that a provider can do wrong ends here as a settled Generation and an error of the catalogue.
 */
import { ApiError, type ErrorCode } from '../errors.ts';
import type { SettlementResult } from '../ledger/operations.ts';
import { ProviderError } from '../providers/upstream.ts';
import type { Candidate } from '../routing/candidates.ts';
import { type Ending, failure, type OpenGeneration } from './generation.ts';

/** Failures that another provider may not share. */
const fallbackCodes: ReadonlySet<ErrorCode> = new Set([
  'provider_unavailable',
  'provider_timeout',
  'provider_rate_limit',
  'provider_authentication_error',
  'provider_stream_error',
  'provider_unknown_error',
  'provider_error',
] satisfies ErrorCode[]);

export type NoteAttempts = (generation: OpenGeneration) => Promise<void>;

/**
 * Tries the candidates in turn until one succeeds. When none does, the Generation is settled as failed and the last
 * failure is thrown. The attempt that succeeded is still in progress; whoever uses its result ends it.
 */
export async function attemptInTurn<Choice extends Candidate, Result>(
  generation: OpenGeneration,
  candidates: readonly Choice[],
  noteAttempts: NoteAttempts,
  attempt: (candidate: Choice) => Promise<Result>,
): Promise<Result> {
  for (const [place, candidate] of candidates.entries()) {
    if (place > 0) await recordNextAttempt(generation, candidate, noteAttempts);
    try {
      return await attempt(candidate);
    } catch (thrown) {
      const problem = await asProviderError(generation, thrown);
      generation.endAttempt('failed', problem.upstreamStatus, problem.code);
      const isLast = place === candidates.length - 1;
      if (isLast || !fallbackCodes.has(problem.code)) throw await settleFailure(generation, problem);
    }
  }
  throw await settleFailed(generation, 'all_providers_unavailable');
}

async function recordNextAttempt(
  generation: OpenGeneration,
  candidate: Candidate,
  noteAttempts: NoteAttempts,
): Promise<void> {
  generation.startAttempt(candidate.connection.provider.name);
  try {
    await noteAttempts(generation);
  } catch (cause) {
    generation.endAttempt('cancelled', null, 'provider_attempt_create_failed');
    throw await settleFailed(generation, 'provider_attempt_create_failed', cause);
  }
}

/** What escaped an attempt, if it is the provider's. Anything else is a defect of ours: the hold is given back first. */
async function asProviderError(generation: OpenGeneration, thrown: unknown): Promise<ProviderError> {
  if (thrown instanceof ProviderError) return thrown;
  await generation.settle(failure('internal_error', 'interrupted'));
  throw thrown;
}

/** A provider that answered with success has most likely charged for what could not be used. */
async function settleFailure(generation: OpenGeneration, problem: ProviderError): Promise<ApiError> {
  const { code, upstreamStatus, retryAfterSeconds } = problem;
  const wasAnswered = upstreamStatus !== null && upstreamStatus >= 200 && upstreamStatus < 300;
  await generation.settle(failure(code, wasAnswered ? 'usage_missing' : null));
  return new ApiError(code, retryAfterSeconds === null ? {} : { retryAfterSeconds });
}

async function settleFailed(generation: OpenGeneration, code: ErrorCode, cause?: unknown): Promise<ApiError> {
  await generation.settle(failure(code));
  return new ApiError(code, { cause });
}

/**
 * Settles a result that has not been delivered yet. It may be delivered only when this returns: otherwise the hold is
 * given back, nothing is charged, and the refusal is thrown.
 */
export async function settleBeforeDelivery(generation: OpenGeneration, ending: Ending): Promise<void> {
  const withheld = failure('billing_consistency_error', 'interrupted');
  const result = await generation.settle(ending, withheld);
  const code = refusalOf[result];
  if (code !== null) throw new ApiError(code);
}

const refusalOf: Readonly<Record<SettlementResult | 'late', ErrorCode | null>> = {
  settled: null,
  short: 'insufficient_balance',
  interrupted: 'billing_consistency_error',
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
