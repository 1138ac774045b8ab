/** What a request may cost at most by the published rules, written independently of the gateway's code. */
import { holdOf } from './catalog.ts';
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
  const isWithin = (count: number, bound: number) => count <= bound + toleranceOf(bound);
  const usage = isWithin(reported.inputTokens, bounds.inputTokens)
    ? reported
    : inputUpTo(reported, bounds.inputTokens);
  return isWithin(usage.outputTokens, bounds.outputTokens)
    ? usage
    : { ...usage, outputTokens: bounds.outputTokens };
}

/** Leaves out the dearest: first what was written to a cache, then what was not in one. */
function inputUpTo(usage: Usage, inputTokens: number): Usage {
  const { readTokens = 0, writtenTokens = 0 } = usage;
  const fresh = Math.max(0, usage.inputTokens - readTokens - writtenTokens);
  const read = Math.min(readTokens, inputTokens);
  const written = Math.min(writtenTokens, Math.max(0, inputTokens - read - fresh));
  return { ...usage, inputTokens, readTokens: read, writtenTokens: written };
}

/**
 * What a report can mean, the cheapest first. One with more cached tokens than input is charged as if all of the input had
 * been cached; the provider may mean that the cached tokens come on top of it.
 */
export function readingsOf(reported: Usage): readonly [Usage, ...Usage[]] {
  const { inputTokens, readTokens = 0, writtenTokens = 0 } = reported;
  const cached = readTokens + writtenTokens;
  if (cached <= inputTokens) return [reported];
  return [
    inputUpTo({ ...reported, inputTokens: cached }, inputTokens),
    { ...reported, inputTokens: inputTokens + cached },
  ];
}

function toleranceOf(bound: number): number {
  return toleranceTokens + Math.ceil((bound * tolerancePercent) / 100);
}

/** The most that may be charged beyond any hold: the tolerances of input and of output. */
export function holdTolerance(hold: bigint): bigint {
  const tokens = toleranceTokens + 1;
  return hold / 100n + holdOf({ inputTokens: tokens, outputTokens: tokens });
}
