/** What models show of their reasoning, both ways. Streams have the form of the vendors' documented examples. */
import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { anthropic } from '../../src/providers/anthropic.ts';
import type { AnswerItem, ChatAdapter, ChatEvent, ChatMessage } from '../../src/providers/chat.ts';
import { ChatReader } from '../../src/providers/chat-call.ts';
import { google } from '../../src/providers/google.ts';
import { openai } from '../../src/providers/openai.ts';
import { defaultDialect, type Upstream } from '../../src/providers/upstream.ts';
import { emptyCall } from '../support/provider.ts';

const maker = 'p/m';
const hidden: Upstream = {
  baseUrl: 'https://api.example/v1',
  apiKey: null,
  model: 'm',
  maxOutputTokens: null,
  dialect: defaultDialect,
  maker,
  requestId: 'req_1',
};
const shown: Upstream = { ...hidden, showsReasoning: true };
const returned: Upstream = { ...shown, dialect: { ...defaultDialect, reasoning: 'reasoning_content' } };

function read(adapter: ChatAdapter, to: Upstream, events: readonly object[]): ChatEvent[] {
  const reader = adapter.openReader(to);
  return events.flatMap((event) => [...reader(JSON.stringify(event))]);
}

const user: ChatMessage = { role: 'user', content: 'Hello' };
const thought = (text: string, value = 'sig', madeBy = maker): AnswerItem => ({
  type: 'reasoning',
  text,
  signature: { value, madeBy },
});
const unsigned: AnswerItem = { type: 'reasoning', text: 'Hm.', signature: null };
const text: AnswerItem = { type: 'text', text: 'Hi.' };
const call: AnswerItem = { type: 'tool_call', id: 'c', name: 'look', arguments: '{}' };
const said = (...items: AnswerItem[]): ChatMessage => ({ role: 'assistant', items });
const result: ChatMessage = { role: 'tool', toolCallId: 'c', content: 'x', name: null, isError: false };
const tools = [{ name: 'look', description: null, parameters: null, strict: null }];

function bodyOf(adapter: ChatAdapter, messages: readonly ChatMessage[], to = shown) {
  return JSON.parse(adapter.chatRequest({ ...emptyCall, messages, tools }, to, false).body);
}

describe('Anthropic', () => {
  const blocks = [
    { type: 'thinking', thinking: 'Let me see.', signature: 'c2ln' },
    { type: 'redacted_thinking', data: 'ZGF0YQ==' },
    { type: 'text', text: 'Hi.' },
    { type: 'tool_use', id: 'c', name: 'look', input: {} },
  ];
  const answer = {
    content: blocks,
    stop_reason: 'tool_use',
    usage: { input_tokens: 1, output_tokens: 2 },
  };
  const items: AnswerItem[] = [
    thought('Let me see.', 'c2ln'),
    thought('', 'redacted:ZGF0YQ=='),
    text,
    { ...call, arguments: '{}' } as AnswerItem,
  ];

  test('an answer has its thinking only where it is shown', () => {
    expect(anthropic.readAnswer(answer, shown).items).toEqual(items);
    expect(anthropic.readAnswer(answer, hidden).items).toEqual(items.slice(2));
  });

  test('what was shown is sent back as it came, to the model that made it', () => {
    const turns = bodyOf(anthropic, [user, said(...items), result]).messages;
    expect(turns[1].content).toEqual(blocks);
    const others = bodyOf(anthropic, [user, said(...items), result], { ...shown, maker: 'p/other' }).messages;
    expect(others[1].content).toEqual(blocks.slice(2));
    expect(bodyOf(anthropic, [user, said(unsigned, text), user]).messages[1].content).toEqual([blocks[2]]);
  });

  test('a turn does not end with thinking, and is left out when it has nothing else', () => {
    const { messages } = bodyOf(anthropic, [user, said(text, thought('a')), said(thought('b')), user]);
    expect(messages[1]).toEqual({ role: 'assistant', content: [blocks[2]] });
    const cut = [user, said(thought('a')), said(unsigned), { ...user, content: 'Go on' }] as ChatMessage[];
    expect(anthropic.unsupported({ ...emptyCall, messages: cut }, defaultDialect)).toBeNull();
    expect(bodyOf(anthropic, cut).messages).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Hello' },
          { type: 'text', text: 'Go on' },
        ],
      },
    ]);
  });

  const block = (index: number, content_block: object, ...deltas: object[]) => [
    { type: 'content_block_start', index, content_block },
    ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ];
  const stream = [
    ...block(
      0,
      { type: 'thinking', thinking: '', signature: '' },
      { type: 'thinking_delta', thinking: 'Let me ' },
      { type: 'thinking_delta', thinking: 'see.' },
      { type: 'signature_delta', signature: 'c2ln' },
    ),
    ...block(1, { type: 'redacted_thinking', data: 'ZGF0YQ==' }),
    ...block(2, { type: 'thinking', thinking: '' }, { type: 'signature_delta', signature: 'b21pdHRlZA==' }),
    ...block(3, { type: 'text', text: '' }, { type: 'text_delta', text: 'Hi.' }),
  ];

  test('a stream has its thinking, and each ends with its signature', () => {
    expect(read(anthropic, shown, stream)).toEqual([
      { type: 'reasoning', text: 'Let me ' },
      { type: 'reasoning', text: 'see.' },
      { type: 'reasoning_end', signature: { value: 'c2ln', madeBy: maker } },
      { type: 'reasoning_end', signature: { value: 'redacted:ZGF0YQ==', madeBy: maker } },
      { type: 'reasoning_end', signature: { value: 'b21pdHRlZA==', madeBy: maker } },
      { type: 'text', text: 'Hi.' },
    ]);
    expect(read(anthropic, hidden, stream)).toEqual([{ type: 'text', text: 'Hi.' }]);
  });
});

