/** What operators see of the gateway itself: providers, the catalogue, the nodes, the ledger, any request. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';
import type {
  Audit,
  Audits,
  CatalogStatus,
  DeadLetters,
  Nodes,
  Providers,
} from '../../src/console/operator-contract.ts';
import type { FoundGeneration } from '../../src/console/request-contract.ts';
import { uuidFromRequestId } from '../../src/lib/ids.ts';
import { dayMs, minuteMs } from '../../src/lib/time-units.ts';
import { type ErrorBody, finishedGeneration } from '../support/chat-fixture.ts';
import {
  type ConsoleFixture,
  openConsoleFixture,
  type Visitor,
  visitor,
} from '../support/console-fixture.ts';
import { eventually } from '../support/eventually.ts';
import { startGateway, tollgateJson } from '../support/gateway.ts';
import { dollars, impossible, refund, settleAs } from '../support/rare-settlements.ts';

const root = '/api/console/operator';

let fixture: ConsoleFixture;
let operator: Visitor;
/** The catalogue that the gateway follows, as it was at the start. */
let catalog: string;

beforeAll(async () => {
  fixture = await openConsoleFixture();
  operator = fixture.people.operator;
  catalog = readFileSync(catalogFile(), 'utf8');
  await fixture.database.sql`update accounts set name = 'Other' where id = ${fixture.strangersAccount}`;
});

afterAll(() => fixture.close());

const catalogFile = () => fixture.environment.TOLLGATE_CATALOG ?? '';

async function ask<Answer>(method: string, path: string, by = operator): Promise<Answer> {
  const response = await by.send(method, `${root}${path}`, method === 'GET' ? undefined : {});
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text}`);
  return JSON.parse(text) as Answer;
}

const findRequest = async (id: string) => (await ask<FoundGeneration>('GET', `/requests/${id}`)).request;

/** Polls until the response is as it should be. */
async function askUntil<Answer>(path: string, isThere: (answer: Answer) => boolean): Promise<Answer> {
  const found = await eventually(path, async () => {
    const answer = await ask<Answer>('GET', path);
    return isThere(answer) ? { answer } : null;
  });
  return found.answer;
}

/** Returns the ID of the request. */
async function chat(model: string, content: string, more = {}): Promise<string> {
  const response = await open(model, content, more);
  await response.text();
  return response.headers.get('x-service-request-id') ?? '';
}

function open(model: string, content: string, more = {}): Promise<Response> {
  return fetch(`${fixture.gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${fixture.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content }], ...more }),
  });
}

function providerIn({ data }: Providers, id: string): Providers['data'][number] {
  const provider = data.find((candidate) => candidate.id === id);
  if (provider === undefined) throw new Error(`There is no provider ${id}.`);
  return provider;
}

const openAt = (providers: Providers, id: string) =>
  providerIn(providers, id).circuits.filter(({ state }) => state === 'open');

