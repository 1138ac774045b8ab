/** The recorder, which compares every response of a run with the document, notices what is wrong. */
import { describe, expect, test } from 'bun:test';
import contractErrors from '../contract/errors.json';
import { type Answer, coverageFaults, errorsIn, faultOf } from './recorder.ts';

const completion = {
  id: `req_${'0'.repeat(32)}`,
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'Hello' } }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
};
const chunk = {
  id: completion.id,
  object: 'chat.completion.chunk',
  created: 1,
  model: 'm',
  choices: [{ index: 0, delta: { content: 'Hello' }, finish_reason: null }],
};
const failure = (code: string, type: string, param?: string) => ({
  error: { message: 'x', type, param, code },
});

const chat = (status: number, body: unknown): Answer => ({
  method: 'POST',
  path: '/v1/chat/completions',
  status,
  contentType: 'application/json;charset=utf-8',
  text: JSON.stringify(body),
});
const stream = (...events: readonly unknown[]): Answer => ({
  ...chat(200, null),
  contentType: 'text/event-stream; charset=utf-8',
  text: events
    .map((event) => `data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`)
    .join(''),
});
const timeout = failure('provider_timeout', 'provider_error');

describe('an answer as documented', () => {
  test.each([
    chat(200, completion),
    chat(400, failure('invalid_parameter', 'invalid_request_error', 'n')),
    chat(504, timeout),
    { ...chat(404, failure('not_found', 'invalid_request_error')), method: 'DELETE' },
    { ...chat(404, failure('not_found', 'invalid_request_error')), path: '/v1/nothing' },
    {
      ...chat(404, failure('generation_not_found', 'invalid_request_error')),
      method: 'GET',
      path: '/v1/generations/x',
    },
    stream(chunk, '[DONE]'),
    stream(chunk, timeout, '[DONE]'),
    { ...stream(chunk), text: `${stream(chunk).text}data: {"cut` },
  ])('%j', (answer) => {
    expect(faultOf(answer)).toBeNull();
  });
});

describe('an answer that differs', () => {
  test.each([
    ['a field too many', chat(200, { ...completion, system_fingerprint: null })],
    ['a field too few', chat(200, { ...completion, usage: undefined })],
    ['a status that is not public', chat(409, failure('invalid_parameter', 'invalid_request_error'))],
    [
      'a status of another endpoint',
      {
        ...chat(402, failure('insufficient_balance', 'insufficient_balance')),
        method: 'GET',
        path: '/v1/models',
      },
    ],
    ['a code with another status', chat(400, failure('invalid_api_key', 'authentication_error'))],
    ['a code of another endpoint', chat(400, failure('invalid_size', 'invalid_request_error'))],
    ['a code of another endpoint, of the same type', chat(502, failure('provider_error', 'provider_error'))],
    ['a type that belongs to a neighbour', chat(500, failure('billing_consistency_error', 'internal_error'))],
    ['no error body', chat(500, {})],
    ['no JSON', { ...chat(200, completion), text: 'Hello' }],
    ['another content type', { ...chat(200, completion), contentType: 'text/plain' }],
    ['an endpoint that is not there', { ...chat(200, completion), path: '/v1/nothing' }],
    ['a stream where there is none', { ...stream(chunk), path: '/v1/images/generations' }],
    ['an event with another field', stream({ ...chunk, extra: 1 })],
    ['an event that is no JSON', stream('{')],
    ['an error that no stream ends with', stream(failure('invalid_json', 'invalid_request_error'))],
  ] as [string, Answer][])('%s', (_, answer) => {
    expect(faultOf(answer)).toStartWith(`${answer.method} ${answer.path} answered ${answer.status}: `);
  });
});

describe('the errors that were met', () => {
  test('are told apart by where they were met', () => {
    expect(errorsIn(chat(504, timeout))).toEqual(['504 provider_error provider_timeout']);
    expect(errorsIn(stream(chunk, timeout, '[DONE]'))).toEqual(['SSE provider_error provider_timeout']);
    expect(errorsIn(chat(200, completion))).toEqual([]);
  });

  test('must be all rows of the contract, except for excused ones', () => {
    const rows = contractErrors.map(({ status, type, code }) => `${status ?? 'SSE'} ${type} ${code}`);
    const [first = '', ...others] = rows;
    expect(coverageFaults(new Set(rows), [])).toEqual([]);
    expect(coverageFaults(new Set(others), [])).toEqual([`never answered: ${first}`]);
    expect(coverageFaults(new Set(others), [first])).toEqual([]);
    expect(coverageFaults(new Set(rows), [first])).toEqual([`answered, but still in notYetSeen: ${first}`]);
    expect(coverageFaults(new Set(rows), ['200 none none'])).toEqual([
      'in notYetSeen, but no row: 200 none none',
    ]);
  });
});
