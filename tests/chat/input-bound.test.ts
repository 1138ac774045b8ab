/** What each part of a call adds to the bound of its input, to the token. docs/token-bounds.md has the reasons. */
import { describe, expect, test } from 'bun:test';
import { inputBound } from '../../src/chat/bounds.ts';
import {
  argumentWeights,
  heaviestUnit,
  plainWeights,
  quotedWeights,
  weigh,
} from '../../src/chat/text-weights.ts';
import type { ChatCall, ChatMessage } from '../../src/providers/chat.ts';
import { assistant, toolCall, toolResult } from '../support/chat-messages.ts';
import { emptyCall, testModel } from '../support/provider.ts';

const model = testModel({ contextWindow: null, imageTokens: { low: 100, high: 2_000 } });
const boundOf = (changes: Partial<ChatCall>) => inputBound({ ...emptyCall, messages: [], ...changes }, model);
/** Beyond the general allowance. */
const tokensOf = (changes: Partial<ChatCall>) => boundOf(changes).tokens - 1_024;

test('a call without anything may still be given a prompt by its provider', () => {
  expect(boundOf({})).toEqual({ tokens: 1_024, likelyTokens: 1_024, leastTokens: 0 });
});

describe('a message', () => {
  const call = toolCall('id', 'f', '{"a":1}');
  const said = (written: string) => ({ type: 'text', text: written }) as const;
  const thought = (written: string, value: string | null) => ({
    type: 'reasoning' as const,
    text: written,
    signature: value === null ? null : { value, madeBy: 'p/m' },
  });
  const rows: readonly (readonly [string, ChatMessage, number])[] = [
    ['of the system', { role: 'system', content: 'abc' }, 16 + 3],
    ['of a user', { role: 'user', content: 'abcd' }, 16 + 4],
    [
      'of parts',
      {
        role: 'user',
        content: [
          { type: 'text', text: 'abc' },
          { type: 'image', url: 'https://x', detail: 'low' },
          { type: 'image', url: 'https://x', detail: 'high' },
          { type: 'image', url: 'https://x', detail: null },
        ],
      },
      16 + (4 + 3) + (4 + 100) + (4 + 2_000) + (4 + 2_000),
    ],
    ['of an assistant', assistant('abc'), 16 + 3],
    // The ID at three tokens more a unit, the name twice, and the colon of the arguments as the tags it may become.
    [
      'that calls a tool',
      assistant(null, call),
      16 + 64 + (2 + 2 * 3) + 1 + 1 + (1 + 2 + 1 + 2 + 16 + 1 + 1),
    ],
    [
      'of an assistant in several texts',
      { role: 'assistant', items: [said('abc'), said('de')] },
      16 + 3 + 4 + 2,
    ],
    [
      'with reasoning',
      { role: 'assistant', items: [thought('abcd', 'efghi'), said('abc'), thought('ab', null)] },
      16 + (4 + 4 + 5) + 3 + (4 + 2),
    ],
    [
      'of a tool in parts',
      toolResult('id', [said('abc'), { type: 'image', url: 'https://x', detail: 'low' }, said('de')]),
      16 + 64 + (2 + 2 * 3) + (4 + 3) + (4 + 100) + (4 + 2),
    ],
    ['of a tool', toolResult('id', 'abc'), 16 + 64 + (2 + 2 * 3) + 3],
    ['of a tool with a name', toolResult('id', 'abc', 'f'), 16 + 64 + (2 + 2 * 3) + 3 + 1],
  ];
  test.each(rows)('%s', (_name, message, tokens) => {
    expect(tokensOf({ messages: [message] })).toBe(tokens);
    expect(tokensOf({ messages: [message, message] })).toBe(2 * tokens);
  });

  const text = 'one two';
  const image = { type: 'image', url: 'https://x', detail: null } as const;
  const leastRows: readonly (readonly [string, ChatMessage, number])[] = [
    ['system', { role: 'system', content: text }, 2],
    ['user', { role: 'user', content: text }, 2],
    [
      'parts',
      { role: 'user', content: [{ type: 'text', text }, image, { type: 'text', text: ' three' }] },
      3,
    ],
    ['assistant', assistant(text), 2],
    ['a result', toolResult('an id', text, 'f'), 2],
    ['arguments', assistant(null, { ...call, arguments: text }), 2],
    // Not every server puts these into the prompt.
    ['text beside a call', assistant(text, { ...call, arguments: '' }), 0],
    ['a result in parts', toolResult('an id', [said(text), image, said(' three')]), 3],
    ['several texts', { role: 'assistant', items: [said(text), said(' three')] }, 3],
    [
      'texts around a call',
      { role: 'assistant', items: [said(text), { ...call, arguments: text }, said(text)] },
      2,
    ],
    ['reasoning', { role: 'assistant', items: [thought(text, text)] }, 0],
    ['thinking cut in two', { role: 'assistant', items: [said(`${text}</thi`), said(`nk>${text}`)] }, 0],
    ['earlier thinking', assistant(`${text}</think>${text}`), 0],
  ];
  test.each(leastRows)('has at least the words of its text: %s', (_name, message, tokens) => {
    expect(boundOf({ messages: [message] }).leastTokens).toBe(tokens);
  });

  test('takes no longer for many items than for their text', () => {
    // Looking through all items for each of them would take hours.
    const items = Array.from({ length: 1_000_000 }, () => said('a '));
    expect(boundOf({ messages: [{ role: 'assistant', items }] }).leastTokens).toBe(500_000);
  });

  test('has at least the words of its first million characters', () => {
    const content = ' word'.repeat(300_000);
    expect(boundOf({ messages: [{ role: 'user', content }] }).leastTokens).toBe(200_000);
    const parts = Array.from({ length: 3 }, () => ({ type: 'text', text: ' word'.repeat(100_000) }) as const);
    expect(boundOf({ messages: [{ role: 'user', content: parts }] }).leastTokens).toBe(200_000);
  });
});

