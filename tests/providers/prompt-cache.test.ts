/** What calls do for the caches of providers: breakpoints, keys, and the same bytes for the same conversation. */
import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { ChatCall, ChatMessage, Tool } from '../../src/providers/chat.ts';
import { chatAdapters } from '../../src/providers/chat-call.ts';
import { beginningOf, wantsCache } from '../../src/providers/prompt-cache.ts';
import { type Dialect, defaultDialect, type Upstream } from '../../src/providers/upstream.ts';
import { assistant, toolCall, toolResult } from '../support/chat-messages.ts';
import { emptyCall } from '../support/provider.ts';

type Wire = Record<string, unknown>;
type Format = 'openai' | 'anthropic' | 'google';
const formats: readonly Format[] = ['openai', 'anthropic', 'google'];
const marking = ['openai', 'anthropic'] as const;

const upstream: Upstream = {
  baseUrl: 'https://api.example/v1',
  apiKey: null,
  model: 'm',
  maxOutputTokens: 100,
  dialect: defaultDialect,
  requestId: 'req_1',
};

const requestOf = (format: Format, call: ChatCall, to: Partial<Upstream> = {}) =>
  chatAdapters[format].chatRequest(call, { ...upstream, ...to }, false);
const bodyOf = (format: Format, call: ChatCall, to: Partial<Upstream> = { marksCache: true }) =>
  JSON.parse(requestOf(format, call, to).body) as Wire;

const system = (content: string): ChatMessage => ({ role: 'system', content });
const user = (content: string): ChatMessage => ({ role: 'user', content });
const said = (content: string): ChatMessage => assistant(content);
const look: Tool = { name: 'look', description: null, parameters: { properties: { a: {} } }, strict: null };
const calling = (...ids: string[]): ChatMessage =>
  assistant(null, ...ids.map((id) => toolCall(id, 'look', '{"b": 1, "a": [2.50, 12345678901234567890]}')));
const result = (toolCallId: string): ChatMessage => toolResult(toolCallId);
const conversation = (...messages: ChatMessage[]): ChatCall => ({ ...emptyCall, messages });

/** The paths of all marks in a body. */
function marksIn(value: unknown, path = ''): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) =>
    name === 'cache_control' ? [path] : marksIn(inner, path === '' ? name : `${path}.${name}`),
  );
}

/** Agents as they come: steps of calls and their results, answers, further questions, images, late instructions. */
const words = fc.string({ minLength: 1, maxLength: 8 }).map((text) => `w${text}`);
const step = fc.oneof(
  fc.tuple(words, words).map(([answer, question]) => [said(answer), user(question)]),
  fc
    .uniqueArray(fc.stringMatching(/^[a-z0-9.]{1,6}$/), { minLength: 1, maxLength: 30 })
    .map((ids) => [calling(...ids), ...ids.map(result)]),
  words.map((text): ChatMessage[] => [
    said('Show me.'),
    {
      role: 'user',
      content: [
        { type: 'text', text },
        { type: 'image', url: 'data:image/png;base64,iVBORw0KGgo=', detail: null },
      ],
    },
  ]),
  words.map((text) => [said('Yes.'), system(text), user('Go on.')]),
);
const calls = fc
  .record({
    systems: fc.array(words, { maxLength: 3 }),
    first: words,
    steps: fc.array(step, { maxLength: 6 }),
    tools: fc.option(fc.uniqueArray(fc.stringMatching(/^[a-z]{1,6}$/), { minLength: 1, maxLength: 4 })),
  })
  .map(({ systems, first, steps, tools }) => ({
    ...conversation(...systems.map(system), user(first), ...steps.flat()),
    tools: tools?.map((name) => ({ ...look, name })) ?? null,
  }));

describe('a further turn is likely', () => {
  test.each([
    [false, conversation(user('Hello'))],
    [false, conversation(system('Be brief.'), user('Hello'), user('there'))],
    [true, conversation(user('Hello'), said('Hi'), user('How?'))],
    [true, conversation(user('Hello'), calling('1'), result('1'))],
    [true, { ...conversation(user('Hello')), tools: [look] }],
  ])('%p', (expected, call) => {
    expect(wantsCache(call)).toBe(expected);
  });

  test('with tools, or once the model has answered, and never otherwise', () => {
    fc.assert(
      fc.property(calls, (call) => {
        const hasHistory =
          call.messages.filter(({ role }) => role !== 'system' && role !== 'user').length > 0;
        expect(wantsCache(call)).toBe(call.tools !== null || hasHistory);
      }),
    );
  });
});

