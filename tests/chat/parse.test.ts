import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { z } from 'zod';
import { inputBound } from '../../src/chat/bounds.ts';
import { type AskedOfCompletions, parseChat } from '../../src/chat/completions/parse.ts';
import { chatRequestSchema } from '../../src/chat/completions/schema.ts';
import type { ChatRequest } from '../../src/chat/request.ts';
import { ApiError, errorTable } from '../../src/errors.ts';
import { type ChatCall, type ChatMessage, textOrNull, toolCallsOf } from '../../src/providers/chat.ts';
import {
  asking,
  basic,
  call,
  type Fields,
  image,
  jsonSchema,
  look,
  parts,
  plus,
  present,
  refusalOf,
  talk,
  toolFunction,
  tools,
  url,
  user,
  without,
} from '../support/chat-bodies.ts';
import { assistant, orderOf, toolCall, toolResult } from '../support/chat-messages.ts';
import { emptyCall, testModel as model } from '../support/provider.ts';

type Row = readonly [param: string | undefined, body: unknown];
type Rows = readonly Row[];

function expectRefusals(code: string, rows: Rows): void {
  const named = rows.map(([param, body]) => [param, JSON.stringify(body)?.slice(0, 160), body] as const);
  test.each(named)('%s: %s', (param, _, body) => {
    const refusal = refusalOf(() => parseChat(body));
    expect({ code: refusal.code as string, param: refusal.param }).toEqual({ code, param });
    expect(refusal.message.length).toBeLessThan(400);
  });
}

describe('invalid_request', () => {
  const rows: Rows = [5, 'text', null, true, [], [basic], undefined].map((body) => [undefined, body]);
  expectRefusals('invalid_request', rows);
});

describe('missing_required_parameter', () => {
  const rows: Rows = [
    ['model', {}],
    ['model', without(basic, 'model')],
    ['messages', without(basic, 'messages')],
    ['messages[0].role', talk({})],
    ['messages[0].role', talk({ content: 'Hello' })],
    ['messages[1].role', talk(user, {})],
    ['messages[0].content', talk({ role: 'system' })],
    ['messages[0].content', talk({ role: 'user' })],
    ['messages[0].content', talk({ role: 'assistant' })],
    ['messages[1].content', talk(asking, { role: 'tool', tool_call_id: 'call_1' })],
    ['messages[1].tool_call_id', talk(asking, { role: 'tool', content: 'x' })],
    ['messages[0].content[0].type', parts({})],
    ['messages[0].content[1].text', parts({ type: 'text', text: 'x' }, { type: 'text' })],
    ['messages[0].content[0].image_url', parts({ type: 'image_url' })],
    ['messages[0].content[0].image_url.url', image({})],
    ['messages[0].tool_calls[0].id', talk({ ...asking, tool_calls: [without(call, 'id')] })],
    ['messages[0].tool_calls[0].type', talk({ ...asking, tool_calls: [without(call, 'type')] })],
    ['messages[0].tool_calls[0].function', talk({ ...asking, tool_calls: [without(call, 'function')] })],
    [
      'messages[0].tool_calls[1].function.name',
      talk({ ...asking, tool_calls: [call, { ...call, id: '2', function: { arguments: '' } }] }),
    ],
    [
      'messages[0].tool_calls[0].function.arguments',
      talk({ ...asking, tool_calls: [{ ...call, function: { name: 'look' } }] }),
    ],
    ['tool_choice.type', plus({ tools: [look], tool_choice: {} })],
    ['tool_choice.function', plus({ tools: [look], tool_choice: { type: 'function' } })],
    ['tool_choice.function.name', plus({ tools: [look], tool_choice: { type: 'function', function: {} } })],
    ['response_format.type', plus({ response_format: {} })],
    ['response_format.json_schema', plus({ response_format: { type: 'json_schema' } })],
    ['response_format.json_schema.name', jsonSchema({})],
  ];
  expectRefusals('missing_required_parameter', rows);
});