describe('tools and formats', () => {
  const tool = { name: 'f', description: null, parameters: null, strict: null };

  test('tools are explained once, and each is declared', () => {
    expect(tokensOf({ tools: [] })).toBe(1_024);
    expect(tokensOf({ tools: [tool, { ...tool, description: 'abc' }] })).toBe(1_024 + 2 * (64 + 1) + 3);
    expect(tokensOf({ tools: [{ ...tool, parameters: {} }] })).toBe(1_024 + 64 + 1 + 16 + 2);
  });

  test('a choice is named', () => {
    expect(tokensOf({ tools: [tool], toolChoice: 'auto' })).toBe(1_024 + 65);
    expect(tokensOf({ tools: [tool], toolChoice: { functionName: 'abc' } })).toBe(1_024 + 65 + 3);
  });

  test('a format is explained, and its schema is sent along', () => {
    const schema = { type: 'json_schema', name: 'n', description: null, schema: null, strict: null } as const;
    expect(tokensOf({ responseFormat: { type: 'text' } })).toBe(0);
    expect(tokensOf({ responseFormat: { type: 'json_object' } })).toBe(512);
    expect(tokensOf({ responseFormat: schema })).toBe(512 + 1);
    expect(tokensOf({ responseFormat: { ...schema, description: 'abc' } })).toBe(512 + 1 + 3);
    expect(tokensOf({ responseFormat: { ...schema, schema: {} } })).toBe(512 + 1 + 18);
  });

  /** 16 around a value, a token for every two levels, and its own text. */
  const level = (depth: number) => 16 + Math.ceil(depth / 2);
  const jsonRows: readonly (readonly [string, object, number, number])[] = [
    ['{}', {}, level(0) + 2, 2],
    ['{"a":1}', { a: 1 }, level(0) + 2 + (4 + 1) + level(1) + 2, 9],
    ['{"a":null}', { a: null }, level(0) + 2 + (4 + 1) + level(1) + 5, 12],
    ['{"a":"bc"}', { a: 'bc' }, level(0) + 2 + (4 + 1) + level(1) + 2 + 2, 11],
    ['{"a":[1,2]}', { a: [1, 2] }, level(0) + 2 + 5 + level(1) + 2 + 2 * (level(2) + 2), 13],
    ['{"a":{"b":{}}}', { a: { b: {} } }, level(0) + 2 + 5 + level(1) + 2 + 5 + level(2) + 2, 16],
    ['{"a":[[[0]]]}', { a: [[[0]]] }, level(0) + 7 + level(1) + level(2) + level(3) + 6 + level(4) + 2, 15],
  ];
  test.each(jsonRows)('the schema %s', (_text, parameters, tokens, bytes) => {
    const bound = boundOf({ tools: [{ ...tool, parameters: parameters as never }] });
    expect(bound.tokens).toBe(1_024 + 1_024 + 65 + tokens);
    expect(bound.leastTokens).toBe(0);
    // Of ASCII, 0.65 tokens a character; what surrounds a value is not likely to be needed.
    expect(bound.likelyTokens).toBe(Math.ceil(1_024 + 1_024 + 64 + 0.65 * (1 + bytes)));
  });
});

