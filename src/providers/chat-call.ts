/** Makes one call to one chat provider, whichever format it speaks. */
import { anthropic } from './anthropic.ts';
import type { Link } from './call.ts';
import {
  type ChatAdapter,
  type ChatAnswer,
  type ChatCall,
  type ChatEvent,
  type ChatEventReader,
  type Echo,
  failed,
  type Original,
  type PassOn,
  type ReportedUsage,
} from './chat.ts';
import type { EventReader } from './event-decoder.ts';
import type { EventStream } from './event-stream.ts';
import { google } from './google.ts';
import { openai } from './openai.ts';
import { responses } from './responses.ts';
import { LearnedTemplate } from './text-template.ts';
import { postForAnswer, postForJson, postForStream } from './transport.ts';
import {
  beyondLimit,
  cancellable,
  ProviderError,
  RefusedOriginal,
  type Upstream,
  type UpstreamRequest,
} from './upstream.ts';
import { isCount, isObject } from './wire.ts';

/** One entry per wire format, by its name in the catalogue: that of an adapter, or of an API of a model's provider. */
export const chatAdapters = { openai, anthropic, google, sandbox: openai, responses } satisfies Record<
  string,
  ChatAdapter
>;

/** How a chat provider is reached, and the format of the API that serves the model. */
type ChatProvider = Readonly<{ connection: Readonly<{ link: Link }>; chat: ChatAdapter }>;

/** What to ask for: translated, or passed on to a provider that speaks the client's format. */
export type ChatOrder = Readonly<{ call: ChatCall; original: Original | null }>;

/** The original, and how it is passed on, where the provider speaks its format. */
function passedOn({ original }: Pick<ChatOrder, 'original'>, { format, passOn }: ChatAdapter) {
  return original !== null && passOn !== null && original.format === format ? { original, passOn } : null;
}

export function isPassedOn(order: Pick<ChatOrder, 'original'>, adapter: ChatAdapter): boolean {
  return passedOn(order, adapter) !== null;
}

function requestTo(
  adapter: ChatAdapter,
  order: ChatOrder,
  upstream: Upstream,
  stream: boolean,
): UpstreamRequest {
  const passed = passedOn(order, adapter);
  const request =
    passed === null
      ? adapter.chatRequest(order.call, upstream, stream)
      : passed.passOn.request(passed.original, upstream, stream);
  return cancellable(request, upstream);
}

type OpenReader = () => ChatEventReader;

/**
 * A reader lives as long as its stream, and with it everything in the scope of the function that made it. So neither the
 * conversation nor the original, of many megabytes, is in the scope of either.
 */
function readerOf(adapter: ChatAdapter, order: ChatOrder, upstream: Upstream): OpenReader {
  const passed = passedOn(order, adapter);
  if (passed === null) return translatingReader(adapter, upstream);
  return passingReader(passed.passOn, echoOf(passed.original), upstream);
}

function translatingReader({ openReader }: ChatAdapter, upstream: Upstream): OpenReader {
  return () => openReader(upstream);
}

function passingReader({ openReader }: PassOn, echo: Echo, upstream: Upstream): OpenReader {
  return () => openReader(echo, upstream);
}

function echoOf({ model, seal }: Original): Echo {
  return { model, seal };
}

/** `onUnusable` gets the usage of an answer that cannot be used, if the answer has one. */
export function completeChat(
  { chat: adapter, connection: { link } }: ChatProvider,
  order: ChatOrder,
  upstream: Upstream,
  onUnusable: (usage: ReportedUsage) => void,
): Promise<{ status: number; answer: ChatAnswer }> {
  const passed = passedOn(order, adapter);
  const answer = postForAnswer(requestTo(adapter, order, upstream, false), link, (body) => {
    try {
      return passed === null
        ? adapter.readAnswer(body, upstream)
        : passed.passOn.readAnswer(body, echoOf(passed.original), upstream);
    } catch (error) {
      const usage = adapter.readUsage(body);
      if (usage !== null) onUnusable(usage);
      throw error;
    }
  });
  return passed === null ? answer : answer.catch(rethrowRefusal);
}

/**
 * The body is too large, or something in it is wrong. Other statuses are about the operator's account or model, and so are
 * the errors that operator-faults.ts knows.
 */
const refusals: ReadonlySet<number | null> = new Set([400, 413, 422]);

function rethrowRefusal(error: unknown): never {
  const isRefusal =
    error instanceof ProviderError &&
    error.code === 'provider_bad_request' &&
    error.setback === null &&
    refusals.has(error.upstreamStatus);
  throw isRefusal ? new RefusedOriginal(error.upstreamStatus) : error;
}

/** Someone waits for a count, and an estimate would do. */
const maxCountMs = 4_000;

/** How many tokens a provider of the same format says that a request has; null when it does not say. */
export async function countTokensAt(
  { chat: { passOn }, connection: { link } }: ChatProvider,
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
  { chat: adapter, connection: { link } }: ChatProvider,
  order: ChatOrder,
  upstream: Upstream,
): Promise<ChatEventStream> {
  const isSameFormat = isPassedOn(order, adapter);
  const isUniform = adapter.hasUniformText && !isSameFormat;
  const reader = new ChatReader(readerOf(adapter, order, upstream), isUniform, adapter.maxEvent);
  const stream = postForStream(requestTo(adapter, order, upstream, true), link, reader);
  return isSameFormat ? stream.catch(rethrowRefusal) : stream;
}

/** Reads one stream. The common chunks need no parsing where the adapter allows it. */
export class ChatReader implements EventReader<ChatEvent> {
  readonly #openReader: OpenReader;
  readonly #read: ChatEventReader;
  readonly #template: LearnedTemplate | null;
  readonly maxEvent: number | undefined;

  /** `isUniform` is whether chunks of text mean the same wherever they are, as text-template.ts requires. */
  constructor(openReader: OpenReader, isUniform: boolean, maxEvent?: number) {
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
