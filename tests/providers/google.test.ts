/** The Gemini format both ways. Fixtures have the shape of the documented examples named next to their tests. */
import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import type { ErrorCode } from '../../src/errors.ts';
import { SseParser } from '../../src/lib/sse.ts';
import {
  type ChatCall,
  type ChatEvent,
  type ChatMessage,
  type FinishReason,
  type ToolCall,
  toolCallsOf,
} from '../../src/providers/chat.ts';
import { google } from '../../src/providers/google.ts';
import { callId, readCallId } from '../../src/providers/google-request.ts';
import { defaultDialect, ProviderError, type Upstream } from '../../src/providers/upstream.ts';
import {
  toolCall as called,
  items,
  toolResult as result,
  assistant as saidBy,
} from '../support/chat-messages.ts';
import { emptyCall } from '../support/provider.ts';
import { reported } from '../support/reported-usage.ts';

const requestId = 'req_0198c5a1b2c37d4e8f90a1b2c3d4e5f6';
const upstream: Upstream = {
  baseUrl: 'https://example.test/v1beta',
  apiKey: 'key-canary',
  model: 'gemini-3.5-flash',
  maxOutputTokens: null,
  dialect: defaultDialect,
  requestId,
};

const plain: ChatCall = {
  ...emptyCall,
  messages: [{ role: 'user', content: 'Hello' }],
};

const fixture = (name: string) => readFileSync(join(import.meta.dir, 'fixtures/google', name), 'utf8');
const answerOf = (name: string) => google.readAnswer(JSON.parse(fixture(name)), upstream);
const refuse = (call: Partial<ChatCall>) => google.unsupported({ ...plain, ...call }, defaultDialect);

function bodyOf(call: Partial<ChatCall>, model = upstream.model) {
  return JSON.parse(google.chatRequest({ ...plain, ...call }, { ...upstream, model }, false).body);
}

function read(text: string): ChatEvent[] {
  const reader = google.openReader(upstream);
  return new SseParser().push(text).flatMap((data) => reader(data ?? ''));
}

/** The code of a failure, thrown or reported as an event after which reading continues. */
function codeOf(run: () => unknown): ErrorCode | null {
  try {
    const result = run();
    const failed = Array.isArray(result)
      ? (result as ChatEvent[]).find((event) => event.type === 'failure')
      : undefined;
    return failed === undefined ? null : failed.error.code;
  } catch (error) {
    expect(error).toBeInstanceOf(ProviderError);
    return (error as ProviderError).code;
  }
}

const user = (content: string): ChatMessage => ({ role: 'user', content });
const assistant = (content: string | null, calls: readonly ToolCall[] = []): ChatMessage =>
  saidBy(content, ...calls);
const toolCall = (id: string, name = 'tide_table', written = '{}'): ToolCall => called(id, name, written);
const image = (url: string, detail: 'auto' | 'low' | 'high' | null = null): ChatMessage => ({
  role: 'user',
  content: [{ type: 'image', url, detail }],
});
const tool = { name: 'tide_table', description: null, parameters: null, strict: null };
const jsonSchema = (schema: Record<string, unknown> | null, description: string | null = null) =>
  ({ type: 'json_schema', name: 'tides', description, schema, strict: true }) as const;

