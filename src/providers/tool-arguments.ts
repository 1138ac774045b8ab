/** The arguments of a tool call: a text of JSON for clients and for OpenAI, an object for other formats. */
import type { ChatMessage, JsonObject } from './chat.ts';
import { isObject, parseJson, parseObject } from './wire.ts';

/** Deeper than any real argument; what is printed again must not overflow the stack. */
export const deepestArguments = 64;

/** As many as a whole body may hold: texts are read here that the body's own limit did not look into. */
const mostValues = 100_000;

export const tooManyValues = `The arguments of the tool calls hold more than ${mostValues} values together.`;

/** Whether all the arguments of a conversation together are few enough to be read. */
export function areReadable(messages: readonly ChatMessage[]): boolean {
  let values = 0;
  for (const message of messages) {
    if (message.role !== 'assistant') continue;
    for (const call of message.toolCalls) values += countValues(call.arguments);
  }
  return values <= mostValues;
}

/** Counts what separates values, outside of strings, without making anything of them. */
function countValues(text: string): number {
  let count = 0;
  for (let place = 0; place < text.length; place += 1) {
    const code = text.charCodeAt(place);
    if (code === quote) place = endOfString(text, place);
    else if (code === comma || code === colon || code === bracket) count += 1;
  }
  return count;
}

/** Hops from quote to quote, because a string may be a file of many megabytes. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (text.charCodeAt(end - 1 - backslashes) === backslash) backslashes += 1;
    if (backslashes % 2 === 0) return end;
  }
  return text.length;
}

const [quote, backslash, comma, colon, bracket] = Buffer.from('"\\,:[');

/** The object that a text holds; null when it holds another kind of value, or one too deep or too large. */
export function readResult(text: string): JsonObject | null {
  return text.trim() === '' || countValues(text) > mostResultValues ? null : readArguments(text);
}

/** A result that is larger is passed on as the text that it is. */
const mostResultValues = 1_000;

/** Null when the text is no JSON object, or one too deep. Models that call a tool without arguments may write nothing. */
export function readArguments(text: string): JsonObject | null {
  if (text.trim() === '') return {};
  const value = parseObject(text, parseJson);
  return value !== null && isShallow(value, deepestArguments) ? value : null;
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
