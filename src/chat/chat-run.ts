import type { Ending, OpenGeneration } from '../inference/generation.ts';
import { costOfTokens } from '../pricing/cost.ts';
import type { TokenPrice } from '../pricing/price.ts';
import type { TokenUsage } from '../providers/chat.ts';
import type { Upstream } from '../providers/upstream.ts';
import type { Candidate, Turns } from '../routing/candidates.ts';
import type { ChatRequest } from './parse.ts';

/** An admitted chat request on its way to an answer. */
export type ChatRun = Readonly<{
  requestId: string;
  chat: ChatRequest;
  /** The most the model can write; null when unpublished. */
  maxOutputTokens: number | null;
  price: TokenPrice;
  generation: OpenGeneration;
  turns: Turns;
  /** Aborted when the client has gone. */
  client: AbortSignal;
}>;

export function upstreamOf(
  { connection, upstreamModel }: Candidate,
  { requestId, maxOutputTokens }: ChatRun,
): Upstream {
  return {
    baseUrl: connection.baseUrl,
    apiKey: connection.apiKey,
    model: upstreamModel,
    maxOutputTokens,
    dialect: connection.provider.dialect,
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