describe('unsupported_parameter', () => {
  const named =
    'max_completion_tokens frequency_penalty user n logprobs top_logprobs reasoning reasoning_effort'.split(
      ' ',
    );
  const rows: Rows = [
    ...named.map((name): Row => [name, plus({ [name]: 1 })]),
    ...named.map((name): Row => [name, plus({ [name]: null })]),
    ['functions', plus({ functions: [] })],
    ['metadata', plus({ metadata: {} })],
    ['prompt', { prompt: 'Hello' }],
    ['["odd key"]', plus({ 'odd key': 1 })],
    ['constructor', plus({ constructor: 1 })],
    ['toString', plus({ toString: 1 })],
    ['__proto__', JSON.parse('{"model":"m","messages":[{"role":"user","content":"x"}],"__proto__":{}}')],
    // An unknown field of the body comes before whatever else is wrong.
    ['n', { model: 5, messages: [{ role: 'nobody' }], n: 1 }],
    ['b', { model: 5, b: 1, a: 1 }],
    ['tool_choice', plus({ tools: [look], tool_choice: 'required' })],
    ['tool_choice', plus({ tool_choice: 'required' })],
    ['messages[0].name', talk({ ...user, name: 'Ann' })],
    ['messages[0].name', talk({ role: 'system', content: 'x', name: 'Ann' })],
    ['messages[0].tool_calls', talk({ ...user, tool_calls: [call] })],
    ...(['refusal', 'annotations', 'audio', 'function_call', 'parsed', 'name'] as const).flatMap(
      (name): Rows =>
        ['', 0, false, [], {}, 'x'].map((value) => [
          `messages[0].${name}`,
          talk({ role: 'assistant', content: 'x', [name]: value }),
        ]),
    ),
    ['messages[0].refusal', talk({ ...user, refusal: 'No.' })],
    ['messages[0].tool_calls', talk({ ...user, tool_calls: [] })],
    [
      'messages[0].__proto__',
      JSON.parse('{"model":"m","messages":[{"role":"user","content":"","__proto__":1}]}'),
    ],
    ['messages[0].content[0].cache_control', parts({ type: 'text', text: 'x', cache_control: {} })],
    ['messages[0].content[0].image_url.size', image({ url, size: 1 })],
    ['messages[0].tool_calls[0].status', talk({ ...asking, tool_calls: [{ ...call, status: 0 }] })],
    [
      'messages[0].tool_calls[0].function.output',
      talk({ ...asking, tool_calls: [{ ...call, function: { ...call.function, output: 1 } }] }),
    ],
    [
      'tool_choice.function.strict',
      plus({ tools: [look], tool_choice: { type: 'function', function: { name: 'look', strict: true } } }),
    ],
    ['response_format.schema', plus({ response_format: { type: 'json_object', schema: {} } })],
    ['response_format.json_schema', plus({ response_format: { type: 'text', json_schema: {} } })],
    ['response_format.json_schema.example', jsonSchema({ name: 'x', example: 1 })],
    [
      'stream_options.include_obfuscation',
      plus({ stream: true, stream_options: { include_obfuscation: true } }),
    ],
    [`${'x'.repeat(100)}…`, plus({ ['x'.repeat(5_000)]: 1 })],
  ];
  expectRefusals('unsupported_parameter', rows);
});

