/** The arguments of a tool call: a text of JSON for clients and for OpenAI, an object for other formats. */
import { measureJson } from '../lib/json-scan.ts';
import type { ChatMessage, JsonObject } from './chat.ts';
import { isObject, parseJson, parseObject } from './wire.ts';

/** Deeper than any real argument; what is printed again must not overflow the stack. */
export const deepestArguments = 64;

/** As many as a whole body may hold: texts are read here that the body's own limit did not look into. */
const maxValues = 100_000;
/** More than models write in a whole conversation. Reading as much as a body may have would keep others waiting. */
const maxCharacters = 2_000_000;

export const tooMuchToRead = `The tool calls of a conversation may hold ${maxValues} values and ${maxCharacters} characters together.`;

/** Whether all the tool calls of a conversation together are few enough to be read. */
export function areReadable(messages: readonly ChatMessage[]): boolean {
  let characters = 0;
  let values = 0;
  for (const message of messages) {
    if (message.role === 'tool') characters += message.toolCallId.length;
    if (message.role !== 'assistant') continue;
    for (const call of message.toolCalls) characters += call.id.length + call.arguments.length;
  }
  if (characters > maxCharacters) return false;
  for (const message of messages) {
    if (message.role !== 'assistant') continue;
    for (const call of message.toolCalls) values += countValues(call.arguments, maxValues);
  }
  return values <= maxValues;
}

/** Up to `most` and one more. */
function countValues(text: string, most: number): number {
  return measureJson(text, { values: most, depth: Number.POSITIVE_INFINITY }).values;
}

/** A result that is larger is passed on as the text that it is. */
const maxResultValues = 1_000;
const maxResultCharacters = 65_536;

/** Reads the results of a conversation, one after the other, until it has been enough. */
export class ResultReader {
  #charactersLeft = maxCharacters;

  /** The object that a text holds; null when it holds another kind of value, or one too deep or too large. */
  read(text: string): JsonObject | null {
    if (text.length > maxResultCharacters || text.length > this.#charactersLeft) return null;
    this.#charactersLeft -= text.length;
    return readResult(text);
  }
}

export function readResult(text: string): JsonObject | null {
  return text.trim() === '' || countValues(text, maxResultValues) > maxResultValues
    ? null
    : readArguments(text);
}

/** Null when the text is no JSON object, or one too deep. Models that call a tool without arguments may write nothing. */
export function readArguments(text: string): JsonObject | null {
  const trimmed = text.trim();
  if (trimmed === '') return {};
  // A parser that fails costs more than one that succeeds.
  if (!trimmed.startsWith('{')) return null;
  const most = { values: Number.POSITIVE_INFINITY, depth: deepestArguments };
  // Judged before anything is made of it.
  return measureJson(text, most).depth > deepestArguments ? null : parseObject(text, parseJson);
}

/** Null when the value is no object, or one too deep. */
export function writeArguments(value: unknown): string | null {
  return isObject(value) && isShallow(value, deepestArguments) ? JSON.stringify(value) : null;
}

function isShallow(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  if (levels === 0) return false;
  // Loops, because a provider may send millions of values.
  if (Array.isArray(value)) {
    for (const inner of value) if (!isShallow(inner, levels - 1)) return false;
    return true;
  }
  for (const name in value) if (!isShallow((value as JsonObject)[name], levels - 1)) return false;
  return true;
}
