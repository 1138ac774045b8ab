/** The console's playground and its models: what the public endpoints do, for someone who is signed in. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Model } from '../../src/console/contract.ts';
import { newId } from '../../src/lib/ids.ts';
import type { PublicModel } from '../../src/models/present.ts';
import {
  type Chunk,
  chatCatalog,
  type ErrorBody,
  eventsOf,
  finishedGeneration,
} from '../support/chat-fixture.ts';
import { runCommand } from '../support/commands.ts';
import {
  type ConsoleFixture,
  openConsoleFixture,
  outcomeFor,
  type Visitor,
} from '../support/console-fixture.ts';
import { eventually } from '../support/eventually.ts';
import { openLeavingClient } from '../support/leaving-client.ts';

let fixture: ConsoleFixture;
let member: Visitor;
let path: string;

beforeAll(async () => {
  fixture = await openConsoleFixture((url) =>
    chatCatalog(url, {
      providers: `  words: { adapter: anthropic, base_url: ${url}/v1, api_key_env: MAIN_KEY }`,
      models: [
        '  made: { workload: chat, maker: Example Labs, pricing: { billing_type: token, input: "1", output: "2" }, providers: [main] }',
        '  clip: { workload: video, owned_by: someone, pricing: { billing_type: second, unit_price: "0.1" }, providers: [main] }',
        '  misplaced: { workload: image, sizes: ["1024x1024"], pricing: { billing_type: image, unit_price: "1" }, providers: [words] }',
      ].join('\n'),
    }),
  );
  member = fixture.people.member;
  path = `/api/console/accounts/${fixture.account}/playground/chat`;
}, 60_000);

afterAll(() => fixture.close());

type Body = Record<string, unknown>;
type Options = Readonly<{ keyId?: string; headers?: Record<string, string> }>;

const ask = (content: string, more: Body = {}): Body => ({
  model: 'full',
  messages: [{ role: 'user', content }],
  ...more,
});

function play(request: unknown, { keyId = fixture.keyId, headers = {} }: Options = {}): Promise<Response> {
  return member.send('POST', path, { key_id: keyId, request }, headers);
}

function callApi(body: string, key = fixture.key): Promise<Response> {
  return fetch(`${fixture.gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body,
  });
}

/** Another key of the same account. */
async function anotherKey(...options: string[]): Promise<{ id: string; key: string }> {
  return await runCommand(['key', 'create', '--account', fixture.account, ...options], fixture.environment);
}

async function errorOf(response: Response): Promise<[number, string, string | undefined]> {
  const { error } = (await response.json()) as ErrorBody;
  return [response.status, error.code, error.param];
}

const idOf = (response: Response) => response.headers.get('x-service-request-id') ?? '';
const generationOf = (response: Response, key = fixture.key) =>
  finishedGeneration(fixture.gateway.origin, key, idOf(response));

describe('who may', () => {
  test('nobody with a key of another account, in whichever account it is named', async () => {
    expect(await errorOf(await play(ask('hello'), { keyId: fixture.strangersKeyId }))).toEqual([
      404,
      'key_not_found',
      undefined,
    ]);
    const foreign = path.replace(fixture.account, fixture.strangersAccount);
    const body = { key_id: fixture.strangersKeyId, request: ask('hello') };
    expect(await outcomeFor(member, 'POST', foreign, body)).toBe('account_not_found');
    expect(
      await outcomeFor(fixture.people.stranger, 'POST', foreign, { ...body, key_id: fixture.keyId }),
    ).toBe('key_not_found');
  });

  test('an API key opens nothing here, and a session nothing there', async () => {
    const headers = { authorization: `Bearer ${fixture.key}` };
    const body = { key_id: fixture.keyId, request: ask('hello') };
    expect(await errorOf(await fixture.people['signed out'].send('POST', path, body, headers))).toEqual([
      401,
      'session_required',
      undefined,
    ]);
    expect(await errorOf(await member.send('POST', '/v1/chat/completions', ask('hello')))).toEqual([
      401,
      'invalid_api_key',
      undefined,
    ]);
  });

  test.each(['1', "' or 1=1 --", '__proto__', '', newId()])('%p is no key', async (keyId) => {
    expect(await errorOf(await play(ask('hello'), { keyId }))).toEqual([404, 'key_not_found', undefined]);
  });
});

