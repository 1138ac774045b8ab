/**
 * Streams of the Responses API, documented at platform.openai.com/docs/api-reference/responses-streaming. Every event is an
 * object with a type; items and their parts are named by their place in the answer.
 */
import { type ChatEvent, type ChatEventReader, failed, maxToolCalls } from './chat.ts';
import { madeCallId } from './openai-tool-calls.ts';
import { finishOf } from './responses-answer.ts';
import { DeltaTemplates, type WireOf } from './responses-deltas.ts';
import { betweenParts, reasoningSignature } from './responses-reasoning.ts';
import { readResponsesUsage } from './responses-usage.ts';
import { beyondLimit, ProviderError, type Upstream } from './upstream.ts';
import { type Fields, isCount, isObject, objectAt, parseJson, parseObject } from './wire.ts';

/** `wireOf` is null for clients of other formats. */
export function openStreamReader(upstream: Upstream, wireOf: WireOf | null): ChatEventReader {
  const meanings = new Meanings(upstream);
  const templates = new DeltaTemplates(wireOf);
  const read = (data: string): readonly ChatEvent[] => {
    if (data === '[DONE]') return [{ type: 'end' }];
    // What is passed on keeps every digit.
    const event = wireOf === null ? parseObject(data) : parseObject(data, parseJson);
    if (event === null) throw new ProviderError('malformed_stream_chunk');
    // A line break in the type could forge further events.
    if (typeof event.type === 'string' && !/^[\w.]{1,100}$/.test(event.type)) return [];
    if (event.output_index !== undefined) requirePlace(event.output_index);
    const events = meanings.of(event);
    templates.learn(data, event, events);
    return wireOf === null ? events : templates.withWire(event, events);
  };
  return Object.assign(read, {
    readCommon: (text: string, events: ChatEvent[]) => templates.readCommon(text, events),
  });
}

/** `hasArguments` is whether any of them were passed on. */
type OpenCall = { readonly index: number; hasArguments: boolean };

/** What the events of one stream mean, one after the other. */
class Meanings {
  readonly #upstream: Upstream;
  /** By the place of their items. */
  readonly #calls = new Map<number, OpenCall>();
  /** The parts of messages whose text has come in pieces. Their whole text follows again. */
  readonly #begun = new Set<string>();
  /** Whether anything of the current reasoning item was passed on. */
  #hasReasoning = false;
  #isRefused = false;

  constructor(upstream: Upstream) {
    this.#upstream = upstream;
  }

  /** Events of unknown types mean nothing: the format gets new ones with every release. */
  of(event: Fields): readonly ChatEvent[] {
    switch (event.type) {
      case 'response.output_text.delta':
        return this.#text(event, event.delta, false);
      case 'response.output_text.done':
        return this.#text(event, event.text, true);
      case 'response.refusal.delta':
        this.#isRefused = true;
        return this.#text(event, event.delta, false);
      case 'response.refusal.done':
        this.#isRefused = true;
        return this.#text(event, event.refusal, true);
      case 'response.output_item.added':
        return this.#itemAdded(event);
      case 'response.output_item.done':
        return this.#itemDone(event);
      case 'response.function_call_arguments.delta':
      case 'response.custom_tool_call_input.delta':
        return this.#arguments(event, event.delta, false);
      case 'response.function_call_arguments.done':
        return this.#arguments(event, event.arguments, true);
      case 'response.custom_tool_call_input.done':
        return this.#arguments(event, event.input, true);
      case 'response.reasoning_summary_part.added':
        return this.#reasoning(isCount(event.summary_index) && event.summary_index > 0 ? betweenParts : '');
      case 'response.reasoning_summary_text.delta':
      case 'response.reasoning_text.delta':
        return this.#reasoning(textIn(event.delta));
      case 'response.completed':
      case 'response.incomplete':
        return this.#ended(event, event.type === 'response.completed' ? 'completed' : 'incomplete');
      case 'response.failed':
        return [...failure(), ...usageIn(event), { type: 'end' }];
      case 'error':
        return failure();
      default:
        return unknownEvent(event);
    }
  }

