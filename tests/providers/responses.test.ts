/**
 * OpenAI's Responses format as the adapter writes and reads it. Every fixture follows the documented objects: the same form,
 * with other values.
 */
import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { SseParser } from '../../src/lib/sse.ts';
import type { ChatCall, ChatEvent, ToolResult } from '../../src/providers/chat.ts';
import { ChatReader } from '../../src/providers/chat-call.ts';
import { EventDecoder } from '../../src/providers/event-decoder.ts';
import { responses } from '../../src/providers/responses.ts';
import { type Dialect, defaultDialect, ProviderError, type Upstream } from '../../src/providers/upstream.ts';
import { emptyCall } from '../support/provider.ts';

const upstream: Upstream = {
  baseUrl: 'https://api.example/v1',
  apiKey: 'secret',
  model: 'some-model',
  maxOutputTokens: 2_048,
  dialect: { ...defaultDialect, strictTools: 'supported' },
  maker: 'openai/some-model',
  requestId: 'req_0198c1f2a3b4c5d6e7f8091a2b3c4d5e',
};
const seeing: Upstream = { ...upstream, showsReasoning: true };
const plainCall: ChatCall = { ...emptyCall, messages: [{ role: 'user', content: 'When?' }] };

const fixture = (name: string) => readFileSync(join(import.meta.dir, 'fixtures', 'responses', name), 'utf8');
const answerIn = (name: string, to = upstream) => responses.readAnswer(JSON.parse(fixture(name)), to);

function eventsIn(name: string, to = upstream): ChatEvent[] {
  const read = responses.openReader(to);
  return new SseParser().push(fixture(name)).flatMap((data) => [...read(data ?? '')]);
}

/** Reads these events, one after the other. */
function eventsOf(...events: readonly unknown[]): ChatEvent[] {
  const read = responses.openReader(seeing);
  return events.flatMap((event) => [...read(JSON.stringify(event))]);
}

/** The code of a failure, thrown or reported as an event after which reading continues. */
function codeOf(work: () => readonly ChatEvent[] | object): string | null {
  try {
    const result = work();
    const failed = Array.isArray(result)
      ? (result as ChatEvent[]).find(({ type }) => type === 'failure')
      : null;
    return failed?.type === 'failure' ? failed.error.code : null;
  } catch (error) {
    if (error instanceof ProviderError) return error.code;
    throw error;
  }
}

const meters = (freshInput: number, cacheRead: number, cacheWrite: number, output: number) => ({
  freshInput,
  cacheRead,
  cacheWrite,
  cacheWriteLong: 0,
  output,
});
const usage = (reading: object, reasoningTokens = 0) => ({
  readings: [reading],
  contradiction: null,
  reasoningTokens,
});
const signature = {
  value: '["rs_6f8a1c0e5b7481918a1d2c3b4a5968770bb6a6b452d3795b","gAAAAABpZmVycnktb2YtdGhlLW1vcm5pbmc="]',
  madeBy: 'openai/some-model',
};
const thought = '**Reading the timetable**\n\nFirst boat.\n\nThen the weather.';