test('providers are those of the catalogue, with their attempts and the newest failures', async () => {
  const before = await ask<Providers>('GET', '/providers');
  expect(before.data.map(({ id, name, is_configured: isConfigured }) => [id, name, isConfigured])).toEqual([
    ['main', 'Main', true],
    ['hasty', 'Hasty', true],
    ['backup', 'Backup', true],
    ['gone', 'Gone', true],
    ['locked', 'Locked', true],
    ['absent', 'Absent', false],
  ]);
  expect(providerIn(before, 'main')).toMatchObject({ adapter: 'openai', circuits: [] });
  expect(providerIn(before, 'absent').key_variable).toBe('NO_KEY');
  await chat('full', 'hello');
  const refused = await chat('full', '[[status 503]]');
  const invalid = await chat('full', '[[status 400]]');
  const fellBack = await chat('fallback', 'hello');
  await finishedGeneration(fixture.gateway.origin, fixture.key, fellBack);

  const after = await ask<Providers>('GET', '/providers');
  const counted = ['main', 'backup', 'gone', 'locked'].map((id) => providerIn(after, id).last_24_hours);
  expect(counted).toEqual([
    // An invalid request is not a failure of its provider.
    { attempts: 3, failed: 1 },
    { attempts: 1, failed: 0 },
    { attempts: 1, failed: 1 },
    { attempts: 0, failed: 0 },
  ]);
  const account = { id: fixture.account, name: 'Test' };
  const at = expect.stringMatching(/Z$/);
  expect(after.failures).toEqual([
    {
      request_id: fellBack,
      account,
      model: 'fallback',
      provider: 'Gone',
      attempt: 1,
      error: 'provider_unavailable',
      upstream_status: null,
      at,
    },
    {
      request_id: invalid,
      account,
      model: 'full',
      provider: 'Main',
      attempt: 1,
      error: 'provider_bad_request',
      upstream_status: 400,
      at,
    },
    {
      request_id: refused,
      account,
      model: 'full',
      provider: 'Main',
      attempt: 1,
      error: 'provider_unavailable',
      upstream_status: 503,
      at,
    },
  ]);
  expect(Math.abs(Date.now() - dayMs - Date.parse(after.attempts_since))).toBeLessThan(2 * minuteMs);
});

test('attempts of the day before are not counted, nor listed as failures', async () => {
  const { sql } = fixture.database;
  const [{ id }] = await sql<[{ id: string }]>`
    select overlay(gen_random_uuid()::text placing left(first_id_at(now() - interval '25 hours')::text, 13) from 1 for 13)::uuid as id`;
  await sql`
    insert into attempts (generation_id, index, provider, status, started_at, completed_at, error_code)
    values (${id}, 1, 'Locked', 'failed', now() - interval '25 hours', now() - interval '25 hours', 'provider_timeout')`;
  await sql`
    insert into generations (id, account_id, key_id, workload, model, provider, status, streaming, fallback,
      attempt_count, latency_ms, error_code, created_at, completed_at)
    values (${id}, ${fixture.account}, ${fixture.keyId}, 'chat', 'locked', 'Locked', 'failed', false, false, 1, 1,
      'provider_timeout', now() - interval '25 hours', now() - interval '25 hours')`;
  const providers = await ask<Providers>('GET', '/providers');
  expect(providerIn(providers, 'locked').last_24_hours).toEqual({ attempts: 0, failed: 0 });
  expect(providers.failures.filter(({ provider }) => provider === 'Locked')).toEqual([]);
});

