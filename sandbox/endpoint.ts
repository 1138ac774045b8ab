/** What an endpoint is: its format, how its request is read, where a user writes directives, and what is answered. */

import type { Format } from './format.ts';
import type { RequestRecord } from './log.ts';
import type { Reading } from './scenario.ts';

export type Call<Input> = Readonly<{
  format: Format;
  /** Counts the requests of this server; answers take their identifiers from it. */
  number: number;
  input: Input;
  reading: Reading;
  record: RequestRecord;
  /** The address at which this server is reached. */
  baseUrl: string;
}>;

export type Endpoint<Input> = Readonly<{
  format: Format;
  /** What the request is about, when its path says so and not its body. */
  about?: Readonly<{ model: string; stream: boolean }>;
  read: (body: unknown) => Input;
  userText: (input: Input) => string;
  answer: (call: Call<Input>) => Response;
}>;

export function answerHeaders(call: Call<unknown>, contentType: string): Record<string, string> {
  const headers = call.format.headers(call.number, contentType);
  if (call.reading.scenario.gzip) headers['content-encoding'] = 'gzip';
  return headers;
}