describe('breakpoints', () => {
  const agent = {
    ...conversation(
      system('You are an agent.'),
      system('Be brief.'),
      user('Look'),
      calling('1', '2'),
      result('1'),
      result('2'),
      calling('3'),
      result('3'),
    ),
    tools: [look, { ...look, name: 'find' }],
  };

  test('after the tools, the instructions, the last call and this one', () => {
    expect(marksIn(bodyOf('anthropic', agent))).toEqual([
      'tools.1',
      'system.1',
      'messages.2.content.1',
      'messages.4.content.0',
    ]);
    expect(marksIn(bodyOf('openai', agent))).toEqual([
      'messages.1.content.0',
      'messages.5.content.0',
      'messages.7.content.0',
    ]);
    expect(JSON.stringify(bodyOf('anthropic', agent).system)).toBe(
      '[{"type":"text","text":"You are an agent."},{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}]',
    );
    expect((bodyOf('openai', agent).messages as unknown[]).at(-1)).toEqual({
      role: 'tool',
      tool_call_id: '3',
      content: [{ type: 'text', text: 'done', cache_control: { type: 'ephemeral' } }],
    });
  });

  test('after the last text where a message ends with an image, and before a message without text', () => {
    const image = { type: 'image', url: 'data:image/png;base64,iVBORw0KGgo=', detail: null } as const;
    const shown: ChatMessage = { role: 'user', content: [{ type: 'text', text: 'This' }, image] };
    expect(marksIn(bodyOf('openai', conversation(user('Hello'), said('Show me.'), shown)))).toEqual([
      'messages.0.content.0',
      'messages.2.content.0',
    ]);
    const bare: ChatMessage = { role: 'user', content: [image] };
    expect(marksIn(bodyOf('openai', conversation(user(''), said('Show me.'), bare)))).toEqual([
      'messages.1.content.0',
    ]);
    // There, a block of any kind can be marked.
    expect(marksIn(bodyOf('anthropic', conversation(user('Hello'), said('Show me.'), bare)))).toEqual([
      'messages.0.content.0',
      'messages.2.content.0',
    ]);
  });

  test('at the end of the last call, also where the model then wrote several messages', () => {
    const call = conversation(user('Hello'), said('Hi'), said('How are you?'), user('Well.'));
    expect(marksIn(bodyOf('openai', call))).toEqual(['messages.0.content.0', 'messages.3.content.0']);
    expect(marksIn(bodyOf('anthropic', call))).toEqual(['messages.0.content.0', 'messages.2.content.0']);
  });

  test.each(marking)('%s: none without a further turn, or unless the provider takes them', (format) => {
    const once = conversation(system('Be brief.'), user('Hello'));
    expect(marksIn(bodyOf(format, once))).toEqual([]);
    expect(marksIn(bodyOf(format, agent, { marksCache: false }))).toEqual([]);
    expect(marksIn(bodyOf(format, agent, {}))).toEqual([]);
  });

  test('in no format without them', () => {
    expect(marksIn(bodyOf('google', agent))).toEqual([]);
  });

  test.each(marking)('%s: one to four, the last in the last message, and nothing else changes', (format) => {
    fc.assert(
      fc.property(calls, (call) => {
        const marked = bodyOf(format, call);
        const marks = marksIn(marked);
        const places = marks.map((path) => path.split('.').slice(0, 2).join('.'));
        if (!wantsCache(call)) expect(marks).toEqual([]);
        else {
          expect(marks.length).toBeGreaterThan(0);
          expect(marks.length).toBeLessThanOrEqual(4);
          expect(new Set(places).size).toBe(places.length);
          expect(places.at(-1)).toBe(`messages.${(marked.messages as unknown[]).length - 1}`);
        }
        expect(withoutMarks(marked)).toEqual(withoutMarks(bodyOf(format, call, {})));
      }),
    );
  });

  test('the end of the last call is marked again, however much has been added since', () => {
    fc.assert(
      fc.property(calls, step, (call, added) => {
        const next = { ...call, messages: [...call.messages, ...added] };
        for (const format of marking) {
          if (!wantsCache(call)) continue;
          // A late instruction moves to the front in Anthropic's format, and the end is where it was.
          const before = marksIn(bodyOf(format, call)).at(-1);
          expect(marksIn(bodyOf(format, next))).toContain(before as string);
        }
      }),
    );
  });
});

/** Texts as they were before they had to become parts in order to be marked. */
function withoutMarks(value: unknown): unknown {
  if (Array.isArray(value)) {
    const [only] = value as Wire[];
    const isText = value.length === 1 && only?.type === 'text' && typeof only.text === 'string';
    return isText ? only.text : value.map(withoutMarks);
  }
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(([name]) => name !== 'cache_control');
  return Object.fromEntries(entries.map(([name, inner]) => [name, withoutMarks(inner)]));
}

