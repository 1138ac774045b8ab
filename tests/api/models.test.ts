import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import OpenAI from 'openai';
import { generateKey } from '../../src/keys/key-format.ts';
import { createDatabase, type TestDatabase } from '../support/cluster.ts';
import { runCommand } from '../support/commands.ts';
import { eventually } from '../support/eventually.ts';
import { type Gateway, startGateway, writeCatalog } from '../support/gateway.ts';
import { openRawClient } from '../support/raw-socket.ts';

const catalog = `
price_version: "2026-11"
providers:
  here:    { name: Here, adapter: openai, base_url: http://127.0.0.1:9/v1, api_key_env: HERE_KEY }
  absent:  { name: Absent, adapter: openai, base_url: http://127.0.0.1:9/v1, api_key_env: ABSENT_KEY }
  keyless: { name: Keyless, adapter: openai, base_url: http://127.0.0.1:9/v1 }
models:
  chat-one:
    name: Chat One
    owned_by: here
    workload: chat
    created: 2024-07-18
    context_window: 128000
    max_output_tokens: 16384
    capabilities: [text_input, image_input, text_output, streaming, function_calling, structured_output]
    pricing: { billing_type: token, input: "0.15", output: "0.60" }
    # What the operator pays is not in any response: the tests compare whole models.
    providers: [{ provider: here, cost: { input: "0.0123", output: "0.0456" } }]
  tiered:
    workload: chat
    created: 2025-01-01
    capabilities: [text_input, text_output]
    pricing:
      billing_type: token
      region: eu
      note: Long prompts cost more.
      input_token_tiers:
        - { max_input_tokens: 32000, input: "0.087", output: "0.52" }
        - { max_input_tokens: 128000, input: "0.13", output: "0.78", cache_read: "0.0130", cache_write: "0.1625" }
    providers: [keyless]
  banded:
    workload: chat
    created: 2025-01-01
    pricing:
      billing_type: token
      time_bands:
        timezone: UTC
        off_peak_start: "16:30"
        off_peak_end: "00:30"
        peak: { name: Standard, input: "0.28", output: "0.42", cache_read: "0.028" }
        off_peak: { input: "0.14", output: "0.21", cache_read: "0.014" }
    providers: [absent, here]
  picture:
    workload: image
    created: 2025-01-01
    sizes: { "1024x1024": 1k, "2048x2048": 2k }
    pricing:
      billing_type: image
      unit_price: "0.04"
      tier_rates: { 1k: "0.04", 2k: "0.08" }
      basis: { kind: image, rates: { 1k: "0.04", 2k: "0.08" }, inputPrice: "0.0000001" }
    providers: [here]
  film:
    workload: video
    created: 2025-01-01
    pricing:
      billing_type: second
      unit_price: "0.1"
      tier_rates: { 720p: "0.1", 1080p: "0.3" }
      basis: { kind: video, rates: { 720p: "0.1", 1080p: "0.3" }, inputCap: null }
    providers: [here]
  disabled: { workload: chat, created: 2025-01-01, enabled: false, pricing: { billing_type: token, input: "1", output: "1" }, providers: [here] }
  unpriced: { workload: chat, created: 2025-01-01, providers: [here] }
  unreachable: { workload: chat, created: 2025-01-01, pricing: { billing_type: token, input: "1", output: "1" }, providers: [absent] }
`;

let database: TestDatabase;
let gateway: Gateway;
let environment: Record<string, string>;
let account: { id: string };
let key: string;

beforeAll(async () => {
  database = await createDatabase();
  environment = {
    DATABASE_URL: database.url,
    TOLLGATE_CATALOG: writeCatalog(catalog),
    HERE_KEY: 'provider-secret',
  };
  gateway = await startGateway(environment);
  account = await runCommand(['account', 'create', '--name', 'Acme'], environment);
  key = await createKey();
});

afterAll(async () => {
  await gateway.stop();
  await database.close();
});

async function createKey(...options: string[]): Promise<string> {
  const created = await runCommand<{ key: string }>(
    ['key', 'create', '--account', account.id, ...options],
    environment,
  );
  return created.key;
}

function get(
  path: string,
  headers: Record<string, string> = { authorization: `Bearer ${key}` },
  method = 'GET',
): Promise<Response> {
  return fetch(`${gateway.origin}${path}`, { headers, method });
}

