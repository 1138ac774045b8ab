import { ApiError } from '../errors.ts';
import type { Ending, OpenGeneration } from '../inference/generation.ts';
import { costOfTokens } from '../pricing/cost.ts';
import type { TokenPrice } from '../pricing/price.ts';
import type { ChatAdapter, TokenUsage } from '../providers/chat.ts';
import { chatAdapter } from '../providers/chat-call.ts';
import { usualDialect } from '../providers/dialect.ts';
import type { Upstream } from '../providers/upstream.ts';
import type { Candidate } from '../routing/candidates.ts';
import type { ChatRequest } from './parse.ts';

/** An admitted chat request on its way to an answer. */
export type ChatRun = Readonly<{
  requestId: string;
  chat: ChatRequest;
  price: TokenPrice;
  generation: OpenGeneration;
  /** Aborted when the client has gone. */
  client: AbortSignal;
}>;

/** A candidate whose format the gateway speaks. */
export type ChatCandidate = Candidate & Readonly<{ adapter: ChatAdapter }>;

export function withAdapter(candidate: Candidate): ChatCandidate {
  const adapter = chatAdapter(candidate.connection.provider.adapter);
  if (adapter === null) throw new ApiError('configuration_error', { param: 'model' });
  return { ...candidate, adapter };
}

export function upstreamOf({ connection, upstreamModel }: Candidate, { requestId }: ChatRun): Upstream {
  return {
    baseUrl: connection.baseUrl,
    apiKey: connection.apiKey,
    model: upstreamModel,
    maxOutputTokens: null,
    dialect: usualDialect,
    generationId: requestId,
  };
}

/** The ending of a run whose usage is known: charged at the price of the moment it is billed. */
export function billed(
  run: ChatRun,
  usage: TokenUsage,
  status: 'completed' | 'cancelled',
  whenShort: Ending['whenShort'],
): Ending {
  const { inputTokens, outputTokens } = usage;
  return {
    status,
    errorCode: null,
    usage: { inputTokens, outputTokens, units: inputTokens + outputTokens, unit: 'tokens', tier: null },
    cost: costOfTokens(run.price, usage, new Date()),
    whenShort,
    loss: null,
  };
}