describe('request', () => {
  test('a rich conversation', () => {
    const schema = { type: 'object', properties: { harbour: { $ref: '#/$defs/name' } }, $defs: { name: {} } };
    const call: Partial<ChatCall> = {
      messages: [
        { role: 'system', content: 'You know the sea.' },
        user('Hello'),
        assistant('Ahoy.'),
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Which boat is this?' },
            { type: 'image', url: 'data:image/PNG;base64,aWNvbg==', detail: 'high' },
          ],
        },
        assistant('', [
          toolCall('call_a', 'tide_table', '{"harbour":"Brest","days":2}'),
          toolCall('call_b', 'now', ''),
        ]),
        result('call_a', '{"high":"04:12"}'),
        result('call_b', 'noon'),
        { role: 'system', content: 'Be brief.' },
        user('And then?'),
      ],
      temperature: 0,
      topP: 0.5,
      stop: ['END', '\n\n'],
      presencePenalty: 0,
      tools: [{ ...tool, description: 'Tides of a harbour.', parameters: schema, strict: false }, tool],
      toolChoice: { functionName: 'tide_table' },
      parallelToolCalls: true,
      seed: 7,
    };
    expect(refuse(call)).toBeNull();
    expect(bodyOf(call)).toEqual({
      systemInstruction: { parts: [{ text: 'You know the sea.' }, { text: 'Be brief.' }] },
      contents: [
        { role: 'user', parts: [{ text: 'Hello' }] },
        { role: 'model', parts: [{ text: 'Ahoy.' }] },
        {
          role: 'user',
          parts: [
            { text: 'Which boat is this?' },
            { inlineData: { mimeType: 'image/png', data: 'aWNvbg==' } },
          ],
        },
        {
          role: 'model',
          parts: [
            {
              functionCall: { name: 'tide_table', args: { harbour: 'Brest', days: 2 } },
              thoughtSignature: 'skip_thought_signature_validator',
            },
            { functionCall: { name: 'now', args: {} } },
          ],
        },
        {
          role: 'user',
          parts: [
            { functionResponse: { name: 'tide_table', response: { high: '04:12' } } },
            { functionResponse: { name: 'now', response: { result: 'noon' } } },
          ],
        },
        { role: 'user', parts: [{ text: 'And then?' }] },
      ],
      tools: [
        {
          functionDeclarations: [
            { name: 'tide_table', description: 'Tides of a harbour.', parametersJsonSchema: schema },
            { name: 'tide_table' },
          ],
        },
      ],
      toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['tide_table'] } },
      generationConfig: {
        temperature: 0,
        topP: 0.5,
        stopSequences: ['END', '\n\n'],
        presencePenalty: 0,
        seed: 7,
      },
    });
  });

  test('what the client left out is left out', () => {
    expect(bodyOf({})).toEqual({
      contents: [{ role: 'user', parts: [{ text: 'Hello' }] }],
      generationConfig: {},
    });
  });

  test('address and headers', () => {
    const whole = google.chatRequest(plain, upstream, false);
    expect(whole.url).toBe('https://example.test/v1beta/models/gemini-3.5-flash:generateContent');
    expect(whole.headers).toEqual({
      'content-type': 'application/json',
      'accept-encoding': 'identity',
      'x-client-request-id': requestId,
      'x-goog-api-key': 'key-canary',
    });
    const streamed = google.chatRequest(plain, { ...upstream, apiKey: null }, true);
    expect(streamed.url).toBe(
      'https://example.test/v1beta/models/gemini-3.5-flash:streamGenerateContent?alt=sse',
    );
    expect(Object.keys(streamed.headers)).not.toContain('x-goog-api-key');
    expect(streamed.body).toBe(whole.body);
    expect(google.chatRequest(plain, { ...upstream, model: '../x?key=1#y' }, false).url).toBe(
      'https://example.test/v1beta/models/..%2Fx%3Fkey%3D1%23y:generateContent',
    );
  });

  test.each([
    ['auto', { mode: 'AUTO' }],
    ['none', { mode: 'NONE' }],
    [{ functionName: 'now' }, { mode: 'ANY', allowedFunctionNames: ['now'] }],
  ] as const)('tool_choice %j', (toolChoice, functionCallingConfig) => {
    expect(bodyOf({ tools: [tool], toolChoice }).toolConfig).toEqual({ functionCallingConfig });
  });

  test.each([
    ['text', { type: 'text' }, {}],
    ['json_object', { type: 'json_object' }, { responseMimeType: 'application/json' }],
    [
      'json_schema',
      jsonSchema({ type: 'object' }),
      { responseMimeType: 'application/json', responseJsonSchema: { type: 'object' } },
    ],
    [
      'a described json_schema',
      jsonSchema({ type: 'object' }, 'Tides.'),
      {
        responseMimeType: 'application/json',
        responseJsonSchema: { type: 'object', description: 'Tides.' },
      },
    ],
    [
      'a json_schema that describes itself',
      jsonSchema({ description: 'Mine.' }, 'Tides.'),
      { responseMimeType: 'application/json', responseJsonSchema: { description: 'Mine.' } },
    ],
  ] as const)('response_format %s', (_name, responseFormat, generationConfig) => {
    expect(bodyOf({ responseFormat }).generationConfig).toEqual(generationConfig);
  });

  test.each([
    ['{"high":"04:12"}', { high: '04:12' }],
    ['[1,2]', { result: '[1,2]' }],
    ['42', { result: '42' }],
    ['null', { result: 'null' }],
    ['', { result: '' }],
    ['{"half":', { result: '{"half":' }],
    [`${'{"a":'.repeat(65)}1${'}'.repeat(65)}`, { result: `${'{"a":'.repeat(65)}1${'}'.repeat(65)}` }],
  ])('a tool result %#', (content, response) => {
    const messages = [user('Go'), assistant(null, [toolCall('x')]), result('x', content)];
    expect(bodyOf({ messages }).contents[2].parts).toEqual([
      { functionResponse: { name: 'tide_table', response } },
    ]);
  });

  test('results go back in the order of the calls, named after them', () => {
    const messages = [
      user('Go'),
      assistant(null, [toolCall('x', 'first'), toolCall('y', 'second')]),
      result('y', 'two'),
      { role: 'system', content: 'Hurry.' } as const,
      result('x', 'one'),
      assistant(null, [toolCall('x', 'third')]),
      result('x', 'three'),
    ];
    expect(refuse({ messages })).toBeNull();
    const { contents } = bodyOf({ messages });
    expect(contents[2].parts).toEqual([
      { functionResponse: { name: 'first', response: { result: 'one' } } },
      { functionResponse: { name: 'second', response: { result: 'two' } } },
    ]);
    expect(contents[4].parts).toEqual([
      { functionResponse: { name: 'third', response: { result: 'three' } } },
    ]);
  });

  test('what the model said in several messages is one turn', () => {
    const messages = [user('Go'), assistant('Let me see.'), assistant('', [toolCall('x')]), result('x', '1')];
    expect(refuse({ messages })).toBeNull();
    expect(bodyOf({ messages }, 'gemini-2.5-pro').contents[1]).toEqual({
      role: 'model',
      parts: [{ text: 'Let me see.' }, { functionCall: { name: 'tide_table', args: {} } }],
    });
  });

  // ai.google.dev/gemini-api/docs/thought-signatures: mandatory for Gemini 3 on the first call, optional before.
  test.each([
    ['gemini-3.5-flash', true],
    ['gemini-3.1-pro-preview', true],
    ['gemini-flash-latest', true],
    ['gemini-12-pro', true],
    ['gemini-2.5-pro', false],
    ['gemini-2-flash', false],
    ['gemma-4', false],
  ])('calls that another model made, sent to %s', (model, isMarked) => {
    const messages = [
      user('Go'),
      assistant('So:', [toolCall('toolu_1'), toolCall('toolu_2')]),
      result('toolu_1', '1'),
      result('toolu_2', '2'),
      assistant(null, [toolCall('toolu_3')]),
      result('toolu_3', '3'),
    ];
    const { contents } = bodyOf({ messages }, model);
    const signatures = [...contents[1].parts, ...contents[3].parts].map(
      (part: { thoughtSignature?: string }) => part.thoughtSignature,
    );
    const mark = isMarked ? 'skip_thought_signature_validator' : undefined;
    expect(signatures).toEqual([undefined, mark, undefined, mark]);
  });

  test('its own calls get back what they came with', () => {
    const [first, second] = toolCallsOf(answerOf('answer-parallel-calls.json').items);
    if (first === undefined || second === undefined) throw new Error('two calls expected');
    const messages = [
      user('Go'),
      assistant(null, [first, second]),
      result(second.id, 'two'),
      result(first.id, 'one'),
    ];
    const original = JSON.parse(fixture('answer-parallel-calls.json')).candidates[0].content;
    const { contents } = bodyOf({ messages });
    expect(contents[1]).toEqual({ role: 'model', parts: original.parts });
    expect(contents[2].parts).toEqual([
      { functionResponse: { id: '8f2b1a3c', name: 'tide_table', response: { result: 'one' } } },
      { functionResponse: { id: '1c77e0b4', name: 'tide_table', response: { result: 'two' } } },
    ]);
  });
});

