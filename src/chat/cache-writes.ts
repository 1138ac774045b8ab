/** Whether a request can make a provider write its input to a cache, which may cost more than reading it. */
import type { CacheWrites } from '../pricing/cost.ts';
import type { Candidate } from '../routing/candidates.ts';

/** Servers that speak OpenAI's format may write without being asked. The others write what a request marks, and none does. */
export function cacheWrites(candidates: readonly Candidate[]): CacheWrites {
  const writesByItself = ({ connection: { provider } }: Candidate) =>
    provider.adapter === 'openai' || provider.adapter === 'sandbox';
  return candidates.some(writesByItself) ? 'short' : 'none';
}