  /** `isWhole` for a text that comes again at its end: it counts only if there were no pieces. */
  #text(event: Fields, value: unknown, isWhole: boolean): readonly ChatEvent[] {
    const text = textIn(value);
    const part = `${String(event.output_index)} ${String(event.content_index)}`;
    if (isWhole && this.#begun.has(part)) return [];
    // As many parts as a provider likes would take as much memory.
    if (text !== '' && this.#begun.size < maxParts) this.#begun.add(part);
    return text === '' ? [] : [{ type: 'text', text }];
  }

  #itemAdded(event: Fields): readonly ChatEvent[] {
    const item = itemIn(event);
    if (item.type === 'reasoning') this.#hasReasoning = false;
    return isCall(item) ? this.#begin(placeOf(event), item) : [];
  }

  #begin(place: number, { call_id: id, name }: Fields): readonly ChatEvent[] {
    if (this.#calls.has(place)) return [];
    if (typeof name !== 'string' || name === '') throw new ProviderError('malformed_stream_chunk');
    const index = this.#calls.size;
    if (index >= maxToolCalls) return [failed(beyondLimit())];
    this.#calls.set(place, { index, hasArguments: false });
    const callId = typeof id === 'string' && id !== '' ? id : madeCallId(this.#upstream.requestId, index);
    return [{ type: 'tool_call', index, id: callId, name }];
  }

  #arguments(event: Fields, value: unknown, isWhole: boolean): readonly ChatEvent[] {
    const text = textIn(value);
    const call = this.#calls.get(placeOf(event));
    if (call === undefined) throw new ProviderError('malformed_stream_chunk');
    if (text === '' || (isWhole && call.hasArguments)) return [];
    call.hasArguments = true;
    return [{ type: 'tool_arguments', index: call.index, text }];
  }

  #itemDone(event: Fields): readonly ChatEvent[] {
    const item = itemIn(event);
    if (item.type === 'reasoning') return this.#reasoningEnd(item);
    if (!isCall(item)) return [];
    // Servers that send a call whole may have announced nothing.
    const begun = this.#begin(placeOf(event), item);
    if (begun.some(({ type }) => type === 'failure')) return begun;
    return [...begun, ...this.#arguments(event, item.arguments ?? item.input ?? '', true)];
  }

  #reasoning(text: string): readonly ChatEvent[] {
    if (text === '' || this.#upstream.showsReasoning !== true) return [];
    this.#hasReasoning = true;
    return [{ type: 'reasoning', text }];
  }

  #reasoningEnd(item: Fields): readonly ChatEvent[] {
    if (this.#upstream.showsReasoning !== true) return [];
    const signature = reasoningSignature(item, this.#upstream.maker);
    const isShown = this.#hasReasoning || signature !== null;
    this.#hasReasoning = false;
    return isShown ? [{ type: 'reasoning_end', signature }] : [];
  }

  #ended(event: Fields, status: 'completed' | 'incomplete'): readonly ChatEvent[] {
    const response = objectAt(event, 'response');
    if (response === null) throw new ProviderError('malformed_stream_chunk');
    const reason = finishOf(status, response, this.#calls.size > 0, this.#isRefused);
    return [{ type: 'finish', reason }, ...usageIn(event), { type: 'end' }];
  }
}

/** More than any answer has. */
const maxParts = 10_000;

function textIn(value: unknown): string {
  if (typeof value !== 'string') throw new ProviderError('malformed_stream_chunk');
  return value;
}

function requirePlace(place: unknown): asserts place is number {
  if (!isCount(place)) throw new ProviderError('malformed_stream_chunk');
}

function placeOf({ output_index: place }: Fields): number {
  requirePlace(place);
  return place;
}

function itemIn({ item }: Fields): Fields {
  if (!isObject(item)) throw new ProviderError('malformed_stream_chunk');
  return item;
}

function isCall({ type }: Fields): boolean {
  return type === 'function_call' || type === 'custom_tool_call';
}

function failure(): readonly ChatEvent[] {
  return [failed(new ProviderError('provider_stream_error'))];
}

function usageIn(event: Fields): readonly ChatEvent[] {
  const usage = readResponsesUsage(objectAt(objectAt(event, 'response'), 'usage'));
  return usage === null ? [] : [{ type: 'usage', usage }];
}

/** Proxies in front of a server may report a failure of their own, in the form that is usual outside of streams. */
function unknownEvent({ type, error }: Fields): readonly ChatEvent[] {
  if (typeof type === 'string') return [];
  if (isObject(error)) return failure();
  throw new ProviderError('malformed_stream_chunk');
}
