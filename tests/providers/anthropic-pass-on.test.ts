/** What a provider of the same format gets of a client's request, and what the client gets of its answer. */
import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { anthropic } from '../../src/providers/anthropic.ts';
import type { ChatEvent, Original, PassOn } from '../../src/providers/chat.ts';
import { ChatReader } from '../../src/providers/chat-call.ts';
import { EventDecoder } from '../../src/providers/event-decoder.ts';
import { defaultDialect, type Upstream } from '../../src/providers/upstream.ts';

const passOn = anthropic.passOn as PassOn;

const upstream: Upstream = {
  baseUrl: 'https://provider.example/v1',
  apiKey: 'secret',
  model: 'vendor-model',
  maxOutputTokens: 4_000,
  dialect: defaultDialect,
  maker: 'p/vendor-model',
  requestId: 'req_1',
};

function originalOf(body: object, more: Partial<Original> = {}): Original {
  return {
    format: 'messages',
    body: { model: 'm', max_tokens: 128_000, messages: [], ...body },
    headers: {},
    model: 'm',
    untranslatable: null,
    signatures: new Map(),
    seal: ({ value, madeBy }) => `sealed(${madeBy},${value})`,
    ...more,
  };
}

type Sent = Record<string, unknown> & { messages: { content: unknown }[] };

function sentFor(body: object, more: Partial<Original> = {}, to = upstream): Sent {
  return JSON.parse(passOn.request(originalOf(body, more), to, true).body) as Sent;
}

