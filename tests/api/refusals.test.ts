/** Requests that were refused after their key was known: who finds them, and what they say. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Refusal, RequestDetail, RequestPage } from '../../src/console/request-contract.ts';
import { chatCatalog } from '../support/chat-fixture.ts';
import { runCommand } from '../support/commands.ts';
import { type ConsoleFixture, openConsoleFixture, outcomeFor } from '../support/console-fixture.ts';
import { eventually } from '../support/eventually.ts';
import { startGateway, temporaryFolder } from '../support/gateway.ts';

let fixture: ConsoleFixture;

beforeAll(async () => {
  fixture = await openConsoleFixture(chatCatalog);
}, 60_000);

afterAll(() => fixture.close());

const hello = [{ role: 'user', content: 'hi' }];

type Sent = Readonly<{ path?: string; headers?: Record<string, string>; origin?: string }>;

function send(key: string, body: unknown, { path = 'chat/completions', headers = {}, origin }: Sent = {}) {
  return fetch(`${origin ?? fixture.gateway.origin}/v1/${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
}

const idOf = (response: Response) => response.headers.get('x-service-request-id') ?? '';

/** As soon as it is stored. */
async function refusalOf(response: Response): Promise<Refusal> {
  return await eventually('the refusal', async () => {
    const found = await fixture.people.operator.send(
      'GET',
      `/api/console/operator/requests/${idOf(response)}`,
    );
    if (found.status !== 200) return null;
    const detail = (await found.json()) as RequestDetail;
    if (detail.kind !== 'refusal') throw new Error('It became a Generation.');
    return detail.request;
  });
}

async function listOf(path: string, query = ''): Promise<RequestPage> {
  const response = await fixture.people.operator.send('GET', `/api/console/operator/${path}${query}`);
  expect(response.status).toBe(200);
  return (await response.json()) as RequestPage;
}

test('a 402 is found by its request ID, and says what was needed, what was there and what would fit', async () => {
  const { account, key, keyId } = await fixture.customer('0.0144');
  const response = await send(key, { model: 'tiered', max_tokens: 8_000, messages: hello });
  expect(response.status).toBe(402);
  const refusal = await refusalOf(response);
  expect(refusal).toMatchObject({
    id: idOf(response),
    status: 'refused',
    http_status: 402,
    error_code: 'insufficient_balance',
    api: 'chat_completions',
    model: 'tiered',
    key: { id: keyId, name: 'API key' },
    account: { id: account, name: 'Test' },
    cost: null,
    duration_ms: null,
    provider: null,
    shortage: { of: 'balance', available: '0.014400000000' },
  });
  const fitting = refusal.shortage?.fitting_max_tokens ?? 0;
  expect(Number(refusal.shortage?.needed)).toBeGreaterThan(0.0144);
  // It really is the most that fits.
  expect((await send(key, { model: 'tiered', max_tokens: fitting + 1, messages: hello })).status).toBe(402);
  expect((await send(key, { model: 'tiered', max_tokens: fitting, messages: hello })).status).toBe(200);
});