describe('Google', () => {
  const chunk = (...parts: object[]) => ({ candidates: [{ content: { parts } }] });
  const last = { candidates: [{ content: { parts: [] }, finishReason: 'STOP' }] };
  const first = { text: '**Tides**', thought: true };
  const second = { text: ' are high.', thought: true };
  const calling = { functionCall: { name: 'look', args: {} }, thoughtSignature: 'c2ln' };

  test('thoughts are shown on request, and are one item until something else follows', () => {
    const stream = [chunk(first), chunk(second, { text: 'Hi.' }), chunk(first), chunk(calling), last];
    expect(read(google, shown, stream).filter(({ type }) => !type.startsWith('tool'))).toEqual([
      { type: 'reasoning', text: '**Tides**' },
      { type: 'reasoning', text: ' are high.' },
      { type: 'reasoning_end', signature: null },
      { type: 'text', text: 'Hi.' },
      { type: 'reasoning', text: '**Tides**' },
      { type: 'reasoning_end', signature: null },
      { type: 'finish', reason: 'tool_calls' },
    ]);
    const types = read(google, hidden, stream).map(({ type }) => type);
    expect(types).toEqual(['text', 'tool_call', 'tool_arguments', 'finish']);
    expect(read(google, shown, [chunk(first), last])[1]).toEqual({ type: 'reasoning_end', signature: null });
  });

  test('in an answer too, and the signature stays in the ID of the call', () => {
    const body = {
      candidates: [{ content: { parts: [first, second, { text: 'Hi.' }, calling] }, finishReason: 'STOP' }],
    };
    const { items } = google.readAnswer(body, shown);
    expect(items.slice(0, 2)).toEqual([
      { type: 'reasoning', text: '**Tides** are high.', signature: null },
      text,
    ]);
    const contents = bodyOf(google, [
      user,
      said(...items),
      { ...result, toolCallId: callIdIn(items) },
    ]).contents;
    expect(contents[1].parts).toEqual([{ text: 'Hi.' }, calling]);
    expect(google.readAnswer(body, hidden).items).toHaveLength(2);
  });

  test('a turn of nothing but reasoning is left out', () => {
    expect(bodyOf(google, [user, said(thought('a')), user]).contents).toHaveLength(2);
    expect(bodyOf(google, [user, said(), user]).contents[1]).toEqual({
      role: 'model',
      parts: [{ text: '' }],
    });
  });
});

function callIdIn(items: readonly AnswerItem[]): string {
  const found = items.find((item) => item.type === 'tool_call');
  return found?.id ?? '';
}

