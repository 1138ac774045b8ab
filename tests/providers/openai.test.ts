/**
 * OpenAI's format as the adapter writes and reads it. Every fixture follows the page named next to it: the same form, byte
 * for byte, with other values.
 */
import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { type Meters, plainMeters } from '../../src/lib/meters.ts';
import { SseParser } from '../../src/lib/sse.ts';
import { type ChatAnswer, type ChatCall, type ChatEvent, toolCallsOf } from '../../src/providers/chat.ts';
import { openai } from '../../src/providers/openai.ts';
import { type Dialect, defaultDialect, ProviderError, type Upstream } from '../../src/providers/upstream.ts';
import { items, toolCall } from '../support/chat-messages.ts';
import { emptyCall } from '../support/provider.ts';
import { reported } from '../support/reported-usage.ts';

const upstream: Upstream = {
  baseUrl: 'https://api.example/v1',
  apiKey: 'secret',
  model: 'some-model',
  maxOutputTokens: null,
  dialect: defaultDialect,
  requestId: 'req_0198c1f2a3b4c5d6e7f8091a2b3c4d5e',
};
const plainCall: ChatCall = {
  ...emptyCall,
  messages: [{ role: 'user', content: 'When does the ferry leave?' }],
};

const fixture = (name: string) => readFileSync(join(import.meta.dir, 'fixtures', 'openai', name), 'utf8');
const answerIn = (name: string) => openai.readAnswer(JSON.parse(fixture(name)), upstream);

function eventsIn(name: string): ChatEvent[] {
  const read = openai.openReader(upstream);
  return new SseParser().push(fixture(name)).flatMap((data) => [...read(data ?? '')]);
}

/** Reads chunks whose only choice is this, one after the other. */
function eventsOf(...choices: object[]): ChatEvent[] {
  const read = openai.openReader(upstream);
  return choices.flatMap((choice) => [...read(JSON.stringify({ choices: [choice] }))]);
}

const toolDelta = (...items: unknown[]) => ({ index: 0, delta: { tool_calls: items } });

/** The code with which something fails; null when it does not. */
/** The code of a failure, thrown or reported as an event after which reading continues. */
function codeOf(work: () => unknown): string | null {
  try {
    const result = work();
    return Array.isArray(result) ? failureIn(result) : null;
  } catch (error) {
    if (error instanceof ProviderError) return error.code;
    throw error;
  }
}

function failureIn(events: readonly ChatEvent[]): string | null {
  const failed = events.find((event) => event.type === 'failure');
  return failed === undefined ? null : failed.error.code;
}

