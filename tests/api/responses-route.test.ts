/**
 * Chat completions for a model that its provider serves through the Responses API: everything that chat has, by a client
 * that notices nothing, and fallbacks from one API to the other.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import OpenAI from 'openai';
import {
  type ChatFixture,
  type ErrorBody,
  finishedGeneration,
  openChatFixture,
} from '../support/chat-fixture.ts';

const everything =
  'capabilities: [text_input, image_input, text_output, streaming, function_calling, structured_output]';
const price = 'pricing: { billing_type: token, input: "1", output: "2" }';
const route = (provider: string) => `{ provider: ${provider}, api: responses }`;

const catalog = (url: string) => `
price_version: "2026-11"
providers:
  both:    { name: Both, adapter: openai, base_url: ${url}/v1, api_key_env: MAIN_KEY, circuit: { failures: 1000 }, dialect: { strict_tools: supported, cache_key: prompt_cache_key } }
  gone:    { name: Gone, adapter: openai, base_url: http://127.0.0.1:9/v1, api_key_env: MAIN_KEY, circuit: { failures: 1000 } }
  sandbox: { name: Sandbox, adapter: sandbox, circuit: { failures: 1000 } }
models:
  new:     { workload: chat, max_output_tokens: 1000, ${everything}, ${price}, providers: [{ provider: both, api: responses, upstream_model: vendor-new }] }
  old:     { workload: chat, max_output_tokens: 1000, ${everything}, ${price}, providers: [both] }
  own:     { workload: chat, ${everything}, ${price}, providers: [${route('sandbox')}] }
  to-chat: { workload: chat, ${everything}, ${price}, providers: [${route('gone')}, both] }
  to-new:  { workload: chat, ${everything}, ${price}, providers: [gone, ${route('both')}] }
  either:  { workload: chat, ${everything}, ${price}, providers: [${route('both')}, sandbox] }
`;

let fixture: ChatFixture;
let key: string;
let openai: OpenAI;

beforeAll(async () => {
  fixture = await openChatFixture(catalog);
  ({ key } = await fixture.customer('100', '--rpm', '100000'));
  openai = new OpenAI({ baseURL: `${fixture.gateway.origin}/v1`, apiKey: key, maxRetries: 0 });
}, 60_000);

afterAll(() => fixture.close());

const user = (content: string) => ({ role: 'user' as const, content });
const parameters = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
};
const tools = ['weather', 'traffic'].map((name) => ({
  type: 'function' as const,
  function: { name, parameters, strict: name === 'weather' },
}));

/** What the provider got last, and where. */
const received = () => {
  const entry = fixture.sandbox.entries.at(-1);
  return { path: entry?.path, body: entry?.body as Record<string, unknown> };
};
const lookUp = (id: string) => finishedGeneration(fixture.gateway.origin, key, id);

/** The same response as from the model's other API, apart from what names the request. */
function comparable({ id: _id, created: _created, model: _model, ...completion }: OpenAI.ChatCompletion) {
  return JSON.parse(JSON.stringify(completion).replaceAll(/call_sandbox_\d+/g, 'call'));
}

