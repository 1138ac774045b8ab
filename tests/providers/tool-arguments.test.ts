/** Arguments converted between JSON text and an object: nothing is lost, and nothing takes too long. */
import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { type ChatMessage, toolCallsOf } from '../../src/providers/chat.ts';
import { chatAdapters } from '../../src/providers/chat-call.ts';
import {
  areReadable,
  DepthMeter,
  deepestArguments,
  isTooDeep,
  ResultReader,
  readArguments,
  readResult,
  writeArguments,
} from '../../src/providers/tool-arguments.ts';
import { defaultDialect } from '../../src/providers/upstream.ts';
import { assistant, toolCall, toolResult } from '../support/chat-messages.ts';

const upstream = {
  baseUrl: 'http://x',
  apiKey: null,
  model: 'gemini-2.5-pro',
  maxOutputTokens: null,
  dialect: defaultDialect,
  requestId: 'req_1',
};
const large = '{"id":12345678901234567890,"far":-1e400,"near":0.1,"deep":[{"x":9007199254740993}]}';

describe('numbers that JavaScript cannot hold', () => {
  test('survive in arguments', () => {
    expect(JSON.stringify(readArguments(large))).toBe(large);
    expect(writeArguments(readArguments(large))).toBe(large);
  });

  test.each([
    [
      'anthropic',
      `{"content":[{"type":"tool_use","id":"a","name":"look","input":${large}}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":1}}`,
    ],
    [
      'google',
      `{"candidates":[{"content":{"parts":[{"functionCall":{"name":"look","args":${large}}}]},"finishReason":"STOP"}]}`,
    ],
  ] as const)('survive in a whole answer of %s', async (format, body) => {
    const { parseJson } = await import('../../src/providers/wire.ts');
    const { items } = chatAdapters[format].readAnswer(parseJson(body), upstream);
    expect(toolCallsOf(items)[0]?.arguments).toBe(large);
  });

  test('survive in a stream of google', () => {
    const read = chatAdapters.google.openReader(upstream);
    const events = read(
      `{"candidates":[{"content":{"parts":[{"functionCall":{"name":"look","args":${large}}}]}}]}`,
    );
    expect(events).toContainEqual({ type: 'tool_arguments', index: 0, text: large });
  });
});

test('any object survives both ways', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 5 })), (value) => {
      const text = JSON.stringify(value);
      expect(writeArguments(readArguments(text))).toBe(text);
    }),
  );
});

test.each(['[]', '3', '"x"', 'null', '{', '{"a":1}x', `${'{"a":'.repeat(65)}1${'}'.repeat(65)}`])(
  '%p is no arguments, and as a result only text',
  (text) => {
    expect(readArguments(text)).toBeNull();
    expect(readResult(text)).toBeNull();
  },
);

test('no arguments at all are an empty object; an empty result is text', () => {
  expect(readArguments(' ')).toEqual({});
  expect(readResult(' ')).toBeNull();
});

const calling = (...texts: string[]): ChatMessage[] => [
  assistant(null, ...texts.map((text, index) => toolCall(`${index}`, 'look', text))),
];

test('values are counted over all calls together, and what stands in strings is not counted', () => {
  expect(areReadable(calling(`{"a":[${'0,'.repeat(99_990)}0]}`))).toBe(true);
  expect(areReadable(calling(`{"a":[${'0,'.repeat(100_010)}0]}`))).toBe(false);
  expect(areReadable(calling(...new Array<string>(20).fill(`[${'[],'.repeat(5_000)}0]`)))).toBe(false);
  expect(areReadable(calling(JSON.stringify({ file: ',:[\\"'.repeat(200_000) })))).toBe(true);
  expect(areReadable(calling(...new Array<string>(40).fill(`${'{"a":'.repeat(1_300)}`)))).toBe(false);
});

test('characters are counted over all calls together, with their IDs', () => {
  const million = 'x'.repeat(1_000_000);
  expect(areReadable(calling(`"${million}"`))).toBe(true);
  expect(areReadable(calling(`"${million}"`, `"${million}"`))).toBe(false);
  const answered = (id: string): ChatMessage => toolResult(id, 'x');
  expect(areReadable([answered(million)])).toBe(true);
  expect(areReadable([answered(million), answered(million), answered('1')])).toBe(false);
});

test('depth is checked before a text is parsed', () => {
  expect(readArguments(`{"a":${'['.repeat(63)}${']'.repeat(63)}}`)).not.toBeNull();
  expect(readArguments(`{"a":${'['.repeat(64)}${']'.repeat(64)}}`)).toBeNull();
  expect(readArguments(`{"a":${'['.repeat(5_000_000)}`)).toBeNull();
});

test('results are parsed up to a limit, and are text beyond it', () => {
  const reader = new ResultReader();
  const result = JSON.stringify({ text: 'x'.repeat(60_000) });
  expect(reader.read(JSON.stringify({ text: 'x'.repeat(70_000) }))).toBeNull();
  for (let read = 0; read < Math.floor(2_000_000 / result.length); read++)
    expect(reader.read(result)).not.toBeNull();
  expect(reader.read(result)).toBeNull();
});

describe('the depth of arguments that arrive in pieces', () => {
  const cutAt = (text: string, places: readonly number[]) => {
    const ends = [...places.map((place) => place % (text.length + 1)), text.length].sort((a, b) => a - b);
    return ends.map((end, index) => text.slice(ends[index - 1] ?? 0, end));
  };
  const isTooDeepInPieces = (pieces: readonly string[]) => {
    const meter = new DepthMeter();
    return pieces.map((piece) => meter.exceedsWith(piece)).includes(true);
  };
  const deep = fc.tuple(fc.nat({ max: 2 * deepestArguments }), fc.jsonValue()).map(([levels, inner]) => {
    const opens = Array.from({ length: levels }, (_, level) => (level % 2 === 0 ? '{"a[\\"{":' : '[1,'));
    const closes = opens.map((open) => (open.startsWith('{') ? '}' : ']')).reverse();
    return opens.join('') + JSON.stringify(inner) + closes.join('');
  });

  test('is that of the whole text, however it is cut', () => {
    fc.assert(
      fc.property(deep, fc.array(fc.nat({ max: 2_000 }), { maxLength: 20 }), (text, places) => {
        expect(isTooDeepInPieces(cutAt(text, places))).toBe(isTooDeep(text));
      }),
      { numRuns: 500 },
    );
  });

  test('is found in the piece that goes too far, and more is closed than was opened', () => {
    const meter = new DepthMeter();
    expect(meter.exceedsWith('}}]]'.repeat(100))).toBe(false);
    expect(meter.exceedsWith('['.repeat(deepestArguments))).toBe(false);
    expect(meter.exceedsWith('"[[[[[[')).toBe(false);
    expect(meter.exceedsWith('",{')).toBe(true);
    expect(meter.exceedsWith('}')).toBe(false);
  });
});

test('a whole answer of openai may not be deeper either, as a text or as an object', () => {
  const nested = (levels: number) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;
  const answer = (written: unknown) => ({
    choices: [
      {
        message: { content: null, tool_calls: [{ id: 'a', function: { name: 'f', arguments: written } }] },
        finish_reason: 'tool_calls',
      },
    ],
  });
  const read = (written: unknown) => () => chatAdapters.openai.readAnswer(answer(written), upstream);
  for (const make of [nested, (levels: number) => JSON.parse(nested(levels)) as unknown]) {
    expect(read(make(deepestArguments))).not.toThrow();
    expect(read(make(deepestArguments + 1))).toThrow('provider_unknown_error');
  }
});
