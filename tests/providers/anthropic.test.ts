/** The fixtures are described, with the pages they follow, in fixtures/anthropic/README.md. */
import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { SseParser } from '../../src/lib/sse.ts';
import { anthropic } from '../../src/providers/anthropic.ts';
import { type AnswerItem, type ChatEvent, textOf, toolCallsOf } from '../../src/providers/chat.ts';
import { defaultDialect, ProviderError, type Upstream } from '../../src/providers/upstream.ts';
import { items, toolCall } from '../support/chat-messages.ts';
import { reported } from '../support/reported-usage.ts';

type Fields = Readonly<Record<string, unknown>>;

const upstream: Upstream = {
  baseUrl: 'https://api.example/v1',
  apiKey: 'key-1',
  model: 'claude-x',
  maxOutputTokens: null,
  dialect: defaultDialect,
  requestId: 'req_1',
};

const fixture = (name: string) => readFileSync(join(import.meta.dir, 'fixtures/anthropic', name), 'utf8');

/** The code of a failure, thrown or reported as an event after which reading continues. */
function codeOf(work: () => unknown): string {
  try {
    const result = work();
    const failed = Array.isArray(result)
      ? (result as ChatEvent[]).find((event) => event.type === 'failure')
      : undefined;
    if (failed !== undefined) return failed.error.code;
  } catch (error) {
    if (error instanceof ProviderError) return error.code;
    throw error;
  }
  throw new TypeError('expected a ProviderError');
}

/** What the reader returns for a whole stream. */
function readStream(text: string): ChatEvent[] {
  const read = anthropic.openReader(upstream);
  return new SseParser().push(text).flatMap((data) => [...read(data ?? '')]);
}

const readEvents = (...events: unknown[]): ChatEvent[] => {
  const read = anthropic.openReader(upstream);
  return events.flatMap((event) => [...read(JSON.stringify(event))]);
};

/** A streamed answer, assembled as a client would do it. */
function assembled(events: readonly ChatEvent[]) {
  let content = '';
  const toolCalls: { type: 'tool_call'; id: string; name: string; arguments: string }[] = [];
  for (const event of events) {
    if (event.type === 'text') content += event.text;
    if (event.type === 'tool_call') {
      expect(event.index).toBe(toolCalls.length);
      toolCalls.push({ type: event.type, id: event.id, name: event.name, arguments: '' });
    }
    if (event.type === 'tool_arguments') {
      const call = toolCalls[event.index];
      if (call === undefined) throw new TypeError('arguments of an unknown call');
      call.arguments += event.text;
    }
  }
  return contentOf(items(content, ...toolCalls));
}

/** The text and the calls of an answer, with their arguments as values. */
function contentOf(written: readonly AnswerItem[]) {
  const calls = toolCallsOf(written);
  return {
    content: textOf(written),
    toolCalls: calls.map((call) => ({ ...call, arguments: JSON.parse(call.arguments) })),
  };
}

const message = (fields: Fields = {}): Fields => ({
  type: 'message',
  role: 'assistant',
  content: [{ type: 'text', text: 'Hi' }],
  stop_reason: 'end_turn',
  usage: { input_tokens: 1, output_tokens: 2 },
  ...fields,
});
const readAnswer = (fields: Fields) => anthropic.readAnswer(message(fields), upstream);
const readFixture = (name: string) => anthropic.readAnswer(JSON.parse(fixture(name)), upstream);

const stopReasons = [
  ['end_turn', 'stop'],
  ['stop_sequence', 'stop'],
  ['pause_turn', 'stop'],
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['tool_use', 'tool_calls'],
  ['refusal', 'content_filter'],
  ['something_new', 'stop'],
] as const;

const cachedUsage = reported(0, 0, {
  readings: [{ freshInput: 50, cacheRead: 100_000, cacheWrite: 148, cacheWriteLong: 100, output: 503 }],
});

