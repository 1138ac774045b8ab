/**
 * Tries the candidates of a request in turn. Every failure of a provider before its first event ends here, as a settled
 * Generation and an ApiError.
 */
import type { SQL } from 'bun';
import { ApiError, type ErrorCode, errorTable } from '../errors.ts';
import { failure, serializeAttempts } from '../ledger/settlement.ts';
import { within } from '../lib/within.ts';
import { EndedByShutdown, ProviderError, RefusedOriginal } from '../providers/upstream.ts';
import type { Candidate, CandidatesInTurn, PermittedCandidate } from '../routing/candidates.ts';
import { rejectsRequest } from '../routing/failures.ts';
import type { OpenGeneration } from './generation.ts';

/** The client is waiting. */
const patienceMs = 4_000;

export type RecordAttempts = (generation: OpenGeneration) => Promise<void>;

/**
 * Stores the attempts of an open Generation before the next one starts, so that a crash cannot hide it. If the database has
 * lost the hold in a crash, the next attempt would not be paid for: then the money is held again first.
 */
export async function recordAttempts(sql: SQL, generation: OpenGeneration): Promise<void> {
  const state = await within(patienceMs, storeAttempts(sql, generation));
  if (state === 'ended') throw new Error('Another node has closed the Generation.');
  if (state === 'lost') await generation.holdAgain();
}

async function storeAttempts(
  sql: SQL,
  { facts, provider, attempts }: OpenGeneration,
): Promise<'open' | 'ended' | 'lost'> {
  const open = await sql`
    update open_generations set provider = ${provider}, attempts = ${serializeAttempts(attempts)}::text::jsonb
    where id = ${facts.id} returning id`;
  if (open.length > 0) return 'open';
  // Others close only open Generations, so a record that is not there now will not be there later.
  const ended = await sql`select id from generations where id = ${facts.id}`;
  return ended.length > 0 ? 'ended' : 'lost';
}

/**
 * Returns what the first successful attempt returned; the caller ends that attempt. When none succeeds, the Generation is
 * settled as failed and the last failure is thrown. `begun` is the first attempt, if it started early.
 */
export async function attemptInTurn<Result>(
  generation: OpenGeneration,
  candidates: CandidatesInTurn,
  client: AbortSignal,
  recordAttempts: RecordAttempts,
  attempt: (candidate: Candidate) => Promise<Result>,
  begun: Promise<Result> | null = null,
): Promise<Result> {
  let current = candidates.current;
  let early = begun;
  if (current === null) throw await settleUntried(generation, candidates);
  for (;;) {
    try {
      return await (early ?? attempt(current.candidate));
    } catch (thrown) {
      early = null;
      const problem = await asProviderError(generation, thrown);
      if (problem instanceof EndedByShutdown) throw await settleShutdown(generation, problem);
      generation.attemptFailed(problem);
      // A request that one provider rejects, the others would reject too, and a client that has left is not waiting.
      const next = rejectsRequest(problem) || client.aborted ? null : candidates.next();
      if (next === null) throw await settleFailure(generation, problem);
      await startNext(generation, next, recordAttempts);
      if (client.aborted) {
        generation.withdraw();
        throw await settleFailure(generation, problem);
      }
      current = next;
    }
  }
}

async function startNext(
  generation: OpenGeneration,
  next: PermittedCandidate,
  recordAttempts: RecordAttempts,
): Promise<void> {
  generation.startAttempt(next);
  try {
    await recordAttempts(generation);
  } catch (cause) {
    generation.withdraw('provider_attempt_create_failed');
    await generation.settle(failure('provider_attempt_create_failed'));
    throw new ApiError('provider_attempt_create_failed', { cause });
  }
}

/** Anything but a ProviderError is a defect of ours: the hold is released before it is rethrown. */
async function asProviderError(generation: OpenGeneration, thrown: unknown): Promise<ProviderError> {
  if (thrown instanceof ProviderError) return thrown;
  generation.attemptCancelled(null, 'internal_error');
  await generation.settle(failure('internal_error', 'interrupted'));
  throw thrown;
}

async function settleUntried(generation: OpenGeneration, candidates: CandidatesInTurn): Promise<ApiError> {
  candidates.turnAway();
  const retryAfterSeconds = candidates.waitSeconds();
  await generation.settle(failure('all_providers_unavailable'));
  return failedAttempts('all_providers_unavailable', generation, retryAfterSeconds);
}

/** A provider that answered with success, in any attempt, has most likely charged for an answer that could not be used. */
async function settleFailure(generation: OpenGeneration, problem: ProviderError): Promise<ApiError> {
  const { code, retryAfterSeconds } = problem;
  const wasAnswered = generation.attempts.some(
    ({ upstreamStatus: status }) => status !== null && status < 300,
  );
  await generation.settle(failure(code, wasAnswered ? 'usage_missing' : null));
  return problem instanceof RefusedOriginal
    ? new ApiError('invalid_request', { message: refusedOriginal + whereToLook(generation), cause: problem })
    : failedAttempts(code, generation, retryAfterSeconds);
}

const refusedOriginal =
  'The provider of this model refused the request as it was sent: a field or value in it is wrong or not supported, or it is too long for the model. Leave out what the model may not know, or shorten the conversation.';

/** What a provider says about a failure is not passed on, but the Generation has what is known of each attempt. */
export function failedAttempts(
  code: ErrorCode,
  generation: OpenGeneration,
  retryAfterSeconds: number | null = null,
): ApiError {
  const message = errorTable[code].message + whereToLook(generation);
  return new ApiError(code, { message, ...(retryAfterSeconds === null ? {} : { retryAfterSeconds }) });
}

function whereToLook({ requestId }: OpenGeneration): string {
  return ` GET /v1/generations/${requestId} shows what was tried.`;
}

/** The gateway gave the call up because it is stopping, which says nothing about the provider. */
async function settleShutdown(generation: OpenGeneration, problem: EndedByShutdown): Promise<ApiError> {
  const { code, upstreamStatus } = problem;
  generation.attemptCancelled(upstreamStatus, code);
  await settleFailure(generation, problem);
  return new ApiError(code, { message: 'The gateway is shutting down. Try again.', retryAfterSeconds: 1 });
}
