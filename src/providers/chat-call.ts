/** Makes one call to one chat provider, whichever format it speaks. */
import type { ChatAdapter, ChatAnswer, ChatCall, ChatEvent, Upstream } from './chat.ts';
import { openai } from './openai.ts';
import { type CallDeadlines, postForJson, postForStream } from './transport.ts';

const adapters: ReadonlyMap<string, ChatAdapter> = new Map([
  ['openai', openai],
  ['sandbox', openai],
]);

export function chatAdapter(name: string): ChatAdapter | null {
  return adapters.get(name) ?? null;
}

export async function completeChat(
  adapter: ChatAdapter,
  call: ChatCall,
  upstream: Upstream,
  limits: CallDeadlines,
): Promise<{ status: number; answer: ChatAnswer }> {
  const { status, body } = await postForJson(adapter.chatRequest(call, upstream, false), limits, null);
  return { status, answer: adapter.readAnswer(body) };
}

export type ChatEventStream = Readonly<{
  status: number;
  /** The next events, possibly none of interest; null when the provider has ended its stream. */
  next: () => Promise<readonly ChatEvent[] | null>;
  close: () => void;
}>;

export async function streamChat(
  adapter: ChatAdapter,
  call: ChatCall,
  upstream: Upstream,
  limits: CallDeadlines,
): Promise<ChatEventStream> {
  const stream = await postForStream(adapter.chatRequest(call, upstream, true), limits, null);
  const read = adapter.openReader();
  return {
    status: stream.status,
    close: stream.close,
    next: async () => {
      const batch = await stream.next();
      if (batch === null) return null;
      const [only] = batch;
      return batch.length === 1 && only !== undefined ? read(only) : batch.flatMap(read);
    },
  };
}
