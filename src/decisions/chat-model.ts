/** A chat model of the catalogue as a source of decisions, through the gates and formats of its providers. */
import type { ErrorCode } from '../errors.ts';
import { LateError } from '../lib/within.ts';
import type { Model } from '../models/model.ts';
import type { ChatAnswer, ChatCall } from '../providers/chat.ts';
import { codeOfStatus } from '../providers/transport.ts';
import { type Candidate, inOrder, type Turn, Turns, upstreamOf } from '../routing/candidates.ts';
import type { CallFailure } from '../routing/findings.ts';
import { chatCallOf } from './chat-question.ts';
import { readChatVerdict } from './chat-verdict.ts';
import type { DecisionSource } from './decider.ts';
import { type AnsweredCall, DecisionError, type DecisionErrorName } from './errors.ts';
import { post } from './exchange.ts';

/** Verdicts are short, but a model may think before it gives one. */
const mostTokens = 16_384;

/** Decisions belong to no account. To a gate all of them together are one, which cannot be the ID of any other. */
export const decisionsAccount = 'decisions';

/** Each attempt goes to the first provider whose gate is open. Only an overload is worth another attempt. */
export function askChatModel(model: Model, candidates: readonly Candidate[]): DecisionSource {
  return {
    model: model.id,
    ask: async (request, requestId, signal) => {
      const call = chatCallOf(request);
      const turn = new Turns(inOrder(ableToCarry(candidates, call), Math.random), decisionsAccount).current;
      if (turn === null)
        throw new DecisionError('provider_error', {
          message: 'Every provider of the model behind decisions is unavailable at the moment.',
        });
      const { answer, upstream } = await complete(model, turn, call, requestId, signal);
      const verdict = readChatVerdict(answer, request.questions, model.id);
      if (verdict === null) throw new DecisionError('invalid_response', { upstream });
      return { ...verdict, upstream };
    },
  };
}

function ableToCarry(candidates: readonly Candidate[], call: ChatCall): readonly Candidate[] {
  return candidates.filter(
    ({ connection: { chat, provider } }) => chat.refusal(call, provider.dialect) === null,
  );
}

async function complete(
  model: Model,
  { candidate, permit }: Turn,
  call: ChatCall,
  requestId: string,
  signal: AbortSignal,
): Promise<Readonly<{ answer: ChatAnswer; upstream: AnsweredCall }>> {
  const { chat, provider } = candidate.connection;
  try {
    const to = upstreamOf(candidate, requestId, Math.min(model.maxOutputTokens ?? mostTokens, mostTokens));
    const name = `${provider.name} (asked ${model.id})`;
    const { body, upstream } = await post(chat.chatRequest(call, to, false), name, signal);
    const answer = readAnswer(() => chat.readAnswer(body, to), upstream);
    permit.succeeded();
    return { answer, upstream };
  } catch (thrown) {
    // A client that leaves says nothing about the provider.
    const isLeft = signal.aborted && !(signal.reason instanceof LateError);
    if (thrown instanceof DecisionError && !isLeft) permit.failed(asFailure(thrown));
    else permit.withdrawn();
    throw thrown;
  }
}

/** A success that its own format cannot read is no answer. */
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

/** A failure in the words that a gate judges by. */
function asFailure({ reason, upstream, retryAfterSeconds }: DecisionError): CallFailure {
  const code = codes[reason] ?? codeOfStatus(upstream?.status ?? 0);
  return {
    code,
    upstreamStatus: upstream?.status ?? null,
    retryAfterSeconds,
    isProvoked: false,
    isUnreached: false,
  };
}
