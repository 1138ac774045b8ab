/** How a client of each dialect asks, and how it learns that a request failed. Every fault is played in all of them. */
import { expect } from 'bun:test';
import { type ErrorCode, errorTable } from '../../src/errors.ts';
import { type ErrorBody, eventsOf } from './chat-fixture.ts';
import { type MessagesErrorBody, eventsOf as messageEventsOf } from './messages-fixture.ts';
import type { Format } from './provider-faults.ts';
import { assembled, readEvents } from './responses-fixture.ts';

export type FaultDialect = Readonly<{
  name: string;
  path: string;
  headers: (key: string) => Readonly<Record<string, string>>;
  body: (model: string, stream: boolean, prompt: string) => object;
  /** What the type of an error is called. */
  typeOf: (code: ErrorCode) => string;
  /** The format whose providers get the request as the client wrote it; null when it is always translated. */
  ownFormat: Format | null;
  /** The format of the provider that takes over from one of this format. */
  takesOver: Readonly<Record<Format, Format>>;
  /** The error inside a finished stream, after a check of its form; null for a stream that is complete. */
  failureIn: (text: string) => Pick<ErrorBody['error'], 'type' | 'code'> | null;
}>;

const bearer = (key: string) => ({ authorization: `Bearer ${key}` });
const typeInTable = (code: ErrorCode) => errorTable[code].type;
const sameFormat = {
  openai: 'openai',
  anthropic: 'anthropic',
  google: 'google',
  responses: 'responses',
} as const;
const otherFormat = {
  openai: 'anthropic',
  anthropic: 'google',
  google: 'responses',
  responses: 'openai',
} as const;

const completions: FaultDialect = {
  name: 'chat completions',
  ownFormat: null,
  path: '/v1/chat/completions',
  headers: bearer,
  typeOf: typeInTable,
  takesOver: sameFormat,
  body: (model, stream, prompt) => ({ model, stream, messages: [{ role: 'user', content: prompt }] }),
  failureIn: (text) => {
    const events = eventsOf(text);
    expect(events.at(-1)).toBe('[DONE]');
    const errors = events.filter((event) => event.startsWith('{"error"'));
    expect(errors.length).toBeLessThanOrEqual(1);
    const [error] = errors;
    return error === undefined ? null : (JSON.parse(error) as ErrorBody).error;
  },
};

const responses: FaultDialect = {
  name: 'Responses',
  ownFormat: 'responses',
  path: '/v1/responses',
  headers: bearer,
  typeOf: typeInTable,
  takesOver: sameFormat,
  body: (model, stream, input) => ({ model, stream, input }),
  failureIn: (text) => {
    const events = readEvents(text);
    const last = events.at(-1);
    if (last?.type !== 'response.failed') {
      expect(assembled(events).status).toBe('completed');
      return null;
    }
    expect(events[0]?.type).toBe('response.created');
    const error = last.response?.error;
    return { type: error?.type ?? '', code: error?.gateway_code ?? '' };
  },
};

const messageTypes = new Map([
  [400, 'invalid_request_error'],
  [429, 'rate_limit_error'],
  [503, 'overloaded_error'],
  [504, 'timeout_error'],
]);

const messages: FaultDialect = {
  name: 'Messages',
  ownFormat: 'anthropic',
  path: '/v1/messages?beta=true',
  headers: (key) => ({ 'x-api-key': key, 'anthropic-version': '2023-06-01' }),
  body: (model, stream, prompt) => ({
    model,
    stream,
    max_tokens: 128_000,
    messages: [{ role: 'user', content: prompt }],
  }),
  typeOf: (code) => messageTypes.get(errorTable[code].status ?? 500) ?? 'api_error',
  takesOver: otherFormat,
  failureIn: (text) => {
    const events = messageEventsOf(text);
    const last = events.at(-1);
    // Nothing follows an error, and what looks complete has none.
    expect(events.slice(0, -1).every(({ type }) => type !== 'error' && type !== 'message_stop')).toBe(true);
    if (last?.type === 'message_stop') return null;
    expect(last?.type).toBe('error');
    expect(events.some(({ type }) => type === 'message_delta')).toBe(false);
    return (last as unknown as MessagesErrorBody).error;
  },
};

export const faultDialects: readonly FaultDialect[] = [completions, responses, messages];
