/** Makes one call to one chat provider, whichever format it speaks. */
import { anthropic } from './anthropic.ts';
import type { Link } from './call.ts';
import {
  type ChatAdapter,
  type ChatAnswer,
  type ChatCall,
  type ChatEvent,
  failed,
  type Original,
  type ReportedUsage,
} from './chat.ts';
import type { EventReader } from './event-decoder.ts';
import type { EventStream } from './event-stream.ts';
import { google } from './google.ts';
import { openai } from './openai.ts';
import { LearnedTemplate } from './text-template.ts';
import { postForAnswer, postForJson, postForStream } from './transport.ts';
import { beyondLimit, type ProviderError, type Upstream, type UpstreamRequest } from './upstream.ts';
import { isCount, isObject } from './wire.ts';

/** One entry per wire format, by its name in the catalogue. */
export const chatAdapters = { openai, anthropic, google, sandbox: openai } satisfies Record<
  string,
  ChatAdapter
>;

/** How a chat provider is reached, and which format it speaks. */
type ChatProvider = Readonly<{ link: Link; chat: ChatAdapter }>;

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
  openReader: () => (data: string) => readonly ChatEvent[];
  /** Null where the common events of a stream are learned, if the adapter allows it. */
  readCommon: ((text: string, events: ChatEvent[]) => number) | null;
}>;

function exchangeOf(adapter: ChatAdapter, { call, original }: ChatOrder, upstream: Upstream): Exchange {
  const { passOn } = adapter;
  if (original !== null && passOn !== null && original.format === adapter.format)
    return {
      request: (stream) => passOn.request(original, upstream, stream),
      readAnswer: (body) => passOn.readAnswer(body, original, upstream),
      openReader: () => passOn.openReader(original, upstream),
      readCommon: passOn.readCommon ?? readNone,
    };
  return {
    request: (stream) => adapter.chatRequest(call, upstream, stream),
    readAnswer: (body) => adapter.readAnswer(body, upstream),
    openReader: () => adapter.openReader(upstream),
    readCommon: adapter.hasUniformText ? null : readNone,
  };
}

const readNone = () => 0;

/** `onUnusable` gets the usage of an answer that cannot be used, if the answer has one. */
export function completeChat(
  { chat: adapter, link }: ChatProvider,
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

/** Someone waits for a count, and an estimate would do. */
const maxCountMs = 4_000;

/** How many tokens a provider of the same format says that a request has; null when it does not say. */
export async function countTokens(
  { chat: { passOn }, link }: ChatProvider,
  original: Original,
  upstream: Upstream,
): Promise<number | null> {
  if (passOn?.countRequest === undefined) return null;
  const { timeouts } = link;
  const totalMs = Math.min(timeouts.totalMs, maxCountMs);
  const quick = { ...link, timeouts: { ...timeouts, totalMs } };
  const { body } = await postForJson(passOn.countRequest(original, upstream), quick);
  const tokens = isObject(body) ? body.input_tokens : null;
  return isCount(tokens) ? tokens : null;
}

export type ChatEventStream = EventStream<ChatEvent>;

export function streamChat(
  { chat: adapter, link }: ChatProvider,
  order: ChatOrder,
  upstream: Upstream,
): Promise<ChatEventStream> {
  const { request, openReader, readCommon } = exchangeOf(adapter, order, upstream);
  return postForStream(request(true), link, new ChatReader(openReader, readCommon === null, readCommon));
}

/** Reads one stream. The common chunks need no parsing where the adapter allows it. */
export class ChatReader implements EventReader<ChatEvent> {
  readonly #openReader: Exchange['openReader'];
  readonly #read: (data: string) => readonly ChatEvent[];
  readonly #template: LearnedTemplate | null;
  readonly #readCommon: Exchange['readCommon'];

  /**
   * `isUniform` is whether chunks of text mean the same wherever they are, as text-template.ts requires. Otherwise
   * `readCommon` may know what they look like.
   */
  constructor(
    openReader: Exchange['openReader'],
    isUniform: boolean,
    readCommon: Exchange['readCommon'] = null,
  ) {
    this.#readCommon = readCommon;
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
    return this.#template?.readTexts(text, events) ?? this.#readCommon?.(text, events) ?? 0;
  }

  unreadable(error: ProviderError): ChatEvent {
    return failed(error);
  }

  tooLong(): ChatEvent {
    return { type: 'failure', error: beyondLimit(), isUsageLost: true };
  }
}