describe('invalid_parameter: messages', () => {
  const rows: Rows = [
    ['messages', { model: 'm', messages: [] }],
    ['messages', { model: 'm', messages: {} }],
    ['messages', { model: 'm', messages: 'Hello' }],
    ['messages', { model: 'm', messages: null }],
    ['messages[0]', talk('Hello')],
    ['messages[0]', talk(null)],
    ['messages[0]', talk([])],
    ['messages[1]', talk(user, 1, 2)],
    ['messages[0].role', talk({ role: 'developer', content: 'x' })],
    ['messages[0].role', talk({ role: 'User', content: 'x' })],
    ['messages[0].role', talk({ role: 'function', content: 'x' })],
    ['messages[0].role', talk({ role: null, content: 'x' })],
    ['messages[0].role', talk({ role: ['user'], content: 'x' })],
    ['messages[0].role', talk({ role: '__proto__', content: 'x' })],
    ['messages[0].content', talk({ role: 'system', content: null })],
    ['messages[0].content', talk({ role: 'system', content: [{ type: 'text', text: 'x' }] })],
    ['messages[0].content', talk({ role: 'user', content: null })],
    ['messages[0].content', talk({ role: 'user', content: 5 })],
    ['messages[0].content', talk({ role: 'user', content: {} })],
    ['messages[0].content', parts()],
    ['messages[0].content[0]', parts('Hello')],
    ['messages[0].content[0]', parts([])],
    ['messages[0].content[0].type', parts({ type: 'input_audio', input_audio: {} })],
    ['messages[0].content[0].type', parts({ type: 1 })],
    ['messages[0].content[0].text', parts({ type: 'text', text: null })],
    ['messages[0].content[0].image_url', image(url)],
    ['messages[0].content[0].image_url', image(null)],
    ['messages[0].content[0].image_url.url', image({ url: null })],
    ['messages[0].content[0].image_url.url', image({ url: '' })],
    ['messages[0].content[0].image_url.url', image({ url: 'http://example.com/cat.png' })],
    ['messages[0].content[0].image_url.url', image({ url: 'file:///etc/passwd' })],
    ['messages[0].content[0].image_url.url', image({ url: 'https:example.com' })],
    ['messages[0].content[0].image_url.url', image({ url: 'https://' })],
    ['messages[0].content[0].image_url.url', image({ url: ` ${url}` })],
    ['messages[0].content[0].image_url.url', image({ url: 'https://exa\nmple.com/cat.png' })],
    ['messages[0].content[0].image_url.url', image({ url: 'https://example.com/c\u0085at' })],
    ['messages[0].content[0].image_url.url', image({ url: 'https://user:secret@example.com/' })],
    ['messages[0].content[0].image_url.url', image({ url: 'https://user@example.com/' })],
    ['messages[0].content[0].image_url.url', image({ url: 'https://[::1/' })],
    ['messages[0].content[0].image_url.url', image({ url: `https://example.com/${'c'.repeat(8_192)}` })],
    ['messages[0].content[0].image_url.url', image({ url: `https://${'é.'.repeat(100_000)}com/` })],
    ['messages[0].content[0].image_url.url', image({ url: 'data:text/html;base64,QQ==' })],
    ['messages[0].content[0].image_url.url', image({ url: 'data:image/png,QQ==' })],
    ['messages[0].content[0].image_url.url', image({ url: 'data:image/png;base64,' })],
    ['messages[0].content[0].image_url.url', image({ url: 'data:image/;base64,QQ==' })],
    ['messages[0].content[0].image_url.url', image({ url: 'javascript:alert(1)' })],
    ['messages[0].content[0].image_url.detail', image({ url, detail: 'medium' })],
    ['messages[0].content[0].image_url.detail', image({ url, detail: null })],
    [
      'messages[2].content[0].image_url.url',
      talk(user, user, { role: 'user', content: [{ type: 'image_url', image_url: { url: 'ftp://x' } }] }),
    ],
    ['messages[0].content', talk({ role: 'assistant', content: null })],
    ['messages[0].content', talk({ role: 'assistant', content: [] })],
    ['messages[0].content', talk({ ...asking, content: 5 })],
    ['messages[0].tool_calls', talk({ ...asking, tool_calls: [] })],
    ['messages[0].content', talk({ ...asking, tool_calls: null })],
    ['messages[0].content', talk({ role: 'assistant', content: null, tool_calls: null, refusal: null })],
    ['messages[0].tool_calls', talk({ ...asking, tool_calls: {} })],
    ['messages[0].tool_calls[0]', talk({ ...asking, tool_calls: ['look'] })],
    ['messages[0].tool_calls[0].id', talk({ ...asking, tool_calls: [{ ...call, id: '' }] })],
    ['messages[0].tool_calls[0].id', talk({ ...asking, tool_calls: [{ ...call, id: 7 }] })],
    ['messages[0].tool_calls[0].type', talk({ ...asking, tool_calls: [{ ...call, type: 'custom' }] })],
    [
      'messages[0].tool_calls[0].function.arguments',
      talk({ ...asking, tool_calls: [{ ...call, function: { name: 'look', arguments: {} } }] }),
    ],
    [
      'messages[0].tool_calls[0].function.name',
      talk({ ...asking, tool_calls: [{ ...call, function: { name: '', arguments: '' } }] }),
    ],
    ['messages[0].tool_calls[1].id', talk({ ...asking, tool_calls: [call, call] })],
    ['messages[0].tool_call_id', talk({ role: 'tool', tool_call_id: 'call_1', content: 'x' })],
    ['messages[0].tool_call_id', talk({ role: 'tool', tool_call_id: 'call_1', content: 'x' }, asking)],
    ['messages[1].tool_call_id', talk(asking, { role: 'tool', tool_call_id: 'call_2', content: 'x' })],
    ['messages[1].tool_call_id', talk(asking, { role: 'tool', tool_call_id: '', content: 'x' })],
    ['messages[1].content', talk(asking, { role: 'tool', tool_call_id: 'call_1', content: null })],
    ['messages[1].content', talk(asking, { role: 'tool', tool_call_id: 'call_1', content: [] })],
    ['messages[1].name', talk(asking, { role: 'tool', tool_call_id: 'call_1', content: '', name: 5 })],
  ];
  expectRefusals('invalid_parameter', rows);
});

