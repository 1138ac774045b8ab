import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { anthropic } from '../../src/providers/anthropic.ts';
import type {
  ChatCall,
  ChatMessage,
  ImagePart,
  JsonObject,
  ResponseFormat,
  ToolCall,
} from '../../src/providers/chat.ts';
import type { Upstream } from '../../src/providers/upstream.ts';
import { defaultDialect } from '../../src/providers/upstream.ts';
import { assistant, toolResult as result, toolCall } from '../support/chat-messages.ts';
import { emptyCall } from '../support/provider.ts';

type Fields = Readonly<Record<string, unknown>>;

const upstream: Upstream = {
  baseUrl: 'https://api.example/v1',
  apiKey: 'key-1',
  model: 'claude-x',
  maxOutputTokens: 4_096,
  dialect: defaultDialect,
  requestId: 'req_1',
};

const hello: ChatMessage = { role: 'user', content: 'Hello' };
const plain: ChatCall = {
  ...emptyCall,
  messages: [hello],
};

const bodyOf = (call: Partial<ChatCall>, to: Partial<Upstream> = {}, stream = false): Fields =>
  JSON.parse(anthropic.chatRequest({ ...plain, ...call }, { ...upstream, ...to }, stream).body) as Fields;
const messagesOf = (...messages: ChatMessage[]) => bodyOf({ messages }).messages;
const refusalOf = (call: Partial<ChatCall>) => anthropic.unsupported({ ...plain, ...call }, defaultDialect);
const user = (content: string): ChatMessage => ({ role: 'user', content });
const system = (content: string): ChatMessage => ({ role: 'system', content });
const said = (content: string): ChatMessage => assistant(content);
const calling = (...calls: ToolCall[]): ChatMessage => assistant(null, ...calls);
const called = (id: string, text = '{}'): ToolCall => toolCall(id, 'look', text);
const image = (url: string, detail: ImagePart['detail'] = null): ChatMessage => ({
  role: 'user',
  content: [{ type: 'image', url, detail }],
});
const look = { name: 'look', description: null, parameters: null, strict: null };
const schemaFormat = (schema: JsonObject | null, description: string | null = null): ResponseFormat => ({
  type: 'json_schema',
  name: 'answer',
  description,
  schema,
  strict: true,
});

