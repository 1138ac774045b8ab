/** Providers that differ: in dialect, in what they support, and in whether they can be reached at all. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type DeafPort, startDeafPort } from '../../chaos/world/deaf-port.ts';
import { Calls } from '../../src/providers/call.ts';
import { chatAdapters } from '../../src/providers/chat-call.ts';
import { ConnectWatchdog } from '../../src/providers/connect-watchdog.ts';
import { imageAdapters, makeImages } from '../../src/providers/image-call.ts';
import { defaultDialect } from '../../src/providers/upstream.ts';
import {
  type ChatFixture,
  type ErrorBody,
  eventsOf,
  finishedGeneration,
  openChatFixture,
} from '../support/chat-fixture.ts';
import { emptyCall } from '../support/provider.ts';

const price = 'pricing: { billing_type: token, input: "1", output: "2" }';
const everything =
  'capabilities: [text_input, image_input, text_output, streaming, function_calling, structured_output]';

/** Everything that a new compatible vendor needs. */
const vendorEntry = (url: string) => `
  vendor:
    name: Vendor
    adapter: openai
    base_url: ${url}/api/openai
    api_key_env: MAIN_KEY
    dialect: { max_tokens: max_completion_tokens, seed: random_seed, stream_usage: always, images: data }
    unsupported_parameters: [presence_penalty]`;

const catalog = (url: string) => `
price_version: "2026-11"
providers:${vendorEntry(`http://127.0.0.1:${vendor.port}`)}
  anthropic: { name: Messages, adapter: anthropic, base_url: ${url}/v1, api_key_env: MAIN_KEY }
  google:    { name: Contents, adapter: google, base_url: ${url}/v1beta, api_key_env: MAIN_KEY }
  openai:    { name: Completions, adapter: openai, base_url: ${url}/v1, api_key_env: MAIN_KEY }
  locked:    { name: Locked, adapter: google, base_url: ${url}/v1beta, api_key_env: BAD_KEY }
  deaf:      { name: Deaf, adapter: openai, base_url: "http://127.0.0.1:${deaf.port}/v1", timeouts: { connect_ms: 300 } }
models:
  vendor-model: { workload: chat, ${everything}, ${price}, providers: [vendor] }
  messages:     { workload: chat, ${everything}, ${price}, providers: [anthropic] }
  contents:     { workload: chat, ${everything}, ${price}, providers: [google] }
  several:      { workload: chat, ${everything}, ${price}, providers: [anthropic, openai] }
  locked:       { workload: chat, ${price}, providers: [locked] }
  locked-backed: { workload: chat, ${price}, providers: [locked, openai] }
  deaf:         { workload: chat, ${price}, providers: [deaf] }
  deaf-backed:  { workload: chat, ${price}, providers: [deaf, openai] }
  fixed:        { workload: chat, ${everything}, unsupported_parameters: [temperature], ${price}, providers: [openai] }
`;

/** A vendor with its own dialect, which refuses what it does not know, as some do. */
const received: Record<string, unknown>[] = [];
const known = ['model', 'messages', 'stream', 'random_seed', 'max_completion_tokens', 'temperature'];
const vendor = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  development: false,
  reusePort: false,
  async fetch(request) {
    const body = (await request.json()) as Record<string, unknown>;
    received.push(body);
    const isKnown = Object.keys(body).every((name) => known.includes(name));
    if (new URL(request.url).pathname !== '/api/openai/chat/completions' || !isKnown)
      return Response.json({ detail: 'extra_forbidden' }, { status: 422 });
    const usage = { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 };
    if (body.stream !== true)
      return Response.json({
        choices: [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }],
        usage,
      });
    const chunks = [
      { choices: [{ index: 0, delta: { role: 'assistant', content: 'hi' }, finish_reason: null }] },
      { choices: [{ index: 0, delta: { content: '' }, finish_reason: 'stop' }], usage },
    ];
    const text = [...chunks.map((chunk) => JSON.stringify(chunk)), '[DONE]'].map(
      (data) => `data: ${data}\n\n`,
    );
    return new Response(text.join(''), { headers: { 'content-type': 'text/event-stream' } });
  },
});

let fixture: ChatFixture;
let deaf: DeafPort;
let key: string;
let account: string;

beforeAll(async () => {
  deaf = await startDeafPort();
  fixture = await openChatFixture(catalog);
  ({ key, account } = await fixture.customer('10', '--rpm', '100000'));
});

afterAll(async () => {
  await fixture.close();
  await deaf.close();
  await vendor.stop(true);
});

function chat(model: string, more = {}, content: unknown = 'hello'): Promise<Response> {
  return fetch(`${fixture.gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content }], ...more }),
  });
}

