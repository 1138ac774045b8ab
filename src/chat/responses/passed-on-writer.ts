/**
 * Sends the events of a provider that speaks the Responses format itself, as the adapter passes them on. The last one waits
 * for the charge, and tells it.
 */
import type { ApiError } from '../../errors.ts';
import type { Charge } from '../../ledger/settlement.ts';
import type { ChatEvent, ReportedUsage } from '../../providers/chat.ts';
import { objectAt, parseJson, parseObject } from '../../providers/wire.ts';
import type { ChatWriter } from '../dialect.ts';
import { failedEvents } from './events.ts';
import { type Facts, passedOnResponse, presentUsage } from './present.ts';

export class PassedOnWriter implements ChatWriter {
  readonly close = '';
  readonly #facts: Facts;
  /** How many events were sent: each has a number, and the next one continues from there. */
  #sent = 0;
  #last = '';

  constructor(facts: Facts) {
    this.#facts = facts;
  }

  /** The provider's own beginning comes with its events. */
  begin(): string {
    return '';
  }

  text(event: ChatEvent): string {
    return this.#send(event);
  }

  reasoning(event: ChatEvent): string {
    return this.#send(event);
  }

  reasoningEnd(event: ChatEvent): string {
    return this.#send(event);
  }

  toolCall(event: ChatEvent): string {
    return this.#send(event);
  }

  toolArguments(event: ChatEvent): string {
    return this.#send(event);
  }

  wire(event: ChatEvent): string {
    return this.#send(event);
  }

  finish({ wire }: ChatEvent): string {
    this.#last = wire ?? '';
    return '';
  }

  complete(charge: Charge, reported: ReportedUsage): string {
    const [name = '', json = ''] = this.#last.split(/^data: /m, 2);
    const event = parseObject(json, parseJson);
    if (event === null) return '';
    const usage = presentUsage(charge, reported.reasoningTokens);
    const response = passedOnResponse(this.#facts, objectAt(event, 'response') ?? {}, usage);
    return `${name}data: ${JSON.stringify({ ...event, response })}\n\n`;
  }

  failure(error: ApiError): string {
    return failedEvents(this.#facts, error, this.#sent, []);
  }

  /** Of several events that were one on the wire, only the first has it. */
  #send({ wire }: ChatEvent): string {
    if (wire === undefined) return '';
    this.#sent += 1;
    return wire;
  }
}
