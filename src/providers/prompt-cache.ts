/**
 * What the gateway does so that providers find the beginning of a conversation in their caches. Some have to be told up to
 * where to write it: a client of the chat format cannot, so breakpoints are set here. A write costs more than the same
 * input without a cache, and pays off with the next turn.
 */
import { type ChatCall, type ChatMessage, textOrNull } from './chat.ts';

/** Whether a further turn is likely: with tools there will be results, and a conversation that has gone on may go on. */
export function wantsCache({ tools, messages }: ChatCall): boolean {
  return tools !== null || messages.some(({ role }) => role === 'assistant' || role === 'tool');
}

/** Kept for five minutes after it was last read, which is the default everywhere. */
export const breakpoint = { type: 'ephemeral' } as const;

/**
 * The last message of the call before this one, which ended where the model then answered; -1 for a first call. Providers
 * look for an earlier entry only among the last 20 parts before a breakpoint, and one turn can have more results than that.
 */
export function endOfLastCall(messages: readonly Readonly<{ role: string }>[]): number {
  const answer = messages.findLastIndex(({ role }) => role === 'assistant');
  return messages.findLastIndex(({ role }, index) => index < answer && role !== 'assistant');
}

/** Enough to tell the conversations of one account apart; hashing megabytes would hold up other requests. */
const maxCharacters = 4_096;
const maxItems = 16;

/**
 * What stays the same in all turns of a conversation, up to a size: the names of its tools, and everything up to the first
 * user message.
 */
export function beginningOf({ tools, messages }: ChatCall): string {
  const end = messages.findIndex(({ role }) => role === 'user') + 1;
  const opening = messages.slice(Math.max(0, end - maxItems), end);
  return JSON.stringify([
    tools?.length ?? 0,
    tools?.slice(0, maxItems).map(({ name }) => name),
    opening.map((message) => [message.role, textsOf(message).map(outlineOf)]),
  ]);
}

function textsOf(message: ChatMessage): readonly string[] {
  if (message.role === 'assistant') {
    const text = textOrNull(message.items);
    return text === null ? [] : [text];
  }
  const { content } = message;
  if (typeof content === 'string') return [content];
  return content.slice(0, maxItems).map((part) => (part.type === 'text' ? part.text : part.url));
}

function outlineOf(text: string): readonly [string, number] {
  return [text.slice(0, maxCharacters), text.length];
}
