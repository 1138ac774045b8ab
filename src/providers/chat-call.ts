/** Makes one call to one chat provider, whichever format it speaks. */
import { anthropic } from './anthropic.ts';
import type { Link } from './call.ts';
import {
  type ChatAdapter,
  type ChatAnswer,
  type ChatCall,
  type ChatEvent,
  type ChatEventReader,
  failed,
  type Original,
  type ReportedUsage,
} from './chat.ts';
import type { EventReader } from './event-decoder.ts';
import type { EventStream } from './event-stream.ts';
import { google } from './google.ts';
import { openai } from './openai.ts';
import { responses } from './responses.ts';
import { LearnedTemplate } from './text-template.ts';
import { postForAnswer, postForStream } from './transport.ts';
import { beyondLimit, type ProviderError, type Upstream, type UpstreamRequest } from './upstream.ts';

/** One entry per wire format, by its name in the catalogue: that of an adapter, or of an API of a model's provider. */
export const chatAdapters = { openai, anthropic, google, sandbox: openai, responses } satisfies Record<
  string,
  ChatAdapter
>;

/** What to ask for: translated, or passed on to a provider that speaks the client's format. */
export type ChatOrder = Readonly<{ call: ChatCall; original: Original | null }>;

export function isPassedOn(
  { original }: Pick<ChatOrder, 'original'>,
  { format, passOn }: ChatAdapter,
): boolean {
  return original !== null && passOn !== null && original.format === format;
}

/** One way of using an adapter for one order. */
type Exchange = Readonly<{
  request: (stream: boolean) => UpstreamRequest;
  readAnswer: (body: unknown) => ChatAnswer;
  openReader: () => ChatEventReader;
}>;

function exchangeOf(adapter: ChatAdapter, { call, original }: ChatOrder, upstream: Upstream): Exchange {
  const { passOn } = adapter;
  if (original !== null && passOn !== null && original.format === adapter.format)
    return {
      request: (stream) => passOn.request(original, upstream, stream),
      readAnswer: (body) => passOn.readAnswer(body, original, upstream),
      openReader: () => passOn.openReader(original, upstream),
    };
  return {
    request: (stream) => adapter.chatRequest(call, upstream, stream),
    readAnswer: (body) => adapter.readAnswer(body, upstream),
    openReader: () => adapter.openReader(upstream),
  };
}

/** `onUnusable` gets the usage of an answer that cannot be used, if the answer has one. */
export function completeChat(
  adapter: ChatAdapter,
  link: Link,
  order: ChatOrder,
  upstream: Upstream,
  onUnusable: (usage: ReportedUsage) => void,
): Promise<{ status: number; answer: ChatAnswer }> {
  const exchange = exchangeOf(adapter, order, upstream);
  return postForAnswer(exchange.request(false), link, (body) => {
    try {
      return exchange.readAnswer(body);
    } catch (error) {
      const usage = adapter.readUsage(body);
      if (usage !== null) onUnusable(usage);
      throw error;
    }
  });
}

export type ChatEventStream = EventStream<ChatEvent>;

export function streamChat(
  adapter: ChatAdapter,
  link: Link,
  order: ChatOrder,
  upstream: Upstream,
): Promise<ChatEventStream> {
  const { request, openReader } = exchangeOf(adapter, order, upstream);
  const isUniform = adapter.hasUniformText && !isPassedOn(order, adapter);
  return postForStream(request(true), link, new ChatReader(openReader, isUniform, adapter.maxEvent));
}

/** Reads one stream. The common chunks need no parsing where the adapter allows it. */
export class ChatReader implements EventReader<ChatEvent> {
  readonly #openReader: Exchange['openReader'];
  readonly #read: ChatEventReader;
  readonly #template: LearnedTemplate | null;
  readonly maxEvent: number | undefined;

  /** `isUniform` is whether chunks of text mean the same wherever they are, as text-template.ts requires. */
  constructor(openReader: Exchange['openReader'], isUniform: boolean, maxEvent?: number) {
    this.maxEvent = maxEvent;
    this.#openReader = openReader;
    this.#read = openReader();
    this.#template = isUniform ? new LearnedTemplate() : null;
  }

  read(data: string): readonly ChatEvent[] {
    const events = this.#read(data);
    // Samples are not part of the stream, so they get their own reader.
    this.#template?.learn(data, events, this.#openReader);
    return events;
  }

  readCommon(text: string, events: ChatEvent[]): number {
    return this.#read.readCommon?.(text, events) ?? this.#template?.readTexts(text, events) ?? 0;
  }

  unreadable(error: ProviderError): ChatEvent {
    return failed(error);
  }

  tooLong(): ChatEvent {
    return { type: 'failure', error: beyondLimit(), isUsageLost: true };
  }
}
