/**
 * What the gateway asks of a chat provider and what it gets back, in its own terms. An adapter translates both ways and
 * does nothing else: it is pure, and never sees the database, prices, customers' keys or the response.
 */
import type { Meters } from '../lib/meters.ts';
import type { Effort, ReasoningSupport } from './effort.ts';
import type { Dialect, ProviderError, Unsupported, Upstream, UpstreamRequest } from './upstream.ts';

export { type Effort, efforts } from './effort.ts';

export type TextPart = Readonly<{ type: 'text'; text: string }>;
export type ImagePart = Readonly<{ type: 'image'; url: string; detail: 'auto' | 'low' | 'high' | null }>;
export type ToolCall = Readonly<{ type: 'tool_call'; id: string; name: string; arguments: string }>;

/**
 * What a model thought before it went on. `signature` proves to the model that made it that nobody changed it; no other
 * model accepts it. `text` may be empty: not every provider shows it.
 */
export type Reasoning = Readonly<{ type: 'reasoning'; text: string; signature: Signature | null }>;
/** `madeBy` is the provider and the upstream model, as in `Upstream`. */
export type Signature = Readonly<{ value: string; madeBy: string }>;

/** What the model wrote, in its order. */
export type AnswerItem = TextPart | ToolCall | Reasoning;

export type ChatMessage =
  | Readonly<{ role: 'system'; content: string }>
  | Readonly<{ role: 'user'; content: string | readonly (TextPart | ImagePart)[] }>
  | Readonly<{ role: 'assistant'; items: readonly AnswerItem[] }>
  | ToolResult;

/** `name` is that of the function, where the client repeats it. */
export type ToolResult = Readonly<{
  role: 'tool';
  toolCallId: string;
  content: string | readonly (TextPart | ImagePart)[];
  name: string | null;
  /** Whether the tool failed. */
  isError: boolean;
}>;

/** `parameters` is a JSON Schema from the client, passed on as data. With `strict`, calls must match it. */
export type Tool = Readonly<{
  name: string;
  description: string | null;
  parameters: JsonObject | null;
  strict: boolean | null;
}>;
export type JsonObject = Readonly<Record<string, unknown>>;

export type ToolChoice = 'auto' | 'none' | 'required' | Readonly<{ functionName: string }>;

export type ResponseFormat =
  | Readonly<{ type: 'text' }>
  | Readonly<{ type: 'json_object' }>
  | Readonly<{
      type: 'json_schema';
      name: string;
      description: string | null;
      schema: JsonObject | null;
      strict: boolean | null;
    }>;

/** A conversation to continue. Null stands for what the client left out. */
export type ChatCall = Readonly<{
  messages: readonly ChatMessage[];
  temperature: number | null;
  maxTokens: number | null;
  topP: number | null;
  stop: readonly string[] | null;
  presencePenalty: number | null;
  tools: readonly Tool[] | null;
  toolChoice: ToolChoice | null;
  parallelToolCalls: boolean | null;
  responseFormat: ResponseFormat | null;
  seed: number | null;
  effort: Effort | null;
  /** Whether the call is refused where its effort cannot be honoured. Left out: the effort is a hint. */
  demandsEffort?: boolean;
  /** A hint. */
  verbosity: 'low' | 'medium' | 'high' | null;
}>;

export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter';

/**
 * What a provider says that a call used. Counts that contradict each other can be read in several ways, of which at most
 * one is true; then `contradiction` has them as they were reported.
 */
export type ReportedUsage = Readonly<{
  readings: readonly [Meters, ...Meters[]];
  contradiction: ReportedCounts | null;
  /** The part of the output that the answer does not show; null when the provider does not say. */
  reasoningTokens: number | null;
}>;

/** By the provider's own names; null for what is not a number. */
export type ReportedCounts = Readonly<Record<string, number | null>>;

/** A non-streamed answer. Usage is null when the provider reported none, or none that makes sense. */
export type ChatAnswer = Readonly<{
  items: readonly AnswerItem[];
  finishReason: FinishReason;
  usage: ReportedUsage | null;
  /** The body for a client that speaks the provider's format. */
  wire?: JsonObject;
}>;

/**
 * A piece of a streamed answer. Tool calls are distinguished by their index. Where the client speaks the provider's
 * format, `wire` is the event as the client gets it; of several events that were one on the wire, the first has it. Usage
 * may have it, but not `end` or `failure`: what ends a response is written once it is charged.
 */
export type ChatEvent = (
  | Readonly<{ type: 'text'; text: string }>
  /** Only where `Upstream` asks for it. What follows `reasoning_end` is another item. */
  | Readonly<{ type: 'reasoning'; text: string }>
  | Readonly<{ type: 'reasoning_end'; signature: Signature | null }>
  | Readonly<{ type: 'tool_call'; index: number; id: string; name: string }>
  | Readonly<{ type: 'tool_arguments'; index: number; text: string }>
  | Readonly<{ type: 'finish'; reason: FinishReason }>
  | Readonly<{ type: 'usage'; usage: ReportedUsage }>
  /** Nothing that follows is part of the answer, but its usage may still come, unless it was lost already. */
  | Readonly<{ type: 'failure'; error: ProviderError; isUsageLost: boolean }>
  /** Means nothing to the gateway. */
  | Readonly<{ type: 'wire' }>
  | Readonly<{ type: 'end' }>
) &
  Readonly<{ wire?: string }>;

