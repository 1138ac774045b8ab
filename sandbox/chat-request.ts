/**
 * A chat request from any format. The shape is OpenAI's, so a request in that format is used as it is, and tokens are
 * counted by the same rule for all.
 */

import { BadRequest } from './errors.ts';
import type { Fields } from './fields.ts';

export type ContentPart = Readonly<{ type: string; text?: string }>;

export type RequestedCall = Readonly<{
  /** Calls in Google's format may have none. */
  id?: string | undefined;
  type: 'function';
  function: Readonly<{ name: string; arguments: string }>;
}>;

export type Message = Readonly<{
  role: string;
  content?: string | readonly ContentPart[] | null;
  tool_calls?: readonly RequestedCall[] | undefined;
  tool_call_id?: string | undefined;
}>;

export type Tool = Readonly<{
  type: 'function';
  function: Readonly<{ name: string; description?: string | undefined; parameters?: unknown }>;
  /** In the Responses format: a tool that takes free text, and the group that a tool belongs to. */
  isCustom?: boolean;
  namespace?: string;
}>;

export type ToolChoice = string | Readonly<{ type: 'function'; function: Readonly<{ name: string }> }>;

export type ChatRequest = Readonly<{
  model: string;
  messages: readonly Message[];
  stream?: boolean | null;
  stream_options?: Readonly<{ include_usage?: boolean }> | null;
  max_tokens?: number | null;
  max_completion_tokens?: number | null;
  stop?: string | readonly string[] | null;
  tools?: readonly Tool[] | null;
  tool_choice?: ToolChoice | null;
  parallel_tool_calls?: boolean | null;
  response_format?: Readonly<{ type: string; json_schema?: Readonly<{ schema?: unknown }> }> | null;
  /** What only the Responses format has. */
  responses?: Readonly<{
    /** The request as it came: a response repeats most of it. */
    asked: Fields;
    /** Whether reasoning comes with its encrypted content, and with a summary. */
    isReasoningIncluded: boolean;
    isSummaryShown: boolean;
    isObfuscated: boolean;
  }>;
}>;

/** The text of a message, its parts joined. */
export function textOf({ content }: Message): string {
  if (typeof content === 'string') return content;
  return (content ?? []).map((part) => part.text ?? '').join('\n');
}

/** Instructions may come last; who spoke before them is waiting for an answer. */
export function lastRole({ messages }: Pick<ChatRequest, 'messages'>): Message['role'] | undefined {
  return messages.findLast(({ role }) => role !== 'system')?.role;
}

export function lastUserText({ messages }: ChatRequest): string {
  const message = messages.findLast(({ role }) => role === 'user');
  return message ? textOf(message) : '';
}

/** How often tools were called since the user spoke. Parallel calls may be one message or several. */
export function turnsOfTools(messages: readonly Message[]): number {
  const asked = messages.findLastIndex(({ role }) => role === 'user');
  const said = messages.slice(asked + 1).filter(({ role }) => role !== 'system');
  return said.filter(({ role }, at) => role === 'tool' && said[at - 1]?.role !== 'tool').length;
}

export function countImages(messages: readonly Message[]): number {
  let count = 0;
  for (const { content } of messages) {
    if (!Array.isArray(content)) continue;
    for (const part of content) if (part.type === 'image_url') count += 1;
  }
  return count;
}

const nothing: readonly RequestedCall[] = [];

/** Each call must be answered by the tool messages right after it, and each of those must answer one of the calls. */
export function checkToolResults(messages: readonly Message[]): void {
  let calls = nothing;
  let answered = nothing;
  for (const { role, tool_calls, tool_call_id } of messages) {
    if (role === 'tool') {
      const call = calls.find(({ id }) => id === tool_call_id);
      if (!call) throw new BadRequest('A tool message must answer a call of the message before.', 'messages');
      answered = [...answered, call];
      continue;
    }
    rejectUnanswered(calls, answered);
    calls = tool_calls ?? nothing;
    answered = nothing;
  }
  rejectUnanswered(calls, answered);
}

function rejectUnanswered(calls: readonly RequestedCall[], answered: readonly RequestedCall[]): void {
  if (calls.every((call) => answered.includes(call))) return;
  throw new BadRequest('Each tool call must be answered right after the message that makes it.', 'messages');
}
