import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import {
  type ChatFixture,
  type Chunk,
  chatCatalog,
  type ErrorBody,
  eventsOf,
  finishedGeneration,
  openChatFixture,
} from '../support/chat-fixture.ts';
import { eventually } from '../support/eventually.ts';
import { heldModel, startHeldProvider } from '../support/held-provider.ts';
import { asHolderOf, openLeavingClient } from '../support/leaving-client.ts';

const held = startHeldProvider();

/** In addition to the usual ones, a provider that is held, and one that must begin to answer soon. */
function catalog(url: string): string {
  const { providers, models } = heldModel(held, url);
  return chatCatalog(url, {
    providers: `${providers}
  mute: { name: Mute, adapter: openai, base_url: ${url}/v1, api_key_env: MAIN_KEY, circuit: { failures: 1000 }, timeouts: { first_byte_ms: 700 } }`,
    models: `${models}
  mute: { workload: chat, pricing: { billing_type: token, input: "1", output: "2" }, providers: [mute] }`,
  });
}

let fixture: ChatFixture;
let key: string;

beforeAll(async () => {
  fixture = await openChatFixture(catalog);
  ({ key } = await fixture.customer('100', '--rpm', '100000'));
});

afterAll(async () => {
  await fixture.close();
  await held.stop();
});

type Body = Record<string, unknown>;

function send(
  body: Body | string,
  options: { key?: string; headers?: Record<string, string> } = {},
): Promise<Response> {
  return fetch(`${fixture.gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${options.key ?? key}`,
      'content-type': 'application/json',
      ...options.headers,
    },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
}

const ask = (content: unknown, more: Body = {}): Body => ({
  model: 'full',
  messages: [{ role: 'user', content }],
  ...more,
});
const idOf = (response: Response) => response.headers.get('x-service-request-id') ?? '';
const look = (response: Response, owner = key) =>
  finishedGeneration(fixture.gateway.origin, owner, idOf(response));

async function expectError(
  response: Response,
  status: number,
  code: string,
  param?: string,
): Promise<ErrorBody['error']> {
  const { error } = (await response.json()) as ErrorBody;
  expect({ status: response.status, code: error.code, param: error.param }).toEqual({ status, code, param });
  expect(idOf(response)).toMatch(/^req_[0-9a-f]{32}$/);
  return error;
}

async function readStream(
  response: Response,
): Promise<{ chunks: Chunk[]; error: ErrorBody['error'] | null; isDone: boolean }> {
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toStartWith('text/event-stream');
  const events = eventsOf(await response.text());
  const isDone = events.at(-1) === '[DONE]';
  const parsed = events
    .filter((event) => event !== '[DONE]')
    .map((event) => JSON.parse(event) as Chunk & Partial<ErrorBody>);
  return {
    chunks: parsed.filter((event) => event.error === undefined),
    error: parsed.find((event) => event.error)?.error ?? null,
    isDone,
  };
}