describe('a request', () => {
  test('goes out as it came, but for the model, the limit and the name of the user', () => {
    const messages = [{ role: 'user', content: [{ type: 'text', text: 'Hi', novelty: 1 }] }];
    const system = [
      { type: 'text', text: 'x-anthropic-billing-header: cc_version=2;' },
      { type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral', ttl: '1h' } },
    ];
    const sent = sentFor({ messages, system, metadata: { user_id: 'Ann' }, novelty: { a: [1] }, top_k: 5 });
    expect(sent).toEqual({
      model: 'vendor-model',
      max_tokens: 4_000,
      messages,
      system: system.slice(1),
      novelty: { a: [1] },
      top_k: 5,
      stream: true,
    });
  });

  test('has the features that the client asked for, and our own version and key', () => {
    const headers = { 'anthropic-beta': 'effort-2025-11-24' };
    const { url, headers: sent } = passOn.request(originalOf({}, { headers }), upstream, false);
    expect(url).toBe('https://provider.example/v1/messages');
    expect(sent).toMatchObject({
      'anthropic-version': '2023-06-01',
      'anthropic-beta': 'effort-2025-11-24',
      'x-api-key': 'secret',
    });
  });

  test.each([
    ['is lowered with the limit', 100_000, 4_000, { type: 'enabled', budget_tokens: 3_999 }],
    ['stays where it fits', 2_000, 4_000, { type: 'enabled', budget_tokens: 2_000 }],
    ['goes where nothing of it fits', 2_000, 1_024, { type: 'disabled' }],
    ['stays above where the client wanted that', 200_000, 4_000, { type: 'enabled', budget_tokens: 200_000 }],
  ])('a budget for thinking %s', (_, budget, limit, expected) => {
    const thinking = { type: 'enabled', budget_tokens: budget };
    expect(sentFor({ thinking }, {}, { ...upstream, maxOutputTokens: limit }).thinking).toEqual(expected);
  });

  test('has the thinking that this model did, and no other', () => {
    const thought = (signature: string) => ({ type: 'thinking', thinking: 'Hm', signature });
    const use = { type: 'tool_use', id: 'a', name: 'n', input: {} };
    const result = { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a' }] };
    const signatures = new Map([
      ['own', { value: 'real', madeBy: 'p/vendor-model' }],
      ['other', { value: 'theirs', madeBy: 'q/other' }],
      ['foreign', null],
    ]);
    const blocksFor = (blocks: object[], more: object = {}) =>
      sentFor({ messages: [{ role: 'assistant', content: blocks }, result], ...more }, { signatures });
    expect(blocksFor([thought('own'), use]).messages[0]?.content).toEqual([thought('real'), use]);
    expect(blocksFor([{ type: 'redacted_thinking', data: 'own' }, use]).messages[0]?.content).toEqual([
      { type: 'redacted_thinking', data: 'real' },
      use,
    ]);
    const enabled = { thinking: { type: 'enabled', budget_tokens: 2_000 } };
    for (const signature of ['other', 'foreign', 'unknown']) {
      const sent = blocksFor([thought(signature), use], enabled);
      expect(sent.messages[0]?.content).toEqual([use]);
      expect(sent.thinking).toEqual({ type: 'disabled' });
    }
    expect(blocksFor([thought('own'), use], enabled).thinking).toEqual(enabled.thinking);
    expect(blocksFor([thought('foreign')]).messages).toEqual([result]);
    expect(JSON.stringify(blocksFor([thought('other'), use]))).not.toMatch(/theirs|other/);
  });

  test('is counted without what is about the answer', () => {
    const { url, body } = passOn.countRequest?.(originalOf({ stream: true }), upstream) ?? {
      url: '',
      body: '',
    };
    expect(url).toBe('https://provider.example/v1/messages/count_tokens');
    expect(JSON.parse(body)).toEqual({ model: 'vendor-model', messages: [] });
  });
});

const echo = originalOf({});

test('an answer has our ID and name, sealed signatures, and nothing of the account', () => {
  const body = {
    id: 'msg_upstream',
    type: 'message',
    role: 'assistant',
    model: 'vendor-model',
    content: [
      { type: 'thinking', thinking: 'Hm', signature: 'sig' },
      { type: 'redacted_thinking', data: 'dat' },
      { type: 'text', text: 'Hi', citations: null },
      { type: 'tool_use', id: 'toolu_1', name: 'look', input: { a: 1 } },
    ],
    stop_reason: 'tool_use',
    stop_sequence: null,
    container: { id: 'container_upstream' },
    organization_id: 'org_upstream',
    novelty: 1,
    usage: { input_tokens: 5, output_tokens: 2 },
  };
  const answer = passOn.readAnswer(body, echo, upstream);
  expect(answer).toMatchObject({
    finishReason: 'tool_calls',
    usage: { readings: [{ freshInput: 5, output: 2 }] },
  });
  expect(answer.wire).toEqual({
    ...body,
    container: undefined,
    organization_id: undefined,
    id: 'req_1',
    model: 'm',
    content: [
      { type: 'thinking', thinking: 'Hm', signature: 'sealed(p/vendor-model,sig)' },
      { type: 'redacted_thinking', data: 'sealed(p/vendor-model,dat)' },
      ...body.content.slice(2),
    ],
  });
});

/** What a stream of these bytes means, read in pieces of this size. */
function readStream(text: string, size: number): ChatEvent[] {
  const decoder = new EventDecoder(new ChatReader(() => passOn.openReader(echo, upstream), false));
  const bytes = Buffer.from(text);
  const events: ChatEvent[] = [];
  for (let at = 0; at < bytes.length; at += size)
    events.push(...decoder.take(new Uint8Array(bytes.subarray(at, at + size))));
  return events;
}

const frame = (event: { type: string } & Record<string, unknown>) =>
  `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
const delta = (index: number, change: object) => ({ type: 'content_block_delta', index, delta: change });

type Event = { type: string } & Record<string, unknown>;

const events: Event[] = [
  {
    type: 'message_start',
    message: {
      id: 'msg_up',
      model: 'vendor-model',
      content: [],
      usage: { input_tokens: 5, output_tokens: 1 },
    },
  },
  { type: 'ping' },
  { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '', signature: '' } },
  delta(0, { type: 'thinking_delta', thinking: 'Hm "so".' }),
  delta(0, { type: 'thinking_delta', thinking: 'Yes.' }),
  delta(0, { type: 'signature_delta', signature: 'sig' }),
  { type: 'content_block_stop', index: 0 },
  { type: 'content_block_start', index: 1, content_block: { type: 'text', text: '' } },
  delta(1, { type: 'text_delta', text: 'Hello' }),
  delta(1, { type: 'text_delta', text: ' "wörld" 🌍\n' }),
  delta(1, { type: 'text_delta', text: ' again' }),
  { type: 'content_block_stop', index: 1 },
  {
    type: 'content_block_start',
    index: 2,
    content_block: { type: 'tool_use', id: 't', name: 'look', input: {} },
  },
  delta(2, { type: 'input_json_delta', partial_json: '' }),
  delta(2, { type: 'input_json_delta', partial_json: '{"a":1}' }),
  { type: 'content_block_stop', index: 2 },
  { type: 'novel_event', novelty: 1, request_id: 'req_up' },
  {
    type: 'message_delta',
    delta: { stop_reason: 'tool_use', container: { id: 'c' } },
    usage: { output_tokens: 9 },
  },
  { type: 'message_stop' },
];
const stream = events.map(frame).join('');

describe('a stream', () => {
  const read = readStream(stream, stream.length);
  const wire = read.flatMap((event) => event.wire ?? []);

  test('means what the adapter says it means', () => {
    expect(read.filter(({ type }) => type === 'text').map((event) => 'text' in event && event.text)).toEqual([
      'Hello',
      ' "wörld" 🌍\n',
      ' again',
    ]);
    expect(read.map(({ type }) => type).filter((type) => type !== 'wire')).toEqual([
      'reasoning',
      'reasoning',
      'text',
      'text',
      'text',
      'tool_call',
      'tool_arguments',
      'finish',
      'usage',
      'end',
    ]);
  });

  test('reaches the client event by event, with our names and sealed signatures', () => {
    expect(wire).toEqual([
      frame({
        ...events[0],
        message: {
          type: 'message',
          role: 'assistant',
          stop_reason: null,
          stop_sequence: null,
          ...(events[0]?.message as object),
          id: 'req_1',
          model: 'm',
        },
      } as Event),
      ...events.slice(1, 5).map(frame),
      frame(delta(0, { type: 'signature_delta', signature: 'sealed(p/vendor-model,sig)' })),
      ...events.slice(6, 16).map(frame),
      frame({ type: 'novel_event', novelty: 1 } as Event),
      frame({ ...events[17], delta: { stop_reason: 'tool_use' } } as Event),
    ]);
  });

  test('is the same, however its bytes are split', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 300 }), (size) => {
        const split = readStream(stream, size);
        expect(split.flatMap((event) => event.wire ?? []).join('')).toBe(wire.join(''));
        expect(split.map(({ type }) => type)).toEqual(read.map(({ type }) => type));
      }),
      { numRuns: 50 },
    );
  });

  test('needs no parsing for plain text, padded or not', () => {
    const plain = (text: string, padding = '') =>
      frame(delta(0, { type: 'text_delta', text })).replace('}}\n', `}${padding}}\n`);
    const common: ChatEvent[] = [];
    const text = `${plain('one')}${plain(' two', '      ')}${frame(events[9] as Event)}`;
    const taken = passOn.openReader(echo, upstream).readCommon?.(text, common) ?? 0;
    expect(common).toEqual([
      { type: 'text', text: 'one', wire: plain('one') },
      { type: 'text', text: ' two', wire: plain(' two', '      ') },
    ]);
    expect(text.slice(taken)).toBe(frame(events[9] as Event));
  });

  test('says the same with and without the short way', () => {
    const piece = fc.oneof(
      fc.string(),
      fc.string({ unit: 'grapheme' }),
      fc.constantFrom('"', '\\', '\n', 'é'),
    );
    fc.assert(
      fc.property(fc.array(fc.tuple(piece, fc.boolean()), { minLength: 1, maxLength: 6 }), (pieces) => {
        const text = pieces
          .map(([words, isText]) =>
            frame(
              delta(
                0,
                isText ? { type: 'text_delta', text: words } : { type: 'thinking_delta', thinking: words },
              ),
            ),
          )
          .join('');
        const slow = new ChatReader(() => passOn.openReader(echo, upstream), false);
        const bytes = new Uint8Array(Buffer.from(frame({ type: 'ping' }) + text));
        const expected = new EventDecoder(slow).take(bytes);
        const found = readStream(frame({ type: 'ping' }) + text, 1_000_000);
        expect(found.map(({ wire: sent }) => sent)).toEqual(expected.map(({ wire: sent }) => sent));
        expect(found.filter(({ type }) => type === 'text')).toEqual(
          expected.filter(({ type }) => type === 'text'),
        );
      }),
    );
  });

  test('passes no error of the provider on', () => {
    const failed = frame({ type: 'error', error: { type: 'overloaded_error', message: 'secret' } } as Event);
    expect(JSON.stringify(readStream(failed, 1_000))).not.toContain('secret');
    expect(readStream(failed, 1_000)).toMatchObject([{ type: 'failure' }]);
  });
});