describe('the request', () => {
  const bodyOf = (
    call: Partial<ChatCall>,
    dialect: Partial<Dialect> = {},
    stream = false,
    maxOutputTokens: number | null = null,
  ) =>
    JSON.parse(
      openai.chatRequest(
        { ...plainCall, ...call },
        { ...upstream, dialect: { ...defaultDialect, ...dialect }, maxOutputTokens },
        stream,
      ).body,
    );

  test('goes to the address of the provider, with its key and our ID', () => {
    const { url, headers } = openai.chatRequest(plainCall, upstream, false);
    expect(url).toBe('https://api.example/v1/chat/completions');
    expect(headers).toEqual({
      'content-type': 'application/json',
      'accept-encoding': 'identity',
      'x-client-request-id': 'req_0198c1f2a3b4c5d6e7f8091a2b3c4d5e',
      authorization: 'Bearer secret',
    });
    expect(openai.chatRequest(plainCall, { ...upstream, apiKey: null }, false).headers).not.toHaveProperty(
      'authorization',
    );
  });

  test('has what the client gave and nothing else', () => {
    expect(bodyOf({})).toEqual({
      model: 'some-model',
      messages: [{ role: 'user', content: 'When does the ferry leave?' }],
    });
    expect(
      bodyOf({
        temperature: 0,
        topP: 0.5,
        stop: ['.'],
        presencePenalty: -1,
        tools: [{ name: 'wind', description: null, parameters: { type: 'object' }, strict: null }],
        toolChoice: { functionName: 'wind' },
        parallelToolCalls: false,
        responseFormat: { type: 'json_schema', name: 's', description: null, schema: {}, strict: true },
        seed: 0,
      }),
    ).toEqual({
      model: 'some-model',
      messages: [{ role: 'user', content: 'When does the ferry leave?' }],
      temperature: 0,
      top_p: 0.5,
      stop: ['.'],
      presence_penalty: -1,
      tools: [{ type: 'function', function: { name: 'wind', parameters: { type: 'object' } } }],
      tool_choice: { type: 'function', function: { name: 'wind' } },
      parallel_tool_calls: false,
      response_format: { type: 'json_schema', json_schema: { name: 's', schema: {}, strict: true } },
      seed: 0,
    });
  });

  test('is written in the dialect of the provider, with the bound of the hold', () => {
    const limits = { maxTokens: 9, seed: 3 };
    expect(bodyOf(limits, {}, false, 7)).toMatchObject({ max_tokens: 7, seed: 3 });
    const other = bodyOf(limits, { maxTokens: 'max_completion_tokens', seed: 'random_seed' }, false, 9);
    expect(other).toMatchObject({ max_completion_tokens: 9, random_seed: 3 });
    expect(other).not.toHaveProperty('max_tokens');
    expect(other).not.toHaveProperty('seed');
  });

  test('passes strict on to a server that honours it, and to no other', () => {
    const tools = [true, false, null].map((strict, index) => ({
      name: `wind_${index}`,
      description: null,
      parameters: null,
      strict,
    }));
    const sent = (dialect: Partial<Dialect>) =>
      (bodyOf({ tools }, dialect).tools as { function: object }[]).map(({ function: declared }) => declared);
    expect(sent({ strictTools: 'supported' })).toEqual([
      { name: 'wind_0', strict: true },
      { name: 'wind_1', strict: false },
      { name: 'wind_2' },
    ]);
    expect(sent({})).toEqual(tools.map(({ name }) => ({ name })));
    const refused = { param: 'tools', message: expect.stringContaining('strict') };
    expect(openai.unsupported({ ...plainCall, tools }, defaultDialect)).toEqual(refused);
    expect(openai.unsupported({ ...plainCall, tools: tools.slice(1) }, defaultDialect)).toBeNull();
    const strict = { ...defaultDialect, strictTools: 'supported' } as const;
    expect(openai.unsupported({ ...plainCall, tools }, strict)).toBeNull();
  });

  test('asks for usage in a stream, unless it always comes', () => {
    expect(bodyOf({}, {}, true)).toMatchObject({ stream: true, stream_options: { include_usage: true } });
    const always = bodyOf({}, { streamUsage: 'always' }, true);
    expect(always.stream).toBe(true);
    expect(always).not.toHaveProperty('stream_options');
    expect(bodyOf({}, {}, false)).not.toHaveProperty('stream_options');
  });

  test('cannot give an image by URL to a server that needs it inline', () => {
    const withImages = (...urls: string[]): ChatCall => ({
      ...plainCall,
      messages: [
        { role: 'system', content: 'https://a.example' },
        {
          role: 'user',
          content: urls.map((url) => ({ type: 'image', url, detail: null })),
        },
      ],
    });
    const data = { ...defaultDialect, images: 'data' } as const;
    const named = withImages('data:image/png;base64,AA==', 'https://a.example/boat.png');
    expect(openai.unsupported(named, defaultDialect)).toBeNull();
    expect(openai.unsupported(named, data)).toEqual({
      param: 'messages',
      message: 'This model takes images as data: URLs only.',
    });
    expect(
      openai.unsupported(withImages('data:image/png;base64,AA==', 'DATA:image/png;base64,AA=='), data),
    ).toBeNull();
    expect(openai.unsupported(plainCall, data)).toBeNull();
  });
});

const read = (freshInput: number, cacheRead: number, output: number): Meters => ({
  freshInput,
  cacheRead,
  cacheWrite: 0,
  cacheWriteLong: 0,
  output,
});