describe('the request', () => {
  test('goes to the messages endpoint with its version, key and ID', () => {
    const { url, headers } = anthropic.chatRequest(plain, upstream, false);
    expect(url).toBe('https://api.example/v1/messages');
    expect(headers).toEqual({
      'content-type': 'application/json',
      'accept-encoding': 'identity',
      'anthropic-version': '2023-06-01',
      'x-client-request-id': 'req_1',
      'x-api-key': 'key-1',
    });
    expect(anthropic.chatRequest(plain, { ...upstream, apiKey: null }, false).headers).not.toHaveProperty(
      'x-api-key',
    );
  });

  test('holds nothing but what was asked for', () => {
    const text = { role: 'user', content: [{ type: 'text', text: 'Hello' }] };
    expect(bodyOf({})).toEqual({ model: 'claude-x', max_tokens: 4096, messages: [text] });
    expect(bodyOf({}, {}, true).stream).toBe(true);
  });

  test('is limited by the hold, whatever the client asks for', () => {
    expect(bodyOf({ maxTokens: 64_000 }, { maxOutputTokens: 7 }).max_tokens).toBe(7);
    expect(bodyOf({}).max_tokens).toBe(4096);
  });

  test('carries a rich conversation', () => {
    const body = bodyOf({
      messages: [
        system('Be brief.'),
        user('What is in these?'),
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Two pictures:' },
            { type: 'image', url: 'data:IMAGE/PNG;base64,iVBORw0KGgo=', detail: 'auto' },
            { type: 'image', url: 'https://example.com/cat.webp', detail: 'high' },
          ],
        },
        assistant(
          'Let me look.',
          called('call_1', '{"part": [1, {"deep": true}]}'),
          called('functions.look:0', ''),
        ),
        system('Now in French.'),
        result('call_1', 'a cat'),
        result('functions.look:0', ''),
        user('And?'),
      ],
      temperature: 0.5,
      stop: ['END', 'STOP'],
      tools: [
        look,
        {
          ...look,
          name: 'find',
          description: 'Finds.',
          parameters: { type: 'object', properties: { a: {} } },
        },
        { ...look, name: 'open', parameters: { properties: {} }, strict: false },
      ],
      toolChoice: { functionName: 'look' },
      parallelToolCalls: false,
      responseFormat: schemaFormat({ type: 'object', additionalProperties: false }, 'An answer.'),
    });
    const [, { content = [] } = {}] = body.messages as { content?: { id: string }[] }[];
    const recoded = content[2]?.id ?? '';
    expect(recoded).toMatch(/^recoded-1-[a-zA-Z0-9_-]+$/);
    expect(body).toEqual({
      model: 'claude-x',
      max_tokens: 4096,
      system: [
        { type: 'text', text: 'Be brief.' },
        { type: 'text', text: 'Now in French.' },
      ],
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What is in these?' },
            { type: 'text', text: 'Two pictures:' },
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' } },
            { type: 'image', source: { type: 'url', url: 'https://example.com/cat.webp' } },
          ],
        },
        {
          role: 'assistant',
          content: [
            { type: 'text', text: 'Let me look.' },
            { type: 'tool_use', id: 'call_1', name: 'look', input: { part: [1, { deep: true }] } },
            { type: 'tool_use', id: recoded, name: 'look', input: {} },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'call_1', content: 'a cat' },
            { type: 'tool_result', tool_use_id: recoded },
            { type: 'text', text: 'And?' },
          ],
        },
      ],
      temperature: 0.5,
      stop_sequences: ['END', 'STOP'],
      tools: [
        { name: 'look', input_schema: { type: 'object', properties: {} } },
        {
          name: 'find',
          description: 'Finds.',
          input_schema: { type: 'object', properties: { a: {} } },
        },
        { name: 'open', input_schema: { type: 'object', properties: {} } },
      ],
      tool_choice: { type: 'tool', name: 'look', disable_parallel_tool_use: true },
      output_config: {
        format: {
          type: 'json_schema',
          schema: { type: 'object', additionalProperties: false, description: 'An answer.' },
        },
      },
    });
  });

  test.each([
    ['nothing', null, null, undefined],
    ['parallel calls', null, true, undefined],
    ['single calls', null, false, { type: 'auto', disable_parallel_tool_use: true }],
    ['auto', 'auto', null, { type: 'auto' }],
    ['auto and single calls', 'auto', false, { type: 'auto', disable_parallel_tool_use: true }],
    ['none', 'none', null, { type: 'none' }],
    ['none and single calls', 'none', false, { type: 'none' }],
    ['a function', { functionName: 'look' }, true, { type: 'tool', name: 'look' }],
  ] as const)('the choice of tools: %s', (_name, toolChoice, parallelToolCalls, expected) => {
    expect(bodyOf({ tools: [look], toolChoice, parallelToolCalls }).tool_choice).toEqual(expected as object);
    expect(bodyOf({ parallelToolCalls })).not.toHaveProperty('tool_choice');
  });

  test('a strict tool is one there too, and its schema is closed', () => {
    const closed = { type: 'object', properties: {}, additionalProperties: false };
    const tools = [
      { ...look, strict: true },
      { ...look, name: 'find', strict: true, parameters: closed },
      { ...look, name: 'open', strict: false },
    ];
    expect(bodyOf({ tools }).tools).toEqual([
      { name: 'look', strict: true, input_schema: closed },
      { name: 'find', strict: true, input_schema: closed },
      { name: 'open', input_schema: { type: 'object', properties: {} } },
    ]);
  });

  test('a schema keeps its own description; text is no format', () => {
    const schema = { type: 'object', additionalProperties: false, description: 'Mine.' };
    const config = bodyOf({ responseFormat: schemaFormat(schema, 'Other.') }).output_config;
    expect(config).toEqual({ format: { type: 'json_schema', schema } });
    expect(bodyOf({ responseFormat: { type: 'text' } })).not.toHaveProperty('output_config');
  });

  test('empty text beside calls is left out', () => {
    for (const content of [null, '', '\n\n']) {
      expect(messagesOf(assistant(content, called('a')), result('a'))).toMatchObject([
        { role: 'assistant', content: [{ type: 'tool_use' }] },
        { role: 'user', content: [{ type: 'tool_result' }] },
      ]);
    }
  });

  test('any IDs of calls become valid, stay different and lead to the same results', () => {
    const id = fc.oneof(
      fc.string({ minLength: 1, unit: 'binary' }),
      fc.constantFrom(
        'a.b',
        'a:b',
        'a b',
        'call_1',
        'recoded-1-YQA',
        'recoded-2-YQA',
        'a',
        '\ud800',
        '\ud801',
      ),
    );
    // Every inner list is one assistant message; an ID may come again in a later one.
    const rounds = fc.array(fc.uniqueArray(id, { minLength: 1, maxLength: 5 }), {
      minLength: 1,
      maxLength: 5,
    });
    fc.assert(
      fc.property(rounds, (lists) => {
        const turns = messagesOf(
          ...lists.flatMap((ids) => [
            calling(...ids.map((one) => called(one))),
            ...ids.toReversed().map((one) => result(one, one)),
          ]),
        ) as { content: { id: string; tool_use_id: string }[] }[];
        const seen = new Set<string>();
        for (const [round, ids] of lists.entries()) {
          const uses = turns[2 * round]?.content.map((block) => block.id) ?? [];
          const results = turns[2 * round + 1]?.content.map((block) => block.tool_use_id) ?? [];
          expect(uses).toHaveLength(ids.length);
          expect(results).toEqual(uses.toReversed());
          for (const use of uses) {
            expect(use).toMatch(/^[a-zA-Z0-9_-]+$/);
            expect(seen.has(use)).toBe(false);
            seen.add(use);
          }
        }
      }),
    );
  });
});