/** The first response that is not 200: the gateway hears of a change a moment later. */
function onceRefused(ask: () => Promise<Response>): Promise<Response> {
  return eventually('a refusal', async () => {
    const response = await ask();
    return response.status === 200 ? null : response;
  });
}

type ErrorBody = { error: { message: string; type: string; param?: string; code: string } };

async function expectError(
  response: Response,
  status: number,
  type: string,
  code: string,
  param?: string,
): Promise<void> {
  const { error } = (await response.json()) as ErrorBody;
  expect({ status: response.status, type: error.type, code: error.code, param: error.param }).toEqual({
    status,
    type,
    code,
    param,
  });
  expect(error.message.length).toBeGreaterThan(10);
  expect(response.headers.get('x-service-request-id')).toMatch(/^req_[0-9a-f]{32}$/);
  expect(response.headers.get('x-request-id')).toBe(response.headers.get('x-service-request-id'));
  expect(response.headers.get('content-type')).toStartWith('application/json');
}

describe('200', () => {
  test('lists the models that are enabled, priced and reachable, in the order of the catalogue', async () => {
    const response = await get('/v1/models');
    expect(response.status).toBe(200);
    expect(response.headers.get('x-service-request-id')).toMatch(/^req_[0-9a-f]{32}$/);
    const { object, data } = (await response.json()) as { object: string; data: { id: string }[] };
    expect(object).toBe('list');
    expect(data.map((model) => model.id)).toEqual(['chat-one', 'tiered', 'banded', 'picture', 'film']);
  });

  test('shows each model with exactly the fields of the contract, numbers as they were written', async () => {
    const text = await (await get('/v1/models')).text();
    const models = text.slice('{"object":"list","data":['.length, -2).split(/(?<=\}),(?=\{"id")/);
    expect(models[0]).toBe(
      '{"id":"chat-one","object":"model","created":1721260800,"owned_by":"here","name":"Chat One","workload":"chat","availability":"available",' +
        '"pricing":{"currency":"USD","input":0.15,"output":0.6,"unit_price":null,"unit":"per_1m_tokens","billing_type":"token","price_version":"2026-11"},' +
        '"capabilities":{"text_input":true,"image_input":true,"text_output":true,"streaming":true,"function_calling":true,"structured_output":true},' +
        '"context_window":128000,"max_output_tokens":16384}',
    );
    expect(models[1]).toContain(
      '"pricing":{"currency":"USD","input":0.087,"output":0.52,"unit_price":null,"unit":"per_1m_tokens","billing_type":"token","price_version":"2026-11",' +
        '"region":"eu","note":"Long prompts cost more.","input_token_tiers":[{"max_input_tokens":32000,"input":0.087,"output":0.52},{"max_input_tokens":128000,"input":0.13,"output":0.78,"cache_read":0.013,"cache_write":0.1625}]}',
    );
    expect(models[1]).toContain('"context_window":null,"max_output_tokens":null');
    expect(models[2]).toContain(
      '"time_bands":{"timezone":"UTC","off_peak_start":"16:30","off_peak_end":"00:30","peak":{"name":"Standard","input":0.28,"output":0.42,"cache_read":0.028},"off_peak":{"input":0.14,"output":0.21,"cache_read":0.014}}',
    );
    // The headline is the peak, with its cache price.
    expect(models[2]).toContain('"pricing":{"currency":"USD","input":0.28,"output":0.42,"cache_read":0.028,');
    expect(models[3]).toContain(
      '"pricing":{"currency":"USD","input":null,"output":null,"unit_price":0.04,"unit":"per_image","billing_type":"image","price_version":"2026-11",' +
        '"tier_rates":{"1k":0.04,"2k":0.08},"basis":{"kind":"image","rates":{"1k":0.04,"2k":0.08},"inputPrice":0.0000001}}',
    );
    expect(models[4]).toContain('"unit":"per_second","billing_type":"second"');
    expect(models[4]).toContain('"basis":{"kind":"video","rates":{"720p":0.1,"1080p":0.3},"inputCap":null}');
  });

  test('shows a key with an allowlist only the models on it', async () => {
    const limited = await createKey('--allow', 'film,chat-one,disabled,nothing');
    const { data } = (await (await get('/v1/models', { authorization: `Bearer ${limited}` })).json()) as {
      data: { id: string }[];
    };
    expect(data.map((model) => model.id)).toEqual(['chat-one', 'film']);
  });

  test('accepts the scheme in any case, and a key that has not expired yet', async () => {
    const later = await createKey('--expires', '2099-01-01T00:00:00Z');
    expect((await get('/v1/models', { authorization: `bearer ${later}` })).status).toBe(200);
    expect((await get('/v1/models', { authorization: `BEARER   ${later}` })).status).toBe(200);
  });

  test('serves the OpenAI SDK', async () => {
    const client = new OpenAI({ baseURL: `${gateway.origin}/v1`, apiKey: key });
    const ids: string[] = [];
    for await (const model of client.models.list()) ids.push(model.id);
    expect(ids).toContain('chat-one');
  });

  test('follows the catalogue: a good change shows, a bad one does not', async () => {
    const file = environment.TOLLGATE_CATALOG ?? '';
    const idsListed = async () =>
      ((await (await get('/v1/models')).json()) as { data: { id: string }[] }).data.map((model) => model.id);
    await Bun.write(
      file,
      catalog.replace(
        '  disabled: { workload: chat, created: 2025-01-01, enabled: false',
        '  disabled: { workload: chat, created: 2025-01-01, enabled: true',
      ),
    );
    await eventually('the good change', async () => (await idsListed()).includes('disabled'));
    await Bun.write(file, `${catalog}\nnonsense: true\n`);
    await eventually('the bad change', () => gateway.output().includes('catalogue rejected'));
    expect(await idsListed()).toContain('disabled');
    await Bun.write(file, catalog);
    await eventually('the old catalogue', async () => !(await idsListed()).includes('disabled'));
  });
});

