/** Makes one call to one chat provider, whichever format it speaks. */
import type { ChatAdapter, ChatAnswer, ChatCall, ChatEvent } from './chat.ts';
import { openai } from './openai.ts';
import {
  type CallDeadlines,
  postForJson,
  postForStream,
  type UpstreamStream,
  withStatus,
} from './transport.ts';
import type { Upstream } from './upstream.ts';

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
  const { status, body } = await postForJson(adapter.chatRequest(call, upstream, false), limits);
  try {
    return { status, answer: adapter.readAnswer(body, upstream) };
  } catch (error) {
    throw withStatus(error, status);
  }
}

export type ChatEventStream = UpstreamStream<ChatEvent>;

export function streamChat(
  adapter: ChatAdapter,
  call: ChatCall,
  upstream: Upstream,
  limits: CallDeadlines,
): Promise<ChatEventStream> {
  return postForStream(adapter.chatRequest(call, upstream, true), limits, adapter.openReader(upstream));
}
