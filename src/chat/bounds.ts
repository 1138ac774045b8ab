/**
 * The most tokens a request may be billed for, which is what its hold is made of. Bytes are counted and not tokens:
 * a tokenizer can take seconds on a text made for that.
 */
import type { Model } from '../models/model.ts';
import type { ChatCall, ChatMessage, ImagePart, JsonObject, TextPart } from '../providers/chat.ts';
import type { ChatRequest } from './parse.ts';

export type TokenBounds = Readonly<{ inputTokens: number; outputTokens: number }>;

/** What a request without max_tokens may write at most, for its hold. */
export const defaultOutputTokens = 4_096;

const bytesPerToken = 2;
/** Roles, separators and names that a provider puts around each message, call and tool. */
const framingTokens = 16;
const imageTokens = 2_000;
const lowDetailImageTokens = 200;

export function tokenBounds({ call }: ChatRequest, model: Model): TokenBounds {
  const framed = call.messages.length + sum(call.messages, callCount) + (call.tools?.length ?? 0);
  const inputTokens =
    Math.ceil(textBytes(call) / bytesPerToken) +
    framed * framingTokens +
    sum(call.messages, messageImageTokens);
  return {
    // What does not fit into the model's context cannot be billed.
    inputTokens: Math.min(inputTokens, model.contextWindow ?? Number.POSITIVE_INFINITY),
    outputTokens:
      call.maxTokens ?? Math.min(model.maxOutputTokens ?? Number.POSITIVE_INFINITY, defaultOutputTokens),
  };
}

function textBytes({ messages, tools, responseFormat }: ChatCall): number {
  const toolBytes = sum(
    tools ?? [],
    (tool) => bytes(tool.name) + bytes(tool.description) + jsonBytes(tool.parameters),
  );
  const formatBytes =
    responseFormat?.type === 'json_schema'
      ? bytes(responseFormat.name) + bytes(responseFormat.description) + jsonBytes(responseFormat.schema)
      : 0;
  return sum(messages, messageBytes) + toolBytes + formatBytes;
}

function messageBytes(message: ChatMessage): number {
  switch (message.role) {
    case 'system':
      return bytes(message.content);
    case 'user':
      return typeof message.content === 'string' ? bytes(message.content) : sum(message.content, partBytes);
    case 'assistant':
      return (
        bytes(message.content) +
        sum(message.toolCalls, (call) => bytes(call.id) + bytes(call.name) + bytes(call.arguments))
      );
    case 'tool':
      return bytes(message.toolCallId) + bytes(message.content) + bytes(message.name);
  }
}

function partBytes(part: TextPart | ImagePart): number {
  return part.type === 'text' ? bytes(part.text) : 0;
}

function messageImageTokens(message: ChatMessage): number {
  if (message.role !== 'user' || typeof message.content === 'string') return 0;
  return sum(message.content, (part) =>
    part.type === 'text' ? 0 : part.detail === 'low' ? lowDetailImageTokens : imageTokens,
  );
}

function callCount(message: ChatMessage): number {
  return message.role === 'assistant' ? message.toolCalls.length : 0;
}

function bytes(text: string | null): number {
  return text === null ? 0 : Buffer.byteLength(text);
}

function jsonBytes(value: JsonObject | null): number {
  return value === null ? 0 : bytes(JSON.stringify(value));
}

function sum<Item>(items: readonly Item[], measure: (item: Item) => number): number {
  let total = 0;
  for (const item of items) total += measure(item);
  return total;
}