describe('whatever a client asks', () => {
  const asked: [string, Omit<OpenAI.ChatCompletionCreateParamsNonStreaming, 'model'>][] = [
    ['text', { messages: [{ role: 'system', content: 'Be brief.' }, user('Hello')] }],
    ['usage', { messages: [user('[[usage 123 45]] [[cached 100]] [[cache-write 20]] [[reasoning 7]]')] }],
    ['a short answer', { messages: [user('[[long 40]]')], max_tokens: 20 }],
    ['no calls', { messages: [user('[[tools 1]]')], tools, tool_choice: 'none' }],
    ['a call', { messages: [user('[[tools 1]]')], tools }],
    [
      'a forced call',
      { messages: [user('go')], tools, tool_choice: { type: 'function', function: { name: 'traffic' } } },
    ],
    ['parallel calls', { messages: [user('[[tools 2]]')], tools }],
    ['one call at a time', { messages: [user('[[tools 2]]')], tools, parallel_tool_calls: false }],
    [
      'results',
      {
        tools,
        messages: [
          user('go'),
          {
            role: 'assistant',
            content: 'Let me see.',
            tool_calls: [
              { id: 'a', type: 'function', function: { name: 'weather', arguments: '{"city":"Bergen"}' } },
              { id: 'b', type: 'function', function: { name: 'traffic', arguments: '{}' } },
            ],
          },
          { role: 'tool', tool_call_id: 'a', content: 'sunny' },
          { role: 'tool', tool_call_id: 'b', content: 'calm' },
        ],
      },
    ],
    [
      'images',
      {
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: 'Look' },
              { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=', detail: 'low' } },
              { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
            ],
          },
        ],
      },
    ],
    [
      'JSON by a schema',
      {
        messages: [user('Hi')],
        response_format: {
          type: 'json_schema',
          json_schema: { name: 's', schema: parameters, strict: true },
        },
      },
    ],
    ['JSON', { messages: [user('Hi, as JSON')], response_format: { type: 'json_object' } }],
    ['a filter', { messages: [user('[[finish content_filter]]')] }],
  ];

  test.each(asked)('%s: the same from both APIs, whole and streamed', async (_what, body) => {
    const [before, now] = [
      await openai.chat.completions.create({ ...body, model: 'old' }),
      await openai.chat.completions.create({ ...body, model: 'new' }),
    ];
    expect(received()).toMatchObject({ path: '/v1/responses', body: { model: 'vendor-new', store: false } });
    // Tools are counted as they were written: by the sandbox's rule, a named strictness takes tokens.
    const { usage: _before, ...rest } = comparable(before);
    const { usage, ...same } = comparable(now);
    expect(same).toEqual(rest);
    const options = { include_usage: true };
    const streamed = await openai.chat.completions
      .stream({ ...body, model: 'new', stream: true, stream_options: options })
      .finalChatCompletion();
    expect(streamed.choices[0]?.message.content ?? '').toBe(now.choices[0]?.message.content ?? '');
    expect(streamed.choices[0]?.finish_reason).toBe(now.choices[0]?.finish_reason as 'stop');
    expect(
      streamed.choices[0]?.message.tool_calls?.map(
        (call) => call.type === 'function' && call.function.arguments,
      ),
    ).toEqual(
      now.choices[0]?.message.tool_calls?.map((call) => call.type === 'function' && call.function.arguments),
    );
    expect(streamed.usage).toEqual(usage);
    for (const { id } of [now, streamed]) {
      const { cost, status } = await lookUp(id);
      const total = BigInt(usage.prompt_tokens) + 2n * BigInt(usage.completion_tokens);
      expect([status, cost?.total]).toEqual(['completed', `0.${String(total).padStart(6, '0')}000000`]);
    }
  });

  test('nothing of the provider reaches the client, and its own sandbox serves both APIs', async () => {
    const response = await fetch(`${fixture.gateway.origin}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'new', stream: true, messages: [user('Hi [[reasoning 5]]')] }),
    });
    expect(await response.text()).not.toMatch(/sandbox|vendor-new|thought|resp_|msg_|rs_/);
    const own = await openai.chat.completions.create({ model: 'own', messages: [user('Hello')] });
    expect(own.choices[0]?.message.content).toBe('You said: Hello');
  });

  test('a conversation has one key for its cache', async () => {
    const ask = async () => {
      await openai.chat.completions.create({ model: 'new', messages: [user('same')], tools });
      return received().body.prompt_cache_key;
    };
    const first = await ask();
    expect(first).toEqual(expect.any(String));
    expect(await ask()).toBe(first as string);
  });
});

test.each([
  ['stop', { stop: ['.'] }],
  ['seed', { seed: 1 }],
  ['presence_penalty', { presence_penalty: 1 }],
  ['max_tokens', { max_tokens: 5 }],
])('%s has no field there: refused by name, or served by the other API', async (param, more) => {
  const before = fixture.sandbox.entries.length;
  const ask = (model: string) =>
    fetch(`${fixture.gateway.origin}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, messages: [user('Hello')], ...more }),
    });
  const refused = await ask('new');
  const { error } = (await refused.json()) as ErrorBody;
  expect([refused.status, error.code, error.param]).toEqual([400, 'unsupported_parameter', param]);
  expect(fixture.sandbox.entries.length).toBe(before);
  const served = await ask('either');
  expect(served.status).toBe(200);
  const id = served.headers.get('x-service-request-id') ?? '';
  expect(await lookUp(id)).toMatchObject({ provider: 'Sandbox', fallback: false });
});

test.each([
  ['to-chat', '/v1/chat/completions'],
  ['to-new', '/v1/responses'],
])('%s: a fallback crosses from one API to the other', async (model, path) => {
  // Another conversation each time: the same one would stay where it was served.
  const ask = (mode: string) => [user(`[[tools 2]] [[usage 10 20]] ${model} ${mode}`)];
  const whole = await openai.chat.completions.create({
    model,
    messages: ask('whole'),
    tools: tools.slice(1),
  });
  expect(received().path).toBe(path);
  const streamed = await openai.chat.completions
    .stream({ model, messages: ask('streamed'), tools: tools.slice(1) })
    .finalChatCompletion();
  expect(received().path).toBe(path);
  for (const { id, choices } of [whole, streamed]) {
    expect(choices[0]?.message.tool_calls).toHaveLength(2);
    expect(await lookUp(id)).toMatchObject({
      status: 'completed',
      provider: 'Both',
      fallback: true,
      cost: { total: '0.000050000000' },
    });
  }
});