async function lookUp(response: Response) {
  return finishedGeneration(fixture.gateway.origin, key, response.headers.get('x-service-request-id') ?? '');
}

describe('one more compatible vendor is an entry in the catalogue', () => {
  test('it is called in its dialect, streamed and not', async () => {
    const whole = await chat('vendor-model', { seed: 7, max_tokens: 5 });
    expect(whole.status).toBe(200);
    expect(received.at(-1)).toEqual({
      model: 'vendor-model',
      messages: [{ role: 'user', content: 'hello' }],
      random_seed: 7,
      max_completion_tokens: 5,
    });
    expect(await lookUp(whole)).toMatchObject({
      status: 'completed',
      provider: 'Vendor',
      cost: { total: '0.000005000000' },
    });
    const streamed = await chat('vendor-model', { seed: 7, stream: true });
    expect(eventsOf(await streamed.text()).at(-1)).toBe('[DONE]');
    expect(received.at(-1)).not.toHaveProperty('stream_options');
    expect(await lookUp(streamed)).toMatchObject({ status: 'completed', cost: { total: '0.000005000000' } });
  });
});

const image = (url: string, detail?: string) => [{ type: 'image_url', image_url: { url, detail } }];

describe('400 unsupported_parameter before any money is held', () => {
  test.each([
    ['vendor-model', { presence_penalty: 1 }, undefined, 'presence_penalty'],
    ['vendor-model', {}, image('https://example.com/a.png'), 'messages'],
    ['fixed', { temperature: 0.5 }, undefined, 'temperature'],
    ['messages', { seed: 1 }, undefined, 'seed'],
    ['messages', { presence_penalty: 0.5 }, undefined, 'presence_penalty'],
    ['messages', { temperature: 1.5 }, undefined, 'temperature'],
    ['messages', { response_format: { type: 'json_object' } }, undefined, 'response_format'],
    ['messages', {}, image('data:image/bmp;base64,AAAA'), 'messages'],
    ['messages', {}, image('data:image/png;base64,AAAA', 'low'), 'messages'],
    ['contents', {}, image('https://example.com/a.png'), 'messages'],
    ['contents', { presence_penalty: 0.5 }, undefined, 'presence_penalty'],
    [
      'contents',
      { tools: [{ type: 'function', function: { name: 'look' } }], parallel_tool_calls: false },
      undefined,
      'parallel_tool_calls',
    ],
  ])('%s %j', async (model, more, content, param) => {
    const before = fixture.sandbox.entries.length;
    const response = await chat(model, more, content);
    const { error } = (await response.json()) as ErrorBody;
    expect([response.status, error.code, error.param]).toEqual([400, 'unsupported_parameter', param]);
    expect(error.message).not.toMatch(/anthropic|claude|google|gemini|openai/i);
    expect(fixture.sandbox.entries.length).toBe(before);
    const lookup = await fetch(
      `${fixture.gateway.origin}/v1/generations/${response.headers.get('x-service-request-id')}`,
      { headers: { authorization: `Bearer ${key}` } },
    );
    expect(lookup.status).toBe(404);
    const held = await fixture.database.sql`select held::text from accounts where id = ${account}`;
    expect(Number(held[0]?.held)).toBe(0);
  });

  test('a provider that supports it serves it instead, without a fallback', async () => {
    const plain = await lookUp(await chat('several'));
    const seeded = await lookUp(await chat('several', { seed: 1 }));
    expect([plain.provider, seeded.provider]).toEqual(['Messages', 'Completions']);
    expect(seeded).toMatchObject({ fallback: false, routing: { attempt_count: 1 } });
  });
});

