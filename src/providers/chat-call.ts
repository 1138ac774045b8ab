/** Makes one call to one chat provider, whichever format it speaks. */
import { anthropic } from './anthropic.ts';
import type { Link } from './call.ts';
import type { ChatAdapter, ChatAnswer, ChatCall, ChatEvent } from './chat.ts';
import type { EventReader } from './event-decoder.ts';
import type { EventStream } from './event-stream.ts';
import { google } from './google.ts';
import { openai } from './openai.ts';
import { LearnedTemplate } from './text-template.ts';
import { postForAnswer, postForStream } from './transport.ts';
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

export type ChatEventStream = EventStream<ChatEvent>;

export function streamChat(
  { chat: adapter, link }: ChatProvider,
  call: ChatCall,
  upstream: Upstream,
): Promise<ChatEventStream> {
  return postForStream(adapter.chatRequest(call, upstream, true), link, chatReader(adapter, upstream));
}

export function chatReader(adapter: ChatAdapter, upstream: Upstream): EventReader<ChatEvent> {
  const read = adapter.openReader(upstream);
  if (!adapter.hasUniformText) return { read, tooLong, readCommon: null };
  const template = new LearnedTemplate(adapter.openReader(upstream));
  return {
    read: (data) => {
      const events = read(data);
      template.learn(data, events);
      return events;
    },
    tooLong,
    readCommon: (text, events) => template.readTexts(text, events),
  };
}

function tooLong(): ChatEvent {
  return { type: 'failure', error: beyondLimit(), isUsageLost: true };
}