describe('invalid_parameter: the other fields', () => {
  const values = (param: string, ...list: readonly unknown[]): Rows =>
    list.map((value) => [param, plus({ [param]: value })]);
  const rows: Rows = [
    ...values('model', '', 5, null, []),
    ...values('stream', null, 'true', 1, 0),
    ...values('temperature', -0.1, 2, 2.5, '1', true, []),
    ...values('max_tokens', 0, -1, 1.5, '10', 2 ** 31, 1e300, true),
    ...values('top_p', 0, -0, 1.01, -1, '1'),
    ...values('stop', '', [], ['a', 'b', 'c', 'd', 'e'], 5, {}, false),
    ['stop[1]', plus({ stop: ['a', ''] })],
    ['stop[0]', plus({ stop: [null] })],
    ...values('presence_penalty', -2.1, 2.1, '0'),
    ...values('seed', -1, 1.5, 2 ** 31, '7', true),
    ...values('parallel_tool_calls', null, 'true', 1, true),
    ...values('response_format', null, 'json_object', []),
    ['response_format.type', plus({ response_format: { type: 'xml' } })],
    ['response_format.type', plus({ response_format: { type: null } })],
    ['response_format.json_schema', jsonSchema(null)],
    ['response_format.json_schema.name', jsonSchema({ name: '' })],
    ['response_format.json_schema.name', jsonSchema({ name: 'with space' })],
    ['response_format.json_schema.name', jsonSchema({ name: 'x'.repeat(65) })],
    ['response_format.json_schema.description', jsonSchema({ name: 'x', description: null })],
    ['response_format.json_schema.schema', jsonSchema({ name: 'x', schema: [] })],
    ['response_format.json_schema.schema', jsonSchema({ name: 'x', schema: 'string' })],
    ['response_format.json_schema.schema', jsonSchema({ name: 'x', schema: null })],
    ['response_format.json_schema.strict', jsonSchema({ name: 'x', strict: 'yes' })],
    ...values('stream_options', [], true, 'include_usage', {}, { include_usage: true }),
    ['stream_options', plus({ stream: false, stream_options: {} })],
    ['stream_options.include_usage', plus({ stream: true, stream_options: { include_usage: null } })],
    ['stream_options.include_usage', plus({ stream: true, stream_options: { include_usage: 1 } })],
    ...values('tool_choice', null, 5, '', 'any', []),
    ['tool_choice', plus({ tools: [], tool_choice: look })],
    ['parallel_tool_calls', plus({ tools: [], parallel_tool_calls: true })],
    ['tool_choice', plus({ tools: [look], tool_choice: 'look' })],
    ['tool_choice', plus({ tools: [look], tool_choice: { type: 'function', function: { name: 'go' } } })],
    ['tool_choice', plus({ tool_choice: look })],
    [
      'tool_choice',
      plus({ tools: [look], tool_choice: { type: 'function', function: { name: '__proto__' } } }),
    ],
    [
      'tool_choice.type',
      plus({ tools: [look], tool_choice: { type: 'custom', function: { name: 'look' } } }),
    ],
    ['tool_choice.function', plus({ tools: [look], tool_choice: { type: 'function', function: 'look' } })],
  ];
  expectRefusals('invalid_parameter', rows);
});

describe('invalid_parameter: anything inside tools is param tools', () => {
  const bodies = [
    plus({ tools: null }),
    plus({ tools: {} }),
    plus({ tools: 'look' }),
    tools('look'),
    tools(null),
    tools([]),
    tools({}),
    tools({ type: 'function' }),
    tools({ function: { name: 'look' } }),
    tools({ type: 'retrieval', function: { name: 'look' } }),
    tools({ type: 'function', function: { name: 'look' }, strict: true }),
    tools(look, { ...look }),
    tools(look, {}),
    toolFunction('look'),
    toolFunction({}),
    toolFunction({ name: '' }),
    toolFunction({ name: 5 }),
    toolFunction({ name: 'with space' }),
    toolFunction({ name: 'look\n' }),
    toolFunction({ name: 'é' }),
    toolFunction({ name: 'x'.repeat(65) }),
    toolFunction({ name: 'look', description: null }),
    toolFunction({ name: 'look', parameters: null }),
    toolFunction({ name: 'look', parameters: [] }),
    toolFunction({ name: 'look', parameters: '{}' }),
    toolFunction({ name: 'look', strict: 'true' }),
    toolFunction({ name: 'look', strict: 1 }),
    toolFunction({ name: 'look', strict: [] }),
  ];
  const rows: Rows = bodies.map((body) => ['tools', body]);
  expectRefusals('invalid_parameter', rows);

  test('the message still says where', () => {
    const { message } = refusalOf(() => parseChat(tools(look, { type: 'function', function: {} })));
    expect(message).toContain('tools[1].function.name');
  });
});