describe('a provider that does not accept connections', () => {
  // The first byte may take a minute here: only the time to connect can have ended these in a few seconds.
  test('504 provider_timeout after the time to connect', async () => {
    const response = await chat('deaf');
    expect(response.status).toBe(504);
    expect(await lookUp(response)).toMatchObject({
      error: { code: 'provider_timeout' },
      attempts: [{ status: 'failed', upstream_status: null, error: 'provider_timeout' }],
    });
  }, 60_000);

  test('another one takes over', async () => {
    const response = await chat('deaf-backed', { stream: true });
    expect(eventsOf(await response.text()).at(-1)).toBe('[DONE]');
    expect(await lookUp(response)).toMatchObject({
      status: 'completed',
      provider: 'Completions',
      fallback: true,
    });
  }, 60_000);

  test('time that this process loses does not count: what arrived meanwhile is read first', async () => {
    let silences = 0;
    const stop = new ConnectWatchdog(`http://127.0.0.1:${deaf.port}/v1`, true).watch(500, () => {
      silences += 1;
    });
    Bun.sleepSync(1_500);
    await Bun.sleep(1);
    stop();
    expect(silences).toBe(0);
  });

  test('calls through a proxy are not given up for that', async () => {
    let silences = 0;
    const line = new ConnectWatchdog(`http://127.0.0.1:${deaf.port}/v1`, false);
    line.watch(50, () => {
      silences += 1;
    });
    await Bun.sleep(300);
    expect(silences).toBe(0);
  });
});

describe('what only the body says, and not the status', () => {
  test('a bad key of Google is an authentication failure, and another provider takes over', async () => {
    const alone = await chat('locked');
    expect(((await alone.json()) as ErrorBody).error.code).toBe('provider_authentication_error');
    expect(await lookUp(await chat('locked-backed'))).toMatchObject({ status: 'completed', fallback: true });
  });

  test.each([
    [429, { details: [{ retryDelay: '17.3s' }] }, { code: 'provider_rate_limit', retryAfterSeconds: 18 }],
    [429, { details: [{ retryDelay: 'soon' }, null, 3] }, null],
    [503, { details: [{ retryDelay: '17s' }] }, null],
    [
      400,
      { details: [{ reason: 'API_KEY_INVALID' }] },
      { code: 'provider_authentication_error', retryAfterSeconds: null },
    ],
    [403, { details: [{ reason: 'API_KEY_INVALID' }] }, null],
    [400, { message: 'API_KEY_INVALID' }, null],
  ])('%p %j', (status, error, told) => {
    const upstream = {
      baseUrl: 'http://x',
      apiKey: null,
      model: 'm',
      maxOutputTokens: null,
      dialect: defaultDialect,
      requestId: 'req_1',
    };
    const { readError } = chatAdapters.google.chatRequest(emptyCall, upstream, false);
    expect(readError?.(status, { error })).toEqual(told as never);
    for (const garbage of [null, 'x', [], { error: null }]) expect(readError?.(status, garbage)).toBeNull();
  });
});

describe('images over a real socket', () => {
  const timeouts = { connectMs: 1_000, firstByteMs: 5_000, idleMs: 5_000, totalMs: 5_000 };
  test.each([
    ['openai', '/v1', 'sandbox-image', /^http:\/\/127\.0\.0\.1:\d+\/images\/1024x1024-[0-9a-f]{8}\.png$/],
    ['google', '/v1beta', 'imagen-4.0-generate-001', /^data:image\/png;base64,iVBOR/],
  ] as const)('%s', async (format, path, model, address) => {
    const baseUrl = `${fixture.sandbox.url}${path}`;
    const upstream = {
      baseUrl,
      apiKey: 'k',
      model,
      maxOutputTokens: null,
      dialect: defaultDialect,
      requestId: 'req_1',
    };
    const call = { prompt: 'a gate', size: '1024x1024', count: 2 };
    const { status, answer } = await makeImages(
      imageAdapters[format],
      { calls: new Calls(), watchdog: new ConnectWatchdog(baseUrl, true), timeouts },
      call,
      upstream,
    );
    expect(status).toBe(200);
    expect(answer.urls).toHaveLength(2);
    for (const url of answer.urls) expect(url).toMatch(address);
  });
});
