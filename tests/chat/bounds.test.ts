/** How much the input of a request can cost at most: no text, however strange, may make more tokens than that. */
import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { countPromptTokens } from '../../sandbox/usage.ts';
import { inputBound } from '../../src/chat/bounds.ts';
import { parseChat } from '../../src/chat/completions/parse.ts';
import type { InputBound } from '../../src/chat/input-tally.ts';
import { plainWeights, weigh } from '../../src/chat/text-weights.ts';
import { parseCatalog } from '../../src/models/catalog.ts';
import type { Model } from '../../src/models/model.ts';
import type {
  AnswerItem,
  ChatCall,
  ChatMessage,
  ImagePart,
  JsonObject,
  TextPart,
  Tool,
} from '../../src/providers/chat.ts';
import {
  asking,
  basic,
  call as calledTool,
  type Fields,
  image,
  jsonSchema,
  look,
  parts,
  plus,
  talk,
  toolFunction,
  tools,
  url,
  user,
} from '../support/chat-bodies.ts';
import { emptyCall, testModel as model } from '../support/provider.ts';

const boundOf = (body: Fields, fields: Partial<Model> = {}): InputBound =>
  inputBound(parseChat(body).call, model(fields));
const saying = (content: string): ChatCall => ({ ...emptyCall, messages: [{ role: 'user', content }] });
const boundFor = (content: string): number =>
  inputBound(saying(content), model()).tokens - inputBound(saying(''), model()).tokens;
const bytes = (text: string): number => Buffer.byteLength(text);

describe('a text in a message', () => {
  test.each([
    ['Hello', 5],
    ['0 0 0 0', 7],
    ['\u0001\n"<', 4],
    ['Grüße', 5 + 2 + 1],
    ['人', 3],
    ['한', 3],
    ['😀', 4],
    ['½', 5],
    ['ﷺ', 33],
    ['\u{1d160}', 12],
  ])('%p makes at most %i tokens', (text, tokens) => {
    expect(boundFor(text)).toBe(tokens);
  });

  test('no character has a form that is longer than it weighs', () => {
    const tooLight: string[] = [];
    // The planes above have no characters, or only some without other forms.
    for (let code = 1; code < 0x4_0000; code += 1) {
      const character = String.fromCodePoint(code);
      const isHangul = code >= 0xac00 && code < 0xd7a4;
      const forms = isHangul ? [] : [character.normalize('NFD'), character.normalize('NFKD')];
      const longest = Math.max(bytes(character), ...forms.map(bytes));
      const isHalf = code >= 0xd800 && code < 0xe000;
      if (!isHalf && weigh(character, plainWeights, character.length, longest) < longest)
        tooLight.push(code.toString(16));
    }
    expect(tooLight).toEqual([]);
  });

  const marks = fc.constantFrom('\u0323', '\u0301', '\u0308', '\u0304', '\u0345', '\u3099', '\u093c');
  const odd = fc.constantFrom(
    'é',
    'ǖ',
    'ṩ',
    '½',
    'ﷺ',
    'Å',
    'ﬃ',
    '가',
    '\u1100',
    '\u1161',
    '\u11a8',
    '\u{1d160}',
    '🈀',
  );
  const text = fc
    .array(fc.oneof(marks, odd, fc.string({ unit: 'grapheme' }), fc.string({ unit: 'binary' })))
    .map((pieces) => pieces.join(''));

  test('makes no more tokens than the bound, whether a tokenizer normalises or not', () => {
    fc.assert(
      fc.property(text, (content) => {
        const most = boundFor(content);
        expect(most).toBeGreaterThanOrEqual(bytes(content));
        expect(most).toBeGreaterThanOrEqual(bytes(content.normalize('NFC')));
        expect(most).toBeGreaterThanOrEqual(bytes(content.normalize('NFKC')));
      }),
      { numRuns: 2_000 },
    );
  });

  test('is counted at its worst where it is longer than anything that is weighed', () => {
    const long = '한'.repeat(1_000_000);
    expect(boundFor(long)).toBe(3 * 1_000_000);
    expect(boundFor(`${long}한`)).toBe(3 * 1_000_000 + 33);
  });
});

