/** Readers of every format get what follows something unreadable, or an error, because it may contain the usage. */
import { describe, expect, test } from 'bun:test';
import type { ChatEvent } from '../../src/providers/chat.ts';
import { chatAdapters } from '../../src/providers/chat-call.ts';
import { defaultDialect, ProviderError, type Upstream } from '../../src/providers/upstream.ts';
import { reported } from '../support/reported-usage.ts';

const upstream: Upstream = {
  baseUrl: 'https://api.example',
  apiKey: null,
  model: 'm',
  maxOutputTokens: null,
  dialect: defaultDialect,
  requestId: 'req_0198c1f2a3b4c5d6e7f8091a2b3c4d5e',
};

/** A reader that takes objects. */
function open(format: keyof typeof chatAdapters) {
  const read = chatAdapters[format].openReader(upstream);
  return (event: unknown) => read(typeof event === 'string' ? event : JSON.stringify(event));
}

const usage: ChatEvent = { type: 'usage', usage: reported(3, 4) };
const failure = (code: 'malformed_stream_chunk' | 'provider_stream_error'): ChatEvent => ({
  type: 'failure',
  error: new ProviderError(code),
  isUsageLost: false,
});

describe('openai', () => {
  const reported = { prompt_tokens: 3, completion_tokens: 4 };

  test.each([5, { index: -1, id: 'a', function: { name: 'b' } }, { index: 1e300 }, { index: 'first' }])(
    'a call of a tool that cannot be read, %j, leaves the rest of its event',
    (item) => {
      const delta = { tool_calls: [item, { index: 0, function: { name: 'f' } }] };
      const event = { choices: [{ index: 0, delta, finish_reason: 'stop' }], usage: reported };
      expect(open('openai')(event)).toEqual([
        failure('malformed_stream_chunk'),
        { type: 'finish', reason: 'stop' },
        usage,
      ]);
    },
  );

  test('the usage comes after it', () => {
    const read = open('openai');
    expect(() => read('{oops')).toThrow('malformed_stream_chunk');
    expect(read({ choices: [], usage: reported })).toEqual([usage]);
  });
});

test('anthropic', () => {
  const read = open('anthropic');
  read({ type: 'message_start', message: { usage: { input_tokens: 3 } } });
  expect(read({ type: 'error', error: { type: 'overloaded_error' } })).toEqual([
    failure('provider_stream_error'),
  ]);
  expect(() => read('{oops')).toThrow('malformed_stream_chunk');
  const last = { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 4 } };
  expect(read(last)).toEqual([{ type: 'finish', reason: 'stop' }, usage]);
});

test('responses', () => {
  const read = open('responses');
  const response = { status: 'completed', usage: { input_tokens: 3, output_tokens: 4 } };
  expect(read({ type: 'error', code: 'server_error' })).toEqual([failure('provider_stream_error')]);
  expect(() => read('{oops')).toThrow('malformed_stream_chunk');
  expect(read({ type: 'response.failed', response })).toEqual([
    failure('provider_stream_error'),
    usage,
    { type: 'end' },
  ]);
});

test('google: after something unreadable every count may be that of the whole answer', () => {
  const usageMetadata = { promptTokenCount: 3, candidatesTokenCount: 4, totalTokenCount: 7 };
  const chunk = { candidates: [{ content: { parts: [] } }], usageMetadata };
  const read = open('google');
  expect(read(chunk)).toEqual([]);
  expect(() => read('{oops')).toThrow('malformed_stream_chunk');
  expect(read(chunk)).toEqual([usage]);
  // An error ends the answer, so it may carry the counts itself.
  expect(open('google')({ error: {}, usageMetadata })).toEqual([failure('provider_stream_error'), usage]);
});
