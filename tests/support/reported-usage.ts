import { plainMeters } from '../../src/lib/meters.ts';
import type { ReportedUsage } from '../../src/providers/chat.ts';

/** A usage report of an adapter, without caches unless `changes` has some. */
export function reported(
  inputTokens: number,
  outputTokens: number,
  changes: Partial<ReportedUsage> = {},
): ReportedUsage {
  return {
    readings: [plainMeters(inputTokens, outputTokens)],
    contradiction: null,
    reasoningTokens: null,
    ...changes,
  };
}