describe('refusal', () => {
  const data = 'data:image/png;base64,aWNvbg==';
  const refused: [string, Partial<ChatCall>, string][] = [
    ['system messages only', { messages: [{ role: 'system', content: 'x' }] }, 'messages'],
    ['no user message', { messages: [assistant('x')] }, 'messages'],
    ['an https image', { messages: [image('https://example.test/boat.png')] }, 'messages'],
    ['a gif', { messages: [image('data:image/gif;base64,R0lGOD')] }, 'messages'],
    ['an image without a type', { messages: [image('data:;base64,R0lGOD')] }, 'messages'],
    ['low detail', { messages: [image(data, 'low')] }, 'messages'],
    [
      'arguments that are a list',
      { messages: [user('x'), assistant(null, [toolCall('a', 'f', '[]')]), result('a', '')] },
      'messages',
    ],
    [
      'arguments that are no JSON',
      { messages: [user('x'), assistant(null, [toolCall('a', 'f', '{"half":')]), result('a', '')] },
      'messages',
    ],
    [
      'arguments without a bottom',
      {
        messages: [
          user('x'),
          assistant(null, [toolCall('a', 'f', `${'{"a":'.repeat(200_000)}1${'}'.repeat(200_000)}`)]),
          result('a', ''),
        ],
      },
      'messages',
    ],
    [
      'a call before any user message',
      { messages: [assistant(null, [toolCall('a')]), result('a', ''), user('x')] },
      'messages',
    ],
    ['a call without a result', { messages: [user('x'), assistant(null, [toolCall('a')])] }, 'messages'],
    [
      'one of two results',
      { messages: [user('x'), assistant(null, [toolCall('a'), toolCall('b')]), result('a', '')] },
      'messages',
    ],
    [
      'a result twice',
      { messages: [user('x'), assistant(null, [toolCall('a')]), result('a', ''), result('a', '')] },
      'messages',
    ],
    [
      'a late result',
      {
        messages: [
          user('x'),
          assistant(null, [toolCall('a'), toolCall('b')]),
          result('a', ''),
          user('y'),
          result('b', ''),
        ],
      },
      'messages',
    ],
    [
      'a result of an earlier turn',
      {
        messages: [
          user('x'),
          assistant(null, [toolCall('a')]),
          result('a', ''),
          assistant('So.'),
          result('a', ''),
        ],
      },
      'messages',
    ],
    ['presence_penalty', { presencePenalty: 0.5 }, 'presence_penalty'],
    ['a name that begins with a digit', { tools: [{ ...tool, name: '3d' }] }, 'tools'],
    ['a name that begins with a dash', { tools: [{ ...tool, name: '-d' }] }, 'tools'],
    ['a single call at a time', { tools: [tool], parallelToolCalls: false }, 'parallel_tool_calls'],
    ['json_schema without a schema', { responseFormat: jsonSchema(null) }, 'response_format'],
    [
      'json_schema with tools',
      { tools: [tool], responseFormat: jsonSchema({ type: 'object' }) },
      'response_format',
    ],
    ['json_object with tools', { tools: [tool], responseFormat: { type: 'json_object' } }, 'response_format'],
  ];

  test.each(refused)('%s', (_name, call, param) => {
    const refusal = refuse(call);
    expect(refusal?.param).toBe(param);
    expect(refusal?.message).toMatch(/^[A-Z].*\.$/);
    expect(refusal?.message).not.toMatch(/google|gemini/i);
  });

  test('the advice about single calls is true in every dialect: the field may mean the opposite there', () => {
    expect(refuse({ tools: [tool], parallelToolCalls: false })?.message).toBe(
      'This model cannot be held to a single tool call: leave parallel_tool_calls out.',
    );
  });

  test.each([
    ['nothing special', {}],
    ['automatic and high detail', { messages: [image(data, 'auto'), image(data, 'high'), image(data)] }],
    [
      'every documented type',
      {
        messages: ['png', 'jpeg', 'webp', 'heic', 'heif'].map((type) =>
          image(`data:image/${type};base64,AA`),
        ),
      },
    ],
    ['a penalty of nothing', { presencePenalty: 0 }],
    ['a greeting before the first user message', { messages: [assistant('Ahoy.'), user('x')] }],
    ['an answer to be continued', { messages: [user('x'), assistant('So')] }],
    ['several calls at once', { tools: [tool], parallelToolCalls: true }],
    ['a single call at a time where there is nothing to call', { parallelToolCalls: false }],
    ['text with tools', { tools: [tool], responseFormat: { type: 'text' } }],
    ['a name that begins with an underscore', { tools: [{ ...tool, name: '_3d-x' }] }],
  ] as [string, Partial<ChatCall>][])('not %s', (_name, call) => {
    expect(refuse(call)).toBeNull();
  });

  test('the first of several, in the order of the contract', () => {
    const good: Partial<ChatCall> = {
      messages: [user('x')],
      presencePenalty: null,
      tools: [tool],
      parallelToolCalls: null,
      responseFormat: null,
    };
    const bad: Partial<ChatCall> = {
      messages: [assistant('x')],
      presencePenalty: 1,
      tools: [{ ...tool, name: '3d' }],
      parallelToolCalls: false,
      responseFormat: { type: 'json_object' },
    };
    const fields = Object.keys(bad) as (keyof ChatCall)[];
    const params = fields.map((_, fixed) => {
      const call = fields.map((field, index) => [field, (index < fixed ? good : bad)[field]]);
      return refuse(Object.fromEntries(call))?.param;
    });
    expect(params).toEqual([
      'messages',
      'presence_penalty',
      'tools',
      'parallel_tool_calls',
      'response_format',
    ]);
  });

  const ids = fc.constantFrom('a', 'b');
  const single = fc.oneof(
    fc.constantFrom<ChatMessage>(user('u'), assistant('a'), { role: 'system', content: 's' }),
    ids.map((id) => assistant(null, [toolCall(id)])),
    ids.map((id) => result(id, 'r')),
  );
  const exchange = [
    user('u'),
    assistant(null, [toolCall('a'), toolCall('b')]),
    result('b', 'r'),
    result('a', 'r'),
  ];
  const someMessages = fc
    .array(
      fc.oneof(
        single.map((message) => [message]),
        fc.constant(exchange),
      ),
      { maxLength: 5 },
    )
    .map((groups) => groups.flat());

  test('whatever is not refused has as many results right after each turn of calls', () => {
    let withCalls = 0;
    fc.assert(
      fc.property(someMessages, (messages) => {
        if (refuse({ messages }) !== null) return;
        const { contents } = bodyOf({ messages });
        const count = (index: number, field: string) =>
          (contents[index]?.parts ?? []).filter((part: object) => field in part).length;
        for (const index of contents.keys()) {
          expect(count(index + 1, 'functionResponse')).toBe(count(index, 'functionCall'));
          if (count(index, 'functionCall') === 0) continue;
          expect(contents[index - 1]?.role).toBe('user');
          withCalls++;
        }
        expect(count(0, 'functionResponse')).toBe(0);
      }),
      { numRuns: 2_000 },
    );
    expect(withCalls).toBeGreaterThan(100);
  });
});

