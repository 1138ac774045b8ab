/** What a request may cost at most by the published rules, written independently of the gateway's code. */
import { priceOf } from './catalog.ts';
import type { Usage } from './upstream.ts';

/** Before the conversation, and around its only message. */
const allowanceTokens = 1_024 + 16;
const toleranceTokens = 16;
const tolerancePercent = 1;

/** For a conversation of one message in ASCII: no text has more tokens than bytes. */
export function boundsOf(content: string, maxTokens: number): Usage {
  return { inputTokens: allowanceTokens + Buffer.byteLength(content), outputTokens: maxTokens };
}

/** The part of reported usage that is charged: all of it if within the tolerance, otherwise the bound. */
export function believed(reported: Usage, bounds: Usage | null): Usage {
  if (bounds === null) return reported;
  return {
    inputTokens: believedCount(reported.inputTokens, bounds.inputTokens),
    outputTokens: believedCount(reported.outputTokens, bounds.outputTokens),
  };
}

function believedCount(reported: number, bound: number): number {
  return reported <= bound + toleranceOf(bound) ? reported : bound;
}

function toleranceOf(bound: number): number {
  return toleranceTokens + Math.ceil((bound * tolerancePercent) / 100);
}

/** The most that may be charged beyond any hold: the tolerances of input and of output. */
export function holdTolerance(hold: bigint): bigint {
  const tokens = toleranceTokens + 1;
  return hold / 100n + priceOf({ inputTokens: tokens, outputTokens: tokens });
}