describe('the request', () => {
  const bodyOf = (call: Partial<ChatCall>, to: Partial<Upstream> = {}, stream = false) =>
    JSON.parse(responses.chatRequest({ ...plainCall, ...call }, { ...upstream, ...to }, stream).body);
  const inputOf = (messages: ChatCall['messages'], to: Partial<Upstream> = {}) =>
    bodyOf({ messages }, to).input;

  test('goes to the address of the provider, with its key and our ID', () => {
    const { url, headers } = responses.chatRequest(plainCall, upstream, false);
    expect(url).toBe('https://api.example/v1/responses');
    expect(headers).toEqual({
      'content-type': 'application/json',
      'accept-encoding': 'identity',
      'x-client-request-id': upstream.requestId,
      authorization: 'Bearer secret',
    });
  });

  test('has what the client gave, the bound of the hold, and stores nothing', () => {
    expect(bodyOf({})).toEqual({
      model: 'some-model',
      input: [{ type: 'message', role: 'user', content: 'When?' }],
      max_output_tokens: 2_048,
      store: false,
    });
    expect(
      bodyOf(
        {
          temperature: 0,
          topP: 0.5,
          tools: [
            { name: 'wind', description: 'Feels it', parameters: { type: 'object' }, strict: null },
            { name: 'tide', description: null, parameters: null, strict: true },
          ],
          toolChoice: { functionName: 'wind' },
          parallelToolCalls: false,
          responseFormat: {
            type: 'json_schema',
            name: 's',
            description: null,
            schema: { a: 1 },
            strict: null,
          },
          effort: 'low',
          verbosity: 'high',
        },
        {
          showsReasoning: true,
          cacheKey: 'k',
          dialect: { ...defaultDialect, cacheKey: 'prompt_cache_key' },
          reasoning: { efforts: ['low', 'high'], effortsWithTools: ['low', 'high'], control: 'effort' },
          takesVerbosity: true,
        },
        true,
      ),
    ).toEqual({
      model: 'some-model',
      tools: [
        {
          type: 'function',
          name: 'wind',
          description: 'Feels it',
          parameters: { type: 'object' },
          strict: false,
        },
        { type: 'function', name: 'tide', parameters: { type: 'object', properties: {} }, strict: true },
      ],
      input: [{ type: 'message', role: 'user', content: 'When?' }],
      temperature: 0,
      max_output_tokens: 2_048,
      top_p: 0.5,
      tool_choice: { type: 'function', name: 'wind' },
      parallel_tool_calls: false,
      text: {
        format: { type: 'json_schema', name: 's', schema: { a: 1 }, strict: false },
        verbosity: 'high',
      },
      reasoning: { effort: 'low', summary: 'auto' },
      include: ['reasoning.encrypted_content'],
      prompt_cache_key: 'k',
      store: false,
      stream: true,
    });
  });

  test('a model that does not reason is asked for none, and one whose reasoning nobody sees for no more than its effort', () => {
    const reasoning = { efforts: ['low'], effortsWithTools: ['low'], control: 'effort' } as const;
    const fieldsOf = (to: Partial<Upstream>) => {
      const { reasoning: asked, include } = bodyOf({ effort: 'high' }, to);
      return { asked, include };
    };
    expect(fieldsOf({ showsReasoning: true })).toEqual({ asked: undefined, include: undefined });
    expect(fieldsOf({ showsReasoning: true, reasoning: null })).toEqual({
      asked: undefined,
      include: undefined,
    });
    expect(fieldsOf({ reasoning })).toEqual({ asked: { effort: 'low' }, include: undefined });
  });

  test.each(['auto', 'none', 'required'] as const)('tool choice %s', (toolChoice) => {
    expect(bodyOf({ toolChoice }).tool_choice).toBe(toolChoice);
  });

  test.each([
    ['none', undefined],
    ['prompt_cache_key', 'k'],
    ['x-grok-conv-id', 'k'],
  ] as const)('the cache key with the dialect %s', (cacheKey, sent) => {
    const { headers, body } = responses.chatRequest(
      plainCall,
      { ...upstream, cacheKey: 'k', dialect: { ...defaultDialect, cacheKey } },
      false,
    );
    expect(JSON.parse(body).prompt_cache_key).toBe(sent);
    expect(headers).not.toHaveProperty('x-grok-conv-id');
  });

  test('a conversation in its order, with instructions where they are', () => {
    const result = (content: ToolResult['content'], isError = false): ToolResult => ({
      role: 'tool',
      toolCallId: 'a',
      content,
      name: null,
      isError,
    });
    const image = { type: 'image', url: 'data:image/png;base64,AAAA', detail: null } as const;
    expect(
      inputOf([
        { role: 'system', content: 'Be brief.' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'See' },
            { ...image, detail: 'low' },
          ],
        },
        {
          role: 'assistant',
          items: [
            { type: 'text', text: 'First this.' },
            { type: 'tool_call', id: 'a', name: 'wind', arguments: ' ' },
            { type: 'text', text: '' },
            { type: 'tool_call', id: 'b', name: 'tide', arguments: '{"day":3}' },
          ],
        },
        result('21 degrees'),
        result('no wind', true),
        result([{ type: 'text', text: 'a map' }, image], true),
        { role: 'system', content: 'Be kind.' },
      ]),
    ).toEqual([
      { type: 'message', role: 'system', content: 'Be brief.' },
      {
        type: 'message',
        role: 'user',
        content: [
          { type: 'input_text', text: 'See' },
          { type: 'input_image', image_url: image.url, detail: 'low' },
        ],
      },
      { type: 'message', role: 'assistant', content: 'First this.' },
      { type: 'function_call', call_id: 'a', name: 'wind', arguments: '{}' },
      { type: 'function_call', call_id: 'b', name: 'tide', arguments: '{"day":3}' },
      { type: 'function_call_output', call_id: 'a', output: '21 degrees' },
      { type: 'function_call_output', call_id: 'a', output: 'Error: no wind' },
      {
        type: 'function_call_output',
        call_id: 'a',
        output: [
          { type: 'input_text', text: 'Error:' },
          { type: 'input_text', text: 'a map' },
          { type: 'input_image', image_url: image.url, detail: 'auto' },
        ],
      },
      { type: 'message', role: 'system', content: 'Be kind.' },
    ]);
  });

  test('an ID that is too long is recoded, in the call and in its result', () => {
    const id = 'x'.repeat(3_000);
    const [call, result, other] = inputOf([
      { role: 'assistant', items: [{ type: 'tool_call', id, name: 'f', arguments: '{}' }] },
      { role: 'tool', toolCallId: id, content: '', name: null, isError: false },
      { role: 'tool', toolCallId: `${id}y`, content: '', name: null, isError: false },
    ]);
    expect(call.call_id).toMatch(/^call_[0-9a-f]{40}$/);
    expect(result.call_id).toBe(call.call_id);
    expect(other.call_id).not.toBe(call.call_id);
  });

  test('reasoning goes back to whoever made it, under its own ID, and to nobody else', () => {
    const items = [
      { type: 'reasoning', text: 'Hm.', signature },
      { type: 'text', text: 'Yes.' },
    ] as const;
    const said = { type: 'message', role: 'assistant', content: 'Yes.' };
    expect(inputOf([{ role: 'assistant', items }])).toEqual([
      {
        type: 'reasoning',
        id: 'rs_6f8a1c0e5b7481918a1d2c3b4a5968770bb6a6b452d3795b',
        encrypted_content: 'gAAAAABpZmVycnktb2YtdGhlLW1vcm5pbmc=',
        summary: [{ type: 'summary_text', text: 'Hm.' }],
      },
      said,
    ]);
    expect(inputOf([{ role: 'assistant', items }], { maker: 'other/some-model' })).toEqual([said]);
    const [thoughtItem] = items;
    for (const odd of [null, { ...signature, value: 'abc' }, { ...signature, value: '[1,2]' }])
      expect(inputOf([{ role: 'assistant', items: [{ ...thoughtItem, signature: odd }, items[1]] }])).toEqual(
        [said],
      );
  });

  test.each<[string, Partial<ChatCall>, Partial<Dialect>?]>([
    ['stop', { stop: ['.'] }],
    ['seed', { seed: 0 }],
    ['presence_penalty', { presencePenalty: 0.1 }],
    [
      'tools',
      { tools: [{ name: 'f', description: null, parameters: null, strict: true }] },
      { strictTools: 'unsupported' },
    ],
    [
      'response_format',
      { responseFormat: { type: 'json_schema', name: 's', description: null, schema: null, strict: null } },
    ],
    [
      'messages',
      { messages: [{ role: 'user', content: [{ type: 'image', url: 'https://x/a.png', detail: null }] }] },
      { images: 'data' },
    ],
  ])('%s is refused by name', (param, call, dialect = {}) => {
    const found = responses.unsupported({ ...plainCall, ...call }, { ...upstream.dialect, ...dialect });
    expect(found?.param).toBe(param);
    const harmless = { ...plainCall, presencePenalty: 0 };
    expect(responses.unsupported(harmless, upstream.dialect)).toBeNull();
  });
});

