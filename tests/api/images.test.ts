/** POST /v1/images/generations over real sockets, with the sandbox in both formats that have images. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import OpenAI from 'openai';
import { type ErrorCode, errorTable } from '../../src/errors.ts';
import {
  type ChatFixture,
  type ErrorBody,
  finishedGeneration,
  openChatFixture,
} from '../support/chat-fixture.ts';
import { eventually } from '../support/eventually.ts';
import { startHeldProvider } from '../support/held-provider.ts';
import { asHolderOf, openLeavingClient } from '../support/leaving-client.ts';

const formats = ['openai', 'google'] as const;
type Format = (typeof formats)[number];

/** These tests constantly make providers fail on purpose. */
const patient = 'api_key_env: MAIN_KEY, circuit: { failures: 1000 }';
const sizes = 'sizes: { "1024x1024": 1k, "1280x896": 2k, "896x1280": ~ }';
const tiers = 'tier_rates: { 1k: "0.040000000001", 2k: "0.123456789012" }';
const priced = `workload: image, ${sizes}, pricing: { billing_type: image, unit_price: "0.01", ${tiers} }`;
const square = `workload: image, sizes: ["1024x1024"], pricing: { billing_type: image, unit_price: "0.04" }`;

const catalog = (url: string) => `
price_version: "2026-11"
providers:
  openai:   { name: Openai, adapter: openai, base_url: ${url}/v1, ${patient} }
  google:   { name: Google, adapter: google, base_url: ${url}/v1beta, ${patient} }
  mute-openai:  { name: Mute, adapter: openai, base_url: ${url}/v1, ${patient}, timeouts: { first_byte_ms: 600 } }
  mute-google:  { name: Mute, adapter: google, base_url: ${url}/v1beta, ${patient}, timeouts: { first_byte_ms: 600 } }
  stuck-openai: { name: Stuck, adapter: openai, base_url: ${url}/v1, ${patient}, timeouts: { idle_ms: 500 } }
  stuck-google: { name: Stuck, adapter: google, base_url: ${url}/v1beta, ${patient}, timeouts: { idle_ms: 500 } }
  held-openai:  { name: Held, adapter: openai, base_url: ${held.behind(url)}/v1, ${patient} }
  held-google:  { name: Held, adapter: google, base_url: ${held.url}/v1beta, ${patient} }
  messages: { name: Messages, adapter: anthropic, base_url: ${url}/v1, ${patient} }
  gone:     { name: Gone, adapter: openai, base_url: http://127.0.0.1:9/v1, ${patient} }
  lavish:   { name: Lavish, adapter: openai, base_url: http://127.0.0.1:${lavish.port}/v1, ${patient} }
  locked:   { name: Locked, adapter: openai, base_url: ${url}/v1, api_key_env: BAD_KEY }
  absent:   { name: Absent, adapter: openai, base_url: ${url}/v1, api_key_env: NO_KEY }
models:
  openai:   { ${priced}, providers: [openai] }
  google:   { ${priced}, providers: [google] }
  mute-openai:  { ${priced}, providers: [mute-openai] }
  mute-google:  { ${priced}, providers: [mute-google] }
  stuck-openai: { ${priced}, providers: [stuck-openai] }
  stuck-google: { ${priced}, providers: [stuck-google] }
  held-openai:  { ${priced}, providers: [held-openai] }
  held-google:  { ${priced}, providers: [held-google] }
  single:   { ${square}, max_images: 1, providers: [openai] }
  renamed:  { ${square}, providers: [{ provider: openai, upstream_model: vendor/renamed }] }
  lavish:   { ${square}, providers: [lavish] }
  gone:     { ${square}, providers: [gone] }
  locked:   { ${square}, providers: [locked] }
  limited:  { ${square}, providers: [{ provider: openai, upstream_model: limited }] }
  backed:   { ${square}, providers: [gone, google] }
  twofold:  { ${square}, providers: [openai, google] }
  mixed:    { ${square}, providers: [messages, openai] }
  large:    { workload: image, sizes: ["1024x1024", "2048x2048"], pricing: { billing_type: image, unit_price: "0.04" }, providers: [google] }
  shared:   { workload: image, sizes: ["1024x1024", "2048x2048"], pricing: { billing_type: image, unit_price: "0.04" }, providers: [google, openai] }
  messages: { ${square}, providers: [messages] }
  absent:   { ${square}, providers: [absent] }
  lacking:  { ${square}, providers: [messages, absent] }
  unmapped: { ${square}, owned_by: nobody }
  disabled: { ${square}, enabled: false, providers: [openai] }
  unpriced: { workload: image, sizes: ["1024x1024"], providers: [openai] }
  words:    { workload: chat, pricing: { billing_type: token, input: "1", output: "2" }, providers: [openai] }
  film:     { workload: video, pricing: { billing_type: second, unit_price: "0.1" }, providers: [openai] }
`;