describe('call IDs', () => {
  const anyText = fc.oneof(
    fc.string({ minLength: 1 }),
    fc.string({ unit: 'binary', minLength: 1 }),
    fc.base64String({ minLength: 4, maxLength: 4_000 }),
  );

  test('carry any signature and any ID there and back', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.constant(requestId), fc.string()),
        fc.nat(),
        fc.option(anyText),
        fc.option(anyText),
        (generation, index, signature, upstreamId) => {
          const id = callId(generation, index, { signature, upstreamId });
          expect(id).toMatch(/^[a-zA-Z0-9_-]+$/);
          expect(readCallId(id)).toEqual({ signature, upstreamId });
        },
      ),
    );
  });

  test('differ from call to call and from request to request', () => {
    const nothing = { signature: null, upstreamId: null };
    expect(callId(requestId, 0, nothing)).toBe('call_req0198c5a1b2c37d4e8f90a1b2c3d4e5f6_0');
    expect(callId(requestId, 1, nothing)).not.toBe(callId(requestId, 0, nothing));
    expect(callId('req_1', 0, nothing)).not.toBe(callId(requestId, 0, nothing));
  });

  test('from elsewhere carry nothing', () => {
    const own = (value: unknown) => `call_x_0_${Buffer.from(JSON.stringify(value)).toString('base64url')}`;
    const foreign = [
      'call_abc123',
      'call_00_kYJvT1wM2u',
      'toolu_01A09q90qw90lq917835lq9',
      'functions.tide_table:0',
      'call_x_0_',
      own(['s']),
      own([null, 's', null]),
      own([1, 's']),
      own({ 0: 's', 1: 's' }),
      own('ab'),
      `${own(['s', null])}A`,
    ];
    for (const id of foreign) expect(readCallId(id)).toEqual({ signature: null, upstreamId: null });
    const shaped = fc.stringMatching(/^call_[a-z0-9]{1,8}_[0-9]{1,2}_[a-zA-Z0-9_-]{1,40}$/);
    fc.assert(
      fc.property(fc.oneof(fc.string(), shaped), (id) => {
        expect(readCallId(id)).toEqual({ signature: null, upstreamId: null });
      }),
      { numRuns: 1_000 },
    );
  });
});