describe('what else a call is made of', () => {
  const added = (body: Fields, to: Fields) => boundOf(body).tokens - boundOf(to).tokens;

  test.each<[string, Fields, number]>([
    ['an image', { url }, 2_000],
    ['an image in detail', { url, detail: 'high' }, 2_000],
    ['an image of low detail', { url, detail: 'low' }, 100],
    ['megabytes of an image', { url: `data:image/png;base64,${'A'.repeat(3_000_000)}` }, 2_000],
  ])('%s costs what the catalogue says', (_, imageUrl, tokens) => {
    const text = { type: 'text', text: '' };
    expect(added(image(imageUrl), parts(text))).toBe(tokens);
    expect(boundOf(image(imageUrl)).leastTokens).toBe(0);
  });

  test('text around tools is counted as JSON would escape it', () => {
    const result = (content: string) => talk(asking, { role: 'tool', tool_call_id: 'call_1', content });
    const weight = (content: string) => added(result(content), result(''));
    expect(['a', '"', '\n', '\u0001', '<', 'é', '😀'].map(weight)).toEqual([1, 2, 2, 6, 6, 6, 12]);
    expect(weight('1e20')).toBeGreaterThanOrEqual('100000000000000000000.0'.length);
  });

  const long = 'x'.repeat(50_000);
  const withCall = (fields: Fields) => talk(user, { ...asking, tool_calls: [{ ...calledTool, ...fields }] });
  const withTool = (fields: Fields) => toolFunction({ name: 'look', ...fields });
  test.each<[string, Fields]>([
    ['a system message', talk({ role: 'system', content: long })],
    ['a user message', talk({ role: 'user', content: long })],
    ['a part', parts({ type: 'text', text: long })],
    ['an assistant message', talk({ role: 'assistant', content: long })],
    ['the ID of a call', withCall({ id: long })],
    ['the name of a call', withCall({ function: { name: long, arguments: '{}' } })],
    ['the arguments of a call', withCall({ function: { name: 'look', arguments: long } })],
    ['a result', talk(asking, { role: 'tool', tool_call_id: 'call_1', content: long })],
    ['the name of a result', talk(asking, { role: 'tool', tool_call_id: 'call_1', content: '', name: long })],
    ['the description of a tool', withTool({ description: long })],
    ['a value in a schema', withTool({ parameters: { a: [long] } })],
    ['a name in a schema', withTool({ parameters: { [long]: 1 } })],
    ['the description of a format', jsonSchema({ name: 'x', description: long })],
    ['the schema of a format', jsonSchema({ name: 'x', schema: { a: long } })],
  ])('%s counts', (_, body) => {
    const { tokens, likelyTokens } = boundOf(body);
    expect(tokens).toBeGreaterThanOrEqual(50_000);
    expect(likelyTokens).toBeGreaterThanOrEqual(30_000);
  });

  test('a format and tools are explained to the model, which costs too', () => {
    for (const body of [
      tools(look),
      jsonSchema({ name: 'x' }),
      plus({ response_format: { type: 'json_object' } }),
    ])
      expect(added(body, basic)).toBeGreaterThan(500);
    expect(added(plus({ response_format: { type: 'text' } }), basic)).toBe(0);
  });
});