describe('a whole answer', () => {
  // platform.openai.com/docs/api-reference/chat/object
  test('of text', () => {
    expect(answerIn('completion.json')).toEqual({
      items: items('The ferry leaves at six.'),
      finishReason: 'stop',
      usage: reported(0, 0, { readings: [read(7, 16, 7)], reasoningTokens: 0 }),
    });
  });

  // platform.openai.com/docs/api-reference/chat/create, the example with functions
  test('that calls a tool', () => {
    expect(answerIn('completion-tools.json')).toEqual({
      items: [toolCall('call_k3Jd82', 'tide_table', '{\n"harbour": "Husum"\n}')],
      finishReason: 'tool_calls',
      usage: reported(82, 17, { reasoningTokens: 0 }),
    });
  });

  // api-docs.deepseek.com/guides/thinking_mode
  test('of DeepSeek: the reasoning is skipped, and counted where it is', () => {
    expect(answerIn('deepseek-completion.json')).toMatchObject({
      items: items('Two boats.'),
      usage: reported(12, 41, { reasoningTokens: 37 }),
    });
  });

  // docs.x.ai/docs/key-information/consumption-and-rate-limits
  test('of xAI: reasoning is next to the completion, and still output', () => {
    expect(answerIn('xai-completion.json').usage).toEqual(
      reported(0, 0, { readings: [read(26, 6, 115)], reasoningTokens: 112 }),
    );
  });

  // docs.mistral.ai/capabilities/reasoning
  test('of Mistral: the text of the parts, without the thinking; the limit of the model is a limit', () => {
    expect(answerIn('mistral-completion.json')).toEqual({
      items: items('Six boats.'),
      finishReason: 'length',
      usage: reported(14, 22),
    });
  });

  const whole = (message: unknown, finishReason: unknown = 'stop', rest: object = {}): ChatAnswer =>
    openai.readAnswer({ choices: [{ index: 0, message, finish_reason: finishReason }], ...rest }, upstream);
  const calling = (...toolCalls: unknown[]) => ({ role: 'assistant', content: null, tool_calls: toolCalls });

  test('in parts has the text of those that are text', () => {
    const parts = [
      { type: 'thinking', text: 'hm' },
      { type: 'text', text: 'a' },
      null,
      { type: 'text', text: 5 },
    ];
    expect(whole({ content: parts }).items).toEqual(items('a'));
    expect(whole({ content: [] }).items).toEqual(items(''));
  });

  test('that calls tools ends so, whatever the server says, unless it was cut off', () => {
    const call = { id: 'a', type: 'function', function: { name: 'wind', arguments: '{}' } };
    expect(whole(calling(call), 'stop').finishReason).toBe('tool_calls');
    expect(whole(calling(call), 'tool_use').finishReason).toBe('tool_calls');
    expect(whole(calling(call), 'length').finishReason).toBe('length');
    expect(whole({ content: 'a', tool_calls: [] }, 'stop').finishReason).toBe('stop');
  });

  test('with arguments as an object, or a call without an ID, can be answered', () => {
    const { items: written } = whole(
      calling(
        { function: { name: 'wind', arguments: { at: 'noon', __proto__: 1 } } },
        { id: '', function: { name: 'tide', arguments: '{}' } },
        { id: 'own', function: { name: 'none' } },
      ),
    );
    expect(written).toEqual([
      toolCall('call_a3b4c5d6e7f8091a2b3c4d5e_0', 'wind', '{"at":"noon"}'),
      toolCall('call_a3b4c5d6e7f8091a2b3c4d5e_1', 'tide'),
      toolCall('own', 'none', ''),
    ]);
    for (const { id } of toolCallsOf(written)) expect(id.length).toBeLessThanOrEqual(40);
  });

  test.each([
    ['an error with the status of a success', { error: { message: 'x' } }, 'provider_unknown_error'],
    [
      'an error beside an answer',
      { error: 'x', choices: [{ message: { content: 'a' }, finish_reason: 'stop' }] },
      'provider_unknown_error',
    ],
    ['no choices', { choices: [] }, 'provider_unknown_error'],
    ['a list', [], 'provider_unknown_error'],
    ['nothing', null, 'provider_unknown_error'],
    ['no reason', { choices: [{ message: { content: 'a' } }] }, 'provider_unknown_error'],
    [
      'content that is none',
      { choices: [{ message: { content: 5 }, finish_reason: 'stop' }] },
      'provider_unknown_error',
    ],
    [
      'a call without a name',
      { choices: [{ message: calling({ id: 'a', function: { arguments: '{}' } }), finish_reason: 'stop' }] },
      'provider_unknown_error',
    ],
    [
      'arguments that are a list',
      {
        choices: [
          { message: calling({ id: 'a', function: { name: 'b', arguments: [] } }), finish_reason: 'stop' },
        ],
      },
      'provider_unknown_error',
    ],
    // api-docs.deepseek.com/api/create-chat-completion
    [
      'DeepSeek out of resources',
      { choices: [{ message: { content: 'a' }, finish_reason: 'insufficient_system_resource' }] },
      'provider_unavailable',
    ],
    // docs.mistral.ai/api, ChatCompletionChoice
    [
      'Mistral with an error',
      { choices: [{ message: { content: 'a' }, finish_reason: 'error' }] },
      'provider_unavailable',
    ],
  ])('is none: %s', (_title, body, code) => {
    expect(codeOf(() => openai.readAnswer(body, upstream))).toBe(code);
  });

  test('takes an error of null for none, and the first choice of several', () => {
    const choices = [
      { index: 1, message: { content: 'other' }, finish_reason: 'stop' },
      { index: 0, message: { content: 'first' }, finish_reason: 'length' },
    ];
    expect(openai.readAnswer({ error: null, choices }, upstream)).toEqual({
      items: items('first'),
      finishReason: 'length',
      usage: null,
    });
  });
});