const textOf = (chunks: Chunk[]) => chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('');
const weather = {
  type: 'function',
  function: {
    name: 'weather',
    description: 'Weather',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
};
const clock = {
  type: 'function',
  function: { name: 'clock', parameters: { type: 'object', properties: {} } },
};

describe('200, a whole answer', () => {
  test('has exactly the fields of the contract, and nothing that is the provider’s own', async () => {
    const response = await send(ask('Hello'));
    const body = (await response.json()) as Body;
    expect(Object.keys(body)).toEqual(['id', 'object', 'created', 'model', 'choices', 'usage']);
    expect(body).toMatchObject({ id: idOf(response), object: 'chat.completion', model: 'full' });
    expect(body.choices).toEqual([
      { index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'You said: Hello' } },
    ]);
    expect(body.usage).toEqual({ prompt_tokens: 6, completion_tokens: 3, total_tokens: 9 });
    expect(response.headers.get('x-ratelimit-limit-requests')).toBe('100000');
    expect(Number(response.headers.get('x-ratelimit-remaining-requests'))).toBeLessThan(100_000);
    expect(response.headers.get('x-ratelimit-reset-requests')).toMatch(/^[\d.]+s$/);
    expect(response.headers.get('openai-organization')).toBeNull();
  });

  test('is charged exactly, and its Generation says so', async () => {
    const { key: own, account } = await fixture.customer('1');
    const response = await send(ask('[[usage 1000 7]] hi'), { key: own });
    expect(response.status).toBe(200);
    const generation = await look(response, own);
    expect(generation).toMatchObject({
      id: idOf(response),
      object: 'generation',
      status: 'completed',
      workload: 'chat',
      model: 'full',
      provider: 'Main',
      usage: { input_tokens: 1000, output_tokens: 7, total_tokens: 1007, units: '1007', unit: 'tokens' },
      cost: { input: '0.001000000000', output: '0.000014000000', total: '0.001014000000', currency: 'USD' },
      fallback: false,
      streaming: false,
      time_to_first_token_ms: null,
      routing: { selected_provider: 'Main', fallback: false, attempt_count: 1 },
      attempts: [{ index: 1, provider: 'Main', status: 'succeeded', upstream_status: 200, error: null }],
      error: null,
    } as Body);
    const [row] = await fixture.database.sql`select balance, held from accounts where id = ${account}`;
    expect(row).toEqual({ balance: '0.998986000000', held: '0.000000000000' });
  });

  test.each([
    [100, '0.000100000000', '0.000020000000'],
    [101, '0.000303000000', '0.000040000010'],
    [5000, '0.015000000000', '0.000040000010'],
  ])('with %d input tokens is priced by its tier', async (inputTokens, input, output) => {
    // No text can have more tokens than bytes, so there are as many of these.
    const text = `[[usage ${inputTokens} 10]] ${'x'.repeat(inputTokens)}`;
    const response = await send(ask(text, { model: 'tiered' }));
    expect((await look(response)).cost).toMatchObject({ input, output });
  });

  test('an explicit zero is a zero, not a gap', async () => {
    const response = await send(ask('[[zero-usage]] hi'));
    expect(response.status).toBe(200);
    expect(await look(response)).toMatchObject({
      status: 'completed',
      cost: { total: '0.000000000000' },
      usage: { total_tokens: 0 },
    });
  });

  test('calls tools: content is null, finish_reason tool_calls', async () => {
    const response = await send(ask('[[tools 2]] go', { tools: [weather, clock] }));
    const { choices } = (await response.json()) as {
      choices: [{ finish_reason: string; message: { content: null; tool_calls: Body[] } }];
    };
    expect(choices[0].finish_reason).toBe('tool_calls');
    expect(choices[0].message.content).toBeNull();
    expect(choices[0].message.tool_calls.map((call) => [call.type, (call.function as Body).name])).toEqual([
      ['function', 'weather'],
      ['function', 'clock'],
    ]);
  });

  test('sends the provider the client’s request, rebuilt, with the provider’s own name of the model', async () => {
    const body = ask(
      [
        { type: 'text', text: 'Look' },
        { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA', detail: 'low' } },
      ],
      {
        model: 'renamed',
        temperature: 0.5,
        max_tokens: 20,
        top_p: 0.9,
        stop: 'END',
        presence_penalty: -1,
        seed: 7,
        tools: [weather],
        tool_choice: 'auto',
        parallel_tool_calls: false,
        response_format: {
          type: 'json_schema',
          json_schema: { name: 'x', schema: { type: 'object', properties: {} }, strict: true },
        },
      },
    );
    const response = await send(body);
    expect(((await response.json()) as Body).model).toBe('renamed');
    const entry = fixture.sandbox.entries.findLast((one) => one.client_request_id === idOf(response));
    const { model: _model, stop: _stop, ...rest } = body;
    expect(entry?.body).toEqual({ ...rest, model: 'vendor/renamed', stop: ['END'] });
    expect(entry?.headers.get('authorization')).toBe('Bearer provider-key-canary');
  });

  test('comes from the next provider when the first is unavailable: two attempts, one charge', async () => {
    const response = await send(ask('[[usage 10 10]] hi', { model: 'fallback' }));
    expect(response.status).toBe(200);
    expect(await look(response)).toMatchObject({
      status: 'completed',
      provider: 'Backup',
      fallback: true,
      cost: { total: '0.000030000000' },
      attempts: [
        {
          index: 1,
          provider: 'Gone',
          status: 'failed',
          upstream_status: null,
          error: 'provider_unavailable',
        },
        { index: 2, provider: 'Backup', status: 'succeeded', upstream_status: 200, error: null },
      ],
    } as Body);
  });
});

describe('200, a stream', () => {
  test('begins with the role, ends with the reason and [DONE], and adds up to the same answer', async () => {
    const response = await send(ask('Hello world', { stream: true }));
    const { chunks, error, isDone } = await readStream(response);
    expect([error, isDone]).toEqual([null, true]);
    expect(chunks[0]?.choices).toEqual([
      { index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null },
    ]);
    expect(textOf(chunks)).toBe('You said: Hello world');
    expect(chunks.at(-1)?.choices).toEqual([{ index: 0, delta: {}, finish_reason: 'stop' }]);
    expect(
      chunks.every(
        (chunk) =>
          chunk.object === 'chat.completion.chunk' && chunk.id === idOf(response) && chunk.model === 'full',
      ),
    ).toBe(true);
    expect(chunks.every((chunk) => Object.keys(chunk).join() === 'id,object,created,model,choices')).toBe(
      true,
    );
    const generation = await look(response);
    expect(generation).toMatchObject({ status: 'completed', streaming: true });
    expect(generation.time_to_first_token_ms).toBeNumber();
  });

  test('with include_usage has one more chunk, without choices, before [DONE]', async () => {
    const { chunks } = await readStream(
      await send(ask('[[usage 5 6]] hi', { stream: true, stream_options: { include_usage: true } })),
    );
    expect(chunks.at(-1)).toMatchObject({
      choices: [],
      usage: { prompt_tokens: 5, completion_tokens: 6, total_tokens: 11 },
    });
    expect(chunks.filter((chunk) => chunk.usage)).toHaveLength(1);
  });

  test.each(['[[crlf]]', '[[bytes 1]]', '[[bytes 7]]', '[[burst]]', '[[chunk-delay 5]]'])(
    'reads the provider however its bytes arrive: %s',
    async (directive) => {
      const { chunks, error } = await readStream(
        await send(ask(`${directive} [[say Grüße 𝄞 "x" und so fort]]`, { stream: true })),
      );
      expect(error).toBeNull();
      expect(textOf(chunks)).toBe('Grüße 𝄞 "x" und so fort');
    },
  );

  test('keeps parallel tool calls apart by index, in the form of the contract', async () => {
    const { chunks } = await readStream(
      await send(ask('[[tools 2]] [[interleave]] go', { stream: true, tools: [weather, clock] })),
    );
    const deltas = chunks.flatMap((chunk) => chunk.choices[0]?.delta.tool_calls ?? []);
    for (const index of [0, 1]) {
      const [first, ...rest] = deltas.filter((delta) => delta.index === index);
      expect(first).toEqual({
        index,
        id: expect.stringMatching(/^call_/),
        type: 'function',
        function: { name: index === 0 ? 'weather' : 'clock', arguments: '' },
      });
      expect(rest.every((delta) => Object.keys(delta).join() === 'index,function')).toBe(true);
      expect(JSON.parse(rest.map((delta) => delta.function.arguments).join(''))).toBeObject();
    }
    expect(chunks.at(-1)?.choices[0]?.finish_reason).toBe('tool_calls');
  });

  test('falls back before its first byte', async () => {
    const response = await send(ask('hi', { model: 'fallback', stream: true }));
    expect(textOf((await readStream(response)).chunks)).toBe('You said: hi');
    expect(await look(response)).toMatchObject({ provider: 'Backup', fallback: true, status: 'completed' });
  });

  test('is complete even if the provider omits its last marker', async () => {
    const response = await send(ask('[[no-done]] hi', { stream: true }));
    expect(await readStream(response)).toMatchObject({ error: null, isDone: true });
    expect((await look(response)).status).toBe('completed');
  });
});

describe('in-band errors', () => {
  test.each([
    ['[[cut 2]] a b c d', 'provider_stream_error', 'provider_error', 2],
    ['[[end 2]] a b c d', 'provider_stream_error', 'provider_error', 2],
    ['[[stall 2]] a b c d', 'provider_timeout', 'provider_error', 2],
    ['[[error-event 2]] a b c d', 'provider_stream_error', 'provider_error', 2],
    ['[[malformed 2]] [[no-usage]] a b c d', 'malformed_stream_chunk', 'provider_error', 2],
    ['[[malformed 0]] a', 'malformed_stream_chunk', 'provider_error', 0],
    ['[[empty]]', 'empty_provider_stream', 'provider_error', 0],
    ['[[no-usage]] hi', 'usage_missing', 'billing_error', null],
    ['[[bad-usage negative]] hi', 'usage_missing', 'billing_error', null],
    ['[[bad-usage fraction]] hi', 'usage_missing', 'billing_error', null],
    ['[[bad-usage string]] hi', 'usage_missing', 'billing_error', null],
  ] as [string, string, string, number | null][])('%s → %s', async (content, code, type, textChunks) => {
    const model = content.startsWith('[[stall') ? 'hasty' : 'full';
    const response = await send(
      ask(content, { model, stream: true, stream_options: { include_usage: true } }),
    );
    const { chunks, error, isDone } = await readStream(response);
    expect(error).toMatchObject({ code, type });
    expect(isDone).toBe(true);
    if (textChunks !== null)
      expect(chunks.filter((chunk) => chunk.choices[0]?.delta.content)).toHaveLength(textChunks);
    expect(chunks.some((chunk) => chunk.usage)).toBe(false);
    const generation = await look(response);
    expect(generation).toMatchObject({
      status: 'failed',
      usage: null,
      cost: null,
      error: { code, type },
    } as Body);
  });

  test('repeated_streaming_chunk_limit: nothing more is forwarded, but what was used is charged', async () => {
    const response = await send(ask('[[repeat 200]]', { stream: true }));
    const { chunks, error, isDone } = await readStream(response);
    expect(error).toMatchObject({ code: 'repeated_streaming_chunk_limit', type: 'provider_error' });
    expect(isDone).toBe(true);
    expect(chunks.filter((chunk) => chunk.choices[0]?.delta.content)).toHaveLength(100);
    const generation = await look(response);
    expect(generation).toMatchObject({
      status: 'failed',
      usage: { output_tokens: 200 },
      attempts: [{ status: 'failed', error: 'repeated_streaming_chunk_limit' }],
      error: { code: 'repeated_streaming_chunk_limit' },
    } as Body);
    expect(Number(generation.cost?.total)).toBeGreaterThan(0);
  });

  test('a provider that repeats itself and then breaks off is one failure, told once, and not charged', async () => {
    const response = await send(ask('[[repeat 200]] [[cut 150]]', { stream: true }));
    const text = await response.clone().text();
    expect(text.match(/"error":/g)).toHaveLength(1);
    expect((await readStream(response)).error).toMatchObject({ code: 'repeated_streaming_chunk_limit' });
    expect(await look(response)).toMatchObject({ status: 'failed', usage: null, cost: null } as Body);
  });

  test('insufficient_balance when the answer cost more than is there: what is there is taken, the rest written off', async () => {
    const { credit, directive } = await justShort();
    const { key: own, account } = await fixture.customer(credit);
    const response = await send(ask(directive, { stream: true, max_tokens: 10 }), { key: own });
    expect(await readStream(response)).toMatchObject({
      error: { code: 'insufficient_balance', type: 'insufficient_balance' },
      isDone: true,
    });
    expect(await look(response, own)).toMatchObject({
      status: 'failed',
      cost: { total: credit },
      error: { code: 'insufficient_balance' },
    } as Body);
    const [row] = await fixture.database.sql`
      select balance, held, (select amount from write_offs where account_id = accounts.id) as lost from accounts where id = ${account}`;
    expect(row).toEqual({ balance: '0.000000000000', held: '0.000000000000', lost: '0.000014000000' });
  });
});

/**
 * What is held for a request, and directives that report a little more: providers count slightly differently, which is
 * tolerated.
 */
async function justShort(): Promise<{ credit: string; directive: string }> {
  const ofLength = (usage: string) => `[[usage ${usage}]]`.padEnd(40, 'x');
  const probe = await send(ask(ofLength('1 1'), { max_tokens: 10 }));
  const [row] = await fixture.database.sql<[{ hold: string; tokens: bigint }]>`
    select hold, ((hold - 0.00002) * 1000000)::bigint as tokens from generations
    where replace(id::text, '-', '') = ${idOf(probe).slice(4)}`;
  return { credit: row.hold, directive: ofLength(`${row.tokens + 4n} 15`) };
}

describe('402, 403, 429', () => {
  test('402 insufficient_balance before anything is called', async () => {
    const { key: own } = await fixture.customer('0.0001');
    const calls = fixture.sandbox.entries.length;
    await expectError(await send(ask('hi'), { key: own }), 402, 'insufficient_balance');
    expect(fixture.sandbox.entries).toHaveLength(calls);
  });

  test('402 insufficient_balance for an answer that cost more than is there: withheld and not charged', async () => {
    const { credit, directive } = await justShort();
    const { key: own, account } = await fixture.customer(credit);
    const response = await send(ask(directive, { max_tokens: 10 }), { key: own });
    await expectError(response, 402, 'insufficient_balance');
    expect(await look(response, own)).toMatchObject({
      status: 'failed',
      cost: null,
      attempts: [{ status: 'succeeded' }],
      error: { code: 'insufficient_balance' },
    } as Body);
    const [row] = await fixture.database.sql`select balance, held from accounts where id = ${account}`;
    expect(row).toEqual({ balance: credit, held: '0.000000000000' });
  });

  test('403 model_not_allowed', async () => {
    const { key: own } = await fixture.customer('1', '--allow', 'plain');
    await expectError(await send(ask('hi'), { key: own }), 403, 'model_not_allowed', 'model');
  });

  test('403 monthly_spend_limit_exceeded', async () => {
    const { key: own } = await fixture.customer('1', '--monthly-limit', '0.0015');
    expect((await send(ask('[[usage 900 0]] hi', { max_tokens: 10 }), { key: own })).status).toBe(200);
    await expectError(
      await send(ask('hi', { max_tokens: 100 }), { key: own }),
      403,
      'monthly_spend_limit_exceeded',
    );
  });

  test('429 rate_limit_exceeded with Retry-After, and the provider is not called', async () => {
    const { key: own } = await fixture.customer('1', '--rpm', '2');
    for (const remaining of ['1', '0']) {
      const response = await send(ask('hi'), { key: own });
      expect([response.status, response.headers.get('x-ratelimit-remaining-requests')]).toEqual([
        200,
        remaining,
      ]);
    }
    for (let round = 0; round < 3; round++) {
      const response = await send(ask('hi'), { key: own });
      expect(Number(response.headers.get('retry-after'))).toBeWithin(1, 31);
      expect(response.headers.get('x-ratelimit-limit-requests')).toBe('2');
      await expectError(response, 429, 'rate_limit_exceeded');
    }
  });

  test('every response to a key states its rate: refusals, failures, lists and lookups', async () => {
    const { key: own } = await fixture.customer('1', '--rpm', '5');
    const rateOf = (response: Response) =>
      ['limit', 'remaining'].map((name) => response.headers.get(`x-ratelimit-${name}-requests`));
    const get = (path: string) =>
      fetch(`${fixture.gateway.origin}${path}`, { headers: { authorization: `Bearer ${own}` } });
    expect(rateOf(await get('/v1/models'))).toEqual(['5', '5']);
    const failed = await send(ask('[[status 500]]'), { key: own });
    expect([failed.status, ...rateOf(failed)]).toEqual([502, '5', '4']);
    const refused = await send(ask('hi', { n: 2 }), { key: own });
    expect([refused.status, ...rateOf(refused)]).toEqual([400, '5', '4']);
    const streamed = await send(ask('hi', { stream: true }), { key: own });
    expect(rateOf(streamed)).toEqual(['5', '3']);
    await streamed.text();
    for (const path of ['/v1/usage', '/v1/generations', `/v1/generations/${idOf(failed)}`, '/v1/models'])
      expect(rateOf(await get(path))).toEqual(['5', '3']);
    expect(rateOf(await get('/v1/generations/req_0'))).toEqual(['5', '3']);
    const stranger = await send(ask('hi'), { key: 'svc_sk_wrong' });
    expect([stranger.status, ...rateOf(stranger)]).toEqual([401, null, null]);
  });

  test('429 provider_rate_limit with the provider’s own Retry-After', async () => {
    const response = await send(ask('[[status 429]] [[retry-after 7]]', { model: 'limited' }));
    expect(response.headers.get('retry-after')).toBe('7');
    await expectError(response, 429, 'provider_rate_limit');
  });
});

describe('400, 404, 503 before a Generation exists', () => {
  test.each([
    ['not JSON', '{', 400, 'invalid_json', undefined],
    ['an array', '[]', 400, 'invalid_request', undefined],
    ['no model', { messages: [{ role: 'user', content: 'x' }] }, 400, 'missing_required_parameter', 'model'],
    ['a bad temperature', ask('x', { temperature: 2 }), 400, 'invalid_parameter', 'temperature'],
    ['an unknown field', ask('x', { n: 1 }), 400, 'unsupported_parameter', 'n'],
    ['a bad tool', ask('x', { tools: [{ type: 'function' }] }), 400, 'invalid_parameter', 'tools'],
    [
      'tools on a model without them',
      ask('x', { model: 'plain', tools: [weather] }),
      400,
      'unsupported_parameter',
      'tools',
    ],
    [
      'a stream on a model without it',
      ask('x', { model: 'plain', stream: true }),
      400,
      'unsupported_parameter',
      'stream',
    ],
    [
      'an image on a model without sight',
      ask([{ type: 'image_url', image_url: { url: 'https://example.com/a.png' } }], { model: 'plain' }),
      400,
      'unsupported_parameter',
      'messages',
    ],
    [
      'a schema on a model without structured output',
      ask('x', { model: 'plain', response_format: { type: 'json_schema', json_schema: { name: 'x' } } }),
      400,
      'unsupported_parameter',
      'response_format',
    ],
    ['max_tokens above the model’s', ask('x', { max_tokens: 1001 }), 400, 'invalid_parameter', 'max_tokens'],
    ['a disabled model', ask('x', { model: 'disabled' }), 400, 'invalid_model', 'model'],
    ['an image model', ask('x', { model: 'picture' }), 400, 'invalid_model', 'model'],
    ['an unpriced model', ask('x', { model: 'unpriced' }), 400, 'model_pricing_not_configured', 'model'],
    ['an unknown model', ask('x', { model: '__proto__' }), 404, 'model_not_found', 'model'],
    ['a provider without its key', ask('x', { model: 'absent' }), 503, 'provider_not_configured', undefined],
    ['NUL', ask('a\u0000b'), 400, 'invalid_parameter', 'messages[0].content'],
    [
      'a lone surrogate',
      '{"model":"full","messages":[{"role":"user","content":"\\ud800"}]}',
      400,
      'invalid_parameter',
      'messages[0].content',
    ],
    [
      'a number beyond all bounds',
      '{"model":"full","seed":1e400,"messages":[]}',
      400,
      'invalid_parameter',
      'seed',
    ],
    ['a repeated key', '{"model":"full","model":"plain","messages":[]}', 400, 'invalid_parameter', 'model'],
  ] as [string, Body | string, number, string, string | undefined][])(
    '%s',
    async (_name, body, status, code, param) => {
      const response = await send(body);
      const error = await expectError(response, status, code, param);
      expect(error.message).not.toBe('');
      const lookup = await fetch(`${fixture.gateway.origin}/v1/generations/${idOf(response)}`, {
        headers: { authorization: `Bearer ${key}` },
      });
      expect(lookup.status).toBe(404);
    },
  );

  test('a body of the wrong type, too large, too deep, or that names a prototype', async () => {
    await expectError(
      await send(ask('x'), { headers: { 'content-type': 'text/plain' } }),
      400,
      'invalid_request',
    );
    await expectError(await send(JSON.stringify(ask('x'.repeat(21_000_000)))), 400, 'invalid_request');

    expect(
      (await send(`{${Array.from({ length: 1_500_000 }, (_, index) => `"k${index}":1`).join()}}`)).status,
    ).toBe(400);
    await expectError(
      await send(ask('x'), { headers: { 'content-encoding': 'gzip' } }),
      400,
      'invalid_request',
    );
    expect(
      (await send(`{"model":"full","messages":${'['.repeat(100_000)}${']'.repeat(100_000)}}`)).status,
    ).toBe(400);
    expect(
      (await send('{"model":"full","__proto__":{"stream":true},"messages":[{"role":"user","content":"x"}]}'))
        .status,
    ).toBe(400);
  });

  test('a query parameter', async () => {
    const response = await fetch(`${fixture.gateway.origin}/v1/chat/completions?stream=true`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
    });
    await expectError(response, 400, 'unsupported_parameter', 'stream');
  });
});

