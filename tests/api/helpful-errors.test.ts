/** Errors that clients of other APIs meet first: the code is the contract's, the message says what to do. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import OpenAI from 'openai';
import { type ChatFixture, chatCatalog, type ErrorBody, openChatFixture } from '../support/chat-fixture.ts';
import { eventually } from '../support/eventually.ts';
import { type Gateway, startGateway, temporaryFolder } from '../support/gateway.ts';

let fixture: ChatFixture;
let named: Gateway;
let key: string;

beforeAll(async () => {
  fixture = await openChatFixture((url) =>
    chatCatalog(url, {
      providers: `  playground: { name: Playground, adapter: sandbox }
  vendor: { name: Vendor, adapter: openai, base_url: ${url}/v1, api_key_env: OPENAI_API_KEY }`,
      models: `
  film: { workload: video, pricing: { billing_type: second, unit_price: "0.1" }, providers: [main] }
  vendors: { workload: chat, pricing: { billing_type: token, input: "1", output: "2" }, providers: [vendor] }
  trial: { workload: chat, capabilities: [text_input, text_output, function_calling], pricing: { billing_type: token, input: "1", output: "2" }, providers: [playground] }
  sketch: { workload: image, sizes: ["1024x1024"], pricing: { billing_type: image, unit_price: "0.04" }, providers: [playground] }`,
    }),
  );
  named = await startGateway({
    ...fixture.environment,
    TOLLGATE_DATA: temporaryFolder(),
    PUBLIC_URL: 'https://gateway.example.com',
    OPENAI_API_KEY: 'svc_sk_misplaced',
  });
  ({ key } = await fixture.customer('10', '--rpm', '100000'));
});

afterAll(async () => {
  await named.stop();
  await fixture.close();
});

function request(method: string, path: string, body?: object, origin = fixture.gateway.origin, asKey = key) {
  return fetch(`${origin}${path}`, {
    method,
    headers: { authorization: `Bearer ${asKey}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}

async function errorOf(...asked: Parameters<typeof request>) {
  const response = await request(...asked);
  return { status: response.status, ...((await response.json()) as ErrorBody).error };
}

const chat = (fields: object, origin?: string) =>
  errorOf(
    'POST',
    '/v1/chat/completions',
    { model: 'full', messages: [{ role: 'user', content: 'x' }], ...fields },
    origin,
  );

describe('400', () => {
  test.each([
    [
      { max_completion_tokens: 5 },
      'unsupported_parameter',
      'max_completion_tokens',
      'The parameter max_completion_tokens is not supported: use max_tokens. Your client may have renamed it. See /docs/clients#max-tokens',
    ],
    [
      { n: 2 },
      'unsupported_parameter',
      'n',
      'The parameter n is not supported. See /docs/clients#rejected-parameters',
    ],
    [
      { messages: [{ role: 'developer', content: 'x' }] },
      'invalid_parameter',
      'messages[0].role',
      'The role "developer" of messages[0] is not supported: use "system". See /docs/clients#messages',
    ],
    [
      { stop: ['a', 'b', 'c', 'd', 'e'] },
      'invalid_parameter',
      'stop',
      'The parameter stop is invalid: expected a non-empty string, an array of 1 to 4 of them, or null, got 5 of at most 4. See /docs/chat#parameters',
    ],
    [
      { tool_choice: 'required' },
      'unsupported_parameter',
      'tool_choice',
      'The tool_choice "required" is not supported: use "auto" or name a function. See /docs/clients#tool-choice',
    ],
    [{ model: 'disabled' }, 'invalid_model', 'model', 'The model disabled is disabled.'],
    [
      { model: 'picture' },
      'invalid_model',
      'model',
      'The model picture makes images: use POST /v1/images/generations.',
    ],
    [
      { model: 'film' },
      'invalid_model',
      'model',
      'The model film makes videos, for which there is no endpoint.',
    ],
  ])('%j', async (fields, code, param, message) => {
    expect(await chat(fields)).toEqual({ status: 400, type: 'invalid_request_error', code, param, message });
  });

  test.each([
    [{ size: 'big' }, 'invalid_size', '/docs/images#parameters'],
    [{ n: 9 }, 'invalid_n', '/docs/images#parameters'],
    [{ response_format: 'b64_json' }, 'unsupported_parameter', '/docs/images#parameters'],
    [{ response_format: 'file' }, 'invalid_response_format', '/docs/images#parameters'],
    [{ quality: 'hd' }, 'unsupported_parameter', '/docs/images#parameters'],
    [{ prompt: 7 }, 'invalid_parameter', '/docs/images#parameters'],
  ])('of images: %j', async (fields, code, section) => {
    const body = { model: 'picture', prompt: 'A cat', size: '1024x1024', ...fields };
    const error = await errorOf('POST', '/v1/images/generations', body);
    expect(error.code).toBe(code);
    expect(error.message).toEndWith(` See ${section}`);
  });

  const jsonType = { 'content-type': 'application/json' };
  test.each([
    ['that are no JSON', '{broken', jsonType, 'invalid_json', 1],
    ['that are no object', '[]', jsonType, 'invalid_request', 1],
    ['with a key twice', '{"a":1,"a":2}', jsonType, 'invalid_parameter', 1],
    ['of another type', '{}', { 'content-type': 'text/plain' }, 'invalid_request', 1],
    ['that are compressed', '{}', { ...jsonType, 'content-encoding': 'gzip' }, 'invalid_request', 1],
    ['that are too large', 'x', jsonType, 'invalid_request', 21 * 1024 * 1024],
  ])('of bodies %s', async (_name, text, headers, code, times) => {
    const body = text.repeat(times);
    for (const path of ['chat/completions', 'images/generations']) {
      const response = await fetch(`${fixture.gateway.origin}/v1/${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, ...headers },
        body,
      });
      const { error } = (await response.json()) as ErrorBody;
      expect([response.status, error.code, error.message]).toEqual([
        400,
        code,
        expect.stringMatching(/ See \/docs\/chat#bodies$/),
      ]);
    }
  });

  test.each([
    [
      '[[statsu 503]] hello',
      'The sandbox does not know the directive [[statsu]]. Did you mean [[status]]? See /docs/sandbox#directives',
    ],
    [
      '[[frobnicate]]',
      'The sandbox does not know the directive [[frobnicate]]. See /docs/sandbox#directives',
    ],
    [
      'hello [[delay soon]]',
      'The sandbox directive [[delay]] needs a whole number such as 3, but has "soon". See /docs/sandbox#directives',
    ],
    [
      '[[fail-first]]',
      'The sandbox directive [[fail-first]] needs an HTTP status such as 503. See /docs/sandbox#directives',
    ],
    [
      '[[cache-write 900 2h]]',
      'The sandbox directive [[cache-write]] needs a number of tokens, and may end with 1h, but has "900 2h". See /docs/sandbox#directives',
    ],
    [
      `[[hang ${'x'.repeat(41)}]]`,
      `The sandbox directive [[hang]] takes no value, but has "${'x'.repeat(40)}…". See /docs/sandbox#directives`,
    ],
  ])('a directive that the sandbox does not know: %s', async (content, message) => {
    const expected = { status: 400, type: 'invalid_request_error', code: 'invalid_parameter', message };
    const parts = [{ type: 'text', text: content }];
    for (const asked of [content, parts])
      expect(await chat({ model: 'trial', messages: [{ role: 'user', content: asked }] })).toEqual({
        ...expected,
        param: 'messages',
      });
    const drawing = { model: 'sketch', prompt: content, size: '1024x1024' };
    expect(await errorOf('POST', '/v1/images/generations', drawing)).toEqual({
      ...expected,
      param: 'prompt',
    });
  });

  test('a directive that calls tools where there are none', async () => {
    const asked = { role: 'user', content: '[[tool get_wether]]' };
    const fields = { model: 'trial', messages: [asked] };
    expect(await chat(fields)).toMatchObject({
      status: 400,
      code: 'invalid_parameter',
      param: 'tools',
      message:
        'The sandbox directive [[tool]] needs at least one entry in tools. See /docs/sandbox#directives',
    });
    const tool = { type: 'function', function: { name: 'get_weather' } };
    const call = { id: 'a', type: 'function', function: { name: 'get_weather', arguments: '{}' } };
    const results = [
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'a', content: 'Rain' },
    ];
    for (const more of [{ tools: [tool] }, { messages: [asked, ...results] }])
      expect((await request('POST', '/v1/chat/completions', { ...fields, ...more })).status).toBe(200);
  });

  test('what is not a directive of the sandbox, or not meant for it, is not refused', async () => {
    const texts = ['[[1, 2], [3, 4]]', '[[ ]]', ']] [['];
    const earlier = [
      { role: 'user', content: '[[statsu]]' },
      { role: 'assistant', content: '[[statsu]]' },
    ];
    const answers = await Promise.all(
      [
        ...texts.map((content) => ({ model: 'trial', messages: [{ role: 'user', content }] })),
        { model: 'trial', messages: [...earlier, { role: 'user', content: 'hello' }] },
      ].map((body) => request('POST', '/v1/chat/completions', body)),
    );
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    // The gateway checks nothing for other providers, even if one is a sandbox.
    expect(await chat({ messages: [{ role: 'user', content: '[[statsu]]' }] })).toMatchObject({
      code: 'provider_bad_request',
    });
  });

  test('a long text is left to the sandbox, because the gateway has no time for a million directives', async () => {
    const long = (length: number) => ({
      model: 'trial',
      messages: [{ role: 'user', content: '[[statsu]]'.padEnd(length) }],
    });
    expect(await chat(long(100_000))).toMatchObject({ code: 'invalid_parameter' });
    expect(await chat(long(100_001))).toMatchObject({ code: 'provider_bad_request' });
  });

  test('a chat model does not make images', async () => {
    const body = { model: 'full', prompt: 'A cat', size: '1024x1024' };
    expect(await errorOf('POST', '/v1/images/generations', body)).toMatchObject({
      code: 'invalid_model',
      message: 'The model full is for chat: use POST /v1/chat/completions.',
    });
  });

  test('a link has the public address of the gateway, where one is configured', async () => {
    const { message } = await chat({ max_completion_tokens: 5 }, named.origin);
    expect(message).toEndWith(' See https://gateway.example.com/docs/clients#max-tokens');
  });

  test('the link leads to a page with that section', async () => {
    const { message } = await chat({ max_completion_tokens: 5 });
    const [, path = '', anchor = ''] = /(\/docs\/\w+)#([\w-]+)$/.exec(message) ?? [];
    const page = await fetch(`${fixture.gateway.origin}${path}`);
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(await page.text()).toContain(` id="${anchor}"`);
  });
});

describe('404', () => {
  test.each([
    ['GET', '/v1/responses/resp_1', 'nothing is stored here, so no response can be fetched'],
    ['DELETE', '/v1/responses/resp_1', 'send the whole conversation to POST /v1/responses.'],
    ['POST', '/v1/responses/resp_1/cancel', 'nothing is stored here'],
    ['POST', '/v1/responses/compact', 'nothing is stored here'],
    ['GET', '/v1/responses', 'use POST.'],
    ['POST', '/responses', 'use /v1/responses.'],
    ['POST', '/v1/embeddings', 'embeddings are not supported.'],
    ['POST', '/chat/completions', 'use /v1/chat/completions.'],
    ['POST', '/v1/v1/chat/completions', 'leave it out of the base URL.'],
    ['GET', '/v1/chat/completions', 'use POST.'],
    ['DELETE', '/v1/models/full', 'use GET.'],
    ['POST', '/v1/chat/completions/', 'leave out the slash at the end.'],
    ['GET', '/v1/models/', 'leave out the slash at the end.'],
    ['GET', '/v1/nothing', ' does not exist.'],
  ])('%s %s', async (method, path, cure) => {
    const error = await errorOf(method, path);
    expect(error).toMatchObject({ status: 404, type: 'invalid_request_error', code: 'not_found' });
    expect(error.message).toStartWith(`${method} ${path} does not exist`);
    expect(error.message).toContain(cure);
  });

  test('an unknown model: the nearest that this key can call, and no other', async () => {
    const limited = await fixture.customer('1', '--allow', 'plain,absent,disabled,picture');
    const told = async (model: string, asKey = key) => {
      const body = { model, messages: [{ role: 'user', content: 'x' }] };
      const called = await errorOf('POST', '/v1/chat/completions', body, undefined, asKey);
      expect(called).toMatchObject({ status: 404, code: 'model_not_found', param: 'model' });
      return called.message;
    };
    const list = 'GET /v1/models lists the models of this key.';
    expect(await told('ful')).toBe(`This model does not exist. Did you mean full? ${list}`);
    expect(await told('Renamed-2')).toBe(`This model does not exist. Did you mean renamed? ${list}`);
    for (const model of ['x'.repeat(200), 'absnt', 'disable', 'unprice', 'pictur', '💥'])
      expect(await told(model)).toBe(`This model does not exist. ${list}`);
    expect(await told('ful', limited.key)).toBe(`This model does not exist. ${list}`);
    expect(await told('plian', limited.key)).toBe(`This model does not exist. Did you mean plain? ${list}`);
    const drawing = { model: 'pictur', prompt: 'x' };
    expect((await errorOf('POST', '/v1/images/generations', drawing)).message).toContain('mean picture?');
    // Looked up, it may be of any kind.
    expect((await errorOf('GET', '/v1/models/pictur')).message).toContain('mean picture?');
    expect((await errorOf('GET', '/v1/models/ful', undefined, undefined, limited.key)).message).toBe(
      `This model does not exist. ${list}`,
    );
  });

  test('an SDK shows it', async () => {
    const client = new OpenAI({ baseURL: fixture.gateway.origin, apiKey: key, maxRetries: 0 });
    const refused = await client.chat.completions
      .create({ model: 'full', messages: [{ role: 'user', content: 'x' }] })
      .catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(OpenAI.NotFoundError);
    expect(String(refused)).toContain('the base URL has to end in /v1');
  });

  test.each(['/docs/nothing', '/docs/', '/docs/chat/more'])('there is no guide at %s', async (path) => {
    const response = await fetch(`${fixture.gateway.origin}${path}`);
    expect([response.status, ((await response.json()) as ErrorBody).error.code]).toEqual([404, 'not_found']);
    const page = await fetch(`${fixture.gateway.origin}${path}`, { headers: { accept: 'text/html' } });
    expect([page.status, page.headers.get('content-type')]).toEqual([404, 'text/html; charset=utf-8']);
    // Not the dashboard, which would ask for a sign-in or suggest that access is missing.
    const text = await page.text();
    expect(text).toContain('Page not found');
    expect(text).not.toContain('/assets/');
  });
});

test('503 of a provider that is not configured: which one, and what the operator has to set', async () => {
  expect(await chat({ model: 'absent' })).toMatchObject({
    status: 503,
    code: 'provider_not_configured',
    message:
      'No provider of this model is configured: the operator has to set NO_KEY, the key for Absent, where the gateway starts.',
  });
});

test('503 of a provider whose key is one of this gateway: the key is not sent, and the log says why', async () => {
  const before = fixture.sandbox.entries.length;
  const text = 'OPENAI_API_KEY is a key of this gateway (svc_sk_…), not one of Vendor.';
  expect(await chat({ model: 'vendors' }, named.origin)).toMatchObject({
    status: 503,
    code: 'provider_not_configured',
    message: `No provider of this model is configured: ${text}`,
  });
  expect(fixture.sandbox.entries).toHaveLength(before);
  expect(named.output()).toContain(text);
  expect(named.output()).not.toContain('svc_sk_misplaced');
});

const howToSend = 'Send your API key as: Authorization: Bearer svc_sk_…';

test.each([
  [{}, `There is no Authorization header. ${howToSend}`],
  [
    { authorization: 'svc_sk_x' },
    `The Authorization header does not consist of Bearer and an API key. ${howToSend}`,
  ],
  [
    { authorization: 'Bearer sk-x' },
    `This is not a key of this gateway: its keys begin with svc_sk_. ${howToSend}`,
  ],
  [{ authorization: 'Bearer svc_sk_x' }, `This API key is incomplete or mistyped. ${howToSend}`],
  [{ 'x-api-key': 'svc_sk_x' }, `This API key is incomplete or mistyped. ${howToSend}`],
] as [Record<string, string>, string][])('401 for %j', async (headers, message) => {
  const response = await fetch(`${fixture.gateway.origin}/v1/models`, { headers });
  expect([response.status, await response.json()]).toEqual([
    401,
    { error: { message, type: 'authentication_error', code: 'invalid_api_key' } },
  ]);
});

test('clients of the Messages API are told of their own header for the key', async () => {
  const headers = { 'anthropic-version': '2023-06-01' };
  const response = await fetch(`${fixture.gateway.origin}/v1/messages`, { method: 'POST', headers });
  expect([response.status, await response.json()]).toMatchObject([
    401,
    {
      error: {
        message:
          'There is no x-api-key header. Send your API key as: x-api-key: svc_sk_…, or Authorization: Bearer svc_sk_…',
      },
    },
  ]);
});

test('what broke the connection to a provider is in the log', async () => {
  expect(await chat({ model: 'gone' })).toMatchObject({ status: 502, code: 'provider_unavailable' });
  const line = /"attempt failed".*"provider":"Gone","code":"provider_unavailable","reason":"[A-Z]\w+"/;
  await eventually('the line', () => line.test(fixture.gateway.output()));
});

test.each([
  [{ stream: false }, '[[status 503]]', 502],
  [{ stream: true }, '[[status 503]]', 502],
  [{ stream: false }, '[[status 429]]', 429],
  [{ stream: false, model: 'gone' }, 'x', 502],
])('the failure of a provider leads to its Generation: %j, %s', async (fields, content, status) => {
  const body = { model: 'full', messages: [{ role: 'user', content }], ...fields };
  const response = await request('POST', '/v1/chat/completions', body);
  const { message } = ((await response.json()) as ErrorBody).error;
  expect(response.status).toBe(status);
  const [, path = ''] =
    / GET (\/v1\/generations\/req_[0-9a-f]{32}) shows what was tried\.$/.exec(message) ?? [];
  expect(path).toEndWith(response.headers.get('x-service-request-id') ?? 'no ID');
  const generation = await request('GET', path);
  expect(await generation.json()).toMatchObject({ status: 'failed', attempts: [{ status: 'failed' }] });
});

test('so does the error event of a stream', async () => {
  const body = { model: 'full', messages: [{ role: 'user', content: '[[cut 2]] a b c d' }], stream: true };
  const response = await request('POST', '/v1/chat/completions', body);
  const [, message = ''] = /"message":"([^"]*)"/.exec(await response.text()) ?? [];
  const id = response.headers.get('x-service-request-id');
  expect(message).toBe(
    `The stream from the provider failed. GET /v1/generations/${id} shows what was tried.`,
  );
});