describe('usage', () => {
  const count = fc.integer({ min: 0, max: 2 ** 40 });
  const usageOf = (usage: unknown) =>
    openai.readAnswer({ choices: [{ message: { content: '' }, finish_reason: 'stop' }], usage }, upstream)
      .usage;

  test('counts reasoning exactly once, inside completion_tokens or next to it', () => {
    fc.assert(
      fc.property(count, count, count, (input, text, reasoning) => {
        const details = { completion_tokens_details: { reasoning_tokens: reasoning } };
        const expected = reported(input, text + reasoning, { reasoningTokens: reasoning });
        const inside = {
          prompt_tokens: input,
          completion_tokens: text + reasoning,
          total_tokens: input + text + reasoning,
          ...details,
        };
        expect(usageOf(inside)).toEqual(expected);
        expect(usageOf({ ...inside, completion_tokens: text })).toEqual(expected);
        // Without a total nothing shows which it is, and the documented form counts.
        expect(usageOf({ ...inside, total_tokens: undefined })).toEqual(expected);
      }),
    );
  });

  test.each([
    ['nothing', null],
    ['no numbers', {}],
    ['half of it', { prompt_tokens: 1 }],
    ['negative', { prompt_tokens: -1, completion_tokens: 1 }],
    ['not whole', { prompt_tokens: 1.5, completion_tokens: 1 }],
    ['text', { prompt_tokens: '1', completion_tokens: 1 }],
    ['beyond what is exact', { prompt_tokens: 2 ** 53, completion_tokens: 1 }],
  ])('that makes no sense is none: %s', (_title, usage) => {
    expect(usageOf(usage)).toBeNull();
  });

  test('whose sum is beyond what is exact is not summed up', () => {
    const most = Number.MAX_SAFE_INTEGER;
    const usage = { prompt_tokens: 0, completion_tokens: most, total_tokens: most + 1 };
    const details = { completion_tokens_details: { reasoning_tokens: 1 } };
    expect(usageOf({ ...usage, ...details })?.readings).toEqual([plainMeters(0, most)]);
  });
});