describe('400', () => {
  test.each(['limit', 'x', '__proto__', ''])(
    'unsupported_parameter for the query parameter %p',
    async (name) => {
      await expectError(
        await get(`/v1/models?${encodeURIComponent(name)}=1`),
        400,
        'invalid_request_error',
        'unsupported_parameter',
        name,
      );
    },
  );
});

describe('401', () => {
  test.each([
    ['no header', {}],
    ['an empty header', { authorization: '' }],
    ['no scheme', { authorization: generateKey() }],
    ['another scheme', { authorization: 'Basic dXNlcjpwYXNz' }],
    ['no key', { authorization: 'Bearer' }],
    [
      'a key of another service',
      { authorization: 'Bearer sk-abcdefghijklmnopqrstuvwxyz0123456789abcdefghij' },
    ],
    ['a wrong checksum', { authorization: `Bearer svc_sk_${'a'.repeat(46)}` }],
    ['an unknown key', { authorization: `Bearer ${generateKey()}` }],
    ['a very long one', { authorization: `Bearer ${'x'.repeat(6_000)}` }],
  ] as [string, Record<string, string>][])('invalid_api_key for %s', async (_name, headers) => {
    await expectError(await get('/v1/models', headers), 401, 'authentication_error', 'invalid_api_key');
  });

  test('invalid_api_key for a key in the query, and it is not repeated', async () => {
    const response = await get(`/v1/models?api_key=${key}`, {});
    const text = await response.clone().text();
    await expectError(response, 401, 'authentication_error', 'invalid_api_key');
    expect(text).not.toContain(key);
  });

  test('invalid_api_key for two Authorization headers, whichever is good', async () => {
    const answer = await rawRequest(
      `GET /v1/models HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nAuthorization: Bearer ${generateKey()}\r\nConnection: close\r\n\r\n`,
    );
    expect(answer).toContain(' 401 ');
    expect(answer).toContain('invalid_api_key');
  });

  test('invalid_api_key at once after the key is revoked', async () => {
    const created = await runCommand<{ id: string; key: string }>(
      ['key', 'create', '--account', account.id],
      environment,
    );
    expect((await get('/v1/models', { authorization: `Bearer ${created.key}` })).status).toBe(200);
    await runCommand(['key', 'revoke', created.id], environment);
    await expectError(
      await onceRefused(() => get('/v1/models', { authorization: `Bearer ${created.key}` })),
      401,
      'authentication_error',
      'invalid_api_key',
    );
  });

  test('invalid_api_key while the account is suspended', async () => {
    const suspended = await runCommand<{ id: string }>(
      ['account', 'create', '--name', 'Late payer'],
      environment,
    );
    const created = await runCommand<{ key: string }>(
      ['key', 'create', '--account', suspended.id],
      environment,
    );
    const ask = () => get('/v1/models', { authorization: `Bearer ${created.key}` });
    expect((await ask()).status).toBe(200);
    await database.sql`update accounts set suspended_at = now() where id = ${suspended.id}`;
    await expectError(await onceRefused(ask), 401, 'authentication_error', 'invalid_api_key');
  });

  test('expired_api_key once expires_at has passed', async () => {
    const expired = await createKey('--expires', '2099-01-01');
    await database.sql`update api_keys set expires_at = '2020-01-01' where expires_at = '2099-01-01'`;
    await expectError(
      await get('/v1/models', { authorization: `Bearer ${expired}` }),
      401,
      'authentication_error',
      'expired_api_key',
    );
  });
});