describe('answer', () => {
  // ai.google.dev/gemini-api/docs/text-generation
  test('text', () => {
    expect(answerOf('answer.json')).toEqual({
      items: [...items('Tides rise and fall '), ...items('twice a day.')],
      finishReason: 'stop',
      usage: reported(9, 8),
    });
  });

  // ai.google.dev/gemini-api/docs/thinking
  test('thoughts are charged and not shown', () => {
    expect(answerOf('answer-thinking.json')).toEqual({
      items: items('They have 24 legs.'),
      finishReason: 'stop',
      usage: reported(0, 0, {
        readings: [{ freshInput: 34, cacheRead: 1_000, cacheWrite: 0, cacheWriteLong: 0, output: 445 }],
        reasoningTokens: 438,
      }),
    });
  });

  // ai.google.dev/gemini-api/docs/function-calling and /thought-signatures
  test('parallel calls', () => {
    const { items: written, ...rest } = answerOf('answer-parallel-calls.json');
    const toolCalls = toolCallsOf(written);
    expect(toolCalls).toEqual(written as ToolCall[]);
    expect(rest).toEqual({
      finishReason: 'tool_calls',
      usage: reported(71, 162, { reasoningTokens: 122 }),
    });
    expect(toolCalls.map(({ name, arguments: written }) => [name, written])).toEqual([
      ['tide_table', '{"harbour":"Brest","days":2}'],
      ['tide_table', '{"harbour":"Cuxhaven","days":2}'],
    ]);
    expect(toolCalls.map(({ id }) => readCallId(id))).toEqual([
      { signature: 'EjQKMgEMOdbHO0Gd+c9Mxk/4dBUNcfE=', upstreamId: '8f2b1a3c' },
      { signature: null, upstreamId: '1c77e0b4' },
    ]);
    expect(toolCalls[0]?.id).toStartWith('call_req0198c5a1b2c37d4e8f90a1b2c3d4e5f6_0_');
  });

  // ai.google.dev/api/generate-content, PromptFeedback and Candidate
  test.each([
    ['answer-prompt-blocked.json', reported(59, 0)],
    ['answer-filtered.json', reported(12, 328, { reasoningTokens: 328 })],
  ])('held back: %s', (name, usage) => {
    expect(answerOf(name)).toEqual({ items: [], finishReason: 'content_filter', usage });
  });

  const candidateWith = (fields: object) => ({ candidates: [{ finishReason: 'STOP', ...fields }] });
  const parts = (...list: object[]) => candidateWith({ content: { role: 'model', parts: list } });

  test('a call without arguments, and parts of other kinds', () => {
    const { items: written } = google.readAnswer(
      parts(
        { executableCode: { code: 'x' } },
        { inlineData: { mimeType: 'image/png', data: 'AA' } },
        { text: 'So: ' },
        { functionCall: { name: 'now' } },
        { functionCall: { name: 'now', args: {} }, thought: true },
      ),
      upstream,
    );
    expect(written).toEqual(items('So: ', called(callId(requestId, 0, readCallId('')), 'now')));
  });

  // ai.google.dev/api/generate-content, FinishReason
  const reasons: [string, FinishReason | null][] = [
    ['STOP', 'stop'],
    ['MAX_TOKENS', 'length'],
    ['SAFETY', 'content_filter'],
    ['RECITATION', 'content_filter'],
    ['LANGUAGE', 'content_filter'],
    ['OTHER', 'stop'],
    ['BLOCKLIST', 'content_filter'],
    ['PROHIBITED_CONTENT', 'content_filter'],
    ['SPII', 'content_filter'],
    ['MALFORMED_FUNCTION_CALL', null],
    ['IMAGE_SAFETY', 'content_filter'],
    ['IMAGE_PROHIBITED_CONTENT', 'content_filter'],
    ['IMAGE_OTHER', 'stop'],
    ['NO_IMAGE', 'stop'],
    ['IMAGE_RECITATION', 'content_filter'],
    ['UNEXPECTED_TOOL_CALL', null],
    ['TOO_MANY_TOOL_CALLS', null],
    ['MISSING_THOUGHT_SIGNATURE', null],
    ['MALFORMED_RESPONSE', null],
    ['ESCALATION', 'content_filter'],
    ['PUP_LIMITED_DISABLED', null],
    ['A_REASON_OF_TOMORROW', 'stop'],
  ];

  test.each(reasons)('finish reason %s', (finishReason, expected) => {
    const body = (call: boolean) =>
      candidateWith({
        finishReason,
        content: { parts: [call ? { functionCall: { name: 'f' } } : { text: 'So' }] },
      });
    const whole = (call: boolean) => google.readAnswer(body(call), upstream).finishReason;
    const streamed = (call: boolean) =>
      google
        .openReader(upstream)(JSON.stringify(body(call)))
        .filter(({ type }) => type === 'finish' || type === 'failure');
    if (expected === null) {
      expect(codeOf(() => whole(false))).toBe('provider_unknown_error');
      expect(codeOf(() => streamed(false))).toBe('provider_stream_error');
    } else {
      expect([whole(false), whole(true)]).toEqual([expected, expected === 'stop' ? 'tool_calls' : expected]);
      expect(streamed(false)).toEqual([{ type: 'finish', reason: expected }]);
    }
  });

  test.each([
    // ai.google.dev/gemini-api/docs/api-errors
    ['an error', JSON.parse(fixture('error.json'))],
    ['nothing', {}],
    ['no object', 'x'],
    ['no candidate', { candidates: [] }],
    ['no reason', { candidates: [{ content: { parts: [{ text: 'x' }] } }] }],
    ['an unspecified reason', candidateWith({ finishReason: 'FINISH_REASON_UNSPECIFIED' })],
    ['a call that is none', parts({ functionCall: 'x' })],
    ['a call without a name', parts({ functionCall: { args: {} } })],
    ['a call with a list', parts({ functionCall: { name: 'f', args: [] } })],
  ])('not one: %s', (_name, body) => {
    expect(codeOf(() => google.readAnswer(body, upstream))).toBe('provider_unknown_error');
  });

  test('arguments nested without end are not a call', () => {
    const args = JSON.parse(`${'{"a":'.repeat(200_000)}1${'}'.repeat(200_000)}`);
    const body = parts({ functionCall: { name: 'f', args } });
    expect(codeOf(() => google.readAnswer(body, upstream))).toBe('provider_unknown_error');
  });
});