describe('an answer', () => {
  test('without streaming is the endpoint’s, and is charged to the key', async () => {
    const response = await play(ask('hello [[usage 10 20]]'));
    expect(response.status).toBe(200);
    const completion = (await response.json()) as { id: string; object: string; usage: object };
    expect(completion).toMatchObject({ object: 'chat.completion', model: 'full' });
    expect(response.headers.get('x-ratelimit-limit-requests')).toBe('600');
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(await generationOf(response)).toMatchObject({
      id: idOf(response),
      status: 'completed',
      streaming: false,
      cost: { total: '0.000050000000' },
    });
    const [charge] = await fixture.database.sql`
      select amount::text from ledger_entries where account_id = ${fixture.account} order by number desc limit 1`;
    expect(charge.amount).toBe('-0.000050000000');
  });

  test('as a stream is the endpoint’s', async () => {
    const request = ask('[[say one two three]]', { stream: true, stream_options: { include_usage: true } });
    const response = await play(request);
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    const events = eventsOf(await response.text());
    expect(events.at(-1)).toBe('[DONE]');
    const chunks = events.slice(0, -1).map((event) => JSON.parse(event) as Chunk);
    expect(chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('')).toBe('one two three');
    expect(chunks.at(-1)?.usage?.total_tokens).toBeGreaterThan(0);
    expect(await generationOf(response)).toMatchObject({ status: 'completed', streaming: true });
  });

  test('that fails half way says so in the stream', async () => {
    const response = await play(ask('[[long 20]] [[cut 3]]', { stream: true }));
    expect(response.status).toBe(200);
    const events = eventsOf(await response.text());
    expect(JSON.parse(events.at(-2) ?? '')).toMatchObject({ error: { code: 'provider_stream_error' } });
    expect(events.at(-1)).toBe('[DONE]');
    expect(await generationOf(response)).toMatchObject({ status: 'failed', cost: null });
  });

  test('that fails at once has the status of its code', async () => {
    const response = await play(ask('[[status 503]]'));
    expect(await errorOf(response)).toEqual([502, 'provider_unavailable', undefined]);
    expect(await generationOf(response)).toMatchObject({ status: 'failed' });
  });

  test('is replayed for the same idempotency key, from either side', async () => {
    const request = ask('named');
    const headers = { 'idempotency-key': newId() };
    const first = await play(request, { headers });
    const text = await first.text();
    const calls = fixture.sandbox.entries.length;
    const again = await play(request, { headers });
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(idOf(again)).toBe(idOf(first));
    expect(await again.text()).toBe(text);
    expect(await errorOf(await play(ask('another'), { headers }))).toEqual([
      400,
      'invalid_parameter',
      'Idempotency-Key',
    ]);
    expect(fixture.sandbox.entries.length).toBe(calls);
  });

  test('that nobody waits for is settled as cancelled', async () => {
    const { origin } = fixture.gateway;
    const request = ask('[[long 30]] [[chunk-delay 50]]', { stream: true });
    const client = openLeavingClient(
      origin,
      path,
      { cookie: member.cookie, origin },
      { key_id: fixture.keyId, request },
    );
    const id = await client.requestId();
    await client.leave();
    expect(await finishedGeneration(origin, fixture.key, id)).toMatchObject({
      status: 'cancelled',
      usage: { output_tokens: 30 },
    });
  });
});

describe('images', () => {
  const draw = (request: unknown, headers = {}) =>
    member.send('POST', path.replace(/chat$/, 'images'), { key_id: fixture.keyId, request }, headers);

  test('are the endpoint’s, and are charged to the key', async () => {
    const response = await draw({ model: 'picture', prompt: 'A gate', n: 2 });
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ data: [{ url: expect.any(String) }, {}] });
    expect(await generationOf(response)).toMatchObject({
      status: 'completed',
      usage: { unit: 'images', units: '2' },
      cost: { total: '0.080000000000' },
    });
  });

  test('are refused in the words of the endpoint', async () => {
    expect(await errorOf(await draw({ model: 'picture', prompt: 'A gate', n: 9 }))).toEqual([
      400,
      'invalid_n',
      'n',
    ]);
    expect(await errorOf(await draw({ model: 'full', prompt: 'A gate' }))).toEqual([
      400,
      'invalid_model',
      'model',
    ]);
  });
});