describe('what is recorded', () => {
  const wrong = [
    ['invalid_json', '{', {}],
    ['missing_required_parameter', { model: 'full' }, { param: 'messages', model: 'full' }],
    ['invalid_parameter', { model: 'full', messages: hello, temperature: 9 }, { param: 'temperature' }],
    ['unsupported_parameter', { model: 'full', messages: hello, nonsense: 1 }, { param: 'nonsense' }],
    ['invalid_model', { model: 'disabled', messages: hello }, { model: 'disabled' }],
    ['model_not_found', { model: 'no/such', messages: hello }, { http_status: 404, model: 'no/such' }],
    ['model_pricing_not_configured', { model: 'unpriced', messages: hello }, { model: 'unpriced' }],
    ['provider_not_configured', { model: 'absent', messages: hello }, { http_status: 503 }],
    ['missing_required_parameter', { model: 'full' }, { api: 'messages' }, 'messages'],
    ['missing_required_parameter', { model: 'full' }, { api: 'responses' }, 'responses'],
    [
      'invalid_n',
      { model: 'picture', prompt: 'x', n: 9 },
      { api: 'images', param: 'n' },
      'images/generations',
    ],
  ] as const;

  test('what is wrong with a request', async () => {
    const sent = await Promise.all(
      wrong.map(([, body, , path = 'chat/completions']) => send(fixture.key, body, { path })),
    );
    for (const [place, [code, , facts]] of wrong.entries()) {
      const response = sent[place] ?? Response.error();
      const refusal = await refusalOf(response);
      const { status } = response;
      expect(refusal).toMatchObject({ error_code: code, http_status: status, shortage: null, ...facts });
      expect(refusal.message.length).toBeGreaterThan(10);
    }
  });

  test('a model that the key may not call', async () => {
    const { key } = await fixture.customer('1', '--allow', 'plain');
    const response = await send(key, { model: 'full', messages: hello });
    expect(await refusalOf(response)).toMatchObject({ error_code: 'model_not_allowed', http_status: 403 });
  });

  test('the monthly limit of a key', async () => {
    const { key } = await fixture.customer('1', '--monthly-limit', '0.0001');
    const response = await send(key, { model: 'full', max_tokens: 1_000, messages: hello });
    expect(await refusalOf(response)).toMatchObject({
      error_code: 'monthly_spend_limit_exceeded',
      shortage: { of: 'key_month', available: '0.000100000000' },
    });
  });

  test('the rate of a key, with when to try again', async () => {
    const { key } = await fixture.customer('1', '--rpm', '1');
    const answers = [];
    for (let tries = 0; tries < 2; tries += 1)
      answers.push(await send(key, { model: 'full', messages: hello }));
    const refused = answers.find(({ status }) => status === 429) ?? Response.error();
    const refusal = await refusalOf(refused);
    expect(refusal).toMatchObject({ error_code: 'rate_limit_exceeded', shortage: null });
    expect(refusal.retry_after_seconds).toBe(Number(refused.headers.get('retry-after')));
  });

  test('a limit of tokens, in tokens', async () => {
    const { account, key } = await fixture.customer('1');
    await runCommand(['limit', 'set', 'tokens-per-minute', '500', '--account', account], fixture.environment);
    const response = await send(key, { model: 'full', max_tokens: 900, messages: hello });
    const { shortage } = await refusalOf(response);
    expect(shortage).toMatchObject({ of: 'limit', available: '500' });
    expect(Number(shortage?.needed)).toBeGreaterThan(900);
  });

  test('those of a key that is refused too often', async () => {
    const { key } = await fixture.customer('1');
    // A large body weighs as much as many small ones.
    const body = JSON.stringify({ model: 'full', messages: hello, nonsense: 'x'.repeat(6_000_000) });
    let response = await send(key, body);
    for (let sent = 1; response.status === 400 && sent < 30; sent += 1) response = await send(key, body);
    expect(await refusalOf(response)).toMatchObject({
      error_code: 'rate_limit_exceeded',
      retry_after_seconds: Number(response.headers.get('retry-after')),
      model: null,
    });
  });

  test('what the playground refuses', async () => {
    const { account, keyId, people } = fixture;
    const response = await people.owner.send('POST', `/api/console/accounts/${account}/playground/chat`, {
      key_id: keyId,
      request: { model: 'full', messages: hello, temperature: 9 },
    });
    expect(response.status).toBe(400);
    expect(await refusalOf(response)).toMatchObject({ param: 'temperature', key: { id: keyId } });
  });

  test('whom it was for', async () => {
    const headers = { 'x-end-user': 'Refused One', 'x-tags': 'team=red' };
    const response = await send(fixture.key, { model: 'no/such', messages: hello }, { headers });
    const { id } = await refusalOf(response);
    for (const query of ['?end_user=Refused%20One', '?tag=team%3Dred&status=refused']) {
      const { data } = await listOf('requests', query);
      expect(data.map((row) => row.id)).toEqual([id]);
      expect(data[0]?.attribution).toMatchObject({ end_user: 'Refused One', tags: { team: 'red' } });
    }
  });

  test('a name that is too long, cut off between characters', async () => {
    const model = `${'x'.repeat(199)}😀`;
    const refusal = await refusalOf(await send(fixture.key, { model, messages: hello }));
    expect(refusal.model).toBe(`${'x'.repeat(199)}\ufffd`);
  });

  test('nothing that became a Generation', async () => {
    const response = await send(fixture.key, {
      model: 'full',
      messages: [{ role: 'user', content: '[[status 503]]' }],
    });
    expect(response.status).toBeGreaterThanOrEqual(500);
    const found = await fixture.people.owner.send(
      'GET',
      `/api/console/accounts/${fixture.account}/requests/${idOf(response)}`,
    );
    expect((await found.json()) as RequestDetail).toMatchObject({
      kind: 'generation',
      request: { status: 'failed', streamed: false, fallback_from: null },
    });
    const rows = await fixture.database
      .sql`select 1 from refusals where code like 'provider%' and code <> 'provider_not_configured'`;
    expect(rows.length).toBe(0);
  });
});