describe('the same conversation is the same bytes', () => {
  test.each(formats)('%s: however often it is sent', (format) => {
    fc.assert(
      fc.property(calls, fc.boolean(), (call, marksCache) => {
        const first = requestOf(format, call, { marksCache });
        const second = requestOf(format, structuredClone(call), { marksCache, requestId: 'req_2' });
        expect(second.body).toBe(first.body);
      }),
    );
  });

  test.each(formats)('%s: the next turn begins with it', (format) => {
    const isInPlace = ({ role }: ChatMessage) => role !== 'system';
    fc.assert(
      fc.property(calls, step, fc.nat(), (call, added, maxOutputTokens) => {
        // A late instruction belongs to the front in two of the formats.
        fc.pre(format === 'openai' || added.every(isInPlace));
        const next = { ...call, messages: [...call.messages, ...added] };
        const { body } = requestOf(format, call);
        const longer = requestOf(format, next, { maxOutputTokens }).body;
        const end = body.lastIndexOf(lastBrackets[format]);
        expect(end).toBeGreaterThan(0);
        expect(longer.slice(0, end)).toBe(body.slice(0, end));
      }),
    );
  });

  test('digits, order and spelling of arguments are those of the client, or follow from them', () => {
    const call = conversation(user('Look'), calling('1'), result('1'));
    expect(requestOf('openai', call).body).toContain(
      JSON.stringify('{"b": 1, "a": [2.50, 12345678901234567890]}'),
    );
    for (const format of ['anthropic', 'google'] as const)
      expect(requestOf(format, call).body).toContain('{"b":1,"a":[2.5,12345678901234567890]}');
  });
});

/** What closes the messages, after which come parameters. */
const lastBrackets: Readonly<Record<Format, string>> = {
  openai: '],"max_tokens"',
  anthropic: ']}],"max_tokens"',
  google: '],"generationConfig"',
};

describe('the cache key', () => {
  const call = conversation(user('Hello'), said('Hi'), user('How?'));
  const sent = (cacheKey: Dialect['cacheKey'], key: string | null) => {
    const dialect = { ...defaultDialect, cacheKey };
    const { body, headers } = requestOf('openai', call, { dialect, cacheKey: key });
    return [(JSON.parse(body) as Wire).prompt_cache_key, headers['x-grok-conv-id']];
  };

  test('goes where the vendor wants it, and nowhere without a place or a key', () => {
    expect(sent('prompt_cache_key', 'k')).toEqual(['k', undefined]);
    expect(sent('x-grok-conv-id', 'k')).toEqual([undefined, 'k']);
    expect(sent('none', 'k')).toEqual([undefined, undefined]);
    expect(sent('prompt_cache_key', null)).toEqual([undefined, undefined]);
    expect(sent('x-grok-conv-id', null)).toEqual([undefined, undefined]);
  });
});

describe('the beginning of a conversation', () => {
  test('stays the same in all its turns', () => {
    fc.assert(
      fc.property(calls, fc.array(step), (call, steps) => {
        expect(beginningOf({ ...call, messages: [...call.messages, ...steps.flat()] })).toBe(
          beginningOf(call),
        );
      }),
    );
  });

  test('differs with the instructions, the tools and the first question', () => {
    const base = conversation(system('Be brief.'), user('Hello'), said('Hi'));
    const others = [
      conversation(system('Be long.'), user('Hello')),
      conversation(system('Be brief.'), user('Goodbye')),
      conversation(user('Hello')),
      conversation(user('Be brief.'), user('Hello')),
      { ...base, tools: [look] },
      { ...base, tools: [{ ...look, name: 'find' }] },
      conversation(system('Be brief.'), user(`Hello${' '.repeat(10_000)}`)),
      conversation(system('Be brief.'), user(`Hello${' '.repeat(10_001)}`)),
      conversation(),
    ];
    const all = new Set([base, ...others].map(beginningOf));
    expect(all.size).toBe(others.length + 1);
  });

  test('is written the same way by every version, also for an answer without text', () => {
    const call = { ...conversation(said('Hi'), calling('a'), result('a'), user('Hello')), tools: [look] };
    expect(beginningOf(call)).toBe(
      '[1,["look"],[["assistant",[["Hi",2]]],["assistant",[]],["tool",[["done",4]]],["user",[["Hello",5]]]]]',
    );
  });

  test('is bounded, whatever is sent', () => {
    const long = 'x'.repeat(1_000_000);
    const url = `data:image/png;base64,${long}`;
    const parts = Array.from({ length: 100 }, () => ({ type: 'image', url, detail: null }) as const);
    const call = {
      ...conversation(
        ...Array.from({ length: 100 }, () => system(long)),
        { role: 'user', content: parts },
        said(long),
      ),
      tools: Array.from({ length: 100 }, (_, index) => ({ ...look, name: `tool-${index}` })),
    };
    expect(beginningOf(call).length).toBeLessThan(200_000);
  });
});