describe('a stream', () => {
  // platform.openai.com/docs/api-reference/chat-streaming
  test('of text', () => {
    expect(eventsIn('stream.sse')).toEqual([
      { type: 'text', text: 'Low' },
      { type: 'text', text: ' tide' },
      { type: 'finish', reason: 'stop' },
      { type: 'usage', usage: reported(19, 2, { reasoningTokens: 0 }) },
      { type: 'end' },
    ]);
  });

  // platform.openai.com/docs/guides/function-calling#streaming
  test('of calls to tools, in pieces', () => {
    expect(eventsIn('stream-tools.sse')).toEqual([
      { type: 'tool_call', index: 0, id: 'call_Aa1', name: 'tide_table' },
      { type: 'tool_arguments', index: 0, text: '{"harbour":' },
      { type: 'tool_arguments', index: 0, text: '"Husum"}' },
      { type: 'tool_call', index: 1, id: 'call_Bb2', name: 'wind' },
      { type: 'tool_arguments', index: 1, text: '{}' },
      { type: 'finish', reason: 'tool_calls' },
      { type: 'usage', usage: reported(71, 31) },
      { type: 'end' },
    ]);
  });

  // docs.mistral.ai/capabilities/reasoning and docs.mistral.ai/api, CompletionChunk
  test('of Mistral: parts, thinking, a whole call in one chunk, usage unasked', () => {
    expect(eventsIn('mistral-stream.sse')).toEqual([
      { type: 'text', text: 'At' },
      { type: 'text', text: ' noon' },
      { type: 'tool_call', index: 0, id: 'k9Qw3Er7T', name: 'wind' },
      { type: 'tool_arguments', index: 0, text: '{"at": "12:00"}' },
      { type: 'finish', reason: 'tool_calls' },
      { type: 'usage', usage: reported(55, 28) },
      { type: 'end' },
    ]);
  });

  // platform.kimi.ai/docs/api/chat
  test('of Moonshot: usage inside the choice', () => {
    expect(eventsIn('moonshot-stream.sse')).toEqual([
      { type: 'text', text: 'West' },
      { type: 'finish', reason: 'stop' },
      { type: 'usage', usage: reported(19, 13) },
      { type: 'end' },
    ]);
  });

  // console.groq.com/docs/api-reference#chat-create
  test('of Groq: usage in its own field', () => {
    expect(eventsIn('groq-stream.sse')).toEqual([
      { type: 'text', text: 'Calm' },
      { type: 'finish', reason: 'stop' },
      { type: 'usage', usage: reported(78, 21) },
      { type: 'end' },
    ]);
  });

  test('with usage in two places counts that of the chunk', () => {
    const one = { prompt_tokens: 1, completion_tokens: 1 };
    const two = { prompt_tokens: 2, completion_tokens: 2 };
    const read = openai.openReader(upstream);
    const chunk = { choices: [{ delta: {}, usage: one }], usage: two, x_groq: { usage: one } };
    expect(read(JSON.stringify(chunk))).toEqual([{ type: 'usage', usage: reported(2, 2) }]);
  });

  test.each([
    ['no JSON', '{', 'malformed_stream_chunk'],
    ['no object', '[]', 'malformed_stream_chunk'],
    ['an error', '{"error":{"message":"x"}}', 'provider_stream_error'],
    [
      'an error of Groq',
      '{"choices":[],"x_groq":{"id":"a","error":"over_capacity"}}',
      'provider_stream_error',
    ],
    [
      'DeepSeek out of resources',
      '{"choices":[{"delta":{},"finish_reason":"insufficient_system_resource"}]}',
      'provider_stream_error',
    ],
    ['Mistral with an error', '{"choices":[{"delta":{},"finish_reason":"error"}]}', 'provider_stream_error'],
  ])('that breaks: %s', (_title, data, code) => {
    expect(codeOf(() => openai.openReader(upstream)(data))).toBe(code);
  });
});