describe('a whole answer', () => {
  test('of text', () => {
    expect(readFixture('text-answer.json')).toEqual({
      items: items('The bridge opens at noon.'),
      finishReason: 'stop',
      usage: reported(100, 50),
    });
  });

  test('with calls', () => {
    expect(readFixture('tool-use-answer.json')).toEqual({
      items: items(
        'Both at once:',
        toolCall('toolu_01Bridge1fJ34qAmk2tNTrN7Up6', 'get_tide', '{"harbour":"Saint-Malo","day":3}'),
        toolCall('toolu_02Clock1fJ34qAmk2tNTrN7Up6', 'get_time'),
      ),
      finishReason: 'tool_calls',
      usage: reported(472, 89),
    });
  });

  test('without thoughts, and with each token of the cache counted once', () => {
    expect(readFixture('cache-answer.json')).toEqual({
      items: items('Chapter nine.'),
      finishReason: 'length',
      usage: cachedUsage,
    });
  });

  test('keeps texts and calls in their order, and skips blocks of other kinds', () => {
    const content = [
      { type: 'text', text: 'One' },
      { type: 'hologram', text: 'no' },
      { type: 'tool_use', id: 'a', name: 'look', input: {} },
      { type: 'text', text: ' two' },
    ];
    expect(readAnswer({ content }).items).toEqual([...items('One', toolCall('a')), ...items(' two')]);
  });

  test('has no text next to calls without any, and nothing when there is nothing', () => {
    const call = { type: 'tool_use', id: 'a', name: 'look', input: {} };
    expect(readAnswer({ content: [call] }).items).toEqual([toolCall('a')]);
    expect(readAnswer({ content: [] }).items).toEqual([]);
  });

  test.each(stopReasons)('%s means %s', (stop_reason, finishReason) => {
    expect(readAnswer({ stop_reason }).finishReason).toBe(finishReason);
  });

  test.each([
    ['an error', JSON.parse(fixture('error-answer.json'))],
    ['an error that looks like an answer', message({ type: 'error' })],
    ['no stop reason', message({ stop_reason: null })],
    ['no content', message({ content: null })],
    ['a block that is none', message({ content: ['Hi'] })],
    ['a text that is none', message({ content: [{ type: 'text' }] })],
    ['a call without a name', message({ content: [{ type: 'tool_use', id: 'a', input: {} }] })],
    ['a call without input', message({ content: [{ type: 'tool_use', id: 'a', name: 'b' }] })],
    ['a list', []],
    ['nothing', null],
  ])('%s is no answer', (_name, body) => {
    expect(codeOf(() => anthropic.readAnswer(body, upstream))).toBe('provider_unknown_error');
  });

  test('anything else is an answer or a ProviderError', () => {
    const block = fc.record(
      {
        type: fc.constantFrom('text', 'tool_use', 'thinking'),
        text: fc.jsonValue(),
        id: fc.jsonValue(),
        name: fc.string(),
        input: fc.jsonValue(),
      },
      { requiredKeys: [] },
    );
    const body = fc.oneof(
      fc.jsonValue(),
      fc.record(
        {
          content: fc.array(fc.oneof(block, fc.jsonValue())),
          stop_reason: fc.constantFrom('end_turn', null),
          usage: fc.jsonValue(),
        },
        { requiredKeys: [] },
      ),
    );
    fc.assert(
      fc.property(body, (value) => {
        try {
          anthropic.readAnswer(value, upstream);
        } catch (error) {
          expect(error).toBeInstanceOf(ProviderError);
        }
      }),
    );
  });
});

const count = fc.nat(1_000_000_000);
const absentOrCount = fc.oneof(count, fc.constantFrom(null, undefined));
const noCount = fc.oneof(
  fc.constantFrom(-1, 0.5, '7', true, {}, [], 2 ** 53),
  fc.double({ max: -0.1, noNaN: true, noDefaultInfinity: true }),
);
const inputFields = ['input_tokens', 'cache_creation_input_tokens', 'cache_read_input_tokens'] as const;

/** The events of a stream with these two reports of usage. */
const streamUsage = (first: Fields | undefined, last: Fields | undefined) =>
  readEvents(
    { type: 'message_start', message: { usage: first } },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: last },
  ).flatMap((event) => (event.type === 'usage' ? [event.usage] : []));

