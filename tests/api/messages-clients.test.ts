/** What clients of Anthropic's API do: its SDK and the AI SDK unmodified, their keys, models, probes and counts. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createAnthropic } from '@ai-sdk/anthropic';
import Anthropic from '@anthropic-ai/sdk';
import { dynamicTool, generateText, jsonSchema, Output, stepCountIs, streamText } from 'ai';
import { type ChatFixture, finishedGeneration, openChatFixture } from '../support/chat-fixture.ts';
import {
  assistant,
  type MessagesErrorBody,
  messagesCatalog,
  messagesClient,
  user,
} from '../support/messages-fixture.ts';

/** A provider that counts tokens: how many it says is in the text. */
const counting = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  async fetch(request) {
    const text = await request.text();
    const body = JSON.parse(text) as Record<string, unknown>;
    const path = new URL(request.url).pathname;
    counted.push({ path, body, text });
    if (path.endsWith('/messages'))
      return Response.json({
        content: [{ type: 'text', text: 'Hello' }],
        stop_reason: 'end_turn',
        usage: { input_tokens: 10, output_tokens: 1 },
      });
    const [, tokens = ''] = /count ([\w-]+)/.exec(JSON.stringify(body.messages)) ?? [];
    if (tokens === 'silence') await new Promise(() => undefined);
    if (tokens === 'failure') return new Response('{}', { status: 500 });
    return Response.json({ input_tokens: Number(tokens) || tokens });
  },
  idleTimeout: 0,
});
const counted: { path: string; body: Record<string, unknown>; text: string }[] = [];

const more = {
  providers: `  counting: { adapter: anthropic, base_url: "${counting.url.origin}/v1", api_key_env: MAIN_KEY, max_concurrency: 16 }`,
  models: `  counting: { workload: chat, context_window: 100000, pricing: { billing_type: token, input: "1", output: "2" }, providers: [counting] }`,
};

const formats = ['openai', 'anthropic', 'google'] as const;
let fixture: ChatFixture;
let key: string;
let origin: string;
let sdk: Anthropic;

beforeAll(async () => {
  fixture = await openChatFixture((url) => messagesCatalog(url, more));
  key = (await fixture.customer('100', '--rpm', '100000')).key;
  ({ origin } = fixture.gateway);
  sdk = new Anthropic({ baseURL: origin, apiKey: key, maxRetries: 0 });
});

afterAll(async () => {
  await fixture.close();
  await counting.stop(true);
});

const tools = ['get_weather', 'get_time'].map((name) => ({
  name,
  input_schema: { type: 'object' as const, properties: { city: { type: 'string' } }, required: ['city'] },
}));
const ask = (content: string) => [{ role: 'user' as const, content }];

describe.each(formats)('Anthropic’s SDK, with a provider in the format of %s', (model) => {
  test('gets an answer, whose request ID finds the Generation', async () => {
    const message = await sdk.messages.create({ model, max_tokens: 500, messages: ask('[[say Hello]]') });
    expect(message.content).toMatchObject([{ type: 'text', text: 'Hello' }]);
    expect(message._request_id).toBe(message.id);
    const generation = await finishedGeneration(origin, key, message.id);
    const { cost, input_tokens: input } = message.usage as Anthropic.Usage & { cost: string };
    expect([generation.cost?.total, generation.usage?.input_tokens]).toEqual([cost, input]);
  });

  test('puts a stream together', async () => {
    const stream = sdk.messages.stream({
      model,
      max_tokens: 64_000,
      messages: ask('[[say one two three]] [[usage 30 4]]'),
    });
    const pieces: string[] = [];
    stream.on('text', (piece) => pieces.push(piece));
    // The SDK puts only fields that it knows into its message.
    const costs: unknown[] = [];
    stream.on('streamEvent', (event) => {
      if (event.type === 'message_delta') costs.push((event.usage as unknown as { cost: string }).cost);
    });
    const message = await stream.finalMessage();
    expect(pieces.join('')).toBe('one two three');
    expect([message.model, message.stop_reason]).toEqual([model, 'end_turn']);
    expect(message.usage).toMatchObject({ input_tokens: 30, output_tokens: 4 });
    expect(costs).toEqual(['0.000150000000']);
  });

  test('calls two tools at once, streamed, and goes on with their results', async () => {
    const messages: Anthropic.MessageParam[] = ask('Both. [[tools 2]]');
    const first = await sdk.messages.stream({ model, max_tokens: 500, tools, messages }).finalMessage();
    const calls = first.content.filter((block) => block.type === 'tool_use');
    expect([first.stop_reason, calls.map(({ name }) => name)]).toEqual([
      'tool_use',
      ['get_weather', 'get_time'],
    ]);
    const results = calls.map(({ id }) => ({
      type: 'tool_result' as const,
      tool_use_id: id,
      content: 'Fine',
    }));
    messages.push({ role: 'assistant', content: first.content }, { role: 'user', content: results });
    const second = await sdk.messages.create({ model, max_tokens: 500, tools, messages });
    expect(second.stop_reason).toBe('end_turn');
  });
});