describe('which problem is reported', () => {
  const paramOf = (body: unknown) => refusalOf(() => parseChat(body)).param;

  test('the first in the order of the document', () => {
    const bad = { temperature: 9, messages: [{ role: 'user', content: 5 }], top_p: 9 };
    expect(paramOf({ model: 'm', ...bad })).toBe('temperature');
    expect(paramOf({ seed: -1, model: 'm', ...bad })).toBe('seed');
    expect(paramOf({ messages: bad.messages, model: '', temperature: 9 })).toBe('messages[0].content');
    expect(paramOf(talk({ role: 'tool', content: 1, tool_call_id: 2 }))).toBe('messages[0].content');
    expect(paramOf(talk({ role: 'tool', tool_call_id: 2, content: 1 }))).toBe('messages[0].tool_call_id');
  });

  test('what is missing comes after what is there, inside the same object', () => {
    expect(paramOf({ messages: [user], temperature: 9 })).toBe('temperature');
    expect(paramOf(talk({ role: 'user', contents: 'x' }))).toBe('messages[0].contents');
    expect(paramOf({ messages: [{ role: 'user' }], temperature: 9 })).toBe('messages[0].content');
  });

  test('the shape comes before what fields mean for each other', () => {
    const orphan = { role: 'tool', tool_call_id: 'x', content: 'x' };
    expect(paramOf({ ...talk(orphan), seed: 'x' })).toBe('seed');
    expect(paramOf({ stream_options: {}, tool_choice: 'auto', ...talk(orphan) })).toBe(
      'messages[0].tool_call_id',
    );
  });

  test('a message says what was expected and what came', () => {
    const messageOf = (body: unknown) => refusalOf(() => parseChat(body)).message;
    expect(messageOf(plus({ temperature: 2 }))).toBe(
      'The parameter temperature is invalid: expected a number from 0 to below 2, or null, got 2.',
    );
    expect(messageOf(talk({ role: 'user2', content: '' }))).toBe(
      'The parameter messages[0].role is invalid: expected "system", "user", "assistant" or "tool", got "user2".',
    );
    expect(messageOf(talk({ role: 'developer', content: '' }))).toBe(
      'The role "developer" of messages[0] is not supported: use "system".',
    );
    expect(messageOf(plus({ stop: ['a', 'b', 'c', 'd', 'e'] }))).toBe(
      'The parameter stop is invalid: expected a non-empty string, an array of 1 to 4 of them, or null, got 5 of at most 4.',
    );
    expect(messageOf({ model: 'm' })).toBe(
      'The parameter messages is required: expected a non-empty array of messages.',
    );
    expect(messageOf(talk([]))).toContain('expected an object, got an empty array');
    expect(messageOf(plus({ max_completion_tokens: 5 }))).toBe(
      'The parameter max_completion_tokens is not supported: use max_tokens. Your client may have renamed it.',
    );
  });

  test.each([
    ['chat#tools', tools({})],
    ['chat#parameters', plus({ temperature: 9 })],
    ['chat#parameters', plus({ stream_options: {} })],
    ['chat#messages', talk({ role: 'user', content: 5 })],
    ['chat#messages', talk({ role: 'tool', tool_call_id: 'x', content: 'x' })],
    ['clients#messages', talk({ ...user, name: 'Ann' })],
    ['clients#messages', talk({ role: 'developer', content: 'x' })],
    ['clients#max-tokens', plus({ max_completion_tokens: 1 })],
    ['clients#rejected-parameters', plus({ n: 1 })],
    ['clients#tool-choice', plus({ tool_choice: 'required' })],
  ])('the section %s explains %j', (docs, body) => {
    expect(refusalOf(() => parseChat(body)).docs).toBe(docs);
  });

  test('a long value of the client is not sent back', () => {
    const secret = 'prompt'.repeat(50);
    expect(refusalOf(() => parseChat(talk({ role: secret, content: '' }))).message).not.toContain('prompt');
    expect(refusalOf(() => parseChat(image({ url: secret }))).message).not.toContain('prompt');
  });

  test('a million faults are not all collected', () => {
    const many = (item: unknown) => Array(1_000_000).fill(item);
    expect(paramOf({ model: 'm', messages: many(1) })).toBe('messages[0]');
    expect(paramOf(talk({ role: 'user', content: many({ type: 'text', text: '', x: 1 }) }))).toBe(
      'messages[0].content[0].x',
    );
    expect(paramOf(plus({ tools: many({ type: 1 }) }))).toBe('tools');
    expect(paramOf(plus({ stop: many(1) }))).toBe('stop');
    expect(paramOf(plus({ stop: many('a') }))).toBe('stop');
  });
});

type Parsed = ChatRequest<AskedOfCompletions>;

const nothing: ChatCall = {
  ...emptyCall,
  messages: [{ role: 'user', content: 'Hello' }],
};