describe('calls to tools in a stream', () => {
  test('without an index: an ID begins a call, and what has none goes on with the last', () => {
    expect(
      eventsOf(
        toolDelta({ id: 'a', function: { name: 'wind', arguments: '{"at":' } }),
        toolDelta({ function: { arguments: '1}' } }),
        toolDelta(
          { id: 'b', function: { name: 'tide', arguments: '{}' } },
          { id: 'c', function: { name: 'wind', arguments: '{"at":2' } },
        ),
        toolDelta({ id: 'c', function: { arguments: '}' } }),
        { index: 0, delta: {}, finish_reason: 'stop' },
      ),
    ).toEqual([
      { type: 'tool_call', index: 0, id: 'a', name: 'wind' },
      { type: 'tool_arguments', index: 0, text: '{"at":' },
      { type: 'tool_arguments', index: 0, text: '1}' },
      { type: 'tool_call', index: 1, id: 'b', name: 'tide' },
      { type: 'tool_arguments', index: 1, text: '{}' },
      { type: 'tool_call', index: 2, id: 'c', name: 'wind' },
      { type: 'tool_arguments', index: 2, text: '{"at":2' },
      { type: 'tool_arguments', index: 2, text: '}' },
      { type: 'finish', reason: 'tool_calls' },
    ]);
  });

  test('without an index or an ID: a name begins a call, and it gets an ID', () => {
    const made = 'call_a3b4c5d6e7f8091a2b3c4d5e';
    expect(
      eventsOf(
        toolDelta({ function: { name: 'wind', arguments: { at: 1 } } }),
        toolDelta({ id: '', function: { name: 'tide', arguments: null } }),
      ),
    ).toEqual([
      { type: 'tool_call', index: 0, id: `${made}_0`, name: 'wind' },
      { type: 'tool_arguments', index: 0, text: '{"at":1}' },
      { type: 'tool_call', index: 1, id: `${made}_1`, name: 'tide' },
    ]);
  });

  test('with an index: an ID that is missing is made, and one that is repeated begins nothing', () => {
    expect(
      eventsOf(
        toolDelta({ index: 3, function: { name: 'wind', arguments: '' } }),
        toolDelta({ index: 3, function: { name: 'wind', arguments: '{' } }),
        toolDelta({ index: 4, id: 'b', function: { name: 'tide', arguments: '' } }),
        toolDelta({ index: 4, id: 'b', function: { name: 'tide', arguments: '{' } }),
        toolDelta({ index: 3, function: { arguments: '}' } }),
      ),
    ).toEqual([
      { type: 'tool_call', index: 0, id: 'call_a3b4c5d6e7f8091a2b3c4d5e_0', name: 'wind' },
      { type: 'tool_arguments', index: 0, text: '{' },
      { type: 'tool_call', index: 1, id: 'b', name: 'tide' },
      { type: 'tool_arguments', index: 1, text: '{' },
      { type: 'tool_arguments', index: 0, text: '}' },
    ]);
  });

  test('that all have the index 0 are told apart by ID and name', () => {
    expect(
      eventsOf(
        toolDelta({ index: 0, id: 'a', function: { name: 'wind', arguments: '{"at":1}' } }),
        toolDelta({ index: 0, id: 'b', function: { name: 'wind', arguments: '{"at":2}' } }),
      ),
    ).toEqual([
      { type: 'tool_call', index: 0, id: 'a', name: 'wind' },
      { type: 'tool_arguments', index: 0, text: '{"at":1}' },
      { type: 'tool_call', index: 1, id: 'b', name: 'wind' },
      { type: 'tool_arguments', index: 1, text: '{"at":2}' },
    ]);
  });

  test.each([
    ['no object', 5],
    ['no name', { index: 0, id: 'a', function: { arguments: '' } }],
    ['an empty name', { index: 0, id: 'a', function: { name: '', arguments: '' } }],
    ['no function', { index: 0, id: 'a' }],
    ['an index that is none', { index: -1, id: 'a', function: { name: 'b' } }],
    ['arguments that are a number', { index: 0, id: 'a', function: { name: 'b', arguments: 5 } }],
  ])('that make no sense: %s', (_title, item) => {
    expect(codeOf(() => eventsOf(toolDelta(item)))).toBe('malformed_stream_chunk');
  });

  test('that go beyond a limit do not keep the usage from being read', () => {
    const deep = `${'{"a":'.repeat(65)}1${'}'.repeat(65)}`;
    const read = openai.openReader(upstream);
    const chunk = `{"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"b","arguments":${deep}}}]}}]}`;
    expect(read(chunk).map(({ type }) => type)).toEqual(['tool_call', 'failure']);
    const last =
      '{"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":4}}';
    expect(read(last)).toContainEqual({ type: 'usage', usage: reported(3, 4) });
  });

  test('that never end, or are nested too deeply, are refused', () => {
    const endless = Array.from({ length: 1_001 }, (_, index) => ({
      id: `${index}`,
      function: { name: 'a' },
    }));
    expect(codeOf(() => eventsOf(toolDelta(...endless)))).toBe('malformed_stream_chunk');
    const deep = `${'{"a":'.repeat(200_000)}1${'}'.repeat(200_000)}`;
    const chunk = `{"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"b","arguments":${deep}}}]}}]}`;
    expect(codeOf(() => openai.openReader(upstream)(chunk))).toBe('malformed_stream_chunk');
  });

  const text = fc.string({ minLength: 1, maxLength: 5 });
  const calls = fc.array(fc.record({ name: text, pieces: fc.array(text, { maxLength: 4 }) }), {
    maxLength: 5,
  });

  /** What a client assembles from the events. */
  function assembled(events: readonly ChatEvent[]): { name: string; arguments: string }[] {
    const made: { name: string; arguments: string }[] = [];
    for (const event of events) {
      if (event.type === 'tool_call') {
        expect(event.index).toBe(made.length);
        made.push({ name: event.name, arguments: '' });
      }
      if (event.type === 'tool_arguments') (made[event.index] ?? { arguments: '' }).arguments += event.text;
    }
    return made;
  }

  test('arrive as they were sent, with an index in any order and without one in a row', () => {
    fc.assert(
      fc.property(calls, fc.infiniteStream(fc.nat()), fc.boolean(), (sent, random, hasIds) => {
        const expected = sent.map(({ name, pieces }) => ({ name, arguments: pieces.join('') }));
        const id = (index: number) => (hasIds ? { id: `id${index}` } : {});
        const first = sent.map(({ name }, index) => ({
          index,
          ...id(index),
          function: { name, arguments: '' },
        }));
        const left = sent.map(({ pieces }) => [...pieces]);
        const mixed: object[] = [];
        while (left.some((pieces) => pieces.length > 0)) {
          const open = left.flatMap((pieces, index) => (pieces.length > 0 ? [index] : []));
          const index = open[random.next().value % open.length] ?? 0;
          mixed.push({ index, function: { arguments: left[index]?.shift() } });
        }
        expect(assembled(eventsOf(...[...first, ...mixed].map((item) => toolDelta(item))))).toEqual(expected);

        const inARow = sent.flatMap(({ name, pieces }, index) => [
          { ...id(index), function: { name } },
          ...pieces.map((piece) => ({ function: { arguments: piece } })),
        ]);
        expect(assembled(eventsOf(...inARow.map((item) => toolDelta(item))))).toEqual(expected);
        expect(assembled(eventsOf(toolDelta(...inARow)))).toEqual(expected);
      }),
    );
  });
});