describe('a key is held to', () => {
  test('its allowlist and its monthly limit', async () => {
    const { id } = await anotherKey('--allow', 'plain', '--monthly-limit', '0');
    expect(await errorOf(await play(ask('hello'), { keyId: id }))).toEqual([
      403,
      'model_not_allowed',
      'model',
    ]);
    expect(await errorOf(await play(ask('hello', { model: 'plain' }), { keyId: id }))).toEqual([
      403,
      'monthly_spend_limit_exceeded',
      undefined,
    ]);
  });

  test('its requests per minute, together with what comes through the API', async () => {
    const { id, key } = await anotherKey('--rpm', '2');
    expect((await play(ask('hello'), { keyId: id })).status).toBe(200);
    expect((await callApi(JSON.stringify(ask('hello')), key)).status).toBe(200);
    const refused = await play(ask('hello'), { keyId: id });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(refused.headers.get('x-ratelimit-limit-requests')).toBe('2');
    expect((await errorOf(refused)).slice(0, 2)).toEqual([429, 'rate_limit_exceeded']);
    expect((await callApi(JSON.stringify(ask('hello')), key)).status).toBe(429);
  });

  test.each([
    ['revoked_at', 'invalid_api_key'],
    ['expires_at', 'expired_api_key'],
  ])('its end: %s has come, 401 %s', async (column, code) => {
    const { sql } = fixture.database;
    const { id } = await anotherKey();
    expect((await play(ask('hello'), { keyId: id })).status).toBe(200);
    await sql`update api_keys set ${sql({ [column]: new Date() })} where id = ${id}`;
    expect(await errorOf(await play(ask('hello'), { keyId: id }))).toEqual([401, code, undefined]);
  });

  test('its account, which may be suspended', async () => {
    const { sql } = fixture.database;
    await sql`update accounts set suspended_at = now() where id = ${fixture.account}`;
    try {
      // From now on nothing runs, and the reason is given as soon as the node has heard of it.
      const told = await eventually('a refusal with its reason', async () => {
        const response = await play(ask('hello'));
        expect(response.status).toBeWithin(401, 404);
        return response.status === 403 ? await errorOf(response) : null;
      });
      expect(told).toEqual([403, 'account_suspended', undefined]);
    } finally {
      await sql`update accounts set suspended_at = null where id = ${fixture.account}`;
    }
    // The node hears of it soon.
    await eventually('an answer', async () => (await play(ask('hello'))).status === 200);
  });

  test('the balance of its account', async () => {
    const { account, keyId } = await fixture.customer('0');
    await fixture.database.sql`
      insert into memberships (user_id, account_id, role)
      select id, ${account}, 'member' from users where email = 'member@example.com'`;
    const body = { key_id: keyId, request: ask('hello') };
    const response = await member.send('POST', path.replace(fixture.account, account), body);
    expect(await errorOf(response)).toEqual([402, 'insufficient_balance', undefined]);
  });
});

describe('what is wrong with the inner request', () => {
  const deepest = `${'['.repeat(70)}${']'.repeat(70)}`;
  const bodies = [
    '{}',
    '{"model":"full","messages":[]}',
    '{"model":"full","messages":[{"role":"user"}]}',
    '{"model":"full","messages":[{"role":"user","content":7}],"n":2}',
    '{"model":"nothing","messages":[{"role":"user","content":"x"}]}',
    '{"model":"plain","messages":[{"role":"user","content":"x"}],"stream":true}',
    '{"model":"picture","messages":[{"role":"user","content":"x"}]}',
    '{"model":"absent","messages":[{"role":"user","content":"x"}]}',
    '{"model":"full","messages":[{"role":"user","content":"x"}],"__proto__":{"stream":true}}',
    '{"model":"full","messages":[{"role":"user","content":"x"}],"request":{}}',
    '{"model":"full","messages":[{"role":"user","content":"x"}],"tool_choice":"required"}',
    '{"model":"full","model":"plain","messages":[{"role":"user","content":"x"}]}',
    '{"model":"full","messages":[{"role":"user","content":"x","content":"y"}]}',
    '{"model":"full","messages":[{"role":"user","content":"\\u0000"}]}',
    '{"model":"full","odd key":"\\ud800","messages":[{"role":"user","content":"x"}]}',
    '{"model":"full","temperature":1e999,"messages":[{"role":"user","content":"x"}]}',
    `{"model":"full","messages":${deepest}}`,
  ];

  test.each(bodies)('is said in the words of the endpoint: %s', async (text) => {
    const [there, here] = await Promise.all([
      callApi(text),
      fetch(`${fixture.gateway.origin}${path}`, {
        method: 'POST',
        headers: {
          cookie: member.cookie,
          origin: fixture.gateway.origin,
          'content-type': 'application/json',
        },
        body: `{"key_id":"${fixture.keyId}","request":${text}}`,
      }),
    ]);
    expect(there.ok).toBe(false);
    // Long paths are shortened, so only the beginning of the deepest one is compared.
    const told = async (response: Response) => {
      const { error } = (await response.json()) as ErrorBody;
      return [response.status, error.code, error.message, error.param?.slice(0, 50)];
    };
    expect(await told(here)).toEqual(await told(there));
  });

  test.each([
    [{}, 'missing_required_parameter', 'key_id'],
    [{ key_id: 'x' }, 'missing_required_parameter', 'request'],
    [{ key_id: 7, request: {} }, 'invalid_parameter', 'key_id'],
    [{ key_id: 'x', request: [] }, 'invalid_parameter', 'request'],
    [{ key_id: 'x', request: null }, 'invalid_parameter', 'request'],
    [{ key_id: 'x', request: '{}' }, 'invalid_parameter', 'request'],
    [{ key_id: 'x', request: {}, key: 'svc_sk_' }, 'unsupported_parameter', 'key'],
  ])('and with what is around it: %j', async (body, code, param) => {
    expect(await errorOf(await member.send('POST', path, body))).toEqual([400, code, param]);
  });

  test('a body that is too large is refused as it is there', async () => {
    const request = ask('x'.repeat(20 * 1024 * 1024));
    const [there, here] = [await callApi(JSON.stringify(request)), await play(request)];
    expect(await here.json()).toEqual(await there.json());
    expect(here.status).toBe(400);
  });
});

