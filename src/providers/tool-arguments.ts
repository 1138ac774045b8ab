/** The arguments of a tool call: JSON as text for clients and for OpenAI, an object in other formats. */
import { measureJson } from '../json/scan.ts';
import { type ChatMessage, type JsonObject, toolCallsOf } from './chat.ts';
import { isObject, parseJson, parseObject } from './wire.ts';

/** Deeper than any real argument; serializing must not overflow the stack. */
export const deepestArguments = 64;

/** As many as a whole body may hold: these texts are parsed here, so the body's own limit did not cover them. */
const maxValues = 100_000;
/** More than models write in a whole conversation. Parsing as much as a body may hold would block other requests. */
const maxCharacters = 2_000_000;

export const tooMuchToRead = `The tool calls of a conversation may hold ${maxValues} values and ${maxCharacters} characters together.`;

/** Whether the tool calls of a conversation together are small enough to be parsed. */
export function areReadable(messages: readonly ChatMessage[]): boolean {
  let characters = 0;
  let values = 0;
  for (const message of messages) {
    if (message.role === 'tool') characters += message.toolCallId.length;
    if (message.role !== 'assistant') continue;
    for (const call of toolCallsOf(message.items)) characters += call.id.length + call.arguments.length;
  }
  if (characters > maxCharacters) return false;
  for (const message of messages) {
    if (message.role !== 'assistant') continue;
    for (const call of toolCallsOf(message.items)) values += countValues(call.arguments, maxValues);
  }
  return values <= maxValues;
}

/** Stops counting right above `max`. */
function countValues(text: string, max: number): number {
  return measureJson(text, { values: max, depth: Number.POSITIVE_INFINITY }).values;
}

/** A larger result is passed on as text. */
const maxResultValues = 1_000;
const maxResultCharacters = 65_536;

/** Parses the results of a conversation one after the other, up to a total size. */
export class ResultReader {
  #charactersLeft = maxCharacters;

  /** The object in a text; null when it is another kind of value, or too deep or too large. */
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

/** Null when the text is not a JSON object or nested too deeply. A call without arguments may have an empty text. */
export function readArguments(text: string): JsonObject | null {
  const trimmed = text.trim();
  if (trimmed === '') return {};
  // A parser that fails costs more than one that succeeds.
  if (!trimmed.startsWith('{')) return null;
  // Measured before anything is parsed.
  return isTooDeep(text) ? null : parseObject(text, parseJson);
}

/** The text need not be valid JSON. */
export function isTooDeep(text: string): boolean {
  const limits = { values: Number.POSITIVE_INFINITY, depth: deepestArguments };
  return measureJson(text, limits).depth > deepestArguments;
}

/** The same for a text that arrives in pieces, each of which is passed on at once. */
export class DepthMeter {
  #depth = 0;
  #isInString = false;
  #isEscaped = false;

  /** Whether the text is too deep somewhere in this piece. */
  exceedsWith(piece: string): boolean {
    let deepest = 0;
    for (let at = 0; at < piece.length; at += 1) {
      const character = piece.charAt(at);
      if (this.#isEscaped) this.#isEscaped = false;
      else if (this.#isInString) this.#takeInString(character);
      else if (character === '"') this.#isInString = true;
      else if (character === '{' || character === '[') deepest = Math.max(deepest, ++this.#depth);
      else if ((character === '}' || character === ']') && this.#depth > 0) this.#depth -= 1;
    }
    return deepest > deepestArguments;
  }

  #takeInString(character: string): void {
    if (character === '\\') this.#isEscaped = true;
    else if (character === '"') this.#isInString = false;
  }
}

/** Null when the value is not an object or nested too deeply. */
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
