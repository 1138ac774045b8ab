/**
 * Writes the stream of a provider that speaks the same format: its events as they came. Only the last two are kept back
 * until the charge is known.
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

  /** The provider's own first event is passed on. */
  begin(): string {
    return '';
  }

  text({ wire = '' }: Passed): string {
    return this.#hasBegun ? wire : this.#begun(wire);
  }

  reasoning({ wire = '' }: Passed): string {
    return this.#hasBegun ? wire : this.#begun(wire);
  }

  reasoningEnd({ wire = '' }: Passed): string {
    return this.#hasBegun ? wire : this.#begun(wire);
  }

  toolCall({ wire = '' }: Passed): string {
    return this.#hasBegun ? wire : this.#begun(wire);
  }

  toolArguments({ wire = '' }: Passed): string {
    return this.#hasBegun ? wire : this.#begun(wire);
  }

  wire({ wire = '' }: Passed): string {
    const isStart = wire.startsWith('event: message_start\n');
    if (this.#hasBegun) return isStart ? '' : wire;
    if (!isStart) return wire.startsWith('event: content_block_') ? this.#begun(wire) : wire;
    this.#hasBegun = true;
    return wire;
  }

  /** In front of what the provider has begun with. */
  #begun(wire: string): string {
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
