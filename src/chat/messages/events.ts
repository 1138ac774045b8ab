/** The events of a stream in Anthropic's Messages format, as text. */
import type { ApiError } from '../../errors.ts';
import { presentMessagesError } from '../../http/messages-error.ts';
import type { ResponseFacts } from '../dialect.ts';

export function event(type: string, fields: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
}

/** Nobody knows the counts yet; those of `message_delta` replace them. */
export function messageStart({ requestId: id, model }: ResponseFacts<unknown>): string {
  const usage = { input_tokens: 0, output_tokens: 0 };
  const rest = { content: [], stop_reason: null, stop_sequence: null, usage };
  return event('message_start', { message: { id, type: 'message', role: 'assistant', model, ...rest } });
}

export const messageStop = event('message_stop', {});

export function errorEvent(error: ApiError, requestId: string): string {
  return `event: error\ndata: ${JSON.stringify(presentMessagesError(error, requestId))}\n\n`;
}