describe('usage', () => {
  const usageOf = (usageMetadata: unknown) =>
    google.readAnswer({ candidates: [{ finishReason: 'STOP' }], usageMetadata }, upstream).usage;

  test('what is not a count is not usage', () => {
    const good = { promptTokenCount: 3, candidatesTokenCount: 2 };
    const wrong = fc.constantFrom<unknown>(-1, 1.5, '3', null, {}, [], true, 2 ** 53);
    const field = fc.constantFrom(...Object.keys(good));
    fc.assert(
      fc.property(field, wrong, (name, value) => {
        expect(usageOf({ ...good, [name]: value })).toBeNull();
      }),
    );
    expect(usageOf({ candidatesTokenCount: 2, totalTokenCount: 5 })).toBeNull();
    // A gap is a zero only when the total says so.
    expect(usageOf({ promptTokenCount: 3 })).toBeNull();
    expect(usageOf({ promptTokenCount: 3, totalTokenCount: 5 })).toBeNull();
    expect(usageOf({ promptTokenCount: 3, totalTokenCount: 3 })).toEqual(reported(3, 0));
    expect(usageOf({ promptTokenCount: 2 ** 53 - 1, toolUsePromptTokenCount: 1 })).toBeNull();
    expect(usageOf({ promptTokenCount: 1, candidatesTokenCount: 2 ** 53 - 1, thoughtsTokenCount: 1 })).toBe(
      null,
    );
    for (const nothing of [undefined, null, 'x', [], 3]) expect(usageOf(nothing)).toBeNull();
  });
});

