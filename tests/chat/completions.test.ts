/** Answers as chat completions have them, whatever the order in which a model wrote. */
import { describe, expect, test } from 'bun:test';
import { presentCompletion } from '../../src/chat/completions/present.ts';
import type { Charge } from '../../src/ledger/settlement.ts';
import type { AnswerItem } from '../../src/providers/chat.ts';
import { items, toolCall } from '../support/chat-messages.ts';

const facts = { requestId: 'req_1', createdSeconds: 1_000, model: 'm', asked: {} };
const charge = { usage: { inputTokens: 3, outputTokens: 4, cached: null } } as Charge;
const written = (...answered: AnswerItem[]) =>
  JSON.stringify(presentCompletion(facts, { items: answered, finishReason: 'stop', usage: null }, charge));
const around = (message: string) =>
  `{"id":"req_1","object":"chat.completion","created":1000,"model":"m","choices":[{"index":0,"finish_reason":"stop",` +
  `"message":${message}}],"usage":{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7}}`;
const thought: AnswerItem = { type: 'reasoning', text: 'hm', signature: { value: 's', madeBy: 'p/m' } };
const calling =
  '{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"look","arguments":"{}"}}]}';

describe('a non-streamed response', () => {
  test.each([
    ['of one text', [...items('Hi')], '{"role":"assistant","content":"Hi"}'],
    ['of several', [...items('Hi'), ...items(' there')], '{"role":"assistant","content":"Hi there"}'],
    ['of nothing', [], '{"role":"assistant","content":""}'],
    ['of an empty text', [...items('')], '{"role":"assistant","content":""}'],
    ['without reasoning', [thought, ...items('Hi')], '{"role":"assistant","content":"Hi"}'],
    ['of a call', [toolCall('a')], calling],
    ['of a call among texts', [...items('Let me see.', toolCall('a')), ...items('Well.')], calling],
  ] as [string, AnswerItem[], string][])('%s', (_name, answered, message) => {
    expect(written(...answered)).toBe(around(message));
  });
});
