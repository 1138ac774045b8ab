/** A provider that sends more tool calls than anyone needs costs the gateway no more than one that sends none. */
import { describe, expect, test } from 'bun:test';
import { anthropic } from '../../src/providers/anthropic.ts';
import { type ChatAdapter, maxToolCalls, toolCallsOf } from '../../src/providers/chat.ts';
import { google } from '../../src/providers/google.ts';
import { openai } from '../../src/providers/openai.ts';
import { defaultDialect, ProviderError, type Upstream } from '../../src/providers/upstream.ts';

const upstream: Upstream = {
  baseUrl: 'https://example.com',
  apiKey: 'k',
  model: 'm',
  requestId: '0198a1b2-c3d4-7e5f-8091-a2b3c4d5e6f7',
  dialect: defaultDialect,
} as Upstream;

const times = (count: number, item: unknown) => Array.from({ length: count }, () => item);

type Format = Readonly<{ adapter: ChatAdapter; answer: (count: number) => unknown }>;

const formats: Readonly<Record<string, Format>> = {
  openai: {
    adapter: openai,
    answer: (count) => ({
      choices: [
        {
          index: 0,
          message: { content: null, tool_calls: times(count, { function: { name: 'f', arguments: '{}' } }) },
          finish_reason: 'tool_calls',
        },
      ],
    }),
  },
  anthropic: {
    adapter: anthropic,
    answer: (count) => ({
      type: 'message',
      content: times(count, { type: 'tool_use', id: 'c', name: 'f', input: {} }),
      stop_reason: 'tool_use',
    }),
  },
  google: {
    adapter: google,
    answer: (count) => ({
      candidates: [
        {
          content: { parts: times(count, { functionCall: { name: 'f', args: {} } }) },
          finishReason: 'STOP',
        },
      ],
    }),
  },
};

describe.each(Object.entries(formats))('a non-streamed answer of %s', (_name, { adapter, answer }) => {
  test('has at most as many calls as a stream', () => {
    expect(toolCallsOf(adapter.readAnswer(answer(maxToolCalls), upstream).items)).toHaveLength(maxToolCalls);
    expect(() => adapter.readAnswer(answer(maxToolCalls + 1), upstream)).toThrow(ProviderError);
  });
});

test.each([
  ['openai', openai, { choices: [{ index: 0, delta: { tool_calls: times(20_000, {}) } }] }],
  ['google', google, { candidates: [{ content: { parts: times(20_000, { functionCall: {} }) } }] }],
] as const)('an event of %s with calls that cannot be passed on fails once', (_name, adapter, event) => {
  const events = adapter.openReader(upstream)(JSON.stringify(event));
  expect(events.filter(({ type }) => type === 'failure')).toHaveLength(1);
});