describe('usage', () => {
  test('counts what was cached exactly once, whole and streamed', () => {
    fc.assert(
      fc.property(count, absentOrCount, absentOrCount, count, (input, written, cached, output) => {
        const counts = {
          input_tokens: input,
          cache_creation_input_tokens: written,
          cache_read_input_tokens: cached,
          // Breakdowns of what is already counted.
          cache_creation: { ephemeral_5m_input_tokens: written, ephemeral_1h_input_tokens: 0 },
          output_tokens_details: { thinking_tokens: output },
        };
        const meters = {
          freshInput: input,
          cacheRead: cached ?? 0,
          cacheWrite: written ?? 0,
          cacheWriteLong: 0,
          output,
        };
        const expected = (thinking: number | null) =>
          reported(0, 0, { readings: [meters], reasoningTokens: thinking });
        const last = { output_tokens: output };
        const { output_tokens_details: _, ...atStart } = counts;
        expect(readAnswer({ usage: { ...counts, ...last } }).usage).toEqual(expected(output));
        expect(streamUsage({ ...atStart, output_tokens: 1 }, last)).toEqual([expected(null)]);
        expect(streamUsage(undefined, { ...counts, ...last })).toEqual([expected(output)]);
        // The counts are cumulative: repeating them adds nothing.
        expect(streamUsage(atStart, { ...counts, ...last })).toEqual([expected(output)]);
      }),
    );
  });

  test('of a stream is the latest of each count', () => {
    const report = fc.record({
      input_tokens: absentOrCount,
      cache_creation_input_tokens: absentOrCount,
      cache_read_input_tokens: absentOrCount,
    });
    fc.assert(
      fc.property(report, report, count, (first, last, output) => {
        const [input, cacheWrite, cacheRead] = inputFields.map(
          (field) => last[field] ?? first[field] ?? null,
        );
        const meters = {
          freshInput: input ?? 0,
          cacheRead: cacheRead ?? 0,
          cacheWrite: cacheWrite ?? 0,
          cacheWriteLong: 0,
          output,
        };
        expect(streamUsage(first, { ...last, output_tokens: output })).toEqual(
          input === null ? [] : [reported(0, 0, { readings: [meters] })],
        );
      }),
    );
  });

  test('keeps how long was written for when a later sum comes without its parts', () => {
    const first = {
      input_tokens: 5,
      cache_creation_input_tokens: 900,
      cache_creation: { ephemeral_5m_input_tokens: 200, ephemeral_1h_input_tokens: 700 },
    };
    const written = (last: Fields) =>
      streamUsage(first, { output_tokens: 1, ...last }).map(({ readings, contradiction }) => [
        contradiction !== null,
        ...readings.map(({ cacheWrite, cacheWriteLong }) => [cacheWrite, cacheWriteLong]),
      ]);
    expect(written({})).toEqual([[false, [200, 700]]]);
    expect(written({ cache_creation_input_tokens: 900 })).toEqual([[false, [200, 700]]]);
    expect(written({ cache_creation_input_tokens: 1_000 })).toEqual([[false, [300, 700]]]);
    // Less than before in all, and more for an hour alone than there was.
    expect(written({ cache_creation_input_tokens: 600 })).toEqual([[true, [0, 600], [0, 700]]]);
    const both = { ephemeral_5m_input_tokens: 1, ephemeral_1h_input_tokens: 2 };
    expect(written({ cache_creation_input_tokens: 3, cache_creation: both })).toEqual([[false, [1, 2]]]);
  });

  test('is unknown when the input or the output is not a count', () => {
    const sound = {
      input_tokens: 1,
      cache_creation_input_tokens: 2,
      cache_read_input_tokens: 3,
      output_tokens: 4,
    };
    fc.assert(
      fc.property(fc.constantFrom('input_tokens', 'output_tokens'), noCount, (field, value) => {
        const usage = { ...sound, [field]: value };
        expect(readAnswer({ usage }).usage).toBeNull();
        expect(streamUsage(sound, usage)).toEqual([]);
      }),
    );
    for (const usage of [null, 7, {}, { input_tokens: 1 }, { output_tokens: 1 }])
      expect(readAnswer({ usage }).usage).toBeNull();
    const most = Number.MAX_SAFE_INTEGER;
    expect(readAnswer({ usage: { ...sound, input_tokens: most } }).usage).toBeNull();
  });

  test('of a stream is not what its beginning says of the output', () => {
    expect(streamUsage({ input_tokens: 5, output_tokens: 1 }, undefined)).toEqual([]);
    expect(streamUsage({ input_tokens: 5, output_tokens: 1 }, {})).toEqual([]);
  });
});