describe('OpenAI and its relatives', () => {
  const chunk = (delta: object, finish_reason: string | null = null) => ({
    choices: [{ index: 0, delta, finish_reason }],
  });
  const reply = (message: object) => ({ choices: [{ index: 0, message, finish_reason: 'stop' }] });

  test.each([
    ['DeepSeek', { reasoning_content: 'Hm.' }],
    ['Groq', { reasoning: 'Hm.' }],
    ['OpenRouter', { reasoning: 'Hm.', reasoning_details: [{ type: 'reasoning.text', text: 'Hm.' }] }],
    ['both', { reasoning_content: 'Hm.', reasoning: 'Hm.' }],
    ['Mistral', { content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'Hm.' }] }] }],
  ])('%s: shown on request', (_, delta) => {
    const stream = [chunk(delta), chunk({ content: 'Hi.' }), chunk({}, 'stop')];
    expect(read(openai, shown, stream)).toEqual([
      { type: 'reasoning', text: 'Hm.' },
      { type: 'reasoning_end', signature: null },
      { type: 'text', text: 'Hi.' },
      { type: 'finish', reason: 'stop' },
    ]);
    expect(read(openai, hidden, stream).map(({ type }) => type)).toEqual(['text', 'finish']);
    const message = { content: null, ...delta };
    expect(openai.readAnswer(reply(message), shown).items[0]).toEqual({ ...unsigned });
    expect(openai.readAnswer(reply(message), hidden).items.some(({ type }) => type === 'reasoning')).toBe(
      false,
    );
  });

  test('calls, and the end of the answer, end it too', () => {
    const call = { index: 0, id: 'c', function: { name: 'look', arguments: '{}' } };
    const types = (...deltas: object[]) =>
      read(openai, shown, [...deltas.map((delta) => chunk(delta)), chunk({}, 'length')]).map(
        ({ type }) => type,
      );
    expect(types({ reasoning: 'a' }, { tool_calls: [call] })).toEqual([
      'reasoning',
      'reasoning_end',
      'tool_call',
      'tool_arguments',
      'finish',
    ]);
    expect(types({ reasoning: 'a' }, { tool_calls: [] })).toEqual(['reasoning', 'reasoning_end', 'finish']);
    // Some send empty texts in between.
    expect(types({ reasoning: 'a', content: '' }, { reasoning: 'b', content: null })).toEqual([
      'reasoning',
      'reasoning',
      'reasoning_end',
      'finish',
    ]);
  });

  test('where a server wants it back, it gets its own and no other', () => {
    const { items } = openai.readAnswer(reply({ content: 'Hi.', reasoning_content: 'Hm.' }), returned);
    expect(items[0]).toEqual(thought('Hm.', 'reasoning_content'));
    const sent = (to: Upstream, ...own: AnswerItem[]) =>
      bodyOf(openai, [user, said(...own), result], to).messages[1].reasoning_content;
    expect(sent(returned, thought('Hm.'), call)).toBe('Hm.');
    expect(sent(returned, thought('Hm.', 'x', 'p/other'), call)).toBe('');
    expect(sent(returned, unsigned, call)).toBe('');
    expect(sent(returned, text)).toBeUndefined();
    expect(sent(shown, thought('Hm.'), call)).toBeUndefined();
    // A client of chat completions cannot return what it is not shown.
    expect(sent({ ...returned, showsReasoning: false }, call)).toBeUndefined();
    expect(bodyOf(openai, [user, said(thought('a')), user]).messages).toHaveLength(2);
  });

  test('the common chunks mean the same, wherever reasoning comes between them', () => {
    const deltas = fc.array(
      fc.oneof(
        fc.record({ content: fc.constantFrom('a', 'bc', 'd e') }),
        fc.record({ reasoning_content: fc.constantFrom('x', 'yz') }),
        fc.record({ content: fc.constantFrom('a', 'b'), reasoning_content: fc.constantFrom('x', 'y') }),
      ),
      { maxLength: 30 },
    );
    fc.assert(
      fc.property(deltas, (given) => {
        const chunks = given.map((delta) => JSON.stringify(chunk(delta)));
        const parsed = read(
          openai,
          shown,
          given.map((delta) => chunk(delta)),
        );
        const reader = new ChatReader(() => openai.openReader(shown), true);
        const events: ChatEvent[] = [];
        for (const data of chunks) {
          const event = `data: ${data}\n\n`;
          if (reader.readCommon(event, events) === 0) events.push(...reader.read(data));
        }
        expect(events).toEqual(parsed);
      }),
    );
  });
});
