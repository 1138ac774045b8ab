/** Makes one call to one chat provider, whichever format it speaks. */
import { anthropic } from './anthropic.ts';
import type { Link } from './call.ts';
import type { ChatAdapter, ChatAnswer, ChatCall, ChatEvent } from './chat.ts';
import { google } from './google.ts';
import { openai } from './openai.ts';
import { postForAnswer, postForStream, type UpstreamStream } from './transport.ts';
import { beyondLimit, type Upstream } from './upstream.ts';

/** One entry per wire format, by its name in the catalogue. */
export const chatAdapters = { openai, anthropic, google, sandbox: openai } satisfies Record<
  string,
  ChatAdapter
>;

/** How a chat provider is reached, and which format it speaks. */
type ChatProvider = Readonly<{ link: Link; chat: ChatAdapter }>;

export function completeChat(
  { chat: adapter, link }: ChatProvider,
  call: ChatCall,
  upstream: Upstream,
): Promise<{ status: number; answer: ChatAnswer }> {
  const request = adapter.chatRequest(call, upstream, false);
  return postForAnswer(request, link, (body) => adapter.readAnswer(body, upstream));
}

export type ChatEventStream = UpstreamStream<ChatEvent>;

export function streamChat(
  { chat: adapter, link }: ChatProvider,
  call: ChatCall,
  upstream: Upstream,
): Promise<ChatEventStream> {
  return postForStream(adapter.chatRequest(call, upstream, true), link, {
    read: adapter.openReader(upstream),
    tooLong: () => ({ type: 'failure', error: beyondLimit(), isUsageLost: true }),
  });
}