/** Any call, of any fields, with whatever text. */
const anyText = fc.oneof(
  fc.string(),
  fc.string({ unit: 'binary' }),
  fc.string({ unit: 'grapheme', maxLength: 40 }),
);
const anyObject: fc.Arbitrary<JsonObject> = fc.dictionary(anyText, fc.jsonValue());
const anyPart = fc.oneof(
  fc.record({ type: fc.constant('text' as const), text: anyText }),
  fc.record({
    type: fc.constant('image' as const),
    url: fc.constant(url),
    detail: fc.constantFrom('auto', 'low', 'high', null),
  }),
);
const anyItem: fc.Arbitrary<AnswerItem> = fc.oneof(
  fc.record({ type: fc.constant('text' as const), text: anyText }),
  fc.record({
    type: fc.constant('reasoning' as const),
    text: anyText,
    signature: fc.option(fc.record({ value: anyText, madeBy: anyText })),
  }),
  fc.record({
    type: fc.constant('tool_call' as const),
    id: anyText,
    name: anyText,
    arguments: fc.oneof(
      anyText,
      anyObject.map((value) => JSON.stringify(value)),
    ),
  }),
);
const anyMessage: fc.Arbitrary<ChatMessage> = fc.oneof(
  fc.record({ role: fc.constant('system' as const), content: anyText }),
  fc.record({ role: fc.constant('user' as const), content: anyText }),
  fc.record({
    role: fc.constant('user' as const),
    content: fc.array(anyPart),
  }),
  fc.record({
    role: fc.constant('assistant' as const),
    items: fc.array(anyItem),
  }),
  fc.record({
    role: fc.constant('tool' as const),
    toolCallId: anyText,
    content: fc.oneof(anyText, fc.array(anyPart)),
    name: fc.option(anyText),
    isError: fc.boolean(),
  }),
);
const anyTool: fc.Arbitrary<Tool> = fc.record({
  name: anyText,
  description: fc.option(anyText),
  parameters: fc.option(anyObject),
  strict: fc.option(fc.boolean()),
});
const anyCall: fc.Arbitrary<ChatCall> = fc
  .record({
    messages: fc.array(anyMessage),
    tools: fc.option(fc.array(anyTool)),
    responseFormat: fc.option(
      fc.record({
        type: fc.constant('json_schema' as const),
        name: anyText,
        description: fc.option(anyText),
        schema: fc.option(anyObject),
        strict: fc.option(fc.boolean()),
      }),
    ),
  })
  .map((fields) => ({ ...emptyCall, ...fields }));

type Write = (value: unknown) => string;

/** Every text of a call, the texts around tools in JSON, as a server may put them into its prompt. */
function textsOf({ messages, tools: declared, responseFormat }: ChatCall, write: Write): string[] {
  return [
    ...messages.flatMap((message) => textsIn(message, write)),
    ...(declared ?? []).map(write),
    ...(responseFormat === null ? [] : [write(responseFormat)]),
  ];
}

function textsIn(message: ChatMessage, write: Write): string[] {
  if (message.role === 'system') return [message.content];
  if (message.role === 'tool') {
    const { isError, content, ...answered } = message;
    // One result of one call, whatever parts it has.
    const [first = '', ...others] = textsInParts(content);
    return [write({ ...answered, content: parsed(first) }), ...others.map((text) => write({ text }))];
  }
  if (message.role === 'assistant') return message.items.flatMap((item) => textsInItem(item, write));
  return textsInParts(message.content);
}

function textsInParts(content: string | readonly (TextPart | ImagePart)[]): string[] {
  if (typeof content === 'string') return [content];
  return content.flatMap((part) => (part.type === 'text' ? [part.text] : []));
}

function textsInItem(item: AnswerItem, write: Write): string[] {
  if (item.type === 'text') return [item.text];
  if (item.type === 'reasoning') return [item.text, item.signature?.value ?? ''];
  const { type, ...made } = item;
  return [write({ ...made, arguments: parsed(made.arguments) })];
}