describe('an answer', () => {
  test('with text, from a cache and into one', () => {
    expect<unknown>(answerIn('text.json')).toEqual({
      items: [{ type: 'text', text: 'The ferry leaves at 7:40.' }],
      finishReason: 'stop',
      usage: usage(meters(44, 512, 256, 9)),
    });
  });

  const calls = [
    { type: 'tool_call', id: 'call_a1', name: 'wind', arguments: '{"place":"Bergen"}' },
    { type: 'tool_call', id: 'call_b2', name: 'tide', arguments: '{"place":"Bergen","day":3}' },
  ];

  test('with calls, and reasoning where the client sees it', () => {
    const rest = { finishReason: 'tool_calls', usage: usage(meters(412, 0, 0, 90), 40) };
    expect<unknown>(answerIn('tools.json')).toEqual({ items: calls, ...rest });
    expect<unknown>(answerIn('tools.json', seeing)).toEqual({
      items: [{ type: 'reasoning', text: thought, signature }, ...calls],
      ...rest,
    });
  });

  test('that refuses says so', () => {
    expect(answerIn('refusal.json')).toMatchObject({
      items: [{ type: 'text', text: 'I will not sink the ferry.' }],
      finishReason: 'content_filter',
    });
  });

  test('that was cut short', () => {
    expect(answerIn('incomplete.json')).toMatchObject({ finishReason: 'length' });
    const filtered = { status: 'incomplete', incomplete_details: { reason: 'content_filter' }, output: [] };
    expect(responses.readAnswer(filtered, upstream)).toMatchObject({
      finishReason: 'content_filter',
      usage: null,
    });
  });

  test('that failed', () => {
    expect(codeOf(() => answerIn('failed.json'))).toBe('provider_unavailable');
    const failed = (code: string) => ({ status: 'failed', error: { code, message: 'x' }, output: [] });
    const read = (body: unknown) => codeOf(() => responses.readAnswer(body, upstream));
    expect(read(failed('rate_limit_exceeded'))).toBe('provider_rate_limit');
    expect(read(failed('invalid_prompt'))).toBe('provider_unknown_error');
  });

  const message = (content: unknown) => ({ status: 'completed', output: [{ type: 'message', content }] });
  const call = (fields: object) => ({
    status: 'completed',
    output: [{ type: 'function_call', call_id: 'a', name: 'f', arguments: '{}', ...fields }],
  });
  const unreadable: readonly unknown[] = [
    null,
    [],
    'x',
    {},
    { status: 'completed' },
    { output: [] },
    { status: 'in_progress', output: [] },
    { status: 'completed', output: [5] },
    { error: { message: 'x' } },
    message('x'),
    message([5]),
    message([{ type: 'output_text', text: 5 }]),
    message([{ type: 'refusal' }]),
    call({ name: '' }),
    call({ arguments: {} }),
    call({ arguments: '['.repeat(65) }),
    { status: 'completed', output: Array.from({ length: 1_001 }, () => call({}).output[0]) },
  ];
  test.each(unreadable.map((body) => ({ body })))('that cannot be read: %j', ({ body }) => {
    expect(codeOf(() => responses.readAnswer(body, upstream))).toBe('provider_unknown_error');
  });

  test('what is unknown is left out, and a call without an ID gets one', () => {
    const body = {
      status: 'completed',
      output: [{ type: 'web_search_call' }, ...call({ call_id: undefined }).output],
    };
    expect(responses.readAnswer(body, upstream).items).toEqual([
      {
        type: 'tool_call',
        id: `call_${upstream.requestId.slice(-24)}_0`,
        name: 'f',
        arguments: '{}',
      },
    ]);
  });

  test('its usage is found even if nothing else can be read', () => {
    expect<unknown>(responses.readUsage({ usage: { input_tokens: 3, output_tokens: 4 } })).toMatchObject({
      readings: [meters(3, 0, 0, 4)],
    });
    for (const body of [
      null,
      {},
      { usage: null },
      { usage: { input_tokens: 3 } },
      { usage: { input_tokens: -1, output_tokens: 1 } },
    ])
      expect(responses.readUsage(body)).toBeNull();
  });
});