test('500 api_keys_lookup_failed when the key cannot be looked up', async () => {
  const { sql } = fixture.database;
  await sql`alter table api_keys rename to api_keys_away`;
  try {
    expect(await errorOf(await play(ask('hello')))).toEqual([500, 'api_keys_lookup_failed', undefined]);
  } finally {
    await sql`alter table api_keys_away rename to api_keys`;
  }
});

test('a chat is not even read for those who do not belong to the account', async () => {
  const { stranger } = fixture.people;
  const body = { key_id: fixture.keyId, request: ask('x'.repeat(20 * 1024 * 1024)) };
  expect(await errorOf(await stranger.send('POST', path, body))).toEqual([
    404,
    'account_not_found',
    undefined,
  ]);
});

describe('the models', () => {
  const list = (account = fixture.account) => member.send('GET', `/api/console/accounts/${account}/models`);

  test('are those of /v1/models for a key without an allowlist, kept for 300 seconds by one browser', async () => {
    const response = await list();
    expect(response.headers.get('cache-control')).toBe('private, max-age=300');
    expect(response.headers.get('vary')).toBe('cookie');
    const { data } = (await response.json()) as { data: Model[] };
    const there = await fetch(`${fixture.gateway.origin}/v1/models`, {
      headers: { authorization: `Bearer ${fixture.key}` },
    });
    const listed = ((await there.json()) as { data: PublicModel[] }).data;
    expect(
      data.map(
        ({ maker: _maker, endpoint: _endpoint, sizes: _sizes, max_images: _count, ...model }) => model,
      ),
    ).toEqual(listed);
    expect(data.map(({ id }) => id)).toContain('full');
    expect(data.map(({ id }) => id)).not.toContain('disabled');
  });

  test('come with their maker, and with the endpoint that serves them', async () => {
    const { data } = (await (await list()).json()) as { data: Model[] };
    const found = (id: string) => {
      const { maker, endpoint, sizes, max_images } = data.find((model) => model.id === id) as Model;
      return { maker, endpoint, sizes, max_images };
    };
    expect(found('full')).toEqual({
      maker: 'Main',
      endpoint: '/v1/chat/completions',
      sizes: [],
      max_images: 0,
    });
    expect(found('picture')).toEqual({
      maker: 'Main',
      endpoint: '/v1/images/generations',
      sizes: ['1024x1024'],
      max_images: 4,
    });
    expect(found('made')).toMatchObject({ maker: 'Example Labs' });
    expect(found('clip')).toMatchObject({ maker: 'someone', endpoint: null });
    // A format without images cannot make the picture that this model is for.
    expect(found('misplaced')).toMatchObject({ endpoint: null, sizes: [] });
  });

  test('are shown only to members of the account', async () => {
    for (const account of [fixture.strangersAccount, newId(), "'", '__proto__'])
      expect((await errorOf(await list(encodeURIComponent(account)))).slice(0, 2)).toEqual([
        404,
        'account_not_found',
      ]);
  });

  test('500 model_list_failed when the membership cannot be read', async () => {
    const { sql } = fixture.database;
    await sql`alter table memberships rename to memberships_away`;
    try {
      expect(await errorOf(await list())).toEqual([500, 'model_list_failed', undefined]);
    } finally {
      await sql`alter table memberships_away rename to memberships`;
    }
  });
});
