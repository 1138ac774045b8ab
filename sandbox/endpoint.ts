/** What an endpoint is: how its request is read, where a user writes directives, and what is answered. */

import type { RequestRecord } from './log.ts';
import type { Reading } from './scenario.ts';

export type Call<Input> = {
  /** Counts the requests of this server; answers take their identifiers from it. */
  readonly number: number;
  readonly input: Input;
  readonly reading: Reading;
  readonly record: RequestRecord;
  /** The address at which this server is reached. */
  readonly baseUrl: string;
};

export type Endpoint<Input> = {
  readonly read: (body: unknown) => Input;
  readonly userText: (input: Input) => string;
  readonly answer: (call: Call<Input>) => Response;
};

export function answerHeaders(number: number, contentType: string): Record<string, string> {
  return {
    'content-type': contentType,
    'x-request-id': `req_sandbox_${number}`,
    'openai-organization': 'sandbox-organization',
    'openai-processing-ms': '1',
  };
}
