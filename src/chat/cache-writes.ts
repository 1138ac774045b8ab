/** Whether a request can make a provider write its input to a cache, which may cost more than reading it. */
import type { CacheWrites } from '../pricing/cost.ts';
import type { ChatCall, Original } from '../providers/chat.ts';
import { isPassedOn } from '../providers/chat-call.ts';
import { wantsCache } from '../providers/prompt-cache.ts';
import type { Candidate } from '../routing/candidates.ts';

/** Nobody knows yet which candidate will serve the request. */
export function cacheWrites(
  call: ChatCall,
  candidates: readonly Candidate[],
  original: Original | null = null,
): CacheWrites {
  let most: CacheWrites = 'none';
  for (const candidate of candidates) {
    const writes = writesAt(call, original, candidate);
    if (writes === 'long') return 'long';
    if (writes === 'short') most = 'short';
  }
  return most;
}

function writesAt(
  call: ChatCall,
  original: Original | null,
  { connection: { provider }, chat, marksCache }: Candidate,
): CacheWrites {
  // Directives in a message can make it report any kind.
  if (provider.adapter === 'sandbox') return 'long';
  // What is passed on in a format with marks has those that the client set, and no others.
  if (original?.cacheMarks !== undefined && isPassedOn({ original }, chat))
    return original.cacheMarks ?? 'none';
  if (marksCache) return wantsCache(call) ? 'short' : 'none';
  // Servers that speak OpenAI's format may write without being asked, except where they write what is marked.
  const writesWhatIsMarked = provider.promptCache === 'auto' && chat.format === 'chat_completions';
  return provider.adapter === 'openai' && !writesWhatIsMarked ? 'short' : 'none';
}