describe('stream', () => {
  // ai.google.dev/gemini-api/docs/text-generation, the series of streamed responses
  test('text, with the counts of the last event only', () => {
    expect(read(fixture('stream.sse'))).toEqual([
      { type: 'text', text: 'The photo shows' },
      { type: 'text', text: ' a wooden boat,\n\n*   **moored** in — très — calm water 🌊' },
      { type: 'text', text: '.' },
      { type: 'finish', reason: 'stop' },
      { type: 'usage', usage: reported(270, 84, { reasoningTokens: 61 }) },
    ]);
  });

  // ai.google.dev/gemini-api/docs/function-calling and /thought-signatures
  test('parallel calls, told apart over the whole stream', () => {
    const first = callId(requestId, 0, { signature: 'CpMCAdHtim8zK/0p+2g=', upstreamId: 'a9d0c1f2' });
    const second = callId(requestId, 1, { signature: null, upstreamId: 'b3e1d2a7' });
    expect(read(fixture('stream-parallel-calls.sse'))).toEqual([
      { type: 'tool_call', index: 0, id: first, name: 'tide_table' },
      { type: 'tool_arguments', index: 0, text: '{"harbour":"Brest"}' },
      { type: 'tool_call', index: 1, id: second, name: 'now' },
      { type: 'tool_arguments', index: 1, text: '{}' },
      { type: 'finish', reason: 'tool_calls' },
      { type: 'usage', usage: reported(71, 162, { reasoningTokens: 122 }) },
    ]);
  });

  // ai.google.dev/api/generate-content, PromptFeedback
  test('a blocked prompt', () => {
    expect(read(fixture('stream-prompt-blocked.sse'))).toEqual([
      { type: 'finish', reason: 'content_filter' },
      { type: 'usage', usage: reported(59, 0) },
    ]);
  });

  // ai.google.dev/gemini-api/docs/api-errors
  test('an error', () => {
    const reader = google.openReader(upstream);
    const [first, second] = new SseParser().push(fixture('stream-error.sse'));
    expect(reader(first ?? '')).toEqual([{ type: 'text', text: 'Low water is at' }]);
    expect(codeOf(() => reader(second ?? ''))).toBe('provider_stream_error');
  });

  test('counts that come after the reason', () => {
    const reader = google.openReader(upstream);
    const usage = (count: number) => ({ usageMetadata: { promptTokenCount: count, totalTokenCount: count } });
    const send = (chunk: object) => reader(JSON.stringify(chunk));
    expect(send(usage(1))).toEqual([]);
    expect(send({ candidates: [{ finishReason: 'STOP' }] })).toEqual([{ type: 'finish', reason: 'stop' }]);
    expect(send({ candidates: [{ finishReason: 'STOP' }], ...usage(7) })).toEqual([
      { type: 'usage', usage: reported(7, 0) },
    ]);
  });

  test.each(['', 'x', '[]', 'null', '[DONE]', '{"candidates":[{"content":{"parts":[{"functionCall":1}]}}]}'])(
    'a broken event: %s',
    (data) => {
      expect(codeOf(() => google.openReader(upstream)(data))).toBe('malformed_stream_chunk');
    },
  );

  test('the usage of an answer that failed, or exceeded a limit, is still read', () => {
    const usageMetadata = { promptTokenCount: 3, candidatesTokenCount: 4, totalTokenCount: 7 };
    const usage = { type: 'usage', usage: reported(3, 4) } as const;
    const reader = google.openReader(upstream);
    const failed = { finishReason: 'MALFORMED_FUNCTION_CALL', content: { parts: [{ text: 'So' }] } };
    expect(reader(JSON.stringify({ candidates: [failed], usageMetadata }))).toEqual([
      { type: 'text', text: 'So' },
      { type: 'failure', error: expect.any(ProviderError), isUsageLost: false },
      usage,
    ]);
    const calls = Array.from({ length: 1_001 }, () => ({ functionCall: { name: 'f' } }));
    const events = google.openReader(upstream)(
      JSON.stringify({ candidates: [{ finishReason: 'STOP', content: { parts: calls } }], usageMetadata }),
    );
    expect(events.filter(({ type }) => type === 'tool_call')).toHaveLength(1_000);
    expect(events.slice(-3)).toEqual([
      { type: 'failure', error: expect.any(ProviderError), isUsageLost: false },
      { type: 'finish', reason: 'tool_calls' },
      usage,
    ]);
  });

  test('is told the bound of the hold', () => {
    const { body } = google.chatRequest(
      { ...plain, maxTokens: 100 },
      { ...upstream, maxOutputTokens: 80 },
      true,
    );
    expect(JSON.parse(body).generationConfig.maxOutputTokens).toBe(80);
  });

  test('two streams know nothing of each other', () => {
    const text = fixture('stream-parallel-calls.sse');
    expect(read(text)).toEqual(read(text));
  });
});

