/**
 * Writes the events of a stream in the Responses format from what a provider of another format sends: items are opened and
 * closed, and everything is repeated in the last event.
 */
import type { ApiError } from '../../errors.ts';
import type { Charge } from '../../ledger/settlement.ts';
import type { ChatEvent, FinishReason, ReportedUsage } from '../../providers/chat.ts';
import { type ItemType, itemIdOf } from '../../providers/responses-ids.ts';
import { EndedByGateway } from '../../providers/upstream.ts';
import type { ChatWriter } from '../dialect.ts';
import { begunResponse, eventText, failedEvents, responseMember } from './events.ts';
import { FreeFormInput } from './free-form.ts';
import {
  clientTool,
  endedHead,
  type Facts,
  type ItemStatus,
  needsMessage,
  presentMessage,
  presentPart,
  presentReasoning,
  presentUsage,
  sealed,
  statusOf,
  typeOfCall,
  writtenCall,
} from './present.ts';
import type { ClientTool } from './tools.ts';

type EventOf<Type extends ChatEvent['type']> = Extract<ChatEvent, { type: Type }>;

/** The last event repeats the whole answer, which must fit into memory. As long as a non-streamed answer may be. */
const maxCharacters = 33_554_432;
/** What an item takes besides its text. */
const charactersOfItem = 256;

/** An item that is being written. `head` is what all its deltas begin with. */
type OpenText = { readonly place: number; readonly id: string; readonly head: string; text: string };
type OpenCall = {
  readonly place: number;
  readonly id: string;
  readonly head: string;
  readonly callId: string;
  readonly tool: ClientTool;
  readonly freeForm: FreeFormInput | null;
  text: string;
};

/** Up to its delta, which the number precedes. */
function deltaHead(type: string, id: string, place: number, indexes: string): string {
  return `event: ${type}\ndata: {"type":"${type}","item_id":"${id}","output_index":${place},${indexes}"sequence_number":`;
}

export class ResponseWriter implements ChatWriter {
  /** The last event is the end: there is nothing like `[DONE]`. */
  readonly close = '';
  readonly #facts: Facts;
  #number = 0;
  #characters = 0;
  /** Items that are complete, as JSON, by their place. Null for one that is still open. */
  readonly #output: (string | null)[] = [];
  #message: OpenText | null = null;
  #reasoning: OpenText | null = null;
  /** By the index of the call. Pieces of several can alternate, so they are open to the end. Null until the first one. */
  #calls: Map<number, OpenCall> | null = null;
  #hasAnswer = false;
  #reason: FinishReason = 'stop';

  constructor(facts: Facts) {
    this.#facts = facts;
  }

