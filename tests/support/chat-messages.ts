/** Chat in the gateway's own terms, for tests. What stands on the wire is in chat-bodies.ts. */
import type { AnswerItem, ChatCall, ChatMessage, ToolCall, ToolResult } from '../../src/providers/chat.ts';

export const toolCall = (id: string, name = 'look', written = '{}'): ToolCall => ({
  type: 'tool_call',
  id,
  name,
  arguments: written,
});

/** What a model wrote: its text, if any, and then its calls. */
export const items = (text: string | null, ...calls: readonly ToolCall[]): readonly AnswerItem[] =>
  text === null ? calls : [{ type: 'text', text }, ...calls];

export const assistant = (text: string | null, ...calls: readonly ToolCall[]): ChatMessage => ({
  role: 'assistant',
  items: items(text, ...calls),
});

export const toolResult = (
  toolCallId: string,
  content: ToolResult['content'] = 'done',
  name: string | null = null,
): ToolResult => ({ role: 'tool', toolCallId, content, name, isError: false });

/** A request that is always translated, and sets no limit besides what its call says. */
export const orderOf = (call: ChatCall) => ({ call, outputLimit: null, original: null });
