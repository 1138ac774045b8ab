/** Reads tool calls in OpenAI's format, whole and in pieces, from servers that leave out some of what it promises. */
import { type ChatEvent, failed, maxToolCalls, type ToolCall } from './chat.ts';
import { isTooDeep, writeArguments } from './tool-arguments.ts';
import { beyondLimit, ProviderError, unreadableArguments } from './upstream.ts';
import { type Fields, isCount, isObject, objectAt } from './wire.ts';

/** The calls of a non-streamed answer. */
export function readToolCalls(items: readonly unknown[], requestId: string): ToolCall[] {
  if (items.length > maxToolCalls) throw unreadableArguments();
  return items.map((item, index) => readToolCall(item, index, requestId));
}

function readToolCall(item: unknown, index: number, requestId: string): ToolCall {
  const call = objectAt(item, 'function');
  const name = textAt(call, 'name');
  const text = argumentsText(call?.arguments);
  if (!isObject(item) || name === null) throw new ProviderError('provider_unknown_error');
  if (text === null || isTooDeep(text)) throw unreadableArguments();
  return { type: 'tool_call', id: textAt(item, 'id') ?? madeCallId(requestId, index), name, arguments: text };
}

/** Assigns the pieces of a stream to calls: which call each belongs to, and when a new one begins. */
export class ToolCallReader {
  readonly #requestId: string;
  /** The IDs of the calls so far, by our own numbering: in the order in which they began. */
  readonly #ids: string[] = [];
  /** Null until the first call: most streams have none. */
  #byWireIndex: Map<number, number> | null = null;

  constructor(requestId: string) {
    this.#requestId = requestId;
  }

  get count(): number {
    return this.#ids.length;
  }

  /**
   * Reads the pieces of one event, up to the first that cannot be passed on: a million of them may follow. The rest of the
   * event may hold the usage, so the failure becomes an event and is not thrown.
   */
  readAll(items: readonly unknown[], events: ChatEvent[]): void {
    for (const item of items) {
      const problem = this.#read(item, events);
      if (problem === null) continue;
      events.push(failed(problem));
      return;
    }
  }

  /** Only the first piece of a call carries its name. Returns why the piece cannot be passed on. */
  #read(item: unknown, events: ChatEvent[]): ProviderError | null {
    if (!isObject(item) || !isWireIndex(item.index)) return new ProviderError('malformed_stream_chunk');
    const call = objectAt(item, 'function');
    const text = argumentsText(call?.arguments);
    const index = this.#known(item, call) ?? this.#begin(item, call, events);
    if (index === null || text === null) return beyondLimit();
    if (text !== '') events.push({ type: 'tool_arguments', index, text });
    return null;
  }

  /** The call that a piece continues; null when it starts a new one. */
  #known(item: Fields, call: Fields | null): number | null {
    const id = textAt(item, 'id');
    const name = textAt(call, 'name');
    const wireIndex = wireIndexOf(item);
    if (wireIndex !== null) {
      const known = this.#byWireIndex?.get(wireIndex) ?? null;
      // Servers that send each call whole may give all of them the index 0.
      const isAnother = known !== null && id !== null && name !== null && this.#ids[known] !== id;
      return isAnother ? null : known;
    }
    // Gemini's compatible endpoint, among others, leaves out the index: then an ID or a name starts a call.
    if (id !== null) {
      const known = this.#ids.indexOf(id);
      return known < 0 ? null : known;
    }
    return name !== null || this.#ids.length === 0 ? null : this.#ids.length - 1;
  }

  /** Null when the answer already has the maximum number of calls, or the call has no name. */
  #begin(item: Fields, call: Fields | null, events: ChatEvent[]): number | null {
    const name = textAt(call, 'name');
    const index = this.#ids.length;
    if (name === null || index >= maxToolCalls) return null;
    const id = textAt(item, 'id') ?? madeCallId(this.#requestId, index);
    this.#ids.push(id);
    const wireIndex = wireIndexOf(item);
    if (wireIndex !== null) {
      this.#byWireIndex ??= new Map();
      this.#byWireIndex.set(wireIndex, index);
    }
    events.push({ type: 'tool_call', index, id, name });
    return index;
  }
}

/** Some servers leave it out. */
function isWireIndex(index: unknown): boolean {
  return index === undefined || index === null || isCount(index);
}

function wireIndexOf({ index }: Fields): number | null {
  return isCount(index) ? index : null;
}

/** A client cannot answer a call without an ID. This one stays within the 40 characters that OpenAI allows. */
export function madeCallId(requestId: string, index: number): string {
  return `call_${requestId.slice(-24)}_${index}`;
}

/** The arguments are JSON as text; some servers send the object itself, as in Ollama's own format. */
function argumentsText(value: unknown): string | null {
  if (typeof value === 'string') return value;
  return value === undefined || value === null ? '' : writeArguments(value);
}

/** Null also for an empty text, which some servers send in place of nothing. */
function textAt(fields: Fields | null, name: string): string | null {
  const value = fields?.[name];
  return typeof value === 'string' && value !== '' ? value : null;
}
