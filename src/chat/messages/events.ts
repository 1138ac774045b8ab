/** The events of a stream in Anthropic's Messages format, as text. */
import type { ApiError } from '../../errors.ts';
import { presentMessagesError } from '../../http/messages-error.ts';

export function event(type: string, fields: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
}

export const messageStop = event('message_stop', {});

export function errorEvent(error: ApiError, requestId: string): string {
  return `event: error\ndata: ${JSON.stringify(presentMessagesError(error, requestId))}\n\n`;
}
