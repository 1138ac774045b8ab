/** How a client of each dialect asks, and how it learns that a stream failed. Every fault is played in all of them. */
import { expect } from 'bun:test';
import { type ErrorBody, eventsOf } from './chat-fixture.ts';
import { assembled, readEvents } from './responses-fixture.ts';

export type FaultDialect = Readonly<{
  name: string;
  path: string;
  body: (model: string, stream: boolean, prompt: string) => object;
  /** The error inside a finished stream, after a check of its form; null for a stream that is complete. */
  failureIn: (text: string) => Pick<ErrorBody['error'], 'type' | 'code'> | null;
}>;

const completions: FaultDialect = {
  name: 'chat completions',
  path: '/v1/chat/completions',
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
  path: '/v1/responses',
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

export const faultDialects: readonly FaultDialect[] = [completions, responses];