  begin(): string {
    const response = begunResponse(this.#facts);
    return this.#event('response.created', response) + this.#event('response.in_progress', response);
  }

  text(event: EventOf<'text'>): string {
    const message = this.#message;
    if (message === null) return this.#openMessage() + this.text(event);
    const { text } = event;
    message.text += text;
    this.#count(text.length);
    return `${message.head}${this.#number++},"delta":${JSON.stringify(text)}}\n\n`;
  }

  reasoning(event: EventOf<'reasoning'>): string {
    const { text } = event;
    if (!this.#facts.asked.showsReasoning || text === '') return '';
    const reasoning = this.#reasoning;
    if (reasoning === null) return this.#openReasoning() + this.reasoning(event);
    const part = reasoning.text === '' ? this.#summaryPart(reasoning) : '';
    reasoning.text += text;
    this.#count(text.length);
    return `${part}${reasoning.head}${this.#number++},"delta":${JSON.stringify(text)}}\n\n`;
  }

  reasoningEnd({ signature }: EventOf<'reasoning_end'>): string {
    const { asked } = this.#facts;
    const isWorthAnItem = asked.seal !== null && signature !== null;
    const opening = this.#reasoning === null && isWorthAnItem ? this.#openReasoning() : '';
    return opening + this.#closeReasoning(sealed(asked, signature));
  }

  toolCall({ index, id: callId, name }: EventOf<'tool_call'>): string {
    const closing = this.#closeReasoning(sealed(this.#facts.asked, null)) + this.#closeMessage('completed');
    const tool = clientTool(this.#facts.asked, name);
    const type = typeOfCall(tool);
    const { place, id } = this.#newItem(type);
    this.#count(callId.length);
    const piece = tool.isFreeForm ? 'custom_tool_call_input' : 'function_call_arguments';
    const head = deltaHead(`response.${piece}.delta`, id, place, '');
    const freeForm = tool.isFreeForm ? new FreeFormInput() : null;
    this.#calls ??= new Map();
    this.#calls.set(index, { place, id, head, callId, tool, freeForm, text: '' });
    this.#hasAnswer = true;
    const item = JSON.stringify(writtenCall(tool, id, 'in_progress', callId, ''));
    return closing + this.#event('response.output_item.added', `"output_index":${place},"item":${item}`);
  }

  toolArguments({ index, text }: EventOf<'tool_arguments'>): string {
    const call = this.#calls?.get(index);
    if (call === undefined) return '';
    const piece = call.freeForm === null ? text : call.freeForm.add(text);
    if (call.freeForm === null) call.text += text;
    this.#count(text.length);
    return piece === '' ? '' : this.#callDelta(call, piece);
  }

  finish({ reason }: EventOf<'finish'>): string {
    this.#reason = reason;
    const status = statusOf(reason);
    let closing = this.#closeReasoning(sealed(this.#facts.asked, null));
    if (needsMessage(this.#hasAnswer, reason)) closing += this.#openMessage();
    closing += this.#closeMessage(status);
    for (const call of this.#calls?.values() ?? []) closing += this.#closeCall(call, status);
    return closing;
  }

  wire(): string {
    return '';
  }

  complete(charge: Charge, reported: ReportedUsage): string {
    const head = endedHead(this.#facts, this.#reason);
    const usage = presentUsage(charge, reported.reasoningTokens);
    const response = responseMember(this.#facts, head, this.#done(), usage);
    return eventText(`response.${head.status}`, this.#number, response);
  }

  failure(error: ApiError): string {
    return failedEvents(this.#facts, error, this.#number, this.#done());
  }

  #done(): readonly string[] {
    return this.#output.filter((item) => item !== null);
  }

  #event(type: string, members: string): string {
    return eventText(type, this.#number++, members);
  }

  #newItem(type: ItemType): Readonly<{ place: number; id: string }> {
    this.#count(charactersOfItem);
    const place = this.#output.push(null) - 1;
    return { place, id: itemIdOf(this.#facts.requestId, type, place) };
  }

  #openMessage(): string {
    const closing = this.#closeReasoning(sealed(this.#facts.asked, null));
    const { place, id } = this.#newItem('message');
    const indexes = '"content_index":0,"logprobs":[],';
    this.#message = {
      place,
      id,
      head: deltaHead('response.output_text.delta', id, place, indexes),
      text: '',
    };
    this.#hasAnswer = true;
    const item = JSON.stringify(presentMessage(id, 'in_progress', null));
    return (
      closing +
      this.#event('response.output_item.added', `"output_index":${place},"item":${item}`) +
      this.#event(
        'response.content_part.added',
        `"item_id":"${id}","output_index":${place},"content_index":0,"part":${JSON.stringify(presentPart(''))}`,
      )
    );
  }

  #closeMessage(status: ItemStatus): string {
    if (this.#message === null) return '';
    const { place, id, text } = this.#message;
    this.#message = null;
    const where = `"item_id":"${id}","output_index":${place},"content_index":0`;
    const item = JSON.stringify(presentMessage(id, status, text));
    this.#output[place] = item;
    return (
      this.#event('response.output_text.done', `${where},"text":${JSON.stringify(text)},"logprobs":[]`) +
      this.#event('response.content_part.done', `${where},"part":${JSON.stringify(presentPart(text))}`) +
      this.#event('response.output_item.done', `"output_index":${place},"item":${item}`)
    );
  }

  #openReasoning(): string {
    const closing = this.#closeMessage('completed');
    const { place, id } = this.#newItem('reasoning');
    const head = deltaHead('response.reasoning_summary_text.delta', id, place, '"summary_index":0,');
    this.#reasoning = { place, id, head, text: '' };
    const item = JSON.stringify(presentReasoning(id, '', undefined));
    return closing + this.#event('response.output_item.added', `"output_index":${place},"item":${item}`);
  }

  #summaryPart({ id, place }: OpenText): string {
    return this.#event(
      'response.reasoning_summary_part.added',
      `"item_id":"${id}","output_index":${place},"summary_index":0,"part":{"type":"summary_text","text":""}`,
    );
  }

  #closeReasoning(encrypted: string | null | undefined): string {
    if (this.#reasoning === null) return '';
    const { place, id, text } = this.#reasoning;
    this.#reasoning = null;
    this.#count(encrypted?.length ?? 0);
    const where = `"item_id":"${id}","output_index":${place},"summary_index":0`;
    const shown = JSON.stringify(text);
    const item = JSON.stringify(presentReasoning(id, text, encrypted));
    this.#output[place] = item;
    const summary =
      text === ''
        ? ''
        : this.#event('response.reasoning_summary_text.done', `${where},"text":${shown}`) +
          this.#event(
            'response.reasoning_summary_part.done',
            `${where},"part":{"type":"summary_text","text":${shown}}`,
          );
    return summary + this.#event('response.output_item.done', `"output_index":${place},"item":${item}`);
  }

  #callDelta({ head }: OpenCall, piece: string): string {
    return `${head}${this.#number++},"delta":${JSON.stringify(piece)}}\n\n`;
  }

  #closeCall(call: OpenCall, status: ItemStatus): string {
    const { place, id, callId, tool, freeForm } = call;
    const rest = freeForm?.end() ?? '';
    const delta = rest === '' ? '' : this.#callDelta(call, rest);
    const written = freeForm?.text ?? call.text;
    const where = `"item_id":"${id}","output_index":${place}`;
    const whole = JSON.stringify(written);
    const done =
      freeForm === null
        ? this.#event(
            'response.function_call_arguments.done',
            `${where},"name":${JSON.stringify(tool.name)},"arguments":${whole}`,
          )
        : this.#event('response.custom_tool_call_input.done', `${where},"input":${whole}`);
    const item = JSON.stringify(writtenCall(tool, id, status, callId, written));
    this.#output[place] = item;
    return delta + done + this.#event('response.output_item.done', `"output_index":${place},"item":${item}`);
  }

  #count(characters: number): void {
    this.#characters += characters;
    if (this.#characters > maxCharacters) throw new EndedByGateway('malformed_stream_chunk', null);
  }
}
