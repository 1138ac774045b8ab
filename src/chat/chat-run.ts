import type { Claim } from '../idempotency/claim.ts';
import type { Ending, OpenGeneration } from '../inference/generation.ts';
import { costOfTokens } from '../pricing/cost.ts';
import type { TokenPrice } from '../pricing/price.ts';
import type { TokenUsage } from '../providers/chat.ts';
import type { Turns } from '../routing/candidates.ts';
import type { ChatRequest } from './parse.ts';

/** An admitted chat request on its way to an answer. */
export type ChatRun = Readonly<{
  requestId: string;
  chat: ChatRequest;
  /** The most that money is held for. */
  maxOutputTokens: number | null;
  price: TokenPrice;
  generation: OpenGeneration;
  turns: Turns;
  /** The right to answer for good, when the request has a name. */
  claim: Claim | null;
  /** Aborted when the client has gone. */
  client: AbortSignal;
}>;

/** The ending of a run whose usage is known: charged at the price of the moment it is billed. */
export function billed(
  run: ChatRun,
  usage: TokenUsage,
  status: 'completed' | 'cancelled',
  whenShort: Ending['whenShort'],
  kept: Ending['kept'],
): Ending {
  const { inputTokens, outputTokens } = usage;
  return {
    status,
    errorCode: null,
    usage: { inputTokens, outputTokens, units: inputTokens + outputTokens, unit: 'tokens', tier: null },
    cost: costOfTokens(run.price, usage, new Date()),
    whenShort,
    loss: null,
    kept,
  };
}