describe('accepted bodies', () => {
  const parameters = JSON.parse('{"type":"object","properties":{"__proto__":{"type":"string"}}}');
  const described = { name: 'look', description: 'Looks.', parameters, strict: true };
  const lookTool = { name: 'look', description: null, parameters: null, strict: null };
  const rows: readonly (readonly [string, Fields, Partial<ChatCall>, Partial<Parsed>?])[] = [
    ['the least', {}, {}],
    ['stream', { stream: true }, {}, { stream: true }],
    ['no stream', { stream: false }, {}],
    [
      'stream with usage',
      { stream: true, stream_options: { include_usage: true } },
      {},
      { stream: true, asked: { includeUsage: true } },
    ],
    [
      'stream without usage',
      { stream: true, stream_options: { include_usage: false } },
      {},
      { stream: true },
    ],
    ['stream with no options', { stream: true, stream_options: {} }, {}, { stream: true }],
    ['null options without stream', { stream_options: null }, {}],
    [
      'null for whatever may be null',
      { temperature: null, max_tokens: null, top_p: null, stop: null, presence_penalty: null, seed: null },
      {},
    ],
    ['the least temperature', { temperature: 0 }, { temperature: 0 }],
    ['the largest temperature', { temperature: 1.9999 }, { temperature: 1.9999 }],
    ['the least max_tokens', { max_tokens: 1 }, { maxTokens: 1 }],
    ['the largest max_tokens', { max_tokens: 2_147_483_647 }, { maxTokens: 2_147_483_647 }],
    [
      'an integer written with a fraction',
      JSON.parse('{"max_tokens":3.0,"seed":1e3}'),
      { maxTokens: 3, seed: 1000 },
    ],
    ['a small top_p', { top_p: 0.0001 }, { topP: 0.0001 }],
    ['the largest top_p', { top_p: 1 }, { topP: 1 }],
    ['one stop', { stop: '\n' }, { stop: ['\n'] }],
    ['four stops', { stop: ['a', 'b', 'c', 'd'] }, { stop: ['a', 'b', 'c', 'd'] }],
    ['the least presence_penalty', { presence_penalty: -2 }, { presencePenalty: -2 }],
    ['the largest presence_penalty', { presence_penalty: 2 }, { presencePenalty: 2 }],
    ['the least seed', { seed: 0 }, { seed: 0 }],
    ['the largest seed', { seed: 2_147_483_647 }, { seed: 2_147_483_647 }],
    ['a tool', { tools: [look] }, { tools: [lookTool] }],
    [
      'a tool with everything',
      { tools: [{ type: 'function', function: described }] },
      { tools: [described] },
    ],
    ['tool_choice auto', { tools: [look], tool_choice: 'auto' }, { tools: [lookTool], toolChoice: 'auto' }],
    ['tool_choice none', { tools: [look], tool_choice: 'none' }, { tools: [lookTool], toolChoice: 'none' }],
    [
      'a named tool_choice',
      { tools: [look], tool_choice: look },
      { tools: [lookTool], toolChoice: { functionName: 'look' } },
    ],
    [
      'parallel calls',
      { tools: [look], parallel_tool_calls: true },
      { tools: [lookTool], parallelToolCalls: true },
    ],
    ...([true, false, null] as const).map(
      (strict) =>
        [
          `a tool with strict ${strict}`,
          toolFunction({ name: 'look', strict }),
          { tools: [{ ...lookTool, strict }] },
        ] as const,
    ),
    // Settings for tools mean nothing without any, and some providers then reject them.
    ['no parallel calls, no tools', { parallel_tool_calls: false }, {}],
    ['no tools', { tools: [] }, {}],
    ['tool_choice auto without tools', { tool_choice: 'auto' }, {}],
    ['tool_choice none without tools', { tools: [], tool_choice: 'none' }, {}],
    ['no tools and no parallel calls', { tools: [], parallel_tool_calls: false }, {}],
    ['text', { response_format: { type: 'text' } }, { responseFormat: { type: 'text' } }],
    [
      'json_object',
      { response_format: { type: 'json_object' } },
      { responseFormat: { type: 'json_object' } },
    ],
    [
      'a json_schema with its name only',
      jsonSchema({ name: 'x', strict: null }),
      { responseFormat: { type: 'json_schema', name: 'x', description: null, schema: null, strict: null } },
    ],
    [
      'a json_schema with everything',
      jsonSchema({ name: 'x', description: 'An x.', schema: parameters, strict: true }),
      {
        responseFormat: {
          type: 'json_schema',
          name: 'x',
          description: 'An x.',
          schema: parameters,
          strict: true,
        },
      },
    ],
  ];
  test.each(rows)('%s', (_, fields, expected, request = {}) => {
    expect(parseChat(plus(fields))).toEqual({
      model: 'm',
      stream: false,
      asked: { includeUsage: false },
      ...request,
      ...orderOf({ ...nothing, ...expected }),
    });
  });

  const nullFields = {
    refusal: null,
    annotations: null,
    audio: null,
    function_call: null,
    name: null,
    parsed: null,
  };
  const made = toolCall('call_1');
  const images = [
    [url, null],
    ['data:image/png;base64,QQ==', 'low'],
    ['HTTPS://EXAMPLE.com:8443/é?a=@b', 'auto'],
    ['data:image/svg+xml;base64,QQ==', 'high'],
  ] as const;
  const conversations: readonly (readonly [string, readonly unknown[], readonly ChatMessage[]])[] = [
    ['system', [{ role: 'system', content: '' }], [{ role: 'system', content: '' }]],
    [
      'text parts',
      [{ role: 'user', content: [{ type: 'text', text: '' }] }],
      [{ role: 'user', content: [{ type: 'text', text: '' }] }],
    ],
    [
      'images',
      [
        {
          role: 'user',
          content: images.map(([link, detail]) => ({
            type: 'image_url',
            image_url: present({ url: link, detail }),
          })),
        },
      ],
      [{ role: 'user', content: images.map(([link, detail]) => ({ type: 'image', url: link, detail })) }],
    ],
    ['assistant', [{ role: 'assistant', content: 'Hi' }], [assistant('Hi')]],
    [
      'what an SDK returned, with null for all that is absent',
      [
        { role: 'system', content: 'Be brief.', name: null },
        { ...user, name: null },
        { role: 'assistant', content: 'Hi', ...nullFields, tool_calls: null },
        {
          ...asking,
          ...nullFields,
          tool_calls: [{ ...call, function: { ...call.function, parsed_arguments: null } }],
        },
        { role: 'tool', tool_call_id: 'call_1', content: '1', name: null },
      ],
      [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Hello' },
        assistant('Hi'),
        assistant(null, made),
        toolResult('call_1', '1'),
      ],
    ],
    ['calls with null content', [asking], [assistant(null, made)]],
    ['calls with empty content', [{ ...asking, content: '' }], [assistant('', made)]],
    ['calls without content', [without(asking, 'content')], [assistant(null, made)]],
    ['calls with content', [{ ...asking, content: 'Wait' }], [assistant('Wait', made)]],
    [
      'results, out of order and repeated, and an ID used again later',
      [
        { ...asking, tool_calls: [call, { ...call, id: 'b' }] },
        { role: 'tool', tool_call_id: 'b', content: '2', name: 'look' },
        user,
        asking,
        { role: 'tool', tool_call_id: 'call_1', content: '1' },
        { role: 'tool', tool_call_id: 'b', content: '3' },
      ],
      [
        assistant(null, made, toolCall('b')),
        toolResult('b', '2', 'look'),
        { role: 'user', content: 'Hello' },
        assistant(null, made),
        toolResult('call_1', '1'),
        toolResult('b', '3'),
      ],
    ],
  ];
  test.each(conversations)('%s', (_, messages, expected) => {
    expect(parseChat(talk(...messages)).call).toEqual({ ...nothing, messages: expected });
  });

  test('a JSON Schema is passed on untouched, whatever its names', () => {
    const { call: parsed } = parseChat(plus({ tools: [{ type: 'function', function: described }] }));
    expect(parsed.tools?.[0]?.parameters).toBe(parameters);
    expect(JSON.stringify(parsed.tools?.[0]?.parameters)).toContain('"__proto__"');
  });
});

