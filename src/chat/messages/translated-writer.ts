/**
 * Writes the stream of a provider that speaks another format. Blocks follow one another here, and a block that has ended
 * cannot go on; elsewhere the arguments of several calls may alternate. So one block is open at a time, and what belongs
 * to a later one waits until the open call is complete.
 */
import type { ApiError } from '../../errors.ts';
import type { Charge } from '../../ledger/settlement.ts';
import type { ChatEvent, FinishReason, ReportedUsage } from '../../providers/chat.ts';
import { toWireId } from '../../providers/messages-tool-ids.ts';
import { beyondLimit } from '../../providers/upstream.ts';
import type { ChatWriter, ResponseFacts } from '../dialect.ts';
import { CallLength } from './call-length.ts';
import { errorEvent, event, messageStart, messageStop } from './events.ts';
import type { AskedOfMessages } from './parse.ts';
import { stopReason } from './present.ts';
import { presentUsage } from './usage.ts';

type EventOf<Type extends ChatEvent['type']> = Extract<ChatEvent, { type: Type }>;
type OpenBlock = { readonly kind: 'text' | 'thinking' } | OpenCall;
type OpenCall = { readonly kind: 'call'; readonly index: number; readonly length: CallLength };
type Waiting = { readonly kind: 'text'; text: string } | WaitingCall;
type WaitingCall = {
  readonly kind: 'call';
  readonly index: number;
  readonly id: string;
  readonly name: string;
  text: string;
};

/** More than models write. */
const maxWaiting = 8_000_000;

export class TranslatedWriter implements ChatWriter {
  readonly close = '';
  readonly #facts: ResponseFacts<AskedOfMessages>;
  /** The start of a text delta of the open block, up to the text. */
  #textHead = '';
  #open: OpenBlock | null = null;
  #blockIndex = -1;
  #hasCalls = false;
  #reason: FinishReason = 'stop';
  /** No call goes on after the reason why the answer ends. */
  #isFinished = false;
  readonly #waiting: Waiting[] = [];
  #waitingSize = 0;

  constructor(facts: ResponseFacts<AskedOfMessages>) {
    this.#facts = facts;
  }

  begin(): string {
    return messageStart(this.#facts);
  }

  text({ text }: EventOf<'text'>): string {
    if (this.#open?.kind === 'text') return this.#textDelta(text);
    if (this.#isCallOpen()) return this.#waitWith(text);
    return text === '' ? '' : this.#startText() + this.#textDelta(text);
  }

  reasoning({ text }: EventOf<'reasoning'>): string {
    const { thinking } = this.#facts.asked;
    if (thinking === 'nothing' || this.#isCallOpen()) return '';
    const start = this.#open?.kind === 'thinking' ? '' : this.#startThinking();
    return thinking === 'text' ? start + this.#delta({ type: 'thinking_delta', thinking: text }) : start;
  }

  reasoningEnd({ signature: made }: EventOf<'reasoning_end'>): string {
    const { thinking, seal } = this.#facts.asked;
    if (thinking === 'nothing' || this.#isCallOpen()) return '';
    const start = this.#open?.kind === 'thinking' ? '' : this.#startThinking();
    const signature = made === null ? '' : seal(made);
    return start + this.#delta({ type: 'signature_delta', signature }) + this.#end();
  }

  toolCall({ index, id, name }: EventOf<'tool_call'>): string {
    this.#hasCalls = true;
    const call = { kind: 'call', index, id, name, text: '' } as const;
    if (!this.#isCallOpen()) return this.#startCall(call);
    this.#waiting.push({ ...call });
    this.#addWaiting(id.length + name.length);
    return '';
  }

  toolArguments({ index, text }: EventOf<'tool_arguments'>): string {
    const open = this.#open;
    if (open?.kind === 'call' && open.index === index) {
      const sent = this.#argumentsDelta(open, text);
      return open.length.isComplete && this.#waiting.length > 0 ? sent + this.#release() : sent;
    }
    const call = this.#waiting.findLast((item) => item.kind === 'call' && item.index === index);
    if (call === undefined) {
      if (text.trim() === '') return '';
      // A call that has ended goes on.
      throw beyondLimit();
    }
    call.text += text;
    this.#addWaiting(text.length);
    return '';
  }

  finish({ reason }: EventOf<'finish'>): string {
    this.#reason = reason;
    this.#isFinished = true;
    return this.#release();
  }

  wire(): string {
    return '';
  }

  complete(charge: Charge, reported: ReportedUsage): string {
    const delta = { stop_reason: stopReason(this.#reason, this.#hasCalls), stop_sequence: null };
    const end = this.#open === null ? '' : event('content_block_stop', { index: this.#blockIndex });
    return end + event('message_delta', { delta, usage: presentUsage(charge, reported) }) + messageStop;
  }

  failure(error: ApiError): string {
    return errorEvent(error, this.#facts.requestId);
  }

  /** Whether the open block is a call that may go on. */
  #isCallOpen(): boolean {
    return this.#open?.kind === 'call' && !this.#open.length.isComplete && !this.#isFinished;
  }

  #waitWith(text: string): string {
    const last = this.#waiting.at(-1);
    if (last?.kind === 'text') last.text += text;
    else this.#waiting.push({ kind: 'text', text });
    this.#addWaiting(text.length);
    return '';
  }

  #addWaiting(size: number): void {
    this.#waitingSize += size;
    if (this.#waitingSize > maxWaiting) throw beyondLimit();
  }

  /** Writes what has waited, up to the first call that may go on. */
  #release(): string {
    let text = '';
    while (this.#waiting.length > 0 && !this.#isCallOpen()) {
      const item = this.#waiting.shift();
      if (item === undefined) break;
      text += item.kind === 'text' ? this.#startText() + this.#textDelta(item.text) : this.#startCall(item);
    }
    return text;
  }

  #startText(): string {
    const start = this.#start({ type: 'text', text: '' }, { kind: 'text' });
    const head = JSON.stringify({ type: 'content_block_delta', index: this.#blockIndex });
    this.#textHead = `event: content_block_delta\ndata: ${head.slice(0, -1)},"delta":{"type":"text_delta","text":`;
    return start;
  }

  #startThinking(): string {
    return this.#start({ type: 'thinking', thinking: '', signature: '' }, { kind: 'thinking' });
  }

  #startCall({ index, id, name, text }: WaitingCall): string {
    const call: OpenCall = { kind: 'call', index, length: new CallLength() };
    const start = this.#start({ type: 'tool_use', id: toWireId(id), name, input: {} }, call);
    return text === '' ? start : start + this.#argumentsDelta(call, text);
  }

  #start(block: object, open: OpenBlock): string {
    const end = this.#end();
    this.#open = open;
    this.#blockIndex += 1;
    return end + event('content_block_start', { index: this.#blockIndex, content_block: block });
  }

  #end(): string {
    if (this.#open === null) return '';
    this.#open = null;
    return event('content_block_stop', { index: this.#blockIndex });
  }

  #textDelta(text: string): string {
    return `${this.#textHead}${JSON.stringify(text)}}}\n\n`;
  }

  #argumentsDelta({ length }: OpenCall, text: string): string {
    length.add(text);
    return this.#delta({ type: 'input_json_delta', partial_json: text });
  }

  #delta(delta: object): string {
    return event('content_block_delta', { index: this.#blockIndex, delta });
  }
}