describe('text', () => {
  const textOf = (content: string, contextWindow: number | null = null) =>
    inputBound({ ...emptyCall, messages: [{ role: 'user', content }] }, testModel({ contextWindow }));

  test('is likely to have 0.65 tokens a unit, and one for every further byte', () => {
    expect(textOf('x'.repeat(100))).toEqual({ tokens: 1_140, likelyTokens: 1_105, leastTokens: 1 });
    expect(textOf('中'.repeat(100))).toEqual({ tokens: 1_340, likelyTokens: 1_305, leastTokens: 0 });
    expect(textOf('')).toEqual({ tokens: 1_040, likelyTokens: 1_040, leastTokens: 0 });
  });

  test('never has more tokens than the context window', () => {
    expect(textOf('x '.repeat(50), 1_100)).toEqual({ tokens: 1_100, likelyTokens: 1_100, leastTokens: 50 });
    expect(textOf('x '.repeat(50), 30).leastTokens).toBe(30);
    expect(textOf('é'.repeat(100), 1_100)).toEqual({ tokens: 1_100, likelyTokens: 1_100, leastTokens: 1 });
    expect(textOf('é'.repeat(10), 1_071).tokens).toBe(1_070);
  });

  test('beyond a million units is counted at its worst', () => {
    expect(textOf('é'.repeat(1_000_000)).tokens).toBe(1_040 + 3_000_000);
    expect(textOf('é'.repeat(1_000_002)).tokens).toBe(1_040 + 3_000_000 + 2 * 33);
    // No ASCII character has a longer form, so there is nothing to weigh.
    expect(textOf('x'.repeat(1_000_002)).tokens).toBe(1_040 + 1_000_002);
    const halves = 'é'.repeat(500_001);
    const messages: ChatMessage[] = [halves, halves].map((content) => ({ role: 'user', content }));
    expect(boundOf({ messages }).tokens).toBe(1_024 + 2 * 16 + 3_000_000 + 2 * 33);
  });
});