test('circuits and pauses are seen, also those of another node', async () => {
  const brittle = catalog.replaceAll(
    'circuit: { failures: 1000 }',
    'circuit: { failures: 2, open_ms: 60000 }',
  );
  writeFileSync(catalogFile(), brittle.replace('"2026-11"', '"2026-12"'));
  await askUntil<CatalogStatus>('/catalog', ({ price_version: version }) => version === '2026-12');
  // Earlier failures no longer count after a success.
  await chat('full', 'hello');
  await chat('full', '[[status 503]]');
  await chat('full', '[[status 503]]');
  await chat('plain', '[[status 429]] [[retry-after 100]]');
  await chat('limited', '[[status 503]]');
  await chat('gone', 'hello');
  await chat('gone', 'hello');
  const isTold = (providers: Providers) =>
    providerIn(providers, 'main').circuits.length === 3 && openAt(providers, 'gone').length === 1;
  const providers = await askUntil<Providers>('/providers', isTold);
  const node = (await ask<Nodes>('GET', '/nodes')).data[0]?.name ?? '';
  const { circuits } = providerIn(providers, 'main');
  const closed = { node, state: 'closed', failing_since: null, setback: null } as const;
  expect(circuits.toSorted((a, b) => (a.model < b.model ? -1 : 1))).toEqual([
    // Only one account has had this failure, so only for that one the provider is skipped.
    { ...closed, model: 'full', consecutive_failures: 2, until: null, accounts_shut: 1 },
    { ...closed, model: 'limited', consecutive_failures: 1, until: null, accounts_shut: 0 },
    { ...closed, model: 'plain', consecutive_failures: 0, until: expect.any(String), accounts_shut: 1 },
  ]);
  const open = openAt(providers, 'gone');
  expect(open).toMatchObject([{ node, model: 'gone', consecutive_failures: 2, accounts_shut: 0 }]);
  const secondsLeft = (Date.parse(open[0]?.until ?? '') - Date.now()) / 1000;
  expect(secondsLeft).toBeWithin(30, 61);

  const second = await startGateway(fixture.environment);
  try {
    const elsewhere = visitor(second.origin, operator.cookie);
    expect(openAt(await ask<Providers>('GET', '/providers', elsewhere), 'gone')).toEqual(open);
    const here = await ask<Nodes>('GET', '/nodes');
    const there = await ask<Nodes>('GET', '/nodes', elsewhere);
    expect(here.data.map(({ id, state }) => [id, state])).toEqual(
      there.data.map(({ id, state }) => [id, state]),
    );
    expect(there.data.map(({ state, is_this: isThis }) => [state, isThis])).toEqual([
      ['alive', true],
      ['alive', false],
    ]);
    expect(here.data.map(({ is_this: isThis }) => isThis)).toEqual([false, true]);
    // A call at one node does not affect the other: the circuit there is closed.
    const answered = await fetch(`${second.origin}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${fixture.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'full', messages: [{ role: 'user', content: 'hello' }] }),
    });
    await answered.text();
    expect(answered.status).toBe(200);
  } finally {
    await second.stop();
  }
  const { data } = await ask<Nodes>('GET', '/nodes');
  expect(data.map(({ state, is_this: isThis }) => [state, isThis])).toEqual([
    ['alive', true],
    ['stopped', false],
  ]);
});

test('a provider that refuses the key, has no credit or does not know the model is reported until it works', async () => {
  const setbacks = (providers: Providers) =>
    [...providerIn(providers, 'main').circuits, ...providerIn(providers, 'locked').circuits].flatMap(
      ({ model, setback }) => (setback === null ? [] : [{ model, ...setback }]),
    );
  await chat('locked', 'hello');
  await chat('tiered', '[[status 402]]');
  await chat('renamed', '[[status 404]]');
  const told = await askUntil<Providers>('/providers', (providers) => setbacks(providers).length === 3);
  const at = expect.stringMatching(/Z$/);
  expect(setbacks(told).toSorted((a, b) => (a.model < b.model ? -1 : 1))).toEqual([
    { model: 'locked', kind: 'key', upstream_status: 401, at },
    { model: 'renamed', kind: 'model', upstream_status: 404, at },
    { model: 'tiered', kind: 'credit', upstream_status: 402, at },
  ]);
  await chat('tiered', 'hello');
  await chat('renamed', 'hello');
  await askUntil<Providers>('/providers', (providers) => setbacks(providers).length === 1);
});

test('nodes show what they have open, and dead ones are called lost', async () => {
  const { sql } = fixture.database;
  await sql`
    insert into nodes (id, name, started_at, heartbeat_at, report) values
      (gen_random_uuid(), 'dead', now() - interval '2 hours', now() - interval '1 hour', '{"circuits": "of another version"}'),
      (gen_random_uuid(), 'odd', now() - interval '2 hours', now(), '["not", "ours"]'),
      (gen_random_uuid(), 'forgotten', now() - interval '3 days', now() - interval '2 days', null)`;
  const stream = await open('twofold', '[[long 400]] [[chunk-delay 25]]', { stream: true });
  const nodes = await ask<Nodes>('GET', '/nodes');
  expect(nodes.lease_seconds).toBe(10);
  const own = nodes.data.find((node) => node.is_this);
  expect(own).toMatchObject({
    state: 'alive',
    open_generations: 1,
    price_version: '2026-12',
    catalog_error: null,
  });
  expect(Number(own?.held)).toBeGreaterThan(0);
  expect(Date.now() - Date.parse(own?.heartbeat_at ?? '')).toBeLessThan(10_000);
  const states = new Map(nodes.data.map((node) => [node.name, node]));
  const unknown = { price_version: null, catalog_error: null, open_generations: 0, held: '0.000000000000' };
  expect(states.get('dead')).toMatchObject({ state: 'lost', ...unknown });
  expect(states.get('odd')).toMatchObject({ state: 'alive', ...unknown });
  expect(states.has('forgotten')).toBe(false);
  expect((await ask<Providers>('GET', '/providers')).data).toHaveLength(6);
  await sql`delete from nodes where name in ('dead', 'odd', 'forgotten')`;
  await stream.body?.cancel();
});

test('the catalogue is shown as it is in force, with what cannot be called and why', async () => {
  const status = await ask<CatalogStatus>('GET', '/catalog');
  expect(status).toMatchObject({ file: catalogFile(), price_version: '2026-12', error: null, providers: 6 });
  expect(status.digest).toMatch(/^[0-9a-f]{64}$/);
  const response = await fetch(`${fixture.gateway.origin}/v1/models`, {
    headers: { authorization: `Bearer ${fixture.key}` },
  });
  const { data } = (await response.json()) as { data: { id: string }[] };
  const callable = status.models.filter((model) => model.is_callable);
  expect(callable.map(({ id }) => id)).toEqual(data.map(({ id }) => id));
  expect(callable.every(({ reason }) => reason === null)).toBe(true);
  const reasons = status.models.filter((model) => !model.is_callable).map(({ id, reason }) => [id, reason]);
  expect(reasons).toEqual([
    ['unmapped', 'No provider serves it.'],
    ['absent', 'NO_KEY is not set.'],
    ['disabled', 'It is disabled.'],
    ['unpriced', 'It has no price.'],
  ]);
  expect(status.models.find(({ id }) => id === 'fallback')).toEqual({
    id: 'fallback',
    name: 'fallback',
    workload: 'chat',
    is_enabled: true,
    is_callable: true,
    reason: null,
    providers: [
      { id: 'gone', is_configured: true },
      { id: 'backup', is_configured: true },
    ],
  });
});

test('a bad catalogue is reported with its faults, and the previous one stays in force', async () => {
  const before = await ask<CatalogStatus>('GET', '/catalog');
  writeFileSync(
    catalogFile(),
    catalog.replace('"2026-11"', '"2027-01"').replace('adapter: openai', 'adapter: abacus'),
  );
  const bad = await askUntil<CatalogStatus>('/catalog', ({ error }) => error !== null);
  expect(bad.error).toEqual({
    message: expect.stringMatching(/^catalog\.yaml:4: providers\.main\.adapter: expected .*abacus/),
    at: expect.stringMatching(/Z$/),
  });
  expect<CatalogStatus>({ ...bad, error: null }).toEqual(before);
  const { data } = await askUntil<Nodes>('/nodes', (nodes) =>
    nodes.data.some((node) => node.is_this && node.catalog_error !== null),
  );
  expect(data.find((node) => node.is_this)).toMatchObject({
    price_version: '2026-12',
    catalog_error: bad.error?.message ?? '',
  });
  // What a provider charges is for operators only, and so is a warning about it.
  writeFileSync(
    catalogFile(),
    catalog
      .replace('"2026-11"', '"2027-01"')
      .replace(/( plain:.*)\[main\]/, '$1[{ provider: main, cost: { input: "1.0987", output: "2" } }]'),
  );
  const good = await askUntil<CatalogStatus>('/catalog', ({ error }) => error === null);
  expect(before.warnings).toEqual([]);
  expect(good.warnings).toEqual([
    'plain can be sold below its cost at main: input is sold at 1 USD and costs 1.0987 USD.',
  ]);
  const listed = await fetch(`${fixture.gateway.origin}/v1/models`, {
    headers: { authorization: `Bearer ${fixture.key}` },
  });
  const models = await fixture.people.owner.send('GET', `/api/console/accounts/${fixture.account}/models`);
  for (const text of [await listed.text(), await models.text()]) {
    expect(text).toContain('"id":"plain"');
    expect(text).not.toContain('1.0987');
  }
  expect(fixture.gateway.output()).not.toContain('1.0987');
  expect(good.price_version).toBe('2027-01');
  expect(good.digest).not.toBe(before.digest);
  expect(Date.parse(good.loaded_at)).toBeGreaterThan(Date.parse(before.loaded_at));
});

/** Starts an audit, and waits until it has ended. */
async function audit(isFull = false): Promise<Audit> {
  const response = await operator.send('POST', `${root}/ledger-audit`, { is_full: isFull });
  expect(response.status).toBe(202);
  const started = ((await response.json()) as Audits).data[0];
  const { data } = await askUntil<Audits>(
    '/ledger-audit',
    ({ data: [newest] }) => newest?.state !== 'running',
  );
  expect(data[0]?.id).toBe(started?.id ?? '');
  return data[0] as Audit;
}

test('the audit says whether the ledger is sound, and its totals', async () => {
  const { sql } = fixture.database;
  const first = await audit();
  expect(first).toMatchObject({ state: 'sound', is_full: true, steps_done: first.step_count });
  expect(first.findings.length).toBeGreaterThan(10);
  expect(first.findings.every(({ checked, violations }) => checked >= 0 && violations === 0)).toBe(true);
  const [totals] = await sql`
    select sum(balance) as balance, sum(held) as held,
           (select coalesce(sum(amount), 0) from write_offs where reason <> 'implausible_usage')::numeric(38,12) as written_off,
           (select count(*)::int from write_offs where reason <> 'implausible_usage' and amount is null) as unknown_write_offs,
           (select coalesce(sum(amount), 0) from write_offs where reason = 'implausible_usage')::numeric(38,12) as not_believed
    from accounts`;
  expect(first.totals).toEqual(totals);

  await sql`update accounts set balance = balance + 1 where id = ${fixture.account}`;
  const broken = await audit();
  expect(broken).toMatchObject({ state: 'broken', is_full: false });
  expect(broken.findings.find(({ violations }) => violations > 0)).toEqual({
    invariant: 'the entries of each account sum to its balance',
    checked: 2,
    violations: 1,
  });
  await sql`update accounts set balance = balance - 1 where id = ${fixture.account}`;
  expect(await audit(true)).toMatchObject({ state: 'sound', is_full: true });
});

test('one audit at a time, across all nodes; everyone who asks sees it, and it ends with its node', async () => {
  const { sql } = fixture.database;
  const { environment } = fixture;
  const inTheWay = await sql.reserve();
  await inTheWay`begin`;
  await inTheWay`lock table write_offs`;
  const isWaiting = async () =>
    (await sql`select 1 from pg_locks where not granted and relation = 'write_offs'::regclass`).length > 0;
  // On another gateway of the same deployment, which is killed while its audit runs.
  const other = await startGateway(environment);
  const elsewhere = visitor(other.origin, operator.cookie);
  expect((await elsewhere.send('POST', `${root}/ledger-audit`, {})).status).toBe(202);
  await eventually('an audit that waits', isWaiting);
  const second = await operator.send('POST', `${root}/ledger-audit`, {});
  const { error } = (await second.json()) as ErrorBody;
  expect([second.status, error.code]).toEqual([429, 'too_many_attempts']);
  const { data } = await ask<Audits>('GET', '/ledger-audit');
  expect(data[0]).toMatchObject({ state: 'running', finished_at: null, findings: [], totals: null });
  other.process.kill('SIGKILL');
  await other.process.exited;
  await inTheWay`rollback`;
  await inTheWay.release();
  await askUntil<Audits>('/ledger-audit', ({ data: [newest] }) => newest?.state === 'failed');
  expect((await audit()).state).toBe('sound');
});

test('what the database refused to settle is listed until it is settled, while the gateway runs', async () => {
  const { database, environment } = fixture;
  expect(await ask<DeadLetters>('GET', '/dead-letters')).toEqual({ data: [], total: 0 });
  const owner = { accountId: fixture.strangersAccount, keyId: fixture.strangersKeyId };
  const first = await settleAs(database, owner, impossible);
  const second = await settleAs(database, owner, {
    ...impossible,
    status: 'failed',
    errorCode: 'provider_timeout',
    cost: null,
    usage: null,
  });
  const letter = {
    account: { id: fixture.strangersAccount, name: 'Other' },
    refusal: { code: '22003', about: expect.any(String) as string },
    at: expect.stringMatching(/Z$/) as string,
  };
  expect(await ask<DeadLetters>('GET', '/dead-letters')).toEqual({
    data: [
      { request_id: first, amount: '0.250000000000', ...letter },
      { request_id: second, amount: null, ...letter },
    ],
    total: 2,
  });
  // They are not faults of the ledger.
  expect((await audit()).state).toBe('sound');
  await database.sql`update dead_letters set settlement = jsonb_set(settlement, '{attempts}', '[]')`;
  expect(await tollgateJson<object>(['ledger', 'retry'], environment)).toEqual({ settled: 2, refused: 0 });
  expect(await ask<DeadLetters>('GET', '/dead-letters')).toEqual({ data: [], total: 0 });
  expect(await findRequest(first)).toMatchObject({
    status: 'completed',
    ledger: { charged: '0.250000000000' },
  });
});

test('any request is found by its ID, whoever made it', async () => {
  const id = await chat('tiered', 'hello');
  const generation = await findRequest(id);
  expect(generation).toMatchObject({
    id,
    status: 'completed',
    model: 'tiered',
    account: { id: fixture.account, name: 'Test' },
    key: { id: fixture.keyId, hint: expect.stringContaining(fixture.key.slice(-4)) },
    ledger: { charged: generation.cost?.total ?? '', written_off: null, write_off_reason: null },
    attempts: [{ index: 1, provider: 'Main', status: 'succeeded', upstream_status: 200 }],
  });
  const failed = await findRequest(await chat('locked', 'hello'));
  expect(failed).toMatchObject({
    status: 'failed',
    error: { code: 'provider_authentication_error' },
    ledger: { charged: '0.000000000000' },
  });
});

test('reported usage that was not believed is shown to operators, with what it would have cost', async () => {
  const owner = { accountId: fixture.account, keyId: fixture.keyId };
  const id = await settleAs(fixture.database, owner, {
    loss: {
      reason: 'implausible_usage',
      amount: dollars('60'),
      reported: { inputTokens: 10, outputTokens: 100_000_000 },
      counts: null,
    },
  });
  expect(await findRequest(id)).toMatchObject({
    usage: { input_tokens: 10, output_tokens: 5 },
    ledger: {
      charged: '0.250000000000',
      written_off: '60.000000000000',
      write_off_reason: 'implausible_usage',
    },
    reported_usage: { input_tokens: 10, output_tokens: 100_000_000, counts: null },
  });
  const { totals } = await audit();
  // A mere claim is not a loss.
  expect(totals).toMatchObject({ written_off: '0.000000000000', not_believed: '60.000000000000' });
});

test('counts that contradict each other are shown to operators by the names of the provider', async () => {
  const owner = { accountId: fixture.account, keyId: fixture.keyId };
  const id = await settleAs(fixture.database, owner, {
    loss: {
      reason: 'implausible_usage',
      amount: null,
      reported: { inputTokens: 10, outputTokens: 5 },
      counts: { prompt_tokens: 10, cached_tokens: -1, total_tokens: null },
    },
  });
  const { reported_usage: reported } = await findRequest(id);
  expect(reported).toMatchObject({ input_tokens: 10, output_tokens: 5 });
  expect(new Map(reported?.counts?.map(({ name, count }) => [name, count]))).toEqual(
    new Map([
      ['prompt_tokens', 10],
      ['cached_tokens', -1],
      ['total_tokens', null],
    ]),
  );
});

test('operators find a refunded charge too', async () => {
  const owner = { accountId: fixture.account, keyId: fixture.keyId };
  const id = await settleAs(fixture.database, owner, { isEstimated: true });
  await refund(fixture.database, owner, uuidFromRequestId(id) ?? '');
  expect(await findRequest(id)).toMatchObject({
    ledger: { charged: '0.250000000000', refunded: '0.250000000000', is_estimated: true },
    reported_usage: null,
  });
});

test('an open request is found too', async () => {
  const response = await open('tiered', '[[long 400]] [[chunk-delay 25]]', { stream: true });
  const id = response.headers.get('x-service-request-id') ?? '';
  expect(await findRequest(id)).toMatchObject({
    id,
    status: 'in_progress',
    ledger: null,
    account: { id: fixture.account },
  });
  await response.body?.cancel();
});

test.each([
  'req_00000000000000000000000000000000',
  '01890a5d-ac96-774b-bcce-b302099a8057',
  'req_',
  '__proto__',
  "';--",
  '%00',
  'x'.repeat(300),
])('a request %s is not found', async (id) => {
  const response = await operator.send('GET', `${root}/requests/${id}`);
  const { error } = (await response.json()) as ErrorBody;
  expect([response.status, error.code]).toEqual([404, 'generation_not_found']);
});

test.each([
  'providers',
  'catalog',
  'nodes',
  'audit-log',
  'tokens',
  'dead-letters',
  'reconciliation',
  'requests/req_1',
])('a query that %s does not know is refused', async (path) => {
  const response = await operator.send('GET', `${root}/${path}?from=1`);
  const { error } = (await response.json()) as ErrorBody;
  expect([response.status, error.code, error.param]).toEqual([400, 'unsupported_parameter', 'from']);
});

test.each([
  ['%00/2026-11-01', 200],
  ['%ED%A0%80/2026-11-01', 200],
  ["';--/2026-11-01", 200],
  [`${'x'.repeat(5_000)}/2026-11-01`, 200],
  ['main/0001-01-01', 200],
  ['main/9999-12-31', 200],
  ['main/0000-01-01', 400],
  ['main/2026-02-30', 400],
  ['main/2026-11-01%00', 400],
])('a reconciled day %s is none, whatever it is', async (path, status) => {
  const response = await operator.send('GET', `${root}/reconciliation/${path}`);
  const body = (await response.json()) as { data?: unknown } & Partial<ErrorBody>;
  expect([response.status, body.data ?? null]).toEqual([status, null]);
});

test('a reconciled day that cannot exist is nothing for others either', async () => {
  for (const path of ['main/2026-11-01', '%00/2026-11-01']) {
    const response = await fixture.people.owner.send('GET', `${root}/reconciliation/${path}`);
    expect([path, response.status]).toEqual([path, 403]);
  }
});

test.each([
  'from=0000-01-01&to=0000-01-02',
  'from=0001-01-01&to=9999-12-31',
  'from=9999-12-31',
  'to=2026-11-01%00',
  'by=%00',
])('margins of absurd days are refused: %s', async (query) => {
  for (const path of ['margins', 'margins.csv']) {
    const response = await operator.send('GET', `${root}/${path}?${query}`);
    expect(response.status).toBe(400);
  }
});