describe('a stream', () => {
  const text = (value: string): ChatEvent => ({ type: 'text', text: value });
  const end: ChatEvent = { type: 'end' };

  test('with text', () => {
    expect<unknown>(eventsIn('text.sse')).toEqual([
      ...['The', ' ferry', ' leaves', ' at', ' 7', ':40', '.'].map(text),
      { type: 'finish', reason: 'stop' },
      { type: 'usage', usage: usage(meters(44, 512, 256, 9)) },
      end,
    ]);
  });

  test('with calls, and reasoning where the client sees it', () => {
    const argument = (index: number, written: string) => ({ type: 'tool_arguments', index, text: written });
    const rest = [
      { type: 'tool_call', index: 0, id: 'call_a1', name: 'wind' },
      ...['{"pl', 'ace":', '"Bergen"}'].map((written) => argument(0, written)),
      { type: 'tool_call', index: 1, id: 'call_b2', name: 'tide' },
      ...['{"pl', 'ace":', '"Bergen","day":3}'].map((written) => argument(1, written)),
      { type: 'finish', reason: 'tool_calls' },
      { type: 'usage', usage: usage(meters(412, 0, 0, 90), 40) },
      end,
    ];
    expect<unknown>(eventsIn('tools.sse')).toEqual(rest);
    const seen = eventsIn('tools.sse', seeing);
    const shown = seen.slice(0, -rest.length);
    expect<unknown>(seen.slice(-rest.length)).toEqual(rest);
    expect(shown.map((event) => (event.type === 'reasoning' ? event.text : '')).join('')).toBe(thought);
    expect<unknown>(shown.at(-1)).toEqual({ type: 'reasoning_end', signature });
  });

  test('that refuses, that is cut short and that fails', () => {
    expect(eventsIn('refusal.sse').slice(0, 3)).toEqual([
      text('I will not'),
      text(' sink the ferry.'),
      { type: 'finish', reason: 'content_filter' },
    ]);
    expect(eventsIn('incomplete.sse').at(-3)).toEqual({ type: 'finish', reason: 'length' });
    expect<unknown>(eventsIn('failed.sse')).toEqual([
      { type: 'failure', error: new ProviderError('provider_stream_error'), isUsageLost: false },
      { type: 'usage', usage: usage(meters(10, 0, 0, 3)) },
      end,
    ]);
  });

  const completed = (response: object | null = {}) => ({ type: 'response.completed', response });
  const added = (place: unknown, item: unknown) => ({
    type: 'response.output_item.added',
    output_index: place,
    item,
  });
  const done = (place: number, item: object) => ({
    type: 'response.output_item.done',
    output_index: place,
    item,
  });
  const aCall = { type: 'function_call', call_id: 'a', name: 'f', arguments: '' };

  test('whatever comes only whole is passed on whole, and only once', () => {
    const whole = { type: 'response.output_text.done', output_index: 0, content_index: 0, text: 'Hi' };
    expect(eventsOf(whole, whole)).toEqual([text('Hi')]);
    expect(eventsOf(added(1, aCall), done(1, { ...aCall, arguments: '{}' }))).toEqual([
      { type: 'tool_call', index: 0, id: 'a', name: 'f' },
      { type: 'tool_arguments', index: 0, text: '{}' },
    ]);
    expect(eventsOf(done(1, { ...aCall, arguments: '{}' }))).toHaveLength(2);
    const finished = { type: 'response.function_call_arguments.done', output_index: 1, arguments: '{}' };
    expect(eventsOf(added(1, aCall), finished, done(1, { ...aCall, arguments: '{}' }))).toHaveLength(2);
  });

  test('of a model that shows what it thinks, and of one that shows nothing', () => {
    const open = { type: 'response.reasoning_text.delta', output_index: 0, delta: 'Hm' };
    expect(eventsOf(open, done(0, { type: 'reasoning', id: 'rs_1', summary: [] }))).toEqual([
      { type: 'reasoning', text: 'Hm' },
      { type: 'reasoning_end', signature: null },
    ]);
    expect(eventsOf(done(0, { type: 'reasoning', id: 'rs_1', summary: [] }))).toEqual([]);
  });

  test('unknown events, the marker of another format and late data mean nothing', () => {
    expect(eventsOf({ type: 'response.web_search_call.searching' }, { type: 'keepalive' })).toEqual([]);
    expect(responses.openReader(upstream)('[DONE]')).toEqual([end]);
  });

  test.each([
    { type: 'error', code: 'server_error', message: 'x', param: null, sequence_number: 3 },
    { error: { message: 'x', type: 'server_error' } },
  ])('an error: %j', (event) => {
    expect(codeOf(() => eventsOf(event))).toBe('provider_stream_error');
  });

  test.each([
    [{}],
    [{ type: 5 }],
    [{ type: 'response.output_text.delta', output_index: 0, content_index: 0 }],
    [added('x', aCall)],
    [added(0, null)],
    [added(0, { ...aCall, name: '' })],
    [{ type: 'response.function_call_arguments.delta', output_index: 0, delta: '{' }],
    [completed(null)],
  ])('what cannot be read: %j', (event) => {
    expect(codeOf(() => eventsOf(event))).toBe('malformed_stream_chunk');
  });

  test('no more calls than an answer may have', () => {
    const many = Array.from({ length: 1_001 }, (_, place) => added(place, { ...aCall, call_id: `${place}` }));
    expect(codeOf(() => eventsOf(...many))).toBe('malformed_stream_chunk');
  });
});

describe('however the bytes are split', () => {
  const names = ['text.sse', 'tools.sse', 'refusal.sse', 'incomplete.sse', 'failed.sse'];

  test('a stream means the same', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...names),
        fc.array(fc.nat(), { maxLength: 40 }),
        fc.boolean(),
        (name, places, isPlain) => {
          const to = isPlain ? upstream : seeing;
          const bytes = Buffer.from(fixture(name));
          const ends = [...places.map((place) => place % bytes.length), bytes.length].sort((a, b) => a - b);
          const decoder = new EventDecoder(new ChatReader(() => responses.openReader(to), false));
          const events = ends.flatMap((stop, index) => [
            ...decoder.take(bytes.subarray(ends[index - 1] ?? 0, stop)),
          ]);
          expect(events).toEqual(eventsIn(name, to));
        },
      ),
    );
  });
});