describe('500, 502, 504 from providers', () => {
  test.each([
    ['[[status 401]]', 502, 'provider_authentication_error', 401],
    ['[[status 403]]', 502, 'provider_authentication_error', 403],
    ['[[status 400]]', 502, 'provider_bad_request', 400],
    ['[[status 404]]', 502, 'provider_bad_request', 404],
    ['[[status 408]]', 504, 'provider_timeout', 408],
    ['[[status 500]]', 502, 'provider_unavailable', 500],
    ['[[status 503]]', 502, 'provider_unavailable', 503],
    ['[[html 502]]', 502, 'provider_unavailable', 502],
    ['[[redirect]]', 502, 'provider_unknown_error', 302],
    ['[[not-json]]', 502, 'provider_unknown_error', 200],
    ['[[hang]]', 504, 'provider_timeout', null],
    ['[[close]]', 502, 'provider_unavailable', null],
  ] as [string, number, string, number | null][])(
    '%s → %d %s, whole and streamed, nothing charged',
    async (content, status, code, upstreamStatus) => {
      const model = content === '[[hang]]' ? 'mute' : 'full';
      for (const stream of [false, true]) {
        const response = await send(ask(content, { model, stream }));
        const expected = stream && content === '[[not-json]]' ? 'provider_stream_error' : code;
        const error = await expectError(response, status, expected);
        expect(JSON.stringify(error)).not.toContain('sandbox-private-detail');
        const generation = await look(response);
        expect(generation).toMatchObject({
          status: 'failed',
          usage: null,
          cost: null,
          error: { code: expected },
        } as Body);
        expect(generation.attempts).toMatchObject([
          { status: 'failed', upstream_status: upstreamStatus, error: expected },
        ]);
      }
    },
  );

  test('502 provider_unknown_error for an error inside a 200', async () => {
    await expectError(await send(ask('[[error-body]]')), 502, 'provider_unknown_error');
  });

  test('502 provider_unavailable when nobody listens; provider_authentication_error for a bad key of ours', async () => {
    await expectError(await send(ask('x', { model: 'gone' })), 502, 'provider_unavailable');
    const response = await send(ask('x', { model: 'locked' }));
    expect(response.headers.get('x-should-retry')).toBe('false');
    await expectError(response, 502, 'provider_authentication_error');
  });

  test('500 billing_consistency_error for a whole answer without usage: withheld, not charged, noted as a loss', async () => {
    for (const directive of ['[[no-usage]]', '[[bad-usage negative]]', '[[bad-usage partial]]']) {
      const response = await send(ask(`${directive} hi`));
      await expectError(response, 500, 'billing_consistency_error');
      expect(await look(response)).toMatchObject({
        status: 'failed',
        usage: null,
        cost: null,
        attempts: [{ status: 'succeeded' }],
      } as Body);
    }
    const [{ count }] = await fixture.database
      .sql`select count(*)::int as count from write_offs where reason = 'usage_missing'`;
    expect(count).toBeGreaterThanOrEqual(3);
  });
});

