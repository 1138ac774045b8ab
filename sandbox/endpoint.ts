/** An endpoint: its format, how it reads requests, where directives are found, and how it answers. */

import type { Format } from './format.ts';
import type { RequestRecord } from './log.ts';
import type { Reading } from './scenario.ts';

export type Call<Input> = Readonly<{
  format: Format;
  /** The running number of the request, from which answers derive their IDs. */
  number: number;
  input: Input;
  reading: Reading;
  record: RequestRecord;
  /** The URL of this server. */
  baseUrl: string;
}>;

export type Endpoint<Input> = Readonly<{
  format: Format;
  /** The model and mode, if the path names them rather than the body. */
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
