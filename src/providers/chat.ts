/**
 * What the gateway asks of a chat provider and what it gets back, in its own terms. An adapter translates both ways and
 * does nothing else: it is pure, and never sees the database, prices, customers' keys or the response.
 */
import type { Meters } from '../lib/meters.ts';
import type { Dialect, ProviderError, Unsupported, Upstream, UpstreamRequest } from './upstream.ts';

export type TextPart = Readonly<{ type: 'text'; text: string }>;
export type ImagePart = Readonly<{ type: 'image'; url: string; detail: 'auto' | 'low' | 'high' | null }>;
export type ToolCall = Readonly<{ id: string; name: string; arguments: string }>;

export type ChatMessage =
  | Readonly<{ role: 'system'; content: string }>
  | Readonly<{ role: 'user'; content: string | readonly (TextPart | ImagePart)[] }>
  | Readonly<{ role: 'assistant'; content: string | null; toolCalls: readonly ToolCall[] }>
  | Readonly<{ role: 'tool'; toolCallId: string; content: string; name: string | null }>;

/** `parameters` is a JSON Schema from the client, passed on as data. With `strict`, calls must match it. */
export type Tool = Readonly<{
  name: string;
  description: string | null;
  parameters: JsonObject | null;
  strict: boolean | null;
}>;
export type JsonObject = Readonly<Record<string, unknown>>;

export type ToolChoice = 'auto' | 'none' | Readonly<{ functionName: string }>;

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
  content: string | null;
  toolCalls: readonly ToolCall[];
  finishReason: FinishReason;
  usage: ReportedUsage | null;
}>;

/** A piece of a streamed answer. Tool calls are distinguished by their index. */
export type ChatEvent =
  | Readonly<{ type: 'text'; text: string }>
  | Readonly<{ type: 'tool_call'; index: number; id: string; name: string }>
  | Readonly<{ type: 'tool_arguments'; index: number; text: string }>
  | Readonly<{ type: 'finish'; reason: FinishReason }>
  | Readonly<{ type: 'usage'; usage: ReportedUsage }>
  /** Nothing that follows is part of the answer, but its usage may still come, unless it was lost already. */
  | Readonly<{ type: 'failure'; error: ProviderError; isUsageLost: boolean }>
  | Readonly<{ type: 'end' }>;

/** A wire format, both ways. */
export type ChatAdapter = Readonly<{
  /** The first thing in this call that the format does not support, or null. Nothing is ever dropped silently. */
  unsupported: (call: ChatCall, dialect: Dialect) => Unsupported | null;
  chatRequest: (call: ChatCall, upstream: Upstream, stream: boolean) => UpstreamRequest;
  /** Reads the JSON body of a non-streamed answer; throws a ProviderError when it is not one. */
  readAnswer: (body: unknown, upstream: Upstream) => ChatAnswer;
  /** The usage in the JSON body of a non-streamed answer, even one that is otherwise unreadable. */
  readUsage: (body: unknown) => ReportedUsage | null;
  /**
   * Makes a reader for one stream: it gets the data of each event in turn and returns what it means, or throws a
   * ProviderError. After data that it could not read, it still gets the rest.
   */
  openReader: (upstream: Upstream) => (data: string) => readonly ChatEvent[];
  /** Whether chunks of text mean the same wherever they are in a stream, as text-template.ts requires. */
  hasUniformText: boolean;
}>;

export function hasStrictTool({ tools }: ChatCall): boolean {
  return tools?.some(({ strict }) => strict === true) === true;
}

export const maxToolCalls = 1_000;

export function failed(error: ProviderError): ChatEvent {
  return { type: 'failure', error, isUsageLost: false };
}
