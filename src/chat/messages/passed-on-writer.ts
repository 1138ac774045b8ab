/**
 * Writes the stream of a provider that speaks the same format: its events, as the adapter passes them on. Only the last two
 * are kept back until the charge is known.
 */
import type { ApiError } from '../../errors.ts';
import type { Charge } from '../../ledger/settlement.ts';
import type { ChatEvent, JsonObject, ReportedUsage } from '../../providers/chat.ts';
import { parseObject } from '../../providers/wire.ts';
import type { ChatWriter, ResponseFacts } from '../dialect.ts';
import { errorEvent, event, messageStart, messageStop } from './events.ts';
import { presentUsage } from './usage.ts';

type Passed = Pick<ChatEvent, 'wire'>;

export class PassedOnWriter implements ChatWriter {
  readonly close = '';
  readonly #facts: ResponseFacts<unknown>;
  /** Clients give up on an answer that begins twice, or not at all. */
  #hasBegun = false;
  /** The event with the stop reason. */
  #end: string | null = null;

  constructor(facts: ResponseFacts<unknown>) {
    this.#facts = facts;
  }

  /** The provider's own beginning is passed on; ours stands in only where it is missing. */
  begin(): string {
    return '';
  }

  text({ wire = '' }: Passed): string {
    return this.#pass(wire);
  }

  reasoning({ wire = '' }: Passed): string {
    return this.#pass(wire);
  }

  reasoningEnd({ wire = '' }: Passed): string {
    return this.#pass(wire);
  }

  toolCall({ wire = '' }: Passed): string {
    return this.#pass(wire);
  }

  toolArguments({ wire = '' }: Passed): string {
    return this.#pass(wire);
  }

  wire({ wire = '' }: Passed): string {
    const isStart = wire.startsWith('event: message_start\n');
    if (this.#hasBegun) return isStart ? '' : wire;
    if (!isStart) return wire.startsWith('event: content_block_') ? this.#pass(wire) : wire;
    this.#hasBegun = true;
    return wire;
  }

  /** A piece of the answer, with a beginning in front of it if the provider has sent none. */
  #pass(wire: string): string {
    if (this.#hasBegun) return wire;
    this.#hasBegun = true;
    return messageStart(this.#facts) + wire;
  }

  finish({ wire }: Passed): string {
    this.#end ??= wire ?? null;
    return '';
  }

  complete(charge: Charge, reported: ReportedUsage): string {
    const text = this.#end ?? '';
    const passed = parseObject(text.slice(text.indexOf('\ndata: ') + '\ndata: '.length)) ?? {};
    const usage = { ...(passed.usage as JsonObject | undefined), ...presentUsage(charge, reported) };
    const start = this.#hasBegun ? '' : messageStart(this.#facts);
    return start + event('message_delta', { ...passed, usage }) + messageStop;
  }

  failure(error: ApiError): string {
    return errorEvent(error, this.#facts.requestId);
  }
}
