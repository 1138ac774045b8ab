/** How the events of providers of other formats become a stream of messages. */
import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { AskedOfMessages } from '../../src/chat/messages/parse.ts';
import { PassedOnWriter } from '../../src/chat/messages/passed-on-writer.ts';
import { presentMessage } from '../../src/chat/messages/present.ts';
import { TranslatedWriter } from '../../src/chat/messages/translated-writer.ts';
import { StreamProgress } from '../../src/chat/stream-progress.ts';
import { ApiError } from '../../src/errors.ts';
import type { Charge } from '../../src/ledger/settlement.ts';
import type { ChatEvent, FinishReason, ReportedUsage } from '../../src/providers/chat.ts';
import { ProviderError } from '../../src/providers/upstream.ts';
import { blocksOf, eventsOf } from '../support/messages-fixture.ts';

const charge = {
  usage: {
    inputTokens: 100,
    outputTokens: 9,
    cached: { read: 40, write: 10, writeLong: 5 },
    units: 109,
    unit: 'tokens',
    tier: null,
  },
  cost: { input: 1n, output: 2n, total: 123_456_789n },
} as unknown as Charge;
const reported = { readings: [{}], contradiction: null, reasoningTokens: 4 } as unknown as ReportedUsage;

const factsWith = (thinking: AskedOfMessages['thinking']) => ({
  requestId: 'req_1',
  createdSeconds: 0,
  model: 'm',
  asked: { thinking, seal: ({ value, madeBy }: { value: string; madeBy: string }) => `${madeBy}:${value}` },
});

const call = (index: number, id = `c${index}`): ChatEvent => ({ type: 'tool_call', index, id, name: 'look' });
const args = (index: number, text: string): ChatEvent => ({ type: 'tool_arguments', index, text });
const text = (words: string): ChatEvent => ({ type: 'text', text: words });
const finish = (reason: FinishReason = 'stop'): ChatEvent => ({ type: 'finish', reason });

/** What a client gets for these events. */
function streamOf(events: readonly ChatEvent[], thinking: AskedOfMessages['thinking'] = 'text') {
  const writer = new TranslatedWriter(factsWith(thinking));
  const progress = new StreamProgress(writer);
  const sent = writer.begin() + progress.take(events) + writer.complete(charge, reported) + writer.close;
  return eventsOf(sent);
}

