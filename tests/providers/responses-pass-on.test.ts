/** Requests and answers between a client and a provider that both speak the Responses format. */
import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import type { ChatEvent, JsonObject, Original, PassOn, Signature } from '../../src/providers/chat.ts';
import { ChatReader } from '../../src/providers/chat-call.ts';
import { EventDecoder } from '../../src/providers/event-decoder.ts';
import { responses } from '../../src/providers/responses.ts';
import { defaultDialect, type Upstream } from '../../src/providers/upstream.ts';

const upstream: Upstream = {
  baseUrl: 'https://api.example/v1',
  apiKey: 'secret',
  model: 'vendor-model',
  maxOutputTokens: 2_048,
  dialect: defaultDialect,
  maker: 'openai/vendor-model',
  showsReasoning: true,
  requestId: 'req_0198c1f2a3b4c5d6e7f8091a2b3c4d5e',
};
const passOn = responses.passOn as PassOn;

const mine: Signature = { value: '["rs_vendor","gAAAA"]', madeBy: 'openai/vendor-model' };
const seals: Signature[] = [];
const original = (body: JsonObject = {}): Original => ({
  format: 'responses',
  body,
  headers: {},
  model: 'house-model',
  untranslatable: null,
  signatures: new Map<string, Signature | null>([
    ['sealed-mine', mine],
    ['sealed-of-another', { ...mine, madeBy: 'anthropic/claude' }],
    ['sealed-odd', { ...mine, value: 'odd' }],
    ['not-ours', null],
  ]),
  seal: (signature) => {
    seals.push(signature);
    return `sealed(${signature.value}, ${seals.length})`;
  },
});

const fixture = (name: string) => readFileSync(join(import.meta.dir, 'fixtures', 'responses', name), 'utf8');

describe('the request', () => {
  const sent = (body: JsonObject, to: Partial<Upstream> = {}, stream = false) =>
    JSON.parse(passOn.request(original(body), { ...upstream, ...to }, stream).body);

  test('is the client’s, unknown fields included, with our model, bound and no storage', () => {
    const { url, headers } = passOn.request(original({}), upstream, false);
    expect(url).toBe('https://api.example/v1/responses');
    expect(headers.authorization).toBe('Bearer secret');
    const asked = {
      model: 'house-model',
      input: 'Hi',
      instructions: 'Be brief.',
      tools: [{ type: 'custom', name: 'patch', format: { type: 'text' } }],
      max_output_tokens: 128_000,
      store: true,
      text: { verbosity: 'low' },
      stream_options: { include_obfuscation: false },
      from_next_year: { a: [1] },
    };
    expect(sent({ ...asked, stream: true }, {}, true)).toEqual({
      ...asked,
      model: 'vendor-model',
      max_output_tokens: 2_048,
      store: false,
      stream: true,
    });
  });

  test('says nothing of who asked', () => {
    const asked = { metadata: { a: 'b' }, client_metadata: { c: 'd' }, safety_identifier: 'e', user: 'f' };
    expect(Object.keys(sent({ input: 'Hi', ...asked })).toSorted()).toEqual([
      'input',
      'max_output_tokens',
      'model',
      'store',
    ]);
  });

  test('has our key for the cache, never one that the client chose', () => {
    const to = { cacheKey: 'ours', dialect: { ...defaultDialect, cacheKey: 'prompt_cache_key' } as const };
    expect(sent({ prompt_cache_key: 'theirs' }, to).prompt_cache_key).toBe('ours');
    expect(sent({}, to).prompt_cache_key).toBe('ours');
    expect(sent({ prompt_cache_key: 'theirs' }, { cacheKey: 'ours' })).not.toHaveProperty('prompt_cache_key');
  });

  test('gives reasoning back to whoever made it, as it was, and leaves out the rest', () => {
    const thought = (encrypted_content?: string | null) => ({
      type: 'reasoning',
      id: 'rs_0198c1f2a3b4c5d6e7f8091a2b3c4d5e_0',
      summary: [{ type: 'summary_text', text: 'Hm.' }],
      encrypted_content,
    });
    const message = { type: 'message', id: 'msg_own', role: 'user', content: 'Hi' };
    const others = ['sealed-of-another', 'sealed-odd', 'not-ours', 'unknown', null, undefined].map(thought);
    expect(sent({ input: [thought('sealed-mine'), ...others, message] }).input).toEqual([
      { ...thought('gAAAA'), id: 'rs_vendor' },
      message,
    ]);
  });
});

