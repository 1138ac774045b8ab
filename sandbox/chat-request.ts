/** The part of a chat request that the sandbox looks at. It trusts what it does not look at. */

import { BadRequest } from './errors.ts';

export type ContentPart = { type: string; text?: string };

export type Message = {
  role: string;
  content?: string | ContentPart[] | null;
  tool_calls?: unknown[];
  tool_call_id?: string;
};

export type Tool = { type: 'function'; function: { name: string; parameters?: unknown } };

export type ChatRequest = {
  model: string;
  messages: Message[];
  stream?: boolean | null;
  stream_options?: { include_usage?: boolean } | null;
  max_tokens?: number | null;
  stop?: string | string[] | null;
  tools?: Tool[] | null;
  tool_choice?: string | { function: { name: string } } | null;
  parallel_tool_calls?: boolean | null;
  response_format?: { type: string; json_schema?: { schema?: unknown } } | null;
};

export function readChatRequest(body: unknown): ChatRequest {
  if (!isObject(body)) throw new BadRequest('The body must be a JSON object.', null);
  if (typeof body.model !== 'string' || body.model === '') throw new BadRequest('Name a model.', 'model');
  if (!Array.isArray(body.messages) || body.messages.length === 0 || !body.messages.every(isMessage)) {
    throw new BadRequest('Give at least one message; each has a role and text or parts.', 'messages');
  }
  return body as ChatRequest;
}

function isMessage(message: unknown): message is Message {
  if (!isObject(message) || typeof message.role !== 'string') return false;
  const { content } = message;
  return (
    typeof content === 'string' || content == null || (Array.isArray(content) && content.every(isObject))
  );
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The text of a message, its parts joined. */
export function textOf({ content }: Message): string {
  if (typeof content === 'string') return content;
  return (content ?? []).map((part) => part.text ?? '').join('\n');
}

export function lastUserText({ messages }: ChatRequest): string {
  const message = messages.findLast(({ role }) => role === 'user');
  return message ? textOf(message) : '';
}

export function countImages(messages: readonly Message[]): number {
  let count = 0;
  for (const { content } of messages) {
    if (!Array.isArray(content)) continue;
    for (const part of content) if (part.type === 'image_url') count += 1;
  }
  return count;
}