describe('whatever JSON a provider sends', () => {
  /** JSON with the names of the format in it, so that its values are read. */
  const { anything } = fc.letrec((tie) => ({
    anything: fc.oneof(
      { depthSize: 'medium', withCrossShrink: true },
      fc.constantFrom(null, true, 0, 1, -1, 1.5, 2 ** 53, '', 'a', 'stop', 'error', 'text', '{'),
      fc.array(tie('anything'), { maxLength: 3 }),
      fc.dictionary(
        fc.constantFrom(
          ...['choices', 'delta', 'message', 'index', 'tool_calls', 'function', 'name', 'arguments', 'id'],
          ...['content', 'type', 'text', 'finish_reason', 'usage', 'prompt_tokens', 'completion_tokens'],
          ...[
            'total_tokens',
            'completion_tokens_details',
            'reasoning_tokens',
            'x_groq',
            'error',
            '__proto__',
          ],
        ),
        tie('anything'),
        { maxKeys: 6 },
      ),
    ),
  }));
  const choice = fc.dictionary(fc.constantFrom('delta', 'message', 'finish_reason', 'usage'), anything);
  const body = fc.oneof(
    fc.jsonValue(),
    anything,
    fc.record({ choices: fc.array(choice, { maxLength: 2 }), usage: anything }),
  );

  test('only a ProviderError comes of it, or an answer', () => {
    fc.assert(
      fc.property(body, (value) => {
        // codeOf passes on whatever is not a ProviderError.
        codeOf(() => openai.readAnswer(JSON.parse(JSON.stringify(value)), upstream));
      }),
      { numRuns: 2_000 },
    );
  });

  test('only a ProviderError comes of it, or events', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.oneof(
            body.map((value) => JSON.stringify(value)),
            fc.string(),
          ),
        ),
        (chunks) => {
          const read = openai.openReader(upstream);
          const seen: ChatEvent[] = [];
          codeOf(() => {
            for (const data of chunks) seen.push(...read(data));
          });
          // Arguments belong to a call that has begun.
          const begun = new Set<number>();
          for (const event of seen) {
            if (event.type === 'tool_call') begun.add(event.index);
            if (event.type === 'tool_arguments') expect(begun.has(event.index)).toBe(true);
          }
        },
      ),
      { numRuns: 2_000 },
    );
  });
});