/** What must never reach a client: IDs and names of the provider, and whose account with it this is. */
const vendors = /resp_67|msg_67|rs_6f8|fc_123|msg_1\b|gpt-6\.1|payer|billing/;

describe('the answer', () => {
  test('has our IDs and the client’s name of the model, and is otherwise the provider’s', () => {
    const body = JSON.parse(fixture('tools.json'));
    const { wire, items, usage } = passOn.readAnswer(body, original(), upstream);
    const read = responses.readAnswer(body, upstream);
    expect({ items, usage }).toEqual({ items: read.items, usage: read.usage });
    const { billing: _, ...rest } = body;
    expect(wire).toEqual({
      ...rest,
      id: 'resp_0198c1f2a3b4c5d6e7f8091a2b3c4d5e',
      model: 'house-model',
      output: [
        {
          ...body.output[0],
          id: 'rs_0198c1f2a3b4c5d6e7f8091a2b3c4d5e_0',
          encrypted_content: expect.stringMatching(/^sealed\(\["rs_6f8/),
        },
        { ...body.output[1], id: 'fc_0198c1f2a3b4c5d6e7f8091a2b3c4d5e_1' },
        { ...body.output[2], id: 'fc_0198c1f2a3b4c5d6e7f8091a2b3c4d5e_2' },
      ],
    });
    expect(seals.at(-1)).toMatchObject({ madeBy: 'openai/vendor-model' });
  });

  test('shows nobody else’s identity', () => {
    const body = {
      ...JSON.parse(fixture('text.json')),
      safety_identifier: 'hash',
      user: 'u',
      metadata: { a: 'b' },
    };
    const told = { ...body, organization: 'org-1', project: 'p' };
    const { wire } = passOn.readAnswer(told, original(), upstream);
    expect(wire).toMatchObject({ safety_identifier: null, user: null, metadata: {} });
    expect(JSON.stringify(wire)).not.toMatch(/org-1|hash|"project"/);
    expect(JSON.stringify(wire)).not.toMatch(vendors);
  });

  test('whatever cannot be sent back is not sealed, and shows no content', () => {
    const body = {
      status: 'completed',
      output: [{ type: 'reasoning', summary: [], encrypted_content: 'gAAAA' }],
    };
    expect(passOn.readAnswer(body, original(), upstream).wire?.output).toEqual([
      { type: 'reasoning', summary: [], encrypted_content: null },
    ]);
  });

  test('large numbers and unknown items keep every digit', () => {
    const item = { id: 'ws_vendor', type: 'web_search_call', place: 3 };
    const { wire } = passOn.readAnswer({ status: 'completed', output: [item] }, original(), upstream);
    expect(wire?.output).toEqual([{ ...item, id: 'ws_0198c1f2a3b4c5d6e7f8091a2b3c4d5e_0' }]);
  });
});

/** `isShort` is whether common events are recognised without parsing. */
function eventsIn(text: string, isShort: boolean, places: readonly number[] = []): ChatEvent[] {
  const reader = new ChatReader(() => passOn.openReader(original(), upstream), false);
  if (!isShort) reader.readCommon = () => 0;
  const decoder = new EventDecoder(reader);
  const bytes = Buffer.from(text);
  const ends = [...places.map((place) => place % (bytes.length + 1)), bytes.length].sort((a, b) => a - b);
  return ends.flatMap((end, index) => [...decoder.take(bytes.subarray(ends[index - 1] ?? 0, end))]);
}

/** In bytes. */
const endsOfEvents = (text: string) =>
  [...text.matchAll(/\n\n/g)].map(({ index }) => Buffer.byteLength(text.slice(0, index + 2)));
const dataOf = (wire: string) => JSON.parse(wire.slice(wire.indexOf('data: ') + 6));
const withoutSeals = (events: readonly ChatEvent[]) =>
  JSON.parse(JSON.stringify(events).replaceAll(/, \d+\)/g, ')')) as ChatEvent[];

describe('the stream', () => {
  test.each(['text.sse', 'tools.sse', 'refusal.sse', 'incomplete.sse'])('%s is passed on whole', (name) => {
    const wires = eventsIn(fixture(name), true).flatMap(({ wire }) => (wire === undefined ? [] : [wire]));
    const given = fixture(name).trimEnd().split('\n\n');
    expect(wires).toHaveLength(given.length);
    wires.forEach((wire, index) => {
      const theirs = dataOf(given[index] ?? '');
      const ours = dataOf(wire);
      expect(wire).toStartWith(`event: ${theirs.type}\ndata: {`);
      expect(wire).toEndWith('}\n\n');
      expect([ours.type, ours.sequence_number]).toEqual([theirs.type, index]);
      expect(Object.keys(ours)).toEqual(Object.keys(theirs));
      for (const field of ['delta', 'obfuscation', 'text', 'part', 'arguments', 'output_index'])
        expect(ours[field]).toEqual(theirs[field]);
      if (theirs.item_id)
        expect(ours.item_id).toEndWith(`_0198c1f2a3b4c5d6e7f8091a2b3c4d5e_${theirs.output_index}`);
    });
    expect(wires.join('').replaceAll(/sealed\(.*?\)/g, '')).not.toMatch(vendors);
  });

  test('an item has one ID, and one seal when it is done', () => {
    const wires = eventsIn(fixture('tools.sse'), true).flatMap(({ wire }) => (wire ? [dataOf(wire)] : []));
    const done = wires.filter(({ type }) => type === 'response.output_item.done').map(({ item }) => item);
    expect(wires.at(-1).response.output).toEqual(done);
    const ids = wires.flatMap(({ output_index: place, item, item_id: id }) =>
      place === undefined ? [] : [`${place} ${item?.id ?? id}`],
    );
    expect(new Set(ids).size).toBe(3);
  });

  test('items without a place have an ID of their own, and keep it', () => {
    const search = { type: 'web_search_call', id: 'ws_vendor' };
    const message = { type: 'message', id: 'msg_vendor', content: [] };
    const events = [
      { type: 'response.output_item.added', item: search },
      { type: 'response.output_item.added', item: message },
      { type: 'response.output_text.delta', item_id: 'msg_vendor', content_index: 0, delta: 'Hi' },
      { type: 'response.output_item.done', item: search },
      { type: 'response.completed', response: { status: 'completed', output: [search, message] } },
    ];
    const given = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');
    const wires = eventsIn(given, true).flatMap(({ wire }) => (wire ? [dataOf(wire)] : []));
    const [searched, said, piece, again, last] = wires;
    expect(searched.item.id).toStartWith('ws_');
    expect(said.item.id).toStartWith('msg_');
    expect([piece.item_id, again.item.id]).toEqual([said.item.id, searched.item.id]);
    expect(last.response.output.map(({ id }: { id: string }) => id)).toEqual([
      searched.item.id,
      said.item.id,
    ]);
  });

  test('its last event belongs to the finish, and a failure has none', () => {
    const [finish, usage, end] = eventsIn(fixture('text.sse'), true).slice(-3);
    expect(finish?.type).toBe('finish');
    expect(finish?.wire).toStartWith('event: response.completed\n');
    expect([usage?.wire, end?.wire]).toEqual([undefined, undefined]);
    const failed = eventsIn(fixture('failed.sse'), true).find(({ type }) => type === 'failure');
    expect(failed).not.toHaveProperty('wire');
  });

  test('means what it means in translation', () => {
    for (const name of ['text.sse', 'tools.sse', 'refusal.sse', 'incomplete.sse', 'failed.sse']) {
      const read = responses.openReader(upstream);
      const translated = fixture(name)
        .trimEnd()
        .split('\n\n')
        .flatMap((event) => [...read(event.split('data: ')[1] ?? '')]);
      const passed = eventsIn(fixture(name), true)
        .filter(({ type }) => type !== 'wire')
        .map(({ wire: _, ...event }) => event);
      expect<unknown>(passed).toEqual(translated);
    }
  });
});

const awkward = fc.constantFrom(
  ...['"', '\\', '\n', '\u0000', 'é', '中文', '\u2028', '👩‍👩‍👧', '\ud83d', '"delta":"', '","obfuscation":"'],
  ...['sample-delta', 'sample-padding', '987654321', 'data: ', '"}', '\n\n', '', ' '],
);
const words = fc
  .array(fc.oneof(awkward, fc.string({ maxLength: 8 })), { maxLength: 4 })
  .map((all) => all.join(''));

/** A piece of an answer, in ways in which servers may write it. */
const piece = fc.record({
  delta: words,
  place: fc.nat(1),
  type: fc.constantFrom('response.output_text.delta', 'response.reasoning_summary_text.delta'),
  padding: fc.oneof(fc.constant(undefined), fc.string({ maxLength: 6 }), awkward),
  isNumbered: fc.boolean(),
  order: fc.constantFrom('usual', 'item last', 'number last'),
  extra: fc.constantFrom({}, { logprobs: [] }, { obfuscation2: 'x' }, { delta_more: 'x' }, { big: 1e30 }),
  spaces: fc.boolean(),
  isNamed: fc.boolean(),
  twice: fc.boolean(),
});

type Piece = typeof piece extends fc.Arbitrary<infer One> ? One : never;

function written(pieces: readonly Piece[]): string {
  return pieces
    .map(({ delta, place, type, padding, isNumbered, order, extra, spaces, isNamed, twice }, index) => {
      const number = isNumbered ? { sequence_number: index } : {};
      const item = { item_id: `msg_vendor${place}`, output_index: place };
      const event = {
        type,
        ...(order !== 'number last' && number),
        ...(order !== 'item last' && item),
        content_index: 0,
        delta,
        ...extra,
        ...(order === 'item last' && item),
        ...(padding !== undefined && { obfuscation: padding }),
        ...(order === 'number last' && number),
      };
      const data = JSON.stringify(event);
      const spaced = spaces ? data.replaceAll('":"', '": "').replaceAll(',"', ', "') : data;
      // A duplicate key: the last one counts.
      const doubled = twice ? `${spaced.slice(0, -1)},"delta":"last"}` : spaced;
      return `${isNamed ? `event: ${type}\n` : ''}data: ${doubled}\n\n`;
    })
    .join('');
}

describe('without parsing', () => {
  const runs = fc
    .array(fc.tuple(piece, fc.array(words, { maxLength: 6 })), { maxLength: 5 })
    // Several in a row that differ only in their texts, as in real streams.
    .map((all) =>
      all.flatMap(([first, more]) => [
        first,
        ...more.map((delta) => ({
          ...first,
          delta,
          padding: first.padding === undefined ? undefined : delta.slice(0, 2),
        })),
      ]),
    );

  test('every event becomes what it becomes with it, for clients of this format', () => {
    fc.assert(
      fc.property(runs, fc.array(fc.nat(), { maxLength: 10 }), fc.boolean(), (pieces, cuts, isPiecewise) => {
        const text = written(pieces);
        const careful = eventsIn(text, false);
        // Common events are recognised where a read begins with one.
        const ends = isPiecewise ? endsOfEvents(text) : [];
        expect(withoutSeals(eventsIn(text, true, [...cuts, ...ends]))).toEqual(withoutSeals(careful));
        for (const { wire } of careful) if (wire !== undefined) dataOf(wire);
      }),
      { numRuns: 1_000 },
    );
  });

  test('and for others', () => {
    const eventsOf = (text: string, isShort: boolean) => {
      const reader = new ChatReader(() => responses.openReader(upstream), false);
      if (!isShort) reader.readCommon = () => 0;
      const decoder = new EventDecoder(reader);
      return text.split(/(?<=\n\n)/).flatMap((part) => [...decoder.take(Buffer.from(part))]);
    };
    fc.assert(
      fc.property(runs, (pieces) => {
        const text = written(pieces);
        expect(eventsOf(text, true)).toEqual(eventsOf(text, false));
      }),
      { numRuns: 1_000 },
    );
  });

  const usual = (delta: string, number: number | string = 0, padding = 'x') =>
    `{"type":"response.output_text.delta","sequence_number":${number},"item_id":"msg_a","output_index":0,"content_index":0,"delta":"${delta}","obfuscation":"${padding}"}`;
  const frame = (data: string) => `event: response.output_text.delta\ndata: ${data}\n\n`;

  test.each([
    ['an escape that does not exist', usual('a'), usual('b\\x')],
    ['one in the padding', usual('a'), usual('b', 1, '\\x')],
    ['a padding that is escaped', usual('a'), usual('b', 1, '\\n')],
    ['a number that JSON does not have', usual('a'), usual('b', '01')],
    ['a fraction', usual('a'), usual('b', '1.5')],
    ['a number that is none', usual('a'), usual('b', '')],
    ['a text that ends the event', usual('a'), usual('b","delta":"c')],
    ['half an escape', usual('a'), usual('b\\')],
    ['a tab inside', usual('a'), usual('b\tc')],
    ['a key that is written twice', usual('a","delta":"b'), usual('c","delta":"b')],
    ['a key that is written in two ways', usual('a","\\u0064elta":"last'), usual('b","\\u0064elta":"last')],
    [
      'a text of another object',
      usual('a').replace('"delta"', '"inner":{"delta":"x"},"\\u0064elta"'),
      usual('b').replace('"delta"', '"inner":{"delta":"y"},"\\u0064elta"'),
    ],
  ])('%s is left to the parser', (_what, first, second) => {
    const text = frame(first) + frame(second);
    const parts = (isShort: boolean) => {
      const reader = new ChatReader(() => passOn.openReader(original(), upstream), false);
      if (!isShort) reader.readCommon = () => 0;
      const decoder = new EventDecoder(reader);
      return [...text.split(/(?<=\n\n)/), frame(usual('z', 2))].map((part) =>
        decoder.take(Buffer.from(part)),
      );
    };
    expect(parts(true)).toEqual(parts(false));
  });

  test('nearly all of a real stream is read', () => {
    let parsed = 0;
    const read = passOn.openReader(original(), upstream);
    const counting = Object.assign(
      (data: string) => {
        parsed += 1;
        return read(data);
      },
      { readCommon: read.readCommon },
    );
    const decoder = new EventDecoder(new ChatReader(() => counting as typeof read, false));
    const pieces = Array.from(
      { length: 200 },
      (_, index): Piece => ({
        delta: index % 7 === 0 ? `line "${index}"\n` : ` word${index}`,
        place: 0,
        type: 'response.output_text.delta',
        padding: 'abcdef'.slice(index % 6),
        isNumbered: true,
        order: 'usual',
        extra: { logprobs: [] },
        spaces: false,
        isNamed: true,
        twice: false,
      }),
    );
    const events = written(pieces)
      .split(/(?<=\n\n)/)
      .flatMap((part) => [...decoder.take(Buffer.from(part))]);
    expect(events).toHaveLength(200);
    expect(parsed).toBe(1);
  });
});