describe('what the format cannot express is refused', () => {
  const png = 'data:image/png;base64,AAAA';
  const closed = { type: 'object', additionalProperties: false };
  const inField = (field: JsonObject) => schemaFormat({ ...closed, properties: { field } });
  const rows: readonly [name: string, param: string, call: Partial<ChatCall>][] = [
    ['an image of another type', 'messages', { messages: [image('data:image/svg+xml;base64,AAAA')] }],
    ['low detail', 'messages', { messages: [image(png, 'low')] }],
    ['arguments that are no JSON', 'messages', { messages: [calling(called('a', '{')), result('a')] }],
    ['arguments that are no object', 'messages', { messages: [calling(called('a', '[1]')), result('a')] }],
    [
      'arguments too deep to be written again',
      'messages',
      {
        messages: [calling(called('a', `{"a":${'['.repeat(90_000)}${']'.repeat(90_000)}}`)), result('a')],
      },
    ],
    [
      'more values in the arguments than are ever read',
      'messages',
      { messages: [calling(called('a', `{"a":[${'0,'.repeat(100_000)}0]}`)), result('a')] },
    ],
    [
      'a function name that no tool can have',
      'messages',
      { messages: [calling({ ...called('a'), name: 'a.b' }), result('a')] },
    ],
    ['an empty user message', 'messages', { messages: [user('')] }],
    ['a blank user message', 'messages', { messages: [user(' \n')] }],
    ['an empty part', 'messages', { messages: [{ role: 'user', content: [{ type: 'text', text: '' }] }] }],
    ['an empty system message', 'messages', { messages: [system(''), hello] }],
    ['an empty assistant message', 'messages', { messages: [hello, said(''), hello] }],
    ['nothing but instructions', 'messages', { messages: [system('Be brief.')] }],
    ['an assistant message at the end', 'messages', { messages: [hello, said('{')] }],
    ['a call without its result', 'messages', { messages: [hello, calling(called('a')), hello] }],
    ['a call at the end', 'messages', { messages: [hello, calling(called('a'))] }],
    ['one result for two calls', 'messages', { messages: [calling(called('a'), called('b')), result('b')] }],
    ['two results for one call', 'messages', { messages: [calling(called('a')), result('a'), result('a')] }],
    ['a result after another message', 'messages', { messages: [calling(called('a')), hello, result('a')] }],
    ['a temperature above 1', 'temperature', { temperature: 1.01 }],
    ['temperature and top_p together', 'top_p', { temperature: 1, topP: 1 }],
    ['a stop string of whitespace', 'stop', { stop: ['END', '\n\n'] }],
    ['a presence penalty', 'presence_penalty', { presencePenalty: -0.5 }],
    ['calls in a conversation without tools', 'tools', { messages: [calling(called('a')), result('a')] }],
    ['parameters that are no object', 'tools', { tools: [{ ...look, parameters: { type: 'string' } }] }],
    ...['oneOf', 'anyOf', 'allOf'].map((keyword): [string, string, Partial<ChatCall>] => [
      `${keyword} at the top of parameters`,
      'tools',
      { tools: [look, { ...look, parameters: { type: 'object', [keyword]: [{}] } }] },
    ]),
    ['an open object in a strict tool', 'tools', { tools: [{ ...look, strict: true, parameters: {} }] }],
    [
      'a range in a strict tool',
      'tools',
      {
        tools: [
          look,
          {
            ...look,
            strict: true,
            parameters: { additionalProperties: false, properties: { a: { type: 'integer', minimum: 1 } } },
          },
        ],
      },
    ],
    ['JSON of any shape', 'response_format', { responseFormat: { type: 'json_object' } }],
    ['a format without a schema', 'response_format', { responseFormat: schemaFormat(null) }],
    ['an open object', 'response_format', { responseFormat: schemaFormat({ type: 'object' }) }],
    [
      'an open object or nothing',
      'response_format',
      { responseFormat: schemaFormat({ type: ['object', 'null'], additionalProperties: true }) },
    ],
    ...['minimum', 'exclusiveMaximum', 'multipleOf', 'minLength', 'maxLength', 'maxItems', 'uniqueItems'].map(
      (keyword): [string, string, Partial<ChatCall>] => [
        `${keyword} in a schema`,
        'response_format',
        { responseFormat: inField({ [keyword]: 2 }) },
      ],
    ),
    ['a minItems of 2', 'response_format', { responseFormat: inField({ items: { minItems: 2 } }) }],
    ['objects in an enum', 'response_format', { responseFormat: inField({ anyOf: [{ enum: [1, {}] }] }) }],
    [
      'a schema elsewhere',
      'response_format',
      { responseFormat: inField({ $ref: 'https://example.com/a.json' }) },
    ],
    ['a schema within itself', 'response_format', { responseFormat: inField({ $ref: '#' }) }],
    [
      'schemas within each other',
      'response_format',
      {
        responseFormat: schemaFormat({
          $defs: { a: { items: { $ref: '#/$defs/b~1c' } }, 'b/c': { anyOf: [{ $ref: '#/$defs/a' }] } },
        }),
      },
    ],
    [
      'a fault among the definitions',
      'response_format',
      { responseFormat: schemaFormat({ ...closed, definitions: { a: { maximum: 3 } } }) },
    ],
    [
      'a reference in allOf',
      'response_format',
      { responseFormat: inField({ allOf: [{ $ref: '#/$defs/a' }] }) },
    ],
    ['a seed', 'seed', { seed: 0 }],
  ];

  test.each(rows)('%s: %s', (_name, param, call) => {
    const refusal = refusalOf(call);
    expect(refusal?.param).toBe(param);
    expect(refusal?.message).toMatch(/^[A-Z].*\.$/);
    expect(refusal?.message).not.toMatch(/anthropic|claude/i);
  });

  test('the first in the order of the contract is named', () => {
    const all: ChatCall = {
      ...plain,
      messages: [user('')],
      temperature: 1.5,
      topP: 0.5,
      stop: [' '],
      presencePenalty: 1,
      tools: [{ ...look, parameters: { type: 'array' } }],
      responseFormat: { type: 'json_object' },
      seed: 1,
    };
    const remedies: readonly [string, Partial<ChatCall>][] = [
      ['messages', { messages: [hello] }],
      ['temperature', { temperature: 1 }],
      ['top_p', { topP: null }],
      ['stop', { stop: null }],
      ['presence_penalty', { presencePenalty: 0 }],
      ['tools', { tools: [look] }],
      ['response_format', { responseFormat: { type: 'text' } }],
      ['seed', { seed: null }],
    ];
    let call = all;
    for (const [param, remedy] of remedies) {
      expect(refusalOf(call)?.param).toBe(param);
      call = { ...call, ...remedy };
    }
    expect(refusalOf(call)).toBeNull();
  });

  test.each([
    ['a plain call', {}],
    [
      'every type of image',
      {
        messages: ['jpeg', 'png', 'gif', 'webp'].map((type) => image(`data:image/${type};base64,AA`, 'high')),
      },
    ],
    ['an image to be fetched', { messages: [image('https://example.com/a.svg', 'auto')] }],
    ['an assistant message first', { messages: [said('Welcome.'), hello] }],
    [
      'results in any order, before anything else',
      {
        tools: [look],
        messages: [calling(called('a'), called('b', '')), result('b'), system('Go on.'), result('a')],
      },
    ],
    [
      'the same ID in a later message',
      { tools: [look], messages: [calling(called('a')), result('a'), calling(called('a')), result('a')] },
    ],
    ['a result without text', { tools: [look], messages: [calling(called('a')), result('a', '')] }],
    ['temperature alone', { temperature: 1 }],
    ['top_p alone', { topP: 0.1 }],
    ['stop strings with whitespace in them', { stop: ['\n\nHuman:'] }],
    ['text', { responseFormat: { type: 'text' } }],
    ['oneOf inside parameters', { tools: [{ ...look, parameters: { properties: { a: { oneOf: [{}] } } } }] }],
    [
      'a schema without anything special',
      {
        responseFormat: schemaFormat({
          ...closed,
          required: ['list'],
          properties: {
            list: { type: 'array', minItems: 1, items: { $ref: '#/$defs/item' } },
            first: { $ref: '#/$defs/item' },
          },
          $defs: { item: { type: 'string', enum: ['a', null, 3] } },
        }),
      },
    ],
    [
      'fields that are called like keywords',
      {
        responseFormat: schemaFormat({
          ...closed,
          properties: { minimum: { const: { type: 'object' } }, maxItems: { default: { minLength: 1 } } },
        }),
      },
    ],
  ] as [string, Partial<ChatCall>][])('but not %s', (_name, call) => {
    expect(refusalOf(call)).toBeNull();
  });

  test('numbers in arguments keep every digit', () => {
    const text = '{"id":12345678901234567890,"far":1e999,"near":0.1,"small":7}';
    const call = { ...plain, messages: [calling(called('a', text)), result('a')] };
    const { body } = anthropic.chatRequest(call, upstream, false);
    expect(body).toContain(`"input":${text}`);
  });

  test('a schema with one name in many spellings is walked once', () => {
    const name = '~'.repeat(14);
    const spellings = Array.from({ length: 3_000 }, (_, index) => ({
      $ref: `#/$defs/${[...name].map((tilde, place) => ((index >> place) & 1 ? '~0' : tilde)).join('')}`,
    }));
    const schema = {
      anyOf: spellings,
      $defs: { [name]: { anyOf: Array.from({ length: 20_000 }, () => ({})) } },
    };
    const startedMs = process.cpuUsage().user / 1000;
    refusalOf({
      responseFormat: { type: 'json_schema', name: 'x', description: null, schema, strict: null },
    });
    // It took half a minute when every spelling was walked anew, and takes milliseconds now.
    expect(process.cpuUsage().user / 1000 - startedMs).toBeLessThan(5_000);
  });

  test('schemas made to be walked forever are walked once', () => {
    const definitions = Object.fromEntries(
      Array.from({ length: 20_000 }, (_, index) => [
        `d${index}`,
        { anyOf: [{ $ref: `#/$defs/d${index + 1}` }, { $ref: `#/$defs/d${index + 1}` }] },
      ]),
    );
    expect(refusalOf({ responseFormat: schemaFormat({ $defs: definitions }) })).toBeNull();
  });

  test('what is not refused becomes a request', () => {
    const json = fc.jsonValue().map((value) => JSON.stringify(value));
    const content = fc.oneof(fc.string(), fc.constant(''));
    const message: fc.Arbitrary<ChatMessage> = fc.oneof(
      content.map(user),
      content.map(system),
      content.map(said),
      fc.record({ text: fc.oneof(json, fc.constant('')) }).map(({ text }) => calling(called('a', text))),
      fc.constant(result('a')),
      fc.webUrl().map((url) => image(url)),
    );
    const calls = fc.record({
      messages: fc.array(message, { minLength: 1, maxLength: 6 }),
      tools: fc.constantFrom(null, [look]),
      temperature: fc.option(fc.double({ min: 0, max: 2, noNaN: true })),
      responseFormat: fc.oneof(
        fc.constant(null),
        fc.object().map((schema) => schemaFormat(schema as JsonObject)),
      ),
    });
    fc.assert(
      fc.property(calls, (call) => {
        if (refusalOf(call) !== null) return;
        const { messages } = bodyOf(call) as { messages: { role: string; content: unknown[] }[] };
        expect(messages.at(-1)?.role).toBe('user');
        for (const { content: blocks } of messages) expect(blocks).not.toBeEmpty();
        for (const [index, { role }] of messages.entries())
          expect(role).not.toBe(messages[index + 1]?.role ?? '');
      }),
      { numRuns: 500 },
    );
  });
});
