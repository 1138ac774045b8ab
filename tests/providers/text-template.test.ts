/** The fast way of reading a stream must give what the careful one gives, or leave the chunk to it. */
import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { ChatEvent } from '../../src/providers/chat.ts';
import { ChatReader } from '../../src/providers/chat-call.ts';
import { EventDecoder } from '../../src/providers/event-decoder.ts';
import { openai } from '../../src/providers/openai.ts';
import { LearnedTemplate, readTexts, templateOf } from '../../src/providers/text-template.ts';
import { defaultDialect, type Upstream } from '../../src/providers/upstream.ts';

const upstream: Upstream = {
  baseUrl: 'http://127.0.0.1',
  apiKey: null,
  model: 'm',
  maxOutputTokens: null,
  dialect: defaultDialect,
  requestId: '0198a1b2-c3d4-7e5f-8091-a2b3c4d5e6f7',
};
const read = () => openai.openReader(upstream);

/** What the reads become, one list per read. */
function eventsOf(isShort: boolean, reads: readonly Uint8Array[]) {
  const reader = new ChatReader(read, openai.hasUniformText);
  if (!isShort) reader.readCommon = () => 0;
  const decoder = new EventDecoder(reader);
  return reads.map((bytes) => decoder.take(bytes));
}

/** Cuts the bytes at these places. */
function cut(bytes: Uint8Array, places: readonly number[]): Uint8Array[] {
  const ends = [...places.map((place) => place % (bytes.length + 1)), bytes.length].sort((a, b) => a - b);
  return ends.map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end));
}

const chunk = (delta: object, rest: object = {}) => ({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  created: 1_790_000_000,
  model: 'm',
  choices: [{ index: 0, delta, logprobs: null, finish_reason: null }],
  ...rest,
});
const event = (data: string) => `data: ${data}\n\n`;

/** What text can have that JSON, UTF-8 or the template could stumble over. */
const awkward = fc.constantFrom(
  ...[
    '"',
    '\\',
    '\n',
    '\r\n',
    '\u0000',
    '\u001f',
    '\u007f',
    'é',
    '€',
    '中文',
    '\u2028',
    '𝄞',
    '👩‍👩‍👧',
    '\ud83d',
    '\udc00',
  ],
  ...[
    '\ufeff',
    '"content":"',
    '\\"content\\":\\"',
    'data: ',
    '"}',
    '"},',
    'sample-text',
    'sample-end',
    '[DONE]',
  ],
  ...['{"a":', '}]}', '\u0085', '\ufffd'],
);
const text = fc.oneof(
  { weight: 3, arbitrary: fc.string({ maxLength: 8 }) },
  {
    weight: 2,
    arbitrary: fc
      .array(fc.oneof(fc.string({ maxLength: 3 }), awkward), { maxLength: 4 })
      .map((parts) => parts.join('')),
  },
);