describe('a translated stream', () => {
  test('has the counts in its last event, without the cached ones in the input', () => {
    expect(streamOf([text('Hi'), finish()]).at(-2)).toEqual({
      type: 'message_delta',
      delta: { stop_reason: 'end_turn', stop_sequence: null },
      usage: {
        input_tokens: 45,
        cache_creation_input_tokens: 15,
        cache_read_input_tokens: 40,
        cache_creation: { ephemeral_5m_input_tokens: 10, ephemeral_1h_input_tokens: 5 },
        output_tokens: 9,
        output_tokens_details: { thinking_tokens: 4 },
        cost: '0.000123456789',
      },
    });
  });

  test('keeps text and calls, in their order', () => {
    const events = streamOf([
      text('Let me '),
      text('look.'),
      call(0),
      args(0, '{"a":'),
      args(0, '"}"}'),
      text('Done'),
      call(1, 'functions.look:1'),
      finish('tool_calls'),
    ]);
    expect(blocksOf(events)).toEqual([
      { type: 'text', text: 'Let me look.' },
      { type: 'tool_use', id: 'c0', name: 'look', input: { a: '}' } },
      { type: 'text', text: 'Done' },
      { type: 'tool_use', id: expect.stringMatching(/^recoded-[\w-]+$/), name: 'look', input: {} },
    ]);
    expect(events.at(-2)?.delta).toMatchObject({ stop_reason: 'tool_use' });
  });

  test('keeps what comes after the reason why it ends', () => {
    const events = streamOf([call(0), finish('tool_calls'), text('Late'), call(1), args(1, '{"a":1}')]);
    expect(blocksOf(events).map(({ type, input }) => [type, input])).toEqual([
      ['tool_use', {}],
      ['text', undefined],
      ['tool_use', { a: 1 }],
    ]);
  });

  test.each([
    ['stop', false, 'end_turn'],
    ['stop', true, 'tool_use'],
    ['length', true, 'max_tokens'],
    ['content_filter', false, 'refusal'],
    ['tool_calls', true, 'tool_use'],
  ] as const)('that ends with %s (calls: %p) says %s', (reason, hasCalls, expected) => {
    const events = [text('x'), ...(hasCalls ? [call(0), args(0, '{}')] : []), finish(reason)];
    expect(streamOf(events).at(-2)?.delta).toMatchObject({ stop_reason: expected });
  });

  test('shows thinking as the client asked for it', () => {
    const thought: ChatEvent[] = [
      { type: 'reasoning', text: 'Hm, ' },
      { type: 'reasoning', text: 'so.' },
      { type: 'reasoning_end', signature: { value: 'v', madeBy: 'p' } },
      text('Yes'),
      finish(),
    ];
    const answer = { type: 'text', text: 'Yes' };
    expect(blocksOf(streamOf(thought))).toEqual([
      { type: 'thinking', thinking: 'Hm, so.', signature: 'p:v' },
      answer,
    ]);
    expect(blocksOf(streamOf(thought, 'signature'))).toEqual([
      { type: 'thinking', thinking: '', signature: 'p:v' },
      answer,
    ]);
    expect(blocksOf(streamOf(thought, 'nothing'))).toEqual([answer]);
  });

  test('puts alternating pieces of calls back in order', () => {
    const document = fc.array(fc.jsonValue({ maxDepth: 2 }), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(document, fc.infiniteStream(fc.nat()), (values, picks) => {
        const pieces = values.map((value, index) => ({
          index,
          left: JSON.stringify({ value }).match(/.{1,5}/gsu) ?? [],
        }));
        const events: ChatEvent[] = values.map((_, index) => call(index));
        for (;;) {
          const open = pieces.filter(({ left }) => left.length > 0);
          const [next] = open.slice((picks.next().value as number) % Math.max(1, open.length));
          if (next === undefined) break;
          events.push(args(next.index, next.left.shift() ?? ''));
        }
        const blocks = blocksOf(streamOf([...events, finish('tool_calls')]));
        expect(blocks.map(({ id, input }) => [id, input])).toEqual(
          values.map((value, index) => [`c${index}`, JSON.parse(JSON.stringify({ value })) as unknown]),
        );
      }),
    );
  });

  test('does not let what waits grow without end, nor a call go on after its end', () => {
    const long = 'x'.repeat(1_000_000);
    const waiting = [call(0), args(0, '{"a":"'), call(1), ...Array.from({ length: 9 }, () => args(1, long))];
    expect(() => streamOf(waiting)).toThrow(ProviderError);
    expect(() => streamOf([call(0), args(0, '{}'), call(1), args(0, '{}')])).toThrow(ProviderError);
  });

  test('ends with an error event', () => {
    const writer = new TranslatedWriter(factsWith('text'));
    expect(eventsOf(writer.failure(new ApiError('insufficient_balance')))).toEqual([
      {
        type: 'error',
        error: {
          type: 'billing_error',
          message: 'The prepaid balance does not cover this request.',
          code: 'insufficient_balance',
          param: null,
        },
        request_id: 'req_1',
      },
    ]);
  });
});

describe('a passed-on stream', () => {
  test('is what the provider sent, and its end waits for the charge', () => {
    const writer = new PassedOnWriter(factsWith('text'));
    const progress = new StreamProgress(writer);
    const end =
      'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":9,"novel":1},"context_management":{"applied_edits":[]}}\n\n';
    const sent = progress.take([
      { type: 'wire', wire: 'event: message_start\ndata: {}\n\n' },
      { type: 'text', text: 'a', wire: 'A\n\n' },
      { type: 'finish', reason: 'stop', wire: end },
    ]);
    expect(writer.begin() + sent).toBe('event: message_start\ndata: {}\n\nA\n\n');
    const [delta, stop] = eventsOf(writer.complete(charge, reported));
    expect(delta).toMatchObject({
      delta: { stop_reason: 'end_turn' },
      context_management: { applied_edits: [] },
      usage: { novel: 1, input_tokens: 45, output_tokens: 9, cost: '0.000123456789' },
    });
    expect(stop).toEqual({ type: 'message_stop' });
    expect(writer.complete(charge, reported)).toBe(writer.complete(charge, reported));
  });
});

describe('a non-streamed response', () => {
  const usage = reported;
  test('has the blocks in order, also calls whose arguments are no object', () => {
    const body = presentMessage(
      factsWith('text'),
      {
        items: [
          { type: 'reasoning', text: 'Hm', signature: null },
          { type: 'text', text: '' },
          { type: 'text', text: 'Look' },
          { type: 'tool_call', id: 'a', name: 'look', arguments: '{"id":12345678901234567890}' },
          { type: 'tool_call', id: 'b', name: 'look', arguments: 'not json' },
        ],
        finishReason: 'tool_calls',
        usage,
      },
      charge,
    );
    expect(JSON.stringify(body)).toContain(
      '"content":[{"type":"thinking","thinking":"Hm","signature":""},{"type":"text","text":"Look"},' +
        '{"type":"tool_use","id":"a","name":"look","input":{"id":12345678901234567890}},' +
        '{"type":"tool_use","id":"b","name":"look","input":{"arguments":"not json"}}],"stop_reason":"tool_use"',
    );
  });
});