describe('a client that leaves', () => {
  test.each([
    ['a stream', true],
    ['a whole answer', false],
  ])(
    '%s is charged for what the provider finishes, and its Generation is cancelled',
    async (_what, stream) => {
      const { key: own, account } = await fixture.customer('1');
      const content = stream ? '[[long 20]] [[chunk-delay 30]]' : '[[usage 3 20]]';
      const client = openLeavingClient(
        fixture.gateway.origin,
        '/v1/chat/completions',
        asHolderOf(own),
        ask(content, { model: 'held', stream }),
      );
      if (stream) await client.until((received) => received.includes('data: '));
      await held.holds(1);
      await client.leave();
      const [open] = await fixture.database
        .sql`select id from open_generations where account_id = ${account}`;
      expect(open).toBeDefined();
      held.release();
      const row = await endOf(account);
      expect(row).toMatchObject({ status: 'cancelled', output_tokens: 20n });
      expect(Number(row.cost_total)).toBeGreaterThan(0);
    },
  );

  test('before the first event is charged too', async () => {
    const { key: own, account } = await fixture.customer('1');
    const { leave } = openLeavingClient(
      fixture.gateway.origin,
      '/v1/chat/completions',
      asHolderOf(own),
      ask('[[delay 1000]] [[usage 3 20]]', { stream: true }),
    );
    await eventually('an open Generation', async () => {
      const open = await fixture.database.sql`select 1 from open_generations where account_id = ${account}`;
      return open.length > 0;
    });
    await leave();
    expect(await endOf(account)).toMatchObject({ status: 'cancelled', output_tokens: 20n });
  });

  async function endOf(account: string): Promise<{ cost_total: string }> {
    return await eventually('the end of the request', async () => {
      const [row] = await fixture.database
        .sql`select status, output_tokens, cost_total from generations where account_id = ${account}`;
      return row;
    });
  }
});