/** The way back to the wire, for round trips. */
function toWire({ model, stream, asked: { includeUsage }, call: chat }: Parsed): Fields {
  const format = chat.responseFormat;
  const entries = {
    model,
    messages: chat.messages.map(wireMessage),
    stream,
    stream_options: includeUsage ? { include_usage: true } : null,
    temperature: chat.temperature,
    max_tokens: chat.maxTokens,
    top_p: chat.topP,
    stop: chat.stop,
    presence_penalty: chat.presencePenalty,
    seed: chat.seed,
    tools: chat.tools?.map((tool) => ({ type: 'function', function: present({ ...tool }) })),
    tool_choice:
      chat.toolChoice !== null && typeof chat.toolChoice === 'object'
        ? { type: 'function', function: { name: chat.toolChoice.functionName } }
        : (chat.toolChoice ?? undefined),
    parallel_tool_calls: chat.parallelToolCalls ?? undefined,
    response_format:
      format?.type === 'json_schema'
        ? { type: 'json_schema', json_schema: without(present({ ...format }), 'type') }
        : (format ?? undefined),
  };
  return Object.fromEntries(Object.entries(entries).filter(([, value]) => value !== undefined));
}

function wireMessage(message: ChatMessage): Fields {
  if (message.role === 'tool')
    return present({
      role: 'tool',
      tool_call_id: message.toolCallId,
      content: message.content,
      name: message.name,
    });
  if (message.role === 'assistant') {
    const calls = toolCallsOf(message.items);
    return {
      role: 'assistant',
      content: textOrNull(message.items),
      ...(calls.length === 0
        ? {}
        : { tool_calls: calls.map(({ id, type, ...rest }) => ({ id, type: 'function', function: rest })) }),
    };
  }
  if (message.role === 'system' || typeof message.content === 'string') return { ...message };
  return {
    role: 'user',
    content: message.content.map((part) =>
      part.type === 'text'
        ? part
        : { type: 'image_url', image_url: present({ url: part.url, detail: part.detail }) },
    ),
  };
}