describe('Anthropic’s SDK', () => {
  test('throws its own errors, with our code in them', async () => {
    const poor = new Anthropic({ baseURL: origin, apiKey: (await fixture.customer('0')).key, maxRetries: 0 });
    const errorOf = (from: Anthropic, model: string, content = 'Hi') =>
      from.messages.create({ model, max_tokens: 5, messages: ask(content) }).then(
        () => null,
        (error: unknown) => error as InstanceType<typeof Anthropic.APIError>,
      );
    const missing = await errorOf(sdk, 'nothing');
    expect(missing).toBeInstanceOf(Anthropic.NotFoundError);
    expect(missing?.error).toMatchObject({ error: { type: 'not_found_error', code: 'model_not_found' } });
    expect(missing?.requestID).toMatch(/^req_/);
    expect((await errorOf(poor, 'openai'))?.status).toBe(402);
    expect(await errorOf(sdk, 'openai', '[[status 429]]')).toBeInstanceOf(Anthropic.RateLimitError);
    expect(await errorOf(sdk, 'anthropic', '[[status 500]]')).toBeInstanceOf(Anthropic.InternalServerError);
    const wrong = new Anthropic({ baseURL: origin, apiKey: 'svc_sk_wrong', maxRetries: 0 });
    expect(await errorOf(wrong, 'openai')).toBeInstanceOf(Anthropic.AuthenticationError);
  });

  test('throws when a stream breaks', async () => {
    for (const model of formats) {
      const stream = sdk.messages.stream({
        model,
        max_tokens: 50,
        messages: ask('[[long 9]] [[error-event 3]]'),
      });
      const thrown = await stream.finalMessage().catch(String);
      expect(thrown).toContain('stream from the provider failed');
    }
  });

  test('pages through the models, and finds one', async () => {
    const ids: string[] = [];
    for await (const { id } of sdk.models.list({ limit: 2 })) ids.push(id);
    expect(ids).toEqual(['counting', 'openai', 'anthropic', 'google', 'unbounded', 'crossing']);
    const model = await sdk.models.retrieve('openai');
    expect(model).toMatchObject({ type: 'model', id: 'openai', display_name: 'openai', max_tokens: 8000 });
    expect(model.created_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    const thrown: unknown = await sdk.models.retrieve('nothing').catch((error: unknown) => error);
    expect(thrown).toBeInstanceOf(Anthropic.NotFoundError);
  });

  test('counts tokens', async () => {
    const { input_tokens: tokens } = await sdk.messages.countTokens({
      model: 'openai',
      messages: ask('Hello'),
      tools,
    });
    expect(tokens).toBeGreaterThan(5);
  });
});

describe.each(formats)('the AI SDK, with a provider in the format of %s', (model) => {
  const provider = () => createAnthropic({ baseURL: `${origin}/v1`, apiKey: key })(model);
  const weather = dynamicTool({
    description: 'The weather in a city',
    inputSchema: jsonSchema({ type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }),
    execute: async () => 'Clear',
  });

  test('writes text, streamed and not', async () => {
    const { text, usage } = await generateText({
      model: provider(),
      prompt: '[[say Hi]] [[usage 9 2]]',
      maxRetries: 0,
    });
    expect([text, usage.inputTokens, usage.outputTokens]).toEqual(['Hi', 9, 2]);
    const stream = streamText({ model: provider(), prompt: '[[say Hi there]] [[usage 9 3]]', maxRetries: 0 });
    expect([await stream.text, (await stream.usage).outputTokens]).toEqual(['Hi there', 3]);
  });

  test('runs a tool in between, streamed', async () => {
    const stream = streamText({
      model: provider(),
      prompt: 'Weather? [[tool weather]]',
      tools: { weather },
      stopWhen: stepCountIs(2),
      maxRetries: 0,
    });
    expect((await stream.steps).map(({ finishReason }) => finishReason)).toEqual(['tool-calls', 'stop']);
  });

  test('gets an object', async () => {
    const schema = jsonSchema<{ title: string }>({
      type: 'object',
      properties: { title: { type: 'string' } },
      required: ['title'],
      additionalProperties: false,
    });
    const { output } = await generateText({
      model: provider(),
      prompt: 'A title.',
      output: Output.object({ schema }),
      maxRetries: 0,
    });
    expect(Object.keys(output)).toEqual(['title']);
  });
});

describe('the key', () => {
  const get = (headers: Record<string, string>, path = '/v1/key') => fetch(`${origin}${path}`, { headers });

  test('is read from either header on every endpoint', async () => {
    for (const path of ['/v1/key', '/v1/models', '/v1/generations', '/v1/usage'])
      for (const headers of [{ 'x-api-key': key }, { authorization: `Bearer ${key}` }])
        expect((await get(headers as Record<string, string>, path)).status).toBe(200);
    const chat = await fetch(`${origin}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'x-api-key': key, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'openai', messages: ask('Hi') }),
    });
    expect(chat.status).toBe(200);
  });

  test('may be in both if it is the same', async () => {
    const other = (await fixture.customer('1')).key;
    expect((await get({ 'x-api-key': key, authorization: `Bearer ${key}` })).status).toBe(200);
    for (const headers of [
      { 'x-api-key': other, authorization: `Bearer ${key}` },
      { 'x-api-key': 'nonsense', authorization: `Bearer ${key}` },
      { 'x-api-key': key, authorization: 'Bearer nonsense' },
      { 'x-api-key': '', authorization: `Bearer ${key}` },
      { 'x-api-key': `${key}, ${key}` },
    ]) {
      const response = await get(headers);
      const { error } = (await response.json()) as MessagesErrorBody;
      expect([response.status, error.code]).toEqual([401, 'invalid_api_key']);
    }
  });
});

describe('models', () => {
  const list = async (
    query: string,
    headers: Record<string, string> = { 'anthropic-version': '2023-06-01' },
  ) => {
    const response = await fetch(`${origin}/v1/models${query}`, {
      headers: { 'x-api-key': key, ...headers },
    });
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  };

  test('are pages in both directions', async () => {
    const ids = ({ body }: Awaited<ReturnType<typeof list>>) => [
      (body.data as { id: string }[]).map(({ id }) => id),
      body.has_more,
      body.first_id,
      body.last_id,
    ];
    expect(ids(await list('?limit=1000'))[1]).toBe(false);
    expect(ids(await list('?limit=2&after_id=openai'))).toEqual([
      ['anthropic', 'google'],
      true,
      'anthropic',
      'google',
    ]);
    expect(ids(await list('?limit=2&before_id=google'))).toEqual([
      ['openai', 'anthropic'],
      true,
      'openai',
      'anthropic',
    ]);
    expect(ids(await list('?after_id=crossing'))).toEqual([[], false, null, null]);
  });

  test('refuse other queries, in the form of their client', async () => {
    for (const query of [
      '?limit=0',
      '?limit=1001',
      '?limit=x',
      '?after_id=nothing',
      '?after_id=openai&before_id=google',
      '?page=2',
    ]) {
      const { status, body } = await list(query);
      expect([query, status, body.type]).toEqual([query, 400, 'error']);
    }
    const { status, body } = await list('?limit=5', {});
    expect([status, body.type, (body.error as { code: string }).code]).toEqual([
      400,
      undefined,
      'unsupported_parameter',
    ]);
  });

  test('keep their own form for everyone else', async () => {
    const { body } = await list('', {});
    expect(body.object).toBe('list');
  });
});

test('no digit of a number in a call gets lost, however long the body is', async () => {
  const digits = '12345678901234567890';
  const call = `{"type":"tool_use","id":"toolu_1","name":"find","input":{"id":${digits},"ratio":0.1}}`;
  const result = '{"type":"tool_result","tool_use_id":"toolu_1","content":"Found"}';
  for (const padding of ['', 'x'.repeat(600_000)]) {
    const response = await fetch(`${origin}/v1/messages`, {
      method: 'POST',
      headers: { 'x-api-key': key, 'anthropic-version': '2023-06-01', 'content-type': 'application/json' },
      body: `{"model":"counting","max_tokens":50,"system":"s${padding}","messages":[{"role":"user","content":"Find it."},
        {"role":"assistant","content":[${call}]},{"role":"user","content":[${result}]}]}`,
    });
    expect(response.status).toBe(200);
    expect(counted.at(-1)?.text).toContain(`"input":{"id":${digits},"ratio":0.1}`);
  }
});

test('a probe of the address does no harm', async () => {
  const response = await fetch(`${origin}/`, { method: 'HEAD' });
  expect([response.status, await response.text()]).toEqual([200, '']);
});

describe('counting tokens', () => {
  const count = (body: object, from = key) =>
    messagesClient(fixture, from).send(body, {}, '/v1/messages/count_tokens?beta=true');
  const tokensOf = async (body: object) =>
    ((await (await count(body)).json()) as { input_tokens: number }).input_tokens;

  test('asks a provider of the format, with the same rules as for an answer', async () => {
    const body = {
      model: 'counting',
      messages: [
        user('count 123'),
        assistant([{ type: 'thinking', thinking: 'x', signature: 'foreign' }]),
        user('x'),
      ],
      system: [{ type: 'text', text: 'x-anthropic-billing-header: x' }],
      metadata: { user_id: 'me' },
    };
    expect(await tokensOf(body)).toBe(123);
    expect(counted.at(-1)).toMatchObject({
      path: '/v1/messages/count_tokens',
      body: { model: 'counting', messages: [user('count 123'), user('x')] },
    });
  });

  test.each(['failure', 'nonsense', '-5', 'silence'])(
    'estimates where the provider answers with %s',
    async (what) => {
      const tokens = await tokensOf({ model: 'counting', messages: [user(`count ${what}`)] });
      expect(tokens).toBeGreaterThan(0);
      expect(tokens).toBeLessThan(5_000);
    },
  );

  test('estimates elsewhere, the more the longer', async () => {
    const [short, long] = [
      await tokensOf({ model: 'google', messages: [user('word')] }),
      await tokensOf({ model: 'google', messages: [user('word '.repeat(1_000))] }),
    ];
    expect(long - short).toBeGreaterThan(1_000);
    expect(long - short).toBeLessThan(5_000);
  });

  test('costs nothing, leaves no Generation, and does not use up the rate of the key', async () => {
    const { key: own } = await fixture.customer('0', '--rpm', '1');
    const statuses = await Promise.all(
      Array.from(
        { length: 26 },
        async () => (await count({ model: 'openai', messages: [user('foo')], tools: [] }, own)).status,
      ),
    );
    expect(new Set(statuses)).toEqual(new Set([200]));
    const generations = await fetch(`${origin}/v1/generations`, { headers: { 'x-api-key': own } });
    expect((await generations.json()) as object).toMatchObject({ data: [] });
  });

  test('has a limit of its own', async () => {
    const { key: own } = await fixture.customer('0', '--rpm', '1');
    const responses = await Promise.all(
      Array.from({ length: 700 }, () => count({ model: 'openai', messages: [user('foo')] }, own)),
    );
    const refused = responses.find(({ status }) => status === 429);
    const body = (await refused?.json()) as MessagesErrorBody | undefined;
    expect(body?.error).toMatchObject({
      type: 'rate_limit_error',
      code: 'rate_limit_exceeded',
    });
    expect(responses.filter(({ status }) => status === 200).length).toBeGreaterThanOrEqual(600);
    for (const response of responses) if (!response.bodyUsed) await response.text();
  });

  test('leaves the slots of a provider to those who pay', async () => {
    const [one, other] = [await fixture.customer('0'), await fixture.customer('0')];
    const before = counted.length;
    const silent = { model: 'counting', messages: [user('count silence')] };
    const counts = Array.from({ length: 64 }, (_, index) => count(silent, [one, other][index % 2]?.key));
    const estimated = await Promise.race(counts);
    expect(estimated.status).toBe(200);
    const response = await messagesClient(fixture, key).send({ model: 'counting', messages: [user('x')] });
    expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('Hello')]);
    for (const { status } of await Promise.all(counts)) expect(status).toBe(200);
    expect(counted.length - before).toBeLessThanOrEqual(5);
  }, 20_000);

  test('refuses what a request would be refused for', async () => {
    const refusals = [
      [{ model: 'nothing', messages: [user('x')] }, 'model_not_found'],
      [{ model: 'openai', messages: [] }, 'invalid_parameter'],
      [{ model: 'openai', messages: [user('x')], speed: 'fast' }, 'unsupported_parameter'],
    ] as const;
    for (const [body, code] of refusals)
      expect(((await (await count(body)).json()) as MessagesErrorBody).error.code).toBe(code);
  });
});