describe('garbage', () => {
  const json = fc.jsonValue({ maxDepth: 2 });
  const some = (shape: Record<string, fc.Arbitrary<unknown>>) =>
    fc.oneof(
      { weight: 1, arbitrary: json },
      { weight: 4, arbitrary: fc.record(shape, { requiredKeys: [] }) },
    );
  const part = some({
    text: json,
    thought: json,
    thoughtSignature: json,
    functionCall: some({ name: fc.oneof(fc.string(), json), args: some({ a: json }), id: json }),
  });
  const garbage = some({
    error: fc.constantFrom(undefined, null, 1),
    promptFeedback: some({ blockReason: json }),
    usageMetadata: some({ promptTokenCount: json, candidatesTokenCount: json }),
    candidates: fc.array(
      some({
        content: some({ parts: fc.array(part, { maxLength: 3 }) }),
        finishReason: fc.oneof(fc.constantFrom('STOP', 'SAFETY', 'MALFORMED_FUNCTION_CALL'), json),
      }),
      { maxLength: 2 },
    ),
  });

  test('makes the reader fail with a ProviderError or not at all', () => {
    const seen = new Set<ErrorCode | null>();
    fc.assert(
      fc.property(fc.array(garbage, { maxLength: 4 }), (chunks) => {
        const reader = google.openReader(upstream);
        for (const chunk of chunks) seen.add(codeOf(() => reader(JSON.stringify(chunk))));
      }),
      { numRuns: 500 },
    );
    expect(seen).toEqual(new Set([null, 'malformed_stream_chunk', 'provider_stream_error']));
  });

  test('makes a non-streamed answer fail with a ProviderError or not at all', () => {
    const seen = new Set<ErrorCode | null>();
    fc.assert(
      fc.property(garbage, (body) => {
        seen.add(codeOf(() => google.readAnswer(body, upstream)));
      }),
      { numRuns: 2_000 },
    );
    expect(seen).toEqual(new Set([null, 'provider_unknown_error']));
  });

  test('is read from text of any kind', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        codeOf(() => google.openReader(upstream)(text));
      }),
    );
  });
});