describe('for any body', () => {
  const rich = {
    model: 'm',
    messages: [
      { role: 'system', content: 'Be brief.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'x' },
          { type: 'image_url', image_url: { url, detail: 'low' } },
        ],
      },
      asking,
      { role: 'tool', tool_call_id: 'call_1', content: '1', name: 'look' },
    ],
    stream: true,
    stream_options: { include_usage: true },
    temperature: 1,
    max_tokens: 10,
    top_p: 0.5,
    stop: ['a'],
    presence_penalty: 0,
    seed: 1,
    tools: [
      { type: 'function', function: { name: 'look', description: 'x', parameters: { type: 'object' } } },
    ],
    tool_choice: look,
    parallel_tool_calls: true,
    response_format: { type: 'json_schema', json_schema: { name: 'x', schema: {}, strict: true } },
  };

  /** Every place of a value, deepest included. */
  function placesOf(value: unknown): (string | number)[][] {
    if (typeof value !== 'object' || value === null) return [[]];
    return [
      [],
      ...Object.entries(value).flatMap(([key, inner]) => placesOf(inner).map((place) => [key, ...place])),
    ];
  }

  type Change = Readonly<{
    place: readonly (string | number)[];
    kind: 'replace' | 'remove' | 'add';
    value: unknown;
  }>;
  function changed(value: unknown, { place, kind, value: replacement }: Change): unknown {
    const [step, ...rest] = place;
    if (step === undefined) {
      if (kind !== 'add' || typeof value !== 'object' || value === null) return replacement;
      return Array.isArray(value) ? [...value, replacement] : { ...value, extra: replacement };
    }
    if (Array.isArray(value)) {
      const index = Number(step);
      return kind === 'remove' && rest.length === 0
        ? value.toSpliced(index, 1)
        : value.with(index, changed(value[index], { place: rest, kind, value: replacement }));
    }
    const object = value as Fields;
    return kind === 'remove' && rest.length === 0
      ? without(object, String(step))
      : { ...object, [step]: changed(object[step], { place: rest, kind, value: replacement }) };
  }

  const interesting = fc.oneof(
    fc.jsonValue(),
    fc.constantFrom<unknown>('auto', 'none', 'user', 'tool', 'text', 'function', 'look', 'call_1', url),
    fc.constantFrom<unknown>(
      0,
      -0,
      1,
      1.5,
      2,
      100,
      2 ** 31,
      true,
      false,
      null,
      [],
      {},
      [''],
      '',
      look,
      asking,
      user,
    ),
  );
  const mutated = fc
    .record({
      place: fc.constantFrom(...placesOf(rich)),
      kind: fc.constantFrom('replace' as const, 'remove' as const, 'add' as const),
      value: interesting,
    })
    .map((change) => changed(rich, change));
  const smaller = fc
    .tuple(fc.subarray(Object.keys(rich)), interesting, fc.constantFrom(...Object.keys(rich)))
    .map(([names, value, name]) => ({
      ...basic,
      ...Object.fromEntries(names.map((key) => [key, rich[key as keyof typeof rich]])),
      [name]: value,
    }));

  test('there is a request that survives a round trip, or a refusal of status 400 that names its param', () => {
    let accepted = 0;
    let refused = 0;
    fc.assert(
      fc.property(fc.oneof(mutated, smaller, fc.jsonValue()), (body) => {
        let request: Parsed;
        try {
          request = parseChat(body);
        } catch (thrown) {
          refused++;
          if (!(thrown instanceof ApiError)) throw thrown;
          expect(errorTable[thrown.code].status).toBe(400);
          expect(thrown.param === undefined).toBe(thrown.code === 'invalid_request');
          expect(thrown.message.length).toBeLessThan(400);
          return;
        }
        accepted++;
        expect(parseChat(toWire(request))).toEqual(request);
        expect(parseChat(JSON.parse(JSON.stringify(toWire(request)))).model).toBe(request.model);
        const { tokens } = inputBound(request.call, model());
        expect(Number.isSafeInteger(tokens) && tokens > 0).toBe(true);
      }),
      { numRuns: 5_000 },
    );
    expect(Math.min(accepted, refused)).toBeGreaterThan(200);
  });

  test('the compiled schema and the plain one agree', () => {
    const compiled = z.compile(chatRequestSchema, { strict: true });
    fc.assert(
      fc.property(fc.oneof(mutated, smaller, fc.jsonValue()), (body) => {
        const [fast, plain] = [compiled.safeParse(body), chatRequestSchema.safeParse(body)];
        expect(fast.success).toBe(plain.success);
        expect(fast.data).toEqual(plain.data);
      }),
      { numRuns: 3_000 },
    );
  });

  test('the schema can be published', () => {
    const published = z.toJSONSchema(chatRequestSchema);
    expect(published.required).toEqual(['model', 'messages']);
    expect(published.additionalProperties).toBe(false);
    expect(JSON.stringify(published)).toContain('"parameters":{"type":"object"}');
  });
});