/** The same JSON, written as another serializer might. */
const written = (value: object, style: number): string => {
  const json = JSON.stringify(value);
  if (style === 1)
    return json.replaceAll(
      /[^\u0020-\u007e]/g,
      (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
    );
  if (style === 2) return JSON.stringify(value, null, 1).replaceAll('\n', '');
  return json;
};
const style = fc.constantFrom(0, 0, 0, 1, 2);

const common = fc.tuple(text, style).map(([content, how]) => written(chunk({ content }), how));
const padded = fc
  .tuple(text, fc.oneof(text, fc.string()), style)
  .map(([content, obfuscation, how]) => written(chunk({ content }, { usage: null, obfuscation }), how));
/** Chunks that look like the common one and are something else. */
const unlike = text.chain((content) => {
  const quoted = JSON.stringify(content);
  const head =
    '{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1790000000,"model":"m","choices":';
  const tail = '"logprobs":null,"finish_reason":null}]}';
  return fc.constantFrom(
    `${head}[{"index":0,"delta":{"content":${quoted},"content":"other"},${tail}`,
    `${head}[{"index":0,"delta":{"content":"other","content":${quoted}},${tail}`,
    `${head}[{"index":1,"delta":{"content":${quoted}},${tail}`,
    `${head}[{"index":0,"delta":{"content":${quoted}},"logprobs":null,"finish_reason":"stop"}]}`,
    `${head}[{"index":0,"delta":{"content":${quoted}},"logprobs":null,"finish_reason":null},{"index":1}]}`,
    `${head}[{"index":0,"delta":{"content":${quoted},"tool_calls":[{"index":0,"function":{"arguments":""}}]},${tail}`,
    `${head}[{"index":0,"delta":{"content":[{"type":"text","text":${quoted}}]},${tail}`,
    `${head}[{"index":0,"delta":{"reasoning_content":${quoted}},${tail}`,
    `${head}[{"index":0,"delta":{"content":${quoted}},${tail.slice(0, -1)},"usage":{"prompt_tokens":1,"completion_tokens":2}}`,
    `${head}[{"index":0,"delta":{"content":${quoted}},${tail.slice(0, -1)},"error":${quoted}}`,
    `${head}[{"index":0,"delta":{"content":${quoted}},${tail.slice(0, -1)},"choices":${quoted}}`,
    `${head}[{"index":0,"delta":{"content":${quoted}},${tail.slice(0, -1)},"x_groq":{"error":${quoted}}}`,
    `${head}[{"index":0,"delta":{"content":${quoted}},${tail.slice(0, -1)},"note":"\\"content\\":\\"x\\""}`,
    `${head}[{"index":0,"delta":{"note":${JSON.stringify(`"content":"${content}"`)}},${tail}`,
    `{"note":${JSON.stringify(`"content":"x`)},"choices":[{"delta":{"content":${quoted}}}]}`,
    `${head}[{"index":1e999,"delta":{"content":${quoted}},"created":123456789012345678901234567890,${tail}`,
    `${head}[{"index":0,"delta":{"content":"${content}"},${tail}`,
    `${head}[{"index":0,"delta":{"content":${quoted}},${tail}]`,
    `${head}\n[{"index":0,"delta":{"content":${quoted}},${tail}`,
    '[DONE]',
    '{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":4}}',
  );
});

const framed = fc.oneof(
  { weight: 8, arbitrary: common.map(event) },
  { weight: 6, arbitrary: padded.map(event) },
  { weight: 5, arbitrary: unlike.map(event) },
  { weight: 1, arbitrary: common.map((data) => `data:${data}\n\n`) },
  { weight: 1, arbitrary: common.map((data) => `data: ${data}\r\n\r\n`) },
  { weight: 1, arbitrary: common.map((data) => `data: ${data}\r\r`) },
  { weight: 1, arbitrary: common.map((data) => `data: ${data}\ndata: \n\n`) },
  { weight: 1, arbitrary: common.map((data) => `data: ${data}\n: comment\n\n`) },
  { weight: 1, arbitrary: common.map((data) => `event: x\ndata: ${data}\nid: 7\n\n`) },
  {
    weight: 1,
    arbitrary: fc.tuple(common, fc.nat()).map(([data, at]) => {
      const place = at % data.length;
      return `data: ${data.slice(0, place)}\ndata: ${data.slice(place)}\n\n`;
    }),
  },
  { weight: 1, arbitrary: fc.constantFrom(': comment\n\n', '\n', '\ufeff', 'data: {\n\n', 'data', '\r') },
);
const stream = fc
  .tuple(fc.constantFrom('', '\ufeff'), fc.array(framed, { maxLength: 12 }))
  .map(([mark, frames]) => Buffer.from(mark + frames.join('')));
const places = fc.array(fc.nat(6_000), { maxLength: 12 });
/** Bytes that replace others, most of them not UTF-8. */
const damage = fc.array(
  fc.tuple(fc.nat(), fc.constantFrom(0x80, 0xc3, 0xff, 0xed, 0x22, 0x5c, 0x0a, 0x0d, 0x00, 0x7d)),
  { maxLength: 1 },
);

describe('the fast way gives what the careful way gives', () => {
  test('for any chunks, split anywhere', () => {
    fc.assert(
      fc.property(stream, places, (bytes, at) => {
        const reads = cut(bytes, at);
        expect(eventsOf(true, reads)).toEqual(eventsOf(false, reads));
      }),
      { numRuns: 3_000 },
    );
  });

  test('with any byte of them damaged', () => {
    fc.assert(
      fc.property(stream, places, damage, (bytes, at, changes) => {
        for (const [place, byte] of changes) if (bytes.length > 0) bytes[place % bytes.length] = byte;
        const reads = cut(bytes, at);
        expect(eventsOf(true, reads)).toEqual(eventsOf(false, reads));
      }),
      { numRuns: 3_000 },
    );
  });

  const like = JSON.stringify(chunk({ content: 'a' }));
  const [head = '', tail = ''] = like.split(',"model"');
  test.each([
    ['a comment that is not over', [event(like), ': comment ', event(like), '\n']],
    ['a line of data before it', [event(like), 'data: {}\n', event(like)]],
    ['an event that is being skipped', [event(like), `data: ${'x'.repeat(1_048_577)}\n`, event(like)]],
    ['half a line end', [event(like), ': comment\r', `\n${event(like)}`, event(like)]],
    ['a byte order mark', ['\ufeff', event(like), event(like)]],
    [
      'a line that is no data where the template has a blank',
      [`data: ${head},\ndata: "model"${tail}\n\n`, `data: ${head},\n"model"${tail}\n\n`, event(like)],
    ],
  ] as [string, string[]][])('after %s', (_title, texts) => {
    const reads = texts.map((piece) => Buffer.from(piece));
    expect(eventsOf(true, reads)).toEqual(eventsOf(false, reads));
  });

  test('for a template from one chunk and the text of another, whatever the chunks are', () => {
    const data = fc.oneof(common, padded, unlike);
    fc.assert(
      fc.property(data, data, (first, second) => {
        const template = templateOf(first, read());
        if (template === null) return;
        const events: ChatEvent[] = [];
        const frame = event(second);
        const taken = readTexts(template, frame, events);
        expect([0, frame.length]).toContain(taken);
        expect(events).toEqual(taken === 0 ? [] : [...read()(second)]);
      }),
      { numRuns: 3_000 },
    );
  });
});

describe('a chunk is recognised', () => {
  /** How many of these events the template of the first one covers, and the texts it finds. */
  function recognised(first: string, ...others: readonly string[]) {
    const template = templateOf(first, read());
    const events: ChatEvent[] = [];
    const all = others.map(event).join('');
    const taken = template === null ? null : readTexts(template, all, events);
    return { isAll: taken === all.length, texts: events.map((found) => ('text' in found ? found.text : '')) };
  }
  const plain = (content: string, rest: object = {}) => JSON.stringify(chunk({ content }, rest));

  test('when only its text differs, and several in one read', () => {
    expect(recognised(plain('a'), plain('b'), plain(' word'), plain('中文 é €'))).toEqual({
      isAll: true,
      texts: ['b', ' word', '中文 é €'],
    });
  });

  test('when the first one had a text that needs parsing', () => {
    expect(recognised(plain('\n\n'), plain('b'))).toEqual({ isAll: true, texts: ['b'] });
  });

  test('when it ends with a string of its own, as those of OpenAI do', () => {
    const padding = (obfuscation: string) => ({ usage: null, obfuscation });
    expect(
      recognised(plain('a', padding('xY')), plain('b', padding('')), plain('c', padding('zzzzzz'))),
    ).toEqual({
      isAll: true,
      texts: ['b', 'c'],
    });
  });

  test('when there are blanks between its tokens', () => {
    const spaced = (content: string) => plain(content).replaceAll('":', '": ').replaceAll(',"', ', "');
    expect(recognised(spaced('a'), spaced('b'))).toEqual({ isAll: true, texts: ['b'] });
  });

  test.each([
    ['text is empty', plain('')],
    ['text has an escape', plain('a"b')],
    ['text has a character of two units', plain('𝄞')],
    ['text is cut off', plain('b').slice(0, -30)],
    ['model is another one', plain('b', { model: 'n' })],
    ['end has more to it', plain('b', { usage: { prompt_tokens: 1, completion_tokens: 1 } })],
  ])('but not when its %s', (_title, data) => {
    expect(recognised(plain('a'), data)).toEqual({ isAll: false, texts: [] });
  });

  test('up to the first one that needs parsing', () => {
    expect(recognised(plain('a'), plain('b'), plain('\n'), plain('c'))).toEqual({
      isAll: false,
      texts: ['b'],
    });
  });
});

describe('a template', () => {
  const textChunk = (content: string, id = 'x') => JSON.stringify({ ...chunk({ content }), id });
  /** How often the stream's chunks were parsed as samples while these were read one by one. */
  function samplesFor(chunks: readonly string[]): { samples: number; recognised: number } {
    let samples = 0;
    const sampleReader = read();
    const learned = new LearnedTemplate();
    const openReader = () => (data: string) => {
      samples += 1;
      return sampleReader(data);
    };
    let recognisedCount = 0;
    const ownReader = read();
    for (const data of chunks) {
      if (learned.readTexts(event(data), []) > 0) recognisedCount += 1;
      else learned.learn(data, ownReader(data), openReader);
    }
    return { samples, recognised: recognisedCount };
  }

  test('is learned once, and kept when a text needs parsing', () => {
    const texts = ['a', 'b', '\n', 'c', '"', 'd'].map((content) => textChunk(content));
    expect(samplesFor(texts)).toEqual({ samples: 1, recognised: 3 });
  });

  test('is learned anew when the rest of the chunk changes', () => {
    const texts = ['1', '1', '2', '2', '3', '3', '4', '4', '5', '5'].map((id) => textChunk('a', id));
    expect(samplesFor(texts)).toEqual({ samples: 5, recognised: 5 });
  });

  test('is given up if no two chunks are alike', () => {
    const texts = Array.from({ length: 50 }, (_, id) => textChunk('a', `${id}`));
    expect(samplesFor(texts)).toEqual({ samples: 3, recognised: 0 });
  });
});
