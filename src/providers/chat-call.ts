/** Makes one call to one chat provider, whichever format it speaks. */
import { anthropic } from './anthropic.ts';
import type { Link } from './call.ts';
import type { ChatAdapter, ChatAnswer, ChatCall, ChatEvent } from './chat.ts';
import { google } from './google.ts';
import { openai } from './openai.ts';
import { postForJson, postForStream, type UpstreamStream, withStatus } from './transport.ts';
import { beyondLimit, type Upstream } from './upstream.ts';

/** One line a wire format, by its name in the catalogue. */
export const chatAdapters = { openai, anthropic, google, sandbox: openai } satisfies Record<
  string,
  ChatAdapter
>;

/** A provider of chat: how it is reached, and what it speaks. */
type ChatProvider = Readonly<{ link: Link; chat: ChatAdapter }>;

export async function completeChat(
  { chat: adapter, link }: ChatProvider,
  call: ChatCall,
  upstream: Upstream,
): Promise<{ status: number; answer: ChatAnswer }> {
  const { status, body } = await postForJson(adapter.chatRequest(call, upstream, false), link);
  try {
    return { status, answer: adapter.readAnswer(body, upstream) };
  } catch (error) {
    throw withStatus(error, status);
  }
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
