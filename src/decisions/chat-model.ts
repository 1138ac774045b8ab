/** A chat model of the catalogue as a source of decisions, through the gates and adapters of its providers. */
import { usedBy } from '../chat/billing.ts';
import { inputBound } from '../chat/bounds.ts';
import type { ErrorCode } from '../errors.ts';
import { mayBeBilled } from '../inference/uncharged.ts';
import { unknownUsage } from '../ledger/settlement.ts';
import { LateError } from '../lib/within.ts';
import type { Model } from '../models/model.ts';
import type { ChatAnswer, ChatCall } from '../providers/chat.ts';
import { codeOfStatus } from '../providers/transport.ts';
import {
  type Candidate,
  CandidatesInTurn,
  inOrder,
  type PermittedCandidate,
  upstreamOf,
} from '../routing/candidates.ts';
import type { CallFailure } from '../routing/failures.ts';
import { chatCallOf } from './chat-question.ts';
import { readChatVerdict } from './chat-verdict.ts';
import type { Asker, DecisionSource } from './decider.ts';
import { type AnsweredCall, DecisionError, type DecisionErrorName } from './errors.ts';
import { exchange } from './exchange.ts';
import type { RecordCall } from './recorded-calls.ts';

/** Verdicts are short, but a model may reason first. */
const maxTokens = 16_384;

/** After a longer wait, the rest of the deadline may be less than a provider is allowed to take. */
const maxWaitedMs = 1_000;

/** Decisions belong to no account. For a gate each user counts as one, under a name that no account has. */
export function gateAccountOf(userId: string): string {
  return `user ${userId}`;
}

export function askChatModel(
  model: Model,
  candidates: readonly Candidate[],
  record: RecordCall,
): DecisionSource {
  return {
    model: model.id,
    ask: async (request, requestId, signal, asker) => {
      const call = chatCallOf(request);
      const able = candidates.filter(
        ({ chat, connection: { provider } }) => chat.unsupported(call, provider.dialect) === null,
      );
      // A user may have accounts with keys too, and must not count twice as a witness against a provider.
      const turn = new CandidatesInTurn(inOrder(able, Math.random), gateAccountOf(asker.userId), false)
        .current;
      if (turn === null)
        throw new DecisionError('provider_error', {
          message: 'Every provider of the model behind decisions is unavailable at the moment.',
        });
      const { answer, upstream } = await complete(model, turn, call, requestId, signal, asker, record);
      const verdict = readChatVerdict(answer, request.questions, model.id);
      if (verdict === null) throw new DecisionError('invalid_response', { upstream });
      return { ...verdict, upstream };
    },
  };
}

async function complete(
  model: Model,
  { candidate, permit }: PermittedCandidate,
  call: ChatCall,
  requestId: string,
  signal: AbortSignal,
  asker: Asker,
  record: RecordCall,
): Promise<Readonly<{ answer: ChatAnswer; upstream: AnsweredCall }>> {
  const { chat, connection } = candidate;
  const { provider } = connection;
  const about = { model: model.id, provider: provider.name };
  let used = unknownUsage;
  try {
    const outputTokens = Math.min(model.maxOutputTokens ?? maxTokens, maxTokens);
    const to = upstreamOf(candidate, { requestId, traceparent: null, cacheKey: null }, outputTokens);
    const name = `${provider.name} (asked ${model.id})`;
    const { body, upstream } = await exchange(chat.chatRequest(call, to, false), name, signal);
    const usage = chat.readUsage(body);
    const bounds = { inputTokens: inputBound(call, model).tokens, outputTokens };
    if (usage !== null) used = usedBy(usage.readings[0], bounds, candidate.cost, new Date());
    const answer = readAnswer(() => chat.readAnswer(body, to), upstream);
    permit.succeeded();
    await record({ ...about, used });
    return { answer, upstream };
  } catch (thrown) {
    if (thrown instanceof DecisionError && !isCutShort(signal, asker)) permit.failed(asFailure(thrown));
    else permit.withdrawn();
    if (thrown instanceof DecisionError && mayBeBilled(asFailure(thrown))) await record({ ...about, used });
    throw thrown;
  }
}

/** A client that leaves says nothing about the provider, nor does a deadline that was partly spent in the queue. */
function isCutShort({ aborted, reason }: AbortSignal, { waitedMs }: Asker): boolean {
  return aborted && (!(reason instanceof LateError) || waitedMs > maxWaitedMs);
}

function readAnswer(read: () => ChatAnswer, upstream: AnsweredCall): ChatAnswer {
  try {
    return read();
  } catch (cause) {
    throw new DecisionError('invalid_response', { upstream, cause });
  }
}

const codes: Readonly<Partial<Record<DecisionErrorName, ErrorCode>>> = {
  provider_authentication_error: 'provider_authentication_error',
  connection_error: 'provider_unavailable',
  timeout: 'provider_timeout',
  invalid_response: 'provider_unknown_error',
};

/** A failure as the gates classify it. */
function asFailure({
  reason,
  upstream,
  retryAfterSeconds,
  isUnreached,
  setback,
}: DecisionError): CallFailure {
  const code = codes[reason] ?? codeOfStatus(upstream?.status ?? 0);
  return {
    code,
    upstreamStatus: upstream?.status ?? null,
    retryAfterSeconds,
    isProvoked: false,
    isUnreached,
    setback,
  };
}