describe('404', () => {
  test.each([
    ['POST', '/v1/models'],
    ['DELETE', '/v1/models'],
    ['PUT', '/v1/models'],
    ['OPTIONS', '/v1/models'],
    ['GET', '/v1/models/'],
    ['DELETE', '/v1/models/chat-one'],
    ['GET', '/v1'],
    ['GET', '/v1/decisions'],
    ['POST', '/v1/decisions'],
    ['GET', '/V1/models'],
    ['GET', '/nothing/here'],
  ])('not_found for %s %s', async (method, path) => {
    await expectError(
      await get(path, { authorization: `Bearer ${key}` }, method),
      404,
      'invalid_request_error',
      'not_found',
    );
  });
});

describe('500', () => {
  test('model_list_failed reveals nothing of its cause, the log everything', async () => {
    const fresh = await createKey();
    await database.sql`alter table api_keys rename to api_keys_away`;
    const response = await get('/v1/models', { authorization: `Bearer ${fresh}` });
    await database.sql`alter table api_keys_away rename to api_keys`;
    const id = response.headers.get('x-service-request-id') ?? '';
    const text = await response.clone().text();
    await expectError(response, 500, 'internal_error', 'model_list_failed');
    expect(text).not.toContain('api_keys');
    await eventually('the line of the log', () => gateway.output().includes(id));
    expect(gateway.output()).toContain('relation \\"api_keys\\" does not exist');
  });
});

test('a body that no endpoint accepts is refused by the gateway itself, with an ID', async () => {
  const answer = await rawRequest(
    `POST /v1/models HTTP/1.1\r\nHost: gateway\r\nConnection: close\r\nContent-Length: ${200 * 1024 * 1024}\r\n\r\n`,
  );
  expect(answer).toStartWith('HTTP/1.1 404');
  expect(answer).toMatch(/x-service-request-id: req_[0-9a-f]{32}/i);
});

test.each(['no such host', 'evil.example', '[::1', 'a:b:c'])(
  'pages are served and say nothing of the Host header, whatever it is: %s',
  async (host) => {
    const ask = (path: string) =>
      rawRequest(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\nAccept: text/html\r\nConnection: close\r\n\r\n`);
    const answers = await Promise.all(['/', '/docs', '/missing'].map(ask));
    expect(answers.map((answer) => answer.slice(0, 'HTTP/1.1 200'.length))).toEqual([
      'HTTP/1.1 200',
      'HTTP/1.1 200',
      'HTTP/1.1 404',
    ]);
    for (const answer of answers) expect(answer).not.toContain(host);
    expect(answers[1]).toContain(`curl ${gateway.origin}/v1/`);
  },
);

test('every request has its own ID, on pages and operator routes too', async () => {
  const paths = ['/', '/docs.css', '/healthz', '/readyz', '/v1/models', '/missing'];
  const ids = await Promise.all(
    paths.map(async (path) => (await get(path)).headers.get('x-service-request-id')),
  );
  expect(ids.every((id) => id !== null && /^req_[0-9a-f]{32}$/.test(id))).toBe(true);
  expect(new Set(ids).size).toBe(paths.length);
});

test('no key and no provider secret is in the log', () => {
  expect(gateway.output()).not.toContain(key);
  expect(gateway.output()).not.toContain('provider-secret');
});

/** The gateway ends the connection: a client that ends its half early counts as gone, and may get no response. */
function rawRequest(text: string): Promise<string> {
  const { socket, ended } = openRawClient(gateway.origin);
  socket.write(text);
  return ended;
}
