/**
 * Writes the stream of a provider that speaks the same format: its events as they came. Only the last two are kept back
 * until the charge is known.
 */
import type { ApiError } from '../../errors.ts';
import type { Charge } from '../../ledger/settlement.ts';
import type { ChatEvent, JsonObject, ReportedUsage } from '../../providers/chat.ts';
import { parseObject } from '../../providers/wire.ts';
import type { ChatWriter, ResponseFacts } from '../dialect.ts';
import { errorEvent, event, messageStop } from './events.ts';
import { presentUsage } from './usage.ts';

type Passed = Pick<ChatEvent, 'wire'>;

export class PassedOnWriter implements ChatWriter {
  readonly close = '';
  readonly #requestId: string;
  /** The event with the stop reason. */
  #end: string | null = null;

  constructor({ requestId }: ResponseFacts<unknown>) {
    this.#requestId = requestId;
  }

  /** The provider's own first event is passed on. */
  begin(): string {
    return '';
  }

  text({ wire = '' }: Passed): string {
    return wire;
  }

  reasoning({ wire = '' }: Passed): string {
    return wire;
  }

  reasoningEnd({ wire = '' }: Passed): string {
    return wire;
  }

  toolCall({ wire = '' }: Passed): string {
    return wire;
  }

  toolArguments({ wire = '' }: Passed): string {
    return wire;
  }

  wire({ wire = '' }: Passed): string {
    return wire;
  }

  finish({ wire }: Passed): string {
    this.#end ??= wire ?? null;
    return '';
  }

  complete(charge: Charge, reported: ReportedUsage): string {
    const text = this.#end ?? '';
    const passed = parseObject(text.slice(text.indexOf('\ndata: ') + '\ndata: '.length)) ?? {};
    const usage = { ...(passed.usage as JsonObject | undefined), ...presentUsage(charge, reported) };
    return event('message_delta', { ...passed, usage }) + messageStop;
  }

  failure(error: ApiError): string {
    return errorEvent(error, this.#requestId);
  }
}