describe('the weights', () => {
  const weights = { plain: plainWeights, quoted: quotedWeights, argument: argumentWeights };
  const weightOf = (kind: keyof typeof weights, text: string) =>
    weigh(text, weights[kind], text.length, Number.POSITIVE_INFINITY);

  test('every unit weighs as much as its longest form, and Hangul as much as its own', () => {
    const wrong: number[] = [];
    for (let unit = 0; unit < 0x1_0000; unit += 1) {
      if (unit >= 0xd800 && unit < 0xe000) continue;
      const text = String.fromCharCode(unit);
      const isHangul = unit >= 0xac00 && unit <= 0xd7a3;
      const forms = isHangul ? [text] : [text, text.normalize('NFD'), text.normalize('NFKD')];
      const expected = Math.max(...forms.map((form) => Buffer.byteLength(form)));
      if (plainWeights.units[unit] !== expected) wrong.push(unit);
    }
    expect(wrong).toEqual([]);
    expect(heaviestUnit).toBe(Math.max(...plainWeights.units));
    expect(weigh('ab', { units: new Uint8Array(0x62), exponent: 0 }, 2, 99)).toBe(33);
  });

  test('every pair weighs four bytes, or as much as the longest decomposition with the same first half', () => {
    const wrong: number[] = [];
    for (let first = 0xd800; first < 0xdc00; first += 1) {
      let longest = 4;
      for (let second = 0xdc00; second < 0xe000; second += 1) {
        const pair = String.fromCharCode(first, second);
        longest = Math.max(longest, Buffer.byteLength(pair.normalize('NFD')));
      }
      if ((plainWeights.units[first] ?? 0) < longest) wrong.push(first);
    }
    expect(wrong).toEqual([]);
    expect(plainWeights.units.slice(0xdc00, 0xe000).every((weight) => weight === 0)).toBe(true);
    const long = [0xd801, 0xd804, 0xd805, 0xd806, 0xd818, 0xd81b, 0xd834, 0xd83c];
    expect(long.map((first) => plainWeights.units[first])).toEqual([6, 8, 8, 8, 12, 12, 12, 9]);
    const others = plainWeights.units
      .slice(0xd800, 0xdc00)
      .filter((_weight, at) => !long.includes(0xd800 + at));
    expect(others.every((weight) => weight === 4)).toBe(true);
  });

  test.each([
    ['a', 1, 1, 1],
    ['"', 1, 2, 2],
    ['\\', 1, 2, 2],
    ['\n', 1, 2, 2],
    ['\t', 1, 2, 2],
    ['\b', 1, 2, 2],
    ['\f', 1, 2, 2],
    ['\r', 1, 2, 2],
    ['\u0000', 1, 6, 6],
    ['\u0001', 1, 6, 6],
    ['\u001f', 1, 6, 6],
    [' ', 1, 1, 1],
    ['<', 1, 6, 6],
    ['>', 1, 6, 6],
    ['&', 1, 6, 6],
    ["'", 1, 6, 6],
    [',', 1, 4, 4],
    [':', 1, 4, 16],
    ['\u007f', 1, 1, 1],
    ['\u0080', 2, 6, 6],
    ['é', 3, 6, 6],
    ['中', 3, 6, 6],
    ['\ufdfa', 33, 33, 33],
    ['😀', 4, 12, 12],
    // A number with an exponent may be written out.
    ['1e5', 3, 23, 23],
    ['9E+5', 4, 24, 24],
    ['0e-9', 4, 24, 24],
    ['1e5e5', 5, 45, 45],
    ['e5', 2, 2, 2],
    ['1e', 2, 2, 2],
    ['1ex', 3, 3, 3],
    ['xe5', 3, 3, 3],
    ['/e5', 3, 3, 3],
    ['1e/', 3, 3, 3],
    [':e5', 3, 6, 18],
    ['1e:', 3, 6, 18],
    ['1f5', 3, 3, 3],
  ])('%j weighs %d, quoted %d, in arguments %d', (text, plain, quoted, argument) => {
    expect([weightOf('plain', text), weightOf('quoted', text), weightOf('argument', text)]).toEqual([
      plain,
      quoted,
      argument,
    ]);
  });

  test('no more is looked at than asked for, nor beyond the limit', () => {
    expect(weigh('aaaa', plainWeights, 2, 99)).toBe(2);
    expect(weigh('aaaa', plainWeights, 4, 1)).toBe(2);
  });
});
