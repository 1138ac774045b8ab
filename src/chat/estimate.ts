/** About how many tokens a request has. A tokenizer would be exact for one vendor, and could take seconds. */
import type { Model } from '../models/model.ts';
import type { ChatMessage, ImagePart } from '../providers/chat.ts';
import type { ChatRequest } from './request.ts';

/** English has four to five, code three, Chinese about three for each character. */
const bytesPerToken = 3.5;
/** Roles and separators. */
const tokensPerMessage = 4;
const tokensPerRequest = 3;

type Counted = Readonly<{ bytes: number; tokens: number }>;

export function estimatedTokens(
  { call, furtherInput }: Pick<ChatRequest<unknown>, 'call' | 'furtherInput'>,
  model: Model,
): number {
  const { messages, tools, responseFormat } = call;
  let bytes = bytesOf(tools) + bytesOf(responseFormat) + bytesOf(furtherInput?.values ?? null);
  let tokens = tokensPerRequest + messages.length * tokensPerMessage;
  for (const message of messages) {
    const counted = countedIn(message, model);
    bytes += counted.bytes;
    tokens += counted.tokens;
  }
  const estimate = Math.ceil(bytes / bytesPerToken) + tokens;
  return model.contextWindow === null ? estimate : Math.min(estimate, model.contextWindow);
}

function countedIn(message: ChatMessage, model: Model): Counted {
  if (message.role === 'assistant') return { bytes: bytesOf(message.items), tokens: 0 };
  const { content } = message;
  if (typeof content === 'string') return { bytes: Buffer.byteLength(content), tokens: 0 };
  let bytes = 0;
  let tokens = 0;
  for (const part of content) {
    if (part.type === 'text') bytes += Buffer.byteLength(part.text);
    else tokens += imageTokens(part, model);
  }
  return { bytes, tokens };
}

function imageTokens({ detail }: ImagePart, { imageTokens: known }: Model): number {
  return detail === 'low' ? known.low : known.high;
}

/** About as many as its JSON has. */
function bytesOf(value: unknown): number {
  if (typeof value === 'string') return Buffer.byteLength(value);
  if (value === null || value === undefined) return 0;
  if (typeof value !== 'object') return 4;
  let bytes = 2;
  for (const name in value) {
    if (!Array.isArray(value)) bytes += name.length + 4;
    bytes += bytesOf((value as Readonly<Record<string, unknown>>)[name]);
  }
  return bytes;
}