const held = startHeldProvider();

/** Makes more images than requested. */
const lavish = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  fetch: () =>
    Response.json({
      data: Array.from({ length: 9 }, (_, index) => ({ url: `https://example.com/${index}.png` })),
    }),
});

let fixture: ChatFixture;
let key: string;
let account: string;

beforeAll(async () => {
  fixture = await openChatFixture(catalog);
  // Neither prompts nor images may be stored.
  for (const canary of ['prompt-canary', '/images/1024x1024-', 'iVBORw0KGgo', 'example.com'])
    fixture.canaries.add(canary);
  ({ key, account } = await fixture.customer('100', '--rpm', '100000'));
});

afterAll(async () => {
  await fixture.close();
  await lavish.stop(true);
  await held.stop();
});

type Body = Record<string, unknown>;
type Images = { created: number; data: { url: string }[] };

function send(
  body: Body | string,
  { as = key, name }: { as?: string; name?: string } = {},
): Promise<Response> {
  return fetch(`${fixture.gateway.origin}/v1/images/generations`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${as}`,
      'content-type': 'application/json',
      ...(name ? { 'idempotency-key': name } : {}),
    },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
}

const draw = (model: string, directives = '', more: Body = {}): Body => ({
  model,
  prompt: `prompt-canary A gate ${directives}`,
  ...more,
});
const idOf = (response: Response) => response.headers.get('x-service-request-id') ?? '';
const look = (response: Response, owner = key) =>
  finishedGeneration(fixture.gateway.origin, owner, idOf(response));
const imagesOf = async (response: Response) => (await response.json()) as Images;

async function balanceOf(id: string): Promise<{ balance: string; held: string }> {
  const [row] = await fixture.database.sql`select balance, held from accounts where id = ${id}`;
  return { ...row };
}

async function expectError(response: Response, code: ErrorCode, param?: string): Promise<ErrorBody['error']> {
  const text = await response.text();
  const { error } = JSON.parse(text) as ErrorBody;
  const { status, type } = errorTable[code];
  expect({ status: response.status, type: error.type, code: error.code, param: error.param }).toEqual({
    status: status ?? 0,
    type,
    code,
    param,
  });
  expect(idOf(response)).toMatch(/^req_[0-9a-f]{32}$/);
  expect(text).not.toMatch(/sandbox|provider-key-canary|127\.0\.0\.1/);
  return error;
}

/** No Generation, nothing held, no call. */
async function expectNoTrace(response: Response, callsBefore: number): Promise<void> {
  const lookup = await fetch(`${fixture.gateway.origin}/v1/generations/${idOf(response)}`, {
    headers: { authorization: `Bearer ${key}` },
  });
  expect(lookup.status).toBe(404);
  expect((await balanceOf(account)).held).toBe('0.000000000000');
  expect(fixture.sandbox.entries).toHaveLength(callsBefore);
}

const addresses: Readonly<Record<Format, RegExp>> = {
  openai: /^http:\/\/127\.0\.0\.1:\d+\/images\/1024x1024-[0-9a-f]{8}\.png$/,
  google: /^data:image\/png;base64,iVBOR/,
};

describe.each(formats)('200 from %s', (format) => {
  test('through the OpenAI SDK: images that can be viewed, and a Generation under the request ID', async () => {
    const openai = new OpenAI({ baseURL: `${fixture.gateway.origin}/v1`, apiKey: key, maxRetries: 0 });
    const { data: made, request_id: requestId } = await openai.images
      .generate({ model: format, prompt: 'prompt-canary', n: 2, size: '1024x1024', response_format: 'url' })
      .withResponse();
    expect(made.created).toBeWithin(Math.floor(Date.now() / 1000) - 60, Math.floor(Date.now() / 1000) + 1);
    const urls = made.data?.map(({ url }) => url ?? '') ?? [];
    expect(new Set(urls).size).toBe(2);
    for (const url of urls) {
      expect(url).toMatch(addresses[format]);
      const png = Buffer.from(await (await fetch(url)).arrayBuffer());
      expect(png.subarray(1, 4).toString()).toBe('PNG');
      expect([png.readUInt32BE(16), png.readUInt32BE(20)]).toEqual([1024, 1024]);
    }
    const generation = await finishedGeneration(fixture.gateway.origin, key, requestId ?? '');
    expect(generation.status).toBe('completed');
    expect(JSON.stringify(generation)).not.toMatch(/prompt-canary|images\/|base64/);
  });

  test('has exactly the fields of the contract, and the headers of the key’s limit', async () => {
    const response = await send(draw(format));
    const body = await imagesOf(response);
    expect([response.status, response.headers.get('content-type')]).toEqual([
      200,
      'application/json;charset=utf-8',
    ]);
    expect(Object.keys(body)).toEqual(['created', 'data']);
    expect(body.data.map(Object.keys)).toEqual([['url']]);
    expect(response.headers.get('x-ratelimit-limit-requests')).toBe('100000');
    expect(Number(response.headers.get('x-ratelimit-remaining-requests'))).toBeLessThan(100_000);
    expect(response.headers.get('x-ratelimit-reset-requests')).toMatch(/^[\d.]+s$/);
    expect([...response.headers.keys()].join()).not.toMatch(/sandbox|openai|server-timing/);
  });

  test.each([
    ['1024x1024', 1, '1k', '0.040000000001', '0.959999999999'],
    ['1024x1024', 4, '1k', '0.160000000004', '0.839999999996'],
    ['1280x896', 3, '2k', '0.370370367036', '0.629629632964'],
    ['896x1280', 2, null, '0.020000000000', '0.980000000000'],
    [undefined, undefined, '1k', '0.040000000001', '0.959999999999'],
  ] as const)('size %p, n %p is charged by the tier %p: %s', async (size, n, tier, total, balance) => {
    const { key: own, account: ownAccount } = await fixture.customer('1');
    const response = await send(draw(format, '', { size, n }), { as: own });
    const count = n ?? 1;
    expect((await imagesOf(response)).data).toHaveLength(count);
    const provider = format === 'openai' ? 'Openai' : 'Google';
    expect(await look(response, own)).toMatchObject({
      id: idOf(response),
      object: 'generation',
      status: 'completed',
      workload: 'image',
      model: format,
      provider,
      usage: { input_tokens: 0, output_tokens: 0, total_tokens: 0, units: `${count}`, unit: 'images' },
      cost: { input: '0.000000000000', output: total, total, currency: 'USD' },
      fallback: false,
      streaming: false,
      time_to_first_token_ms: null,
      tokens_per_second: null,
      routing: { selected_provider: provider, fallback: false, attempt_count: 1 },
      attempts: [{ index: 1, provider, status: 'succeeded', upstream_status: 200, error: null }],
      error: null,
    } as Body);
    expect(await balanceOf(ownAccount)).toEqual({ balance, held: '0.000000000000' });
    const records = await fixture.database
      .sql`select units, unit, tier, cost from usage_records where account_id = ${ownAccount}`;
    expect([...records]).toEqual([{ units: BigInt(count), unit: 'images', tier, cost: total }]);
  });

  test('[[fewer 1]]: the images that came are forwarded and charged, the rest of the hold is released', async () => {
    const { key: own, account: ownAccount } = await fixture.customer('1');
    const response = await send(draw(format, '[[fewer 1]]', { n: 3 }), { as: own });
    expect((await imagesOf(response)).data).toHaveLength(2);
    expect(await look(response, own)).toMatchObject({
      status: 'completed',
      usage: { units: '2' },
      cost: { total: '0.080000000002' },
    });
    expect(await balanceOf(ownAccount)).toEqual({ balance: '0.919999999998', held: '0.000000000000' });
  });

  test('while it is in progress, everything requested is held', async () => {
    const { key: own, account: ownAccount } = await fixture.customer('1');
    const sent = send(draw(`held-${format}`, '[[fewer 1]]', { n: 4, size: '1280x896' }), { as: own });
    await held.holds(1);
    const [open] = await fixture.database
      .sql`select workload, hold from open_generations where account_id = ${ownAccount}`;
    held.release();
    expect({ ...open }).toEqual({ workload: 'image', hold: '0.493827156048' });
    expect((await sent).status).toBe(200);
    expect(await balanceOf(ownAccount)).toEqual({ balance: '0.629629632964', held: '0.000000000000' });
  });
});

describe('200', () => {
  test('sends the provider the request in its own format', async () => {
    const response = await send(draw('renamed', '', { n: 2 }));
    expect(response.status).toBe(200);
    const entry = fixture.sandbox.entries.findLast((one) => one.client_request_id === idOf(response));
    expect(entry?.body).toEqual({
      model: 'vendor/renamed',
      prompt: 'prompt-canary A gate ',
      n: 2,
      size: '1024x1024',
    });
    expect(entry?.headers.get('authorization')).toBe('Bearer provider-key-canary');
    expect((await send(draw('google', '', { n: 2, size: '1280x896' }))).status).toBe(200);
    expect(fixture.sandbox.entries.at(-1)?.body).toEqual({
      instances: [{ prompt: 'prompt-canary A gate ' }],
      parameters: { sampleCount: 2, aspectRatio: '4:3' },
    });
  });

  test('more images than requested are neither forwarded nor charged', async () => {
    const response = await send(draw('lavish', '', { n: 2 }));
    expect((await imagesOf(response)).data).toEqual([
      { url: 'https://example.com/0.png' },
      { url: 'https://example.com/1.png' },
    ]);
    expect(await look(response)).toMatchObject({ usage: { units: '2' }, cost: { total: '0.080000000000' } });
  });

  test('a provider without images, or without the size, is skipped: no attempt, no fallback', async () => {
    expect(await look(await send(draw('mixed')))).toMatchObject({
      provider: 'Openai',
      fallback: false,
      routing: { attempt_count: 1 },
    });
    for (const [size, provider] of [
      ['1024x1024', 'Google'],
      ['2048x2048', 'Openai'],
    ])
      expect(await look(await send(draw('shared', '', { size })))).toMatchObject({
        provider,
        fallback: false,
        routing: { attempt_count: 1 },
      });
  });
});

describe('refused before a Generation exists', () => {
  const foreign = ['quality', 'style', 'user', 'background', 'moderation', 'output_format', 'stream', 'seed'];
  test.each([
    ['not JSON', '{', 'invalid_json', undefined],
    ['an array', '[]', 'invalid_request', undefined],
    ['no model', { prompt: 'x' }, 'missing_required_parameter', 'model'],
    ['no prompt', { model: 'openai' }, 'missing_required_parameter', 'prompt'],
    ['an empty model', draw(''), 'invalid_parameter', 'model'],
    ['an empty prompt', { model: 'openai', prompt: '' }, 'invalid_parameter', 'prompt'],
    ['a prompt that is no text', { model: 'openai', prompt: ['x'] }, 'invalid_parameter', 'prompt'],
    ['NUL in the prompt', { model: 'openai', prompt: 'a\u0000b' }, 'invalid_parameter', 'prompt'],
    ['a repeated key', '{"model":"openai","prompt":"x","n":1,"n":4}', 'invalid_parameter', 'n'],
    ...[0, 5, -1, 1.5, '1', null, true, [], {}].map(
      (n) => [`n ${JSON.stringify(n)}`, draw('openai', '', { n }), 'invalid_n', 'n'] as const,
    ),
    ['n above what the model makes', draw('single', '', { n: 2 }), 'invalid_n', 'n'],
    ...['big', '1024', '1024X1024', '512x512', '', 'auto', null, 1024].map(
      (size) =>
        [`size ${JSON.stringify(size)}`, draw('openai', '', { size }), 'invalid_size', 'size'] as const,
    ),
    [
      'a size that the provider does not make',
      draw('large', '', { size: '2048x2048' }),
      'invalid_size',
      'size',
    ],
    [
      'b64_json',
      draw('openai', '', { response_format: 'b64_json' }),
      'unsupported_parameter',
      'response_format',
    ],
    ...['png', '', null, 1, { type: 'url' }].map(
      (format) =>
        [
          `response_format ${JSON.stringify(format)}`,
          draw('openai', '', { response_format: format }),
          'invalid_response_format',
          'response_format',
        ] as const,
    ),
    ...foreign.map(
      (name) => [name, draw('openai', '', { [name]: 'auto' }), 'unsupported_parameter', name] as const,
    ),
    ['a chat model', draw('words'), 'invalid_model', 'model'],
    ['a video model', draw('film'), 'invalid_model', 'model'],
    ['a disabled model', draw('disabled'), 'invalid_model', 'model'],
    ['an unpriced model', draw('unpriced'), 'model_pricing_not_configured', 'model'],
    ['an unknown model', draw('__proto__'), 'model_not_found', 'model'],
    ['a model mapped to no provider', draw('unmapped'), 'configuration_error', 'model'],
    ['a model whose only provider has no images', draw('messages'), 'configuration_error', 'model'],
    ['a provider without its key', draw('absent'), 'provider_not_configured', undefined],
    [
      'a key that is missing behind a provider without images',
      draw('lacking'),
      'provider_not_configured',
      undefined,
    ],
    // The shape of the body comes first, then the model, then what the model offers.
    ['an unknown model and a bad n', draw('unknown', '', { n: 9 }), 'invalid_n', 'n'],
    ['an unknown model and an odd size', draw('unknown', '', { size: '3x3' }), 'model_not_found', 'model'],
    ['two models’ worth of n and a bad size', draw('single', '', { n: 2, size: '3x3' }), 'invalid_n', 'n'],
  ] as [string, Body | string, ErrorCode, string | undefined][])('%s', async (_name, body, code, param) => {
    const before = fixture.sandbox.entries.length;
    const response = await send(body);
    const { message } = await expectError(response, code, param);
    expect(message).not.toBe('');
    await expectNoTrace(response, before);
  });

  test('the message says what there is instead', async () => {
    const messageOf = async (body: Body) => ((await (await send(body)).json()) as ErrorBody).error.message;
    expect(await messageOf(draw('openai', '', { size: 'big' }))).toContain('1024x1024, 1280x896, 896x1280');
    expect(await messageOf(draw('large', '', { size: '2048x2048' }))).toContain('offers 1024x1024. See');
    expect(await messageOf(draw('single', '', { n: 2 }))).toContain('at most 1');
    expect(await messageOf(draw('openai', '', { response_format: 'b64_json' }))).toContain('use "url"');
  });

  test('a query parameter, a wrong content type, another method', async () => {
    const url = `${fixture.gateway.origin}/v1/images/generations`;
    const headers = { authorization: `Bearer ${key}` };
    const body = JSON.stringify(draw('openai'));
    const queried = await fetch(`${url}?n=1`, { method: 'POST', headers, body });
    await expectError(queried, 'unsupported_parameter', 'n');
    const typed = { ...headers, 'content-type': 'text/plain' };
    await expectError(await fetch(url, { method: 'POST', headers: typed, body }), 'invalid_request');
    await expectError(await fetch(url, { headers }), 'not_found');
  });

  test('401 invalid_api_key comes before anything else', async () => {
    await expectError(await send('{', { as: `${key}x` }), 'invalid_api_key');
  });

  test('402 insufficient_balance for a unit less than n images cost; the exact amount is enough', async () => {
    const before = fixture.sandbox.entries.length;
    const poor = await fixture.customer('0.080000000001');
    await expectError(await send(draw('openai', '', { n: 2 }), { as: poor.key }), 'insufficient_balance');
    expect(fixture.sandbox.entries).toHaveLength(before);
    expect(await balanceOf(poor.account)).toEqual({ balance: '0.080000000001', held: '0.000000000000' });
    const able = await fixture.customer('0.080000000002');
    expect((await send(draw('openai', '', { n: 2 }), { as: able.key })).status).toBe(200);
    expect(await balanceOf(able.account)).toEqual({ balance: '0.000000000000', held: '0.000000000000' });
  });

  test('403 model_not_allowed, also for a model that could not be called anyway', async () => {
    const { key: own } = await fixture.customer('1', '--allow', 'single');
    for (const model of ['openai', 'disabled', 'messages'])
      await expectError(await send(draw(model), { as: own }), 'model_not_allowed', 'model');
    expect((await send(draw('single'), { as: own })).status).toBe(200);
  });

  test('403 monthly_spend_limit_exceeded by what would be held', async () => {
    const { key: own } = await fixture.customer('1', '--monthly-limit', '0.1');
    expect((await send(draw('renamed', '', { n: 2 }), { as: own })).status).toBe(200);
    await expectError(await send(draw('renamed'), { as: own }), 'monthly_spend_limit_exceeded');
  });

  test('429 rate_limit_exceeded: images count like chat', async () => {
    const { key: own } = await fixture.customer('1', '--rpm', '1');
    expect((await send(draw('openai'), { as: own })).status).toBe(200);
    const response = await send(draw('openai'), { as: own });
    expect(Number(response.headers.get('retry-after'))).toBeWithin(1, 61);
    expect(response.headers.get('x-ratelimit-limit-requests')).toBe('1');
    await expectError(response, 'rate_limit_exceeded');
  });
});

/** What the provider does, what the client is told, and the status that the provider gave. */
const faults: readonly (readonly [directives: string, code: ErrorCode, upstreamStatus: number | null])[] = [
  ['[[status 400]]', 'provider_bad_request', 400],
  ['[[status 401]]', 'provider_authentication_error', 401],
  ['[[status 403]]', 'provider_authentication_error', 403],
  ['[[status 404]]', 'provider_bad_request', 404],
  ['[[status 408]]', 'provider_timeout', 408],
  ['[[status 422]]', 'provider_bad_request', 422],
  ['[[status 429]]', 'provider_rate_limit', 429],
  ['[[status 500]]', 'provider_unavailable', 500],
  ['[[status 503]]', 'provider_unavailable', 503],
  ['[[status 504]]', 'provider_timeout', 504],
  ['[[status 529]]', 'provider_unavailable', 529],
  ['[[html 502]]', 'provider_unavailable', 502],
  ['[[status 204]]', 'provider_error', 204],
  ['[[redirect]]', 'provider_error', 302],
  ['[[close]]', 'provider_error', null],
  ['[[hang]]', 'provider_timeout', null],
  ['[[not-json]]', 'provider_error', 200],
  ['[[html 200]]', 'provider_error', 200],
  ['[[error-body]]', 'provider_error', 200],
  ['[[empty]]', 'provider_error', 200],
  ['[[gzip]]', 'provider_error', 200],
  ['[[huge 40]]', 'provider_error', 200],
  ['[[cut 1]]', 'provider_error', 200],
  ['[[end 1]]', 'provider_error', 200],
  ['[[malformed 1]]', 'provider_error', 200],
  ['[[stall 1]]', 'provider_timeout', 200],
  ['[[fewer 4]]', 'provider_error', 200],
];

/** The providers whose short deadline ends these; everything else has all the time that it needs. */
const hurried = new Map([
  ['[[hang]]', 'mute-'],
  ['[[stall 1]]', 'stuck-'],
]);

describe.each(formats)('502 and 504 from %s', (format) => {
  test.each(faults)('%s → %s', async (directives, code, upstreamStatus) => {
    const before = await balanceOf(account);
    const model = `${hurried.get(directives) ?? ''}${format}`;
    const response = await send(draw(model, directives, { n: 2 }));
    await expectError(response, code);
    const generation = await look(response);
    expect({
      status: generation.status,
      usage: generation.usage,
      cost: generation.cost,
      error: generation.error?.code,
      attempts: generation.attempts.map((attempt) => [
        attempt.status,
        attempt.upstream_status,
        attempt.error,
      ]),
    }).toEqual({
      status: 'failed',
      usage: null,
      cost: null,
      error: code,
      attempts: [['failed', upstreamStatus, code]],
    });
    expect(await balanceOf(account)).toEqual(before);
  });

  test.each(['[[wrong-type]]', '[[bytes 500]]'])('%s does no harm', async (directives) => {
    expect((await send(draw(format, directives))).status).toBe(200);
  });
});

describe('when a provider fails', () => {
  test('502 provider_error when nobody listens; provider_authentication_error for a bad key of ours', async () => {
    const gone = await send(draw('gone'));
    await expectError(gone, 'provider_error');
    expect(gone.headers.get('x-should-retry')).toBeNull();
    expect((await look(gone)).attempts).toMatchObject([
      { provider: 'Gone', status: 'failed', upstream_status: null, error: 'provider_error' },
    ]);
    const locked = await send(draw('locked'));
    await expectError(locked, 'provider_authentication_error');
    expect(locked.headers.get('x-should-retry')).toBe('false');
  });

  test('429 provider_rate_limit with its Retry-After, and then 503 all_providers_unavailable until it is over', async () => {
    const refused = await send(draw('limited', '[[status 429]] [[retry-after 7]]'));
    expect(refused.headers.get('retry-after')).toBe('7');
    await expectError(refused, 'provider_rate_limit');
    const paused = await send(draw('limited'));
    expect(Number(paused.headers.get('retry-after'))).toBeWithin(1, 8);
    await expectError(paused, 'all_providers_unavailable');
    expect(await look(paused)).toMatchObject({ status: 'failed', provider: 'Openai', attempts: [] });
  });

  test('another one takes over, in another format too: two attempts, one charge', async () => {
    const response = await send(draw('backed', '', { n: 2 }));
    const { data } = await imagesOf(response);
    expect(data.map(({ url }) => addresses.google.test(url))).toEqual([true, true]);
    expect(await look(response)).toMatchObject({
      status: 'completed',
      provider: 'Google',
      fallback: true,
      usage: { units: '2' },
      cost: { total: '0.080000000000' },
      routing: { selected_provider: 'Google', fallback: true, attempt_count: 2 },
      attempts: [
        { index: 1, provider: 'Gone', status: 'failed', upstream_status: null, error: 'provider_error' },
        { index: 2, provider: 'Google', status: 'succeeded', upstream_status: 200, error: null },
      ],
    } as Body);
  });

  test.each([401, 408, 429, 500, 503])('another one takes over after status %d', async (status) => {
    const response = await send(draw('twofold', `[[flaky 1 ${status} images-${status}]]`));
    expect(response.status).toBe(200);
    expect(await look(response)).toMatchObject({
      provider: 'Google',
      fallback: true,
      cost: { total: '0.040000000000' },
    });
  });

  test('a request that was refused as invalid goes no further', async () => {
    const response = await send(draw('twofold', '[[flaky 1 400 images-400]]'));
    await expectError(response, 'provider_bad_request');
    expect(await look(response)).toMatchObject({ fallback: false, routing: { attempt_count: 1 } });
  });

  test('when all fail, the last failure is the answer', async () => {
    const response = await send(draw('twofold', '[[close]]'));
    await expectError(response, 'provider_error');
    const { attempts, cost } = await look(response);
    expect([cost, attempts.map(({ provider, error }) => [provider, error])]).toEqual([
      null,
      [
        ['Openai', 'provider_error'],
        ['Google', 'provider_error'],
      ],
    ]);
  });

  test('an answer without an image is recorded as a loss', async () => {
    const response = await send(draw('openai', '[[fewer 4]]'));
    await expectError(response, 'provider_error');
    const losses = await fixture.database.sql`
      select reason from write_offs where replace(generation_id::text, '-', '') = ${idOf(response).slice(4)}`;
    expect([...losses]).toEqual([{ reason: 'usage_missing' }]);
  });
});

describe.each(formats)('an Idempotency-Key, %s', (format) => {
  test('runs once: the same bytes again, one call, one charge', async () => {
    const { key: own, account: ownAccount } = await fixture.customer('1');
    const again = () => send(draw(format, '[[delay 100]]', { n: 2 }), { as: own, name: 'picture' });
    const before = fixture.sandbox.entries.length;
    const responses = [...(await Promise.all([again(), again()])), await again()];
    const texts = await Promise.all(responses.map((response) => response.text()));
    expect(new Set(texts).size).toBe(1);
    expect((JSON.parse(texts[0] ?? '') as Images).data).toHaveLength(2);
    expect(new Set(responses.map(idOf)).size).toBe(1);
    expect(responses.map((response) => response.headers.get('content-type'))).toEqual(
      responses.map(() => 'application/json;charset=utf-8'),
    );
    expect(responses.filter((response) => response.headers.has('idempotent-replayed'))).toHaveLength(2);
    expect(fixture.sandbox.entries).toHaveLength(before + 1);
    expect(await balanceOf(ownAccount)).toEqual({ balance: '0.919999999998', held: '0.000000000000' });
    const other = await send(draw(format, '', { n: 1 }), { as: own, name: 'picture' });
    await expectError(other, 'invalid_parameter', 'Idempotency-Key');
  });
});

test('a client that leaves is charged for what was made, and its Generation is cancelled', async () => {
  const { key: own, account: ownAccount } = await fixture.customer('1');
  const { leave } = openLeavingClient(
    fixture.gateway.origin,
    '/v1/images/generations',
    asHolderOf(own),
    draw('held-openai', '', { n: 2 }),
  );
  await held.holds(1);
  await leave();
  held.release();
  const row = await eventually('the end of the request', async () => {
    const [ended] = await fixture.database
      .sql`select status, units, cost_total from generations where account_id = ${ownAccount}`;
    return ended;
  });
  expect({ ...row }).toEqual({ status: 'cancelled', units: 2n, cost_total: '0.080000000002' });
});

test('500 billing_consistency_error when the charge cannot be committed: withheld and never charged', async () => {
  const { key: own, account: ownAccount } = await fixture.customer('1');
  const sent = send(draw('held-openai', '', { n: 2 }), { as: own });
  await held.holds(1);
  await fixture.database.sql`alter table usage_records rename to usage_records_away`;
  held.release();
  const response = await sent;
  await fixture.database.sql`alter table usage_records_away rename to usage_records`;
  await expectError(response, 'billing_consistency_error');
  // A charge that was committed just then, after all, is refunded a moment later.
  const ended = await eventually('it has failed', async () => {
    const generation = await look(response, own);
    return generation.status === 'failed' ? generation : undefined;
  });
  expect(ended).toMatchObject({
    cost: null,
    attempts: [{ status: 'succeeded', upstream_status: 200 }],
    error: { code: 'billing_consistency_error' },
  });
  expect(await balanceOf(ownAccount)).toEqual({ balance: '1.000000000000', held: '0.000000000000' });
}, 60_000);
