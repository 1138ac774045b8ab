/** Makes one call to one chat provider, whichever format it speaks. */
import { anthropic } from './anthropic.ts';
import type { Link } from './call.ts';
import {
  type ChatAdapter,
  type ChatAnswer,
  type ChatCall,
  type ChatEvent,
  failed,
  type ReportedUsage,
} from './chat.ts';
import type { EventReader } from './event-decoder.ts';
import type { EventStream } from './event-stream.ts';
import { google } from './google.ts';
import { openai } from './openai.ts';
import { LearnedTemplate } from './text-template.ts';
import { postForAnswer, postForStream } from './transport.ts';
import { beyondLimit, type ProviderError, type Upstream } from './upstream.ts';

/** One entry per wire format, by its name in the catalogue. */
export const chatAdapters = { openai, anthropic, google, sandbox: openai } satisfies Record<
  string,
  ChatAdapter
>;

/** How a chat provider is reached, and which format it speaks. */
type ChatProvider = Readonly<{ link: Link; chat: ChatAdapter }>;

/** `onUnusable` gets the usage of an answer that cannot be used, if the answer has one. */
export function completeChat(
  { chat: adapter, link }: ChatProvider,
  call: ChatCall,
  upstream: Upstream,
  onUnusable: (usage: ReportedUsage) => void,
): Promise<{ status: number; answer: ChatAnswer }> {
  const request = adapter.chatRequest(call, upstream, false);
  return postForAnswer(request, link, (body) => {
    try {
      return adapter.readAnswer(body, upstream);
    } catch (error) {
      const usage = adapter.readUsage(body);
      if (usage !== null) onUnusable(usage);
      throw error;
    }
  });
}

export type ChatEventStream = EventStream<ChatEvent>;

export function streamChat(
  { chat: adapter, link }: ChatProvider,
  call: ChatCall,
  upstream: Upstream,
): Promise<ChatEventStream> {
  return postForStream(adapter.chatRequest(call, upstream, true), link, new ChatReader(adapter, upstream));
}

/** Reads one stream. The common chunks need no parsing where the adapter allows it. */
export class ChatReader implements EventReader<ChatEvent> {
  readonly #adapter: ChatAdapter;
  readonly #upstream: Upstream;
  readonly #read: (data: string) => readonly ChatEvent[];
  readonly #template: LearnedTemplate | null;

  constructor(adapter: ChatAdapter, upstream: Upstream) {
    this.#adapter = adapter;
    this.#upstream = upstream;
    this.#read = adapter.openReader(upstream);
    this.#template = adapter.hasUniformText ? new LearnedTemplate() : null;
  }

  read(data: string): readonly ChatEvent[] {
    const events = this.#read(data);
    // Samples are not part of the stream, so they get their own reader.
    this.#template?.learn(data, events, () => this.#adapter.openReader(this.#upstream));
    return events;
  }

  readCommon(text: string, events: ChatEvent[]): number {
    return this.#template?.readTexts(text, events) ?? 0;
  }

  unreadable(error: ProviderError): ChatEvent {
    return failed(error);
  }

  tooLong(): ChatEvent {
    return { type: 'failure', error: beyondLimit(), isUsageLost: true };
  }
}