/**
 * Reads one stream: it gets the data of each event in turn and returns what it means, or throws a ProviderError. After data
 * that it could not read, it still gets the rest.
 */
export type ChatEventReader = ((data: string) => readonly ChatEvent[]) &
  Readonly<{
    /** Reads common events from the start of a text without parsing them, as event-decoder.ts describes. */
    readCommon?: (text: string, events: ChatEvent[]) => number;
  }>;

/** The names of the wire formats. */
export type WireFormat = 'chat_completions' | 'messages' | 'responses' | 'generate_content';

/**
 * A request as its client sent it, for providers that speak the same format: clients add fields with every release, and
 * whatever has no price of its own is passed on.
 */
export type Original = Readonly<{
  format: WireFormat;
  body: JsonObject;
  /** Headers that belong to the format. */
  headers: Readonly<Record<string, string>>;
  /** How the client named the model, which it also finds in the response. */
  model: string;
  /** The first thing in it that no other format can express, or null. */
  untranslatable: Unsupported | null;
  /** By their sealed form, the signatures in it; null for those that are not ours. */
  signatures: ReadonlyMap<string, Signature | null>;
  /** The sealed form of a signature in the answer. */
  seal: (signature: Signature) => string;
  /** For how long it asks the provider to keep its input in a cache; null when it does not. Left out: its format cannot ask. */
  cacheMarks?: 'short' | 'long' | null;
}>;

/** What reading an answer needs of its original. It is all that is kept of it while the answer streams. */
export type Echo = Pick<Original, 'model' | 'seal'>;

/** How requests and answers are passed on between a client and a provider that speak the same format. */
export type PassOn = Readonly<{
  request: (original: Original, upstream: Upstream, stream: boolean) => UpstreamRequest;
  /** Also has the body for the client, in `wire`. */
  readAnswer: (body: unknown, echo: Echo, upstream: Upstream) => ChatAnswer;
  openReader: (echo: Echo, upstream: Upstream) => ChatEventReader;
  /** Asks how many tokens a request has. Left out: such providers do not say. */
  countRequest?: (original: Original, upstream: Upstream) => UpstreamRequest;
}>;

/** A wire format, both ways. */
export type ChatAdapter = Readonly<{
  format: WireFormat;
  /** Null for a format that no client speaks here, or whose requests are always read and written anew. */
  passOn: PassOn | null;
  /** The first thing in this call that the format does not support, or null. Nothing is ever dropped silently. */
  unsupported: (call: ChatCall, dialect: Dialect, reasoning?: ReasoningSupport | null) => Unsupported | null;
  /** The lowest output limit that it takes. Left out: 1. */
  minOutputTokens?: number;
  chatRequest: (call: ChatCall, upstream: Upstream, stream: boolean) => UpstreamRequest;
  /** Reads the JSON body of a non-streamed answer; throws a ProviderError when it is not one. */
  readAnswer: (body: unknown, upstream: Upstream) => ChatAnswer;
  /** The usage in the JSON body of a non-streamed answer, even one that is otherwise unreadable. */
  readUsage: (body: unknown) => ReportedUsage | null;
  openReader: (upstream: Upstream) => ChatEventReader;
  /** The most characters that one event may have; left out for the usual limit. */
  maxEvent?: number | undefined;
  /** Whether chunks of text mean the same wherever they are in a stream, as text-template.ts requires. */
  hasUniformText: boolean;
}>;

export function hasStrictTool({ tools }: ChatCall): boolean {
  return tools?.some(({ strict }) => strict === true) === true;
}

/** Text as the contract's chat format has it: null when there is none. */
export function textOrNull(items: readonly AnswerItem[]): string | null {
  return items.some(({ type }) => type === 'text') ? textOf(items) : null;
}

export function textOf(items: readonly AnswerItem[]): string {
  let text = '';
  for (const item of items) if (item.type === 'text') text += item.text;
  return text;
}

/** Whether the model has written anything but its reasoning. */
export function hasText(items: readonly AnswerItem[]): boolean {
  return items.some((item) => item.type === 'tool_call' || (item.type === 'text' && item.text !== ''));
}

export function textOfParts(parts: readonly (TextPart | ImagePart)[]): string {
  return parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
}

export function toolCallsOf(items: readonly AnswerItem[]): readonly ToolCall[] {
  return items.filter((item) => item.type === 'tool_call');
}

export const maxToolCalls = 1_000;

export function failed(error: ProviderError): ChatEvent {
  return { type: 'failure', error, isUsageLost: false };
}