describe('a stream', () => {
  test('of text', () => {
    expect(readStream(fixture('text-stream.sse'))).toEqual([
      { type: 'text', text: 'Good' },
      { type: 'text', text: ' day, Zoë 🌞' },
      { type: 'finish', reason: 'stop' },
      { type: 'usage', usage: reported(31, 12) },
      { type: 'end' },
    ]);
  });

  test('with text and two calls, one of them without arguments', () => {
    expect(readStream(fixture('tool-use-stream.sse'))).toEqual([
      { type: 'text', text: 'Both' },
      { type: 'text', text: ' at once:' },
      { type: 'tool_call', index: 0, id: 'toolu_01Bridge1fJ34qAmk2tNTrN7Up6', name: 'get_tide' },
      { type: 'tool_arguments', index: 0, text: '{"harbour":' },
      { type: 'tool_arguments', index: 0, text: ' "Saint' },
      { type: 'tool_arguments', index: 0, text: '-Malo"' },
      { type: 'tool_arguments', index: 0, text: ', ' },
      { type: 'tool_arguments', index: 0, text: '"day": 3}' },
      { type: 'tool_call', index: 1, id: 'toolu_02Clock1fJ34qAmk2tNTrN7Up6', name: 'get_time' },
      { type: 'tool_arguments', index: 1, text: '{}' },
      { type: 'finish', reason: 'tool_calls' },
      { type: 'usage', usage: reported(472, 89) },
      { type: 'end' },
    ]);
  });

  test('with calls says the same as the whole answer', () => {
    const { items: whole } = readFixture('tool-use-answer.json');
    expect(assembled(readStream(fixture('tool-use-stream.sse')))).toEqual(contentOf(whole));
  });

  test('with thoughts', () => {
    expect(readStream(fixture('thinking-stream.sse'))).toEqual([
      { type: 'text', text: 'It is **49**.' },
      { type: 'finish', reason: 'stop' },
      { type: 'usage', usage: reported(44, 57) },
      { type: 'end' },
    ]);
  });

  test('with tools that the provider runs, and input that grows meanwhile', () => {
    expect(readStream(fixture('server-tool-stream.sse'))).toEqual([
      { type: 'text', text: 'One moment' },
      { type: 'text', text: '. ' },
      { type: 'text', text: 'The next one leaves at nine.' },
      { type: 'finish', reason: 'stop' },
      {
        type: 'usage',
        usage: reported(0, 0, {
          readings: [{ freshInput: 10_682, cacheRead: 300, cacheWrite: 20, cacheWriteLong: 0, output: 510 }],
        }),
      },
      { type: 'end' },
    ]);
  });

  test('with input from the cache', () => {
    expect(readStream(fixture('cache-stream.sse')).slice(1)).toEqual([
      { type: 'finish', reason: 'length' },
      { type: 'usage', usage: cachedUsage },
      { type: 'end' },
    ]);
  });

  test('that breaks off with an error', () => {
    const read = anthropic.openReader(upstream);
    const data = new SseParser().push(fixture('error-stream.sse'));
    expect(data.slice(0, -1).flatMap((one) => [...read(one ?? '')])).toEqual([
      { type: 'text', text: 'On the' },
    ]);
    expect(codeOf(() => read(data.at(-1) ?? ''))).toBe('provider_stream_error');
  });

  test.each(stopReasons)('%s means %s', (stop_reason, reason) => {
    expect(readEvents({ type: 'message_delta', delta: { stop_reason } })).toEqual([
      { type: 'finish', reason },
    ]);
  });

  const start = (index: number, block: Fields) => ({
    type: 'content_block_start',
    index,
    content_block: block,
  });
  const delta = (index: number, fields: Fields) => ({ type: 'content_block_delta', index, delta: fields });
  const piece = (index: number, partial_json: unknown) =>
    delta(index, { type: 'input_json_delta', partial_json });
  const stop = (index: number) => ({ type: 'content_block_stop', index });
  const use = (id: string, input?: unknown) => ({ type: 'tool_use', id, name: 'look', input });

  test.each([
    ['a ping', { type: 'ping' }],
    ['an event of a new type', { type: 'weather', content: 5 }],
    ['a block of a new kind', start(0, { type: 'hologram', text: 'no' })],
    ['a piece of a new kind', delta(0, { type: 'hologram_delta', text: 'no' })],
    ['an empty piece of text', delta(0, { type: 'text_delta', text: '' })],
    ['input of a block that is no call', piece(4, '{}')],
    ['the end of a block that is no call', stop(4)],
    ['a change without a reason', { type: 'message_delta', delta: { stop_reason: null } }],
  ])('%s means nothing', (_name, event) => {
    expect(readEvents(event)).toEqual([]);
  });

  test.each([
    ['no JSON', 'data'],
    ['half of an event', '{"type":"pi'],
    ['the end marker of another format', '[DONE]'],
    ['a list', '[]'],
    ['an event without a type', '{"index":0}'],
    ['a block without an index', JSON.stringify({ ...start(0, { type: 'text' }), index: undefined })],
    ['a block without its kind', JSON.stringify({ ...start(0, {}), content_block: null })],
    ['a call without an ID', JSON.stringify(start(0, { type: 'tool_use', name: 'look' }))],
    ['a call without a name', JSON.stringify(start(0, { type: 'tool_use', id: 'a' }))],
    ['a call whose input is no object', JSON.stringify(start(0, use('a', [1])))],
    ['a piece without content', JSON.stringify({ type: 'content_block_delta', index: 0 })],
    ['text that is none', JSON.stringify(delta(0, { type: 'text_delta', text: 7 }))],
    ['the end of no block', '{"type":"content_block_stop"}'],
    [
      'a call too deep to be written again',
      `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"b","input":{"a":${'['.repeat(200_000)}${']'.repeat(200_000)}}}}`,
    ],
  ])('%s is malformed', (_name, data) => {
    expect(codeOf(() => anthropic.openReader(upstream)(data))).toBe('malformed_stream_chunk');
  });

  test('arguments that are not text are malformed', () => {
    const read = anthropic.openReader(upstream);
    read(JSON.stringify(start(0, use('a', {}))));
    expect(codeOf(() => read(JSON.stringify(piece(0, { a: 1 }))))).toBe('malformed_stream_chunk');
  });

  test('a call without input has its empty arguments once', () => {
    const other = delta(0, { type: 'hologram_delta', text: 'no' });
    expect(readEvents(start(0, use('a')), other, stop(0), stop(0), piece(0, 'late'))).toEqual([
      { type: 'tool_call', index: 0, id: 'a', name: 'look' },
      { type: 'tool_arguments', index: 0, text: '{}' },
    ]);
  });

  test('does not go on with calls forever', () => {
    const read = anthropic.openReader(upstream);
    const events = Array.from({ length: 1_001 }, (_, index) =>
      JSON.stringify(start(index, use(`a${index}`))),
    );
    for (const event of events.slice(0, -1)) read(event);
    expect(codeOf(() => read(events.at(-1) ?? ''))).toBe('malformed_stream_chunk');
    read(JSON.stringify({ type: 'message_start', message: { usage: { input_tokens: 3 } } }));
    const last = { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 4 } };
    expect(read(JSON.stringify(last))).toContainEqual({
      type: 'usage',
      usage: reported(3, 4),
    });
  });

  test('text that stands at the start of its block is not lost', () => {
    expect(readEvents(start(0, { type: 'text', text: 'Hi' }))).toEqual([{ type: 'text', text: 'Hi' }]);
  });

  /** A text cut at any places; pieces may be empty. */
  const cut = (text: string, places: readonly number[]): string[] => {
    const ends = [...places.map((place) => place % (text.length + 1)), text.length].sort((a, b) => a - b);
    return ends.map((end, index) => text.slice(index === 0 ? 0 : ends[index - 1], end));
  };

  test('of any calls, in any pieces and interleaved, says the same as the whole answer', () => {
    const input = fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 4 });
    const block = fc.oneof(
      fc.record({ kind: fc.constant('text' as const), text: fc.string() }),
      fc.record({
        kind: fc.constantFrom('pieces' as const, 'at once' as const),
        input,
        places: fc.array(fc.nat(), { maxLength: 6 }),
      }),
    );
    fc.assert(
      fc.property(fc.array(block, { maxLength: 6 }), fc.boolean(), (blocks, isInterleaved) => {
        const content: Fields[] = [];
        const streams = blocks.map((one, index) => {
          if (one.kind === 'text') {
            content.push({ type: 'text', text: one.text });
            return [
              start(index, { type: 'text', text: '' }),
              delta(index, { type: 'text_delta', text: one.text }),
              stop(index),
            ];
          }
          content.push(use(`id${index}`, one.input));
          const isEmpty = Object.keys(one.input).length === 0;
          const pieces =
            one.kind === 'at once' || isEmpty ? [''] : cut(JSON.stringify(one.input), one.places);
          return [
            start(index, use(`id${index}`, one.kind === 'at once' ? one.input : {})),
            ...pieces.map((text) => piece(index, text)),
            stop(index),
          ];
        });
        const events = isInterleaved
          ? [...streams.map(([first]) => first), ...streams.flatMap(([, ...others]) => others)]
          : streams.flat();
        const { items: whole } = readAnswer({ content });
        expect(assembled(readEvents(...events))).toEqual(contentOf(whole));
      }),
    );
  });

  test('of any garbage fails with ProviderErrors only', () => {
    const type = fc.constantFrom(
      'message_start',
      'content_block_start',
      'content_block_delta',
      'content_block_stop',
      'message_delta',
      'message_stop',
      'error',
      'ping',
    );
    const inner = fc.record(
      {
        type: fc.constantFrom('text', 'tool_use', 'text_delta', 'input_json_delta', 'thinking_delta'),
        text: fc.jsonValue(),
        id: fc.oneof(fc.string(), fc.jsonValue()),
        name: fc.oneof(fc.string(), fc.jsonValue()),
        input: fc.oneof(fc.object(), fc.jsonValue()),
        partial_json: fc.oneof(fc.string(), fc.jsonValue()),
        stop_reason: fc.jsonValue(),
        usage: fc.jsonValue(),
      },
      { requiredKeys: [] },
    );
    const field = fc.oneof(inner, fc.jsonValue());
    const event = fc.record(
      {
        type,
        index: fc.oneof(fc.nat(2), fc.jsonValue()),
        content_block: field,
        delta: field,
        message: field,
        usage: fc.oneof(
          fc.record({ input_tokens: fc.jsonValue(), output_tokens: fc.jsonValue() }),
          fc.jsonValue(),
        ),
      },
      { requiredKeys: ['type'] },
    );
    const data = fc.oneof(
      { arbitrary: event.map((value) => JSON.stringify(value)), weight: 4 },
      { arbitrary: fc.json(), weight: 1 },
      { arbitrary: fc.string(), weight: 1 },
    );
    fc.assert(
      fc.property(fc.array(data, { maxLength: 12 }), (list) => {
        const read = anthropic.openReader(upstream);
        for (const one of list) {
          try {
            read(one);
          } catch (error) {
            expect(error).toBeInstanceOf(ProviderError);
          }
        }
      }),
      { numRuns: 1_000 },
    );
  });
});