test('members see what their account was refused, and nobody else does', async () => {
  const { account, keyId, people, strangersAccount } = fixture;
  const response = await send(fixture.key, { model: 'only/here', messages: hello });
  const { id } = await refusalOf(response);
  const own = `/api/console/accounts/${account}/requests`;
  const theirs = `/api/console/accounts/${strangersAccount}/requests`;
  expect(await outcomeFor(people.member, 'GET', `${own}/${id}`)).toBeNull();
  expect(await outcomeFor(people.stranger, 'GET', `${theirs}/${id}`)).toBe('generation_not_found');
  expect(await outcomeFor(people.stranger, 'GET', `${own}/${id}`)).toBe('account_not_found');
  expect(await outcomeFor(people.stranger, 'GET', own)).toBe('account_not_found');
  expect(await outcomeFor(people.member, 'GET', '/api/console/operator/requests')).toBe('permission_denied');
  const listed = async (visitor: typeof people.member, path: string, query: string) => {
    const { data } = (await (await visitor.send('GET', path + query)).json()) as RequestPage;
    return data.map((row) => row.id);
  };
  expect(await listed(people.member, own, '?model=only/here')).toEqual([id]);
  expect(await listed(people.member, own, `?status=refused&key=${keyId}&limit=1`)).toEqual([id]);
  expect(await listed(people.stranger, theirs, '?status=refused')).toEqual([]);
  expect(
    await listed(people.operator, '/api/console/operator/requests', `?account=${account}&limit=1`),
  ).toEqual([id]);
});

test.each([
  ['status', 'rejected'],
  ['error_code', 'no_such_code'],
  ['error_code', '__proto__'],
  ['api', 'completions'],
  ['streamed', 'true'],
  ['fallback', ''],
  ['min_cost', 'much'],
  ['min_cost', '-1'],
  ['min_duration_ms', '1.5'],
  ['from', 'yesterday'],
  ['to', '2026-13-01'],
  ['key', 'mine'],
  ['model', '%00'],
  ['tag', 'none'],
  ['account', 'mine'],
])('%s=%s is an error', async (param, value) => {
  const response = await fixture.people.operator.send(
    'GET',
    `/api/console/operator/requests?${param}=${value}`,
  );
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ error: { code: 'invalid_parameter', param } });
});

test('an unknown parameter, a key of others and a cursor of another list are errors', async () => {
  const { people, account, strangersKeyId } = fixture;
  const path = `/api/console/accounts/${account}/requests`;
  expect(await outcomeFor(people.owner, 'GET', `${path}?statuses=refused`)).toBe('unsupported_parameter');
  expect(await outcomeFor(people.owner, 'GET', `${path}?account=${account}`)).toBe('unsupported_parameter');
  expect(await outcomeFor(people.owner, 'GET', `${path}?key=${strangersKeyId}`)).toBe('key_not_found');
  const response = await people.owner.send('GET', `${path}?limit=1`);
  const { next_cursor: cursor } = (await response.json()) as RequestPage;
  expect(await outcomeFor(people.owner, 'GET', `${path}?limit=1&cursor=${cursor}`)).toBeNull();
  expect(await outcomeFor(people.owner, 'GET', `${path}?status=refused&cursor=${cursor}`)).toBe(
    'invalid_cursor',
  );
});

test('a file has the rows of the list', async () => {
  const { people, account, key } = fixture;
  await refusalOf(await send(key, { model: '=in/file', messages: hello }));
  await send(key, { model: 'full', messages: [{ role: 'user', content: '[[usage 3 4]] hi' }] });
  const linesOf = async (visitor: typeof people.owner, path: string) => {
    const response = await visitor.send('GET', path);
    expect(response.status).toBe(200);
    return (await response.text()).trimEnd().split('\r\n');
  };
  const own = `/api/console/accounts/${account}/requests`;
  const [header = '', ...lines] = await linesOf(people.member, `${own}.csv`);
  expect(header).toStartWith('at,request_id,status,error_code,api,model,key_id,');
  const ids = [];
  for (let query = '?limit=10'; query !== ''; ) {
    const response = await people.member.send('GET', own + query);
    const { data, next_cursor: cursor } = (await response.json()) as RequestPage;
    ids.push(...data.map(({ id }) => id));
    query = cursor === null ? '' : `?limit=10&cursor=${cursor}`;
  }
  expect(lines.map((line) => line.split(',')[1])).toEqual(ids);
  expect(lines[0]).toContain(',completed,,chat_completions,"full",');
  const [, refused = ''] = await linesOf(
    people.operator,
    '/api/console/operator/requests.csv?model=%3Din/file',
  );
  expect(refused).toStartWith(`"${account}","Test",`);
  expect(refused).toContain(`,refused,model_not_found,chat_completions,"'=in/file",`);
});

test('a drain stores what was refused last', async () => {
  const gateway = await startGateway({ ...fixture.environment, TOLLGATE_DATA: temporaryFolder() });
  const response = await send(fixture.key, { model: 'no/such', messages: hello }, { origin: gateway.origin });
  await gateway.stop();
  expect(await refusalOf(response)).toMatchObject({ error_code: 'model_not_found' });
});
