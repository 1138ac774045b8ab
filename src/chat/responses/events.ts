/** Events of a stream as text, and those of them that hold the whole response. */
import type { ApiError } from '../../errors.ts';
import { type Facts, headOf, presentFailure } from './present.ts';

/** `members` are those of the event beside its type and number, without braces. */
export function eventText(type: string, number: number, members: string): string {
  return `event: ${type}\ndata: {"type":"${type}","sequence_number":${number},${members}}\n\n`;
}

/** The response inside an event. `output` has its items as JSON already. */
export function responseMember(
  { asked }: Facts,
  head: object,
  output: readonly string[],
  usage: object | null,
): string {
  const first = JSON.stringify(head).slice(1, -1);
  const last = JSON.stringify(asked.repeated).slice(1, -1);
  return `"response":{${first},"output":[${output.join(',')}],"usage":${JSON.stringify(usage)},${last}}`;
}

export function begunResponse(facts: Facts): string {
  return responseMember(facts, { ...headOf(facts, 'in_progress'), incomplete_details: null }, [], null);
}

/** The last event of a stream that failed, after the one that SDKs expect first if nothing was sent before. */
export function failedEvents(
  facts: Facts,
  error: ApiError,
  number: number,
  output: readonly string[],
): string {
  const opening = number === 0 ? eventText('response.created', 0, begunResponse(facts)) : '';
  const head = { ...headOf(facts, 'failed'), error: presentFailure(error), incomplete_details: null };
  const response = responseMember(facts, head, output, null);
  return opening + eventText('response.failed', Math.max(1, number), response);
}