function nested(value: unknown): JsonObject {
  return { a: Array.from({ length: 60 }).reduce<unknown>((inner) => [inner], value) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

const ascii = (text: string): string =>
  text.replaceAll(/[<>&'\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
/** Tokenizers that make a token of every byte, but of up to eight spaces in a row only one. */
const tokensOf = (text: string): number => bytes(text.replaceAll(/ {1,8}/g, ' '));
const servers: readonly ((call: ChatCall) => readonly string[])[] = [
  (call) => textsOf(call, (value) => JSON.stringify(value)),
  (call) => textsOf(call, (value) => JSON.stringify(value)).map((text) => text.normalize('NFKC')),
  (call) => textsOf(call, (value) => JSON.stringify(value, null, 4)),
  (call) => textsOf(call, (value) => ascii(JSON.stringify(value))),
];

describe('any call', () => {
  test('makes no more tokens than the bound, however its text is put into a prompt', () => {
    fc.assert(
      fc.property(anyCall, (call) => {
        // The general allowance must not hide what is left out.
        const tokens = inputBound(call, model()).tokens - inputBound(emptyCall, model()).tokens;
        for (const render of servers) {
          const made = render(call).reduce((sum, text) => sum + tokensOf(text), 0);
          expect(tokens).toBeGreaterThanOrEqual(made);
        }
      }),
      { numRuns: 200 },
    );
  });

  test.each<[string, JsonObject]>([
    ['with many values', Object.fromEntries(Array.from({ length: 3_000 }, (_, index) => [`p${index}`, [1]]))],
    ['nested deeply', nested(Array.from({ length: 1_000 }, () => 1))],
  ])('with a schema %s makes no more tokens than the bound', (_, parameters) => {
    const call = { ...emptyCall, tools: [{ name: 'look', description: null, parameters, strict: null }] };
    for (const render of servers) {
      const made = render(call).reduce((sum, text) => sum + tokensOf(text), 0);
      expect(inputBound(call, model()).tokens).toBeGreaterThanOrEqual(made);
    }
  });

  test('has a bound within the context window, and is likely to need no more than that', () => {
    fc.assert(
      fc.property(anyCall, fc.integer({ min: 1, max: 5_000 }), (call, contextWindow) => {
        const whole = inputBound(call, model());
        const bound = inputBound(call, model({ contextWindow }));
        expect(bound.tokens).toBe(Math.min(whole.tokens, contextWindow));
        expect(bound.leastTokens).toBe(Math.min(whole.leastTokens, contextWindow));
        for (const { tokens, likelyTokens } of [whole, bound]) {
          expect(Number.isSafeInteger(tokens) && Number.isSafeInteger(likelyTokens)).toBe(true);
          expect(likelyTokens).toBeLessThanOrEqual(tokens);
          expect(likelyTokens).toBeGreaterThan(0);
        }
      }),
      { numRuns: 200 },
    );
  });

  test('with another message has a higher bound', () => {
    fc.assert(
      fc.property(anyCall, anyMessage, (call, message) => {
        const before = inputBound(call, model());
        const after = inputBound({ ...call, messages: [...call.messages, message] }, model());
        expect(after.tokens).toBeGreaterThan(before.tokens);
        expect(after.likelyTokens).toBeGreaterThan(before.likelyTokens);
        expect(after.leastTokens).toBeGreaterThanOrEqual(before.leastTokens);
      }),
      { numRuns: 200 },
    );
  });
});

describe('what the sandbox reports', () => {
  const result = parseCatalog(
    readFileSync(join(import.meta.dir, '../..', 'catalog.yaml'), 'utf8'),
    'catalog.yaml',
  );
  const sandbox = result.ok ? result.catalog.models.get('sandbox-chat') : undefined;
  const answered = { role: 'tool', tool_call_id: 'call_1', content: '{"seen": "a 🦉"}', name: 'look' };

  test.each<[string, Fields]>([
    ['a word', basic],
    [
      'parts and an image',
      parts({ type: 'text', text: 'Grüße' }, { type: 'image_url', image_url: { url, detail: 'low' } }),
    ],
    ['an image', image({ url })],
    ['a tool', tools(look)],
    [
      'a schema',
      toolFunction({ name: 'look', description: 'é', parameters: { type: 'object', properties: {} } }),
    ],
    ['a conversation with calls', { ...talk(user, asking, answered, user), tools: [look] }],
    [
      'a call with long arguments',
      talk({
        ...asking,
        tool_calls: [{ ...calledTool, function: { name: 'look', arguments: `{"a":"${'x'.repeat(999)}"}` } }],
      }),
    ],
    ['a format', jsonSchema({ name: 'x', schema: { type: 'object' } })],
  ])('for %s is within the bound', (_, body) => {
    if (sandbox === undefined) throw new Error('the catalogue has no sandbox-chat');
    // The sandbox gets the body in OpenAI's format, in which the client wrote it.
    const reported = countPromptTokens(body as unknown as Parameters<typeof countPromptTokens>[0]);
    expect(inputBound(parseChat(body).call, sandbox).tokens).toBeGreaterThanOrEqual(reported);
  });
});
