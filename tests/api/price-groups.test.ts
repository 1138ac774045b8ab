/** Accounts in a price group: what they see, what they pay, and what operators see of it. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';
import type { Me } from '../../src/console/contract.ts';
import type { CatalogStatus, Margins, OperatorAccount } from '../../src/console/operator-contract.ts';
import { chatCatalog, type ErrorBody } from '../support/chat-fixture.ts';
import { runCommand } from '../support/commands.ts';
import { type ConsoleFixture, openConsoleFixture } from '../support/console-fixture.ts';
import { eventually } from '../support/eventually.ts';
import { tollgate } from '../support/gateway.ts';

const operator = '/api/console/operator';
const groups = `price_groups:
  partner: { discount: "12.5", models: { plain: { billing_type: token, input: "0.5", output: "0.25" } } }
`;

let fixture: ConsoleFixture;

beforeAll(async () => {
  fixture = await openConsoleFixture((url) => `${chatCatalog(url)}${groups}`);
});

afterAll(() => fixture.close());

async function ask<Answer>(method: string, path: string, body?: unknown) {
  const response = await fixture.people.operator.send(method, `${operator}${path}`, body);
  return { status: response.status, body: (await response.json()) as Answer & ErrorBody };
}

const setGroup = (group: string | null) =>
  ask<OperatorAccount>('POST', `/accounts/${fixture.account}/price-group`, { price_group: group });

type Completion = { usage: { prompt_tokens: number; completion_tokens: number } } & ErrorBody;

async function call<Answer>(path: string, body?: unknown) {
  const response = await fetch(`${fixture.gateway.origin}${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${fixture.key}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const cost = response.headers.get('x-service-cost-usd');
  return { status: response.status, cost, body: (await response.json()) as Answer };
}

const chat = (model: string) =>
  call<Completion>('/v1/chat/completions', { model, messages: [{ role: 'user', content: 'hello there' }] });

/** In millionths of a USD per token, which is USD per 1M tokens. */
async function paidRates(model: string) {
  const { cost, body } = await chat(model);
  const [charge] = await fixture.database.sql<[{ version: string; cost: string }]>`
    select version, cost from usage_records join price_lists on price_lists.id = price_list_id
    where account_id = ${fixture.account} order by usage_records.id desc limit 1`;
  expect(Number(cost)).toBe(Number(charge.cost));
  return { ...body.usage, cost: Number(charge.cost), version: charge.version };
}

const priceOf = async (model: string) =>
  (await call<{ pricing: { input: number; output: number; price_version: string } }>(`/v1/models/${model}`))
    .body.pricing;

test('an account pays the prices of its group from the next request on, and sees them', async () => {
  const before = await paidRates('full');
  expect(before).toMatchObject({ version: '2026-11' });
  expect(await priceOf('full')).toMatchObject({ input: 1, output: 2, price_version: '2026-11' });

  const set = await setGroup('partner');
  expect(set.body).toMatchObject({ id: fixture.account, price_group: 'partner' });
  // The database tells every node; this one hears of it within a moment.
  await eventually('the new price is listed', async () => (await priceOf('full')).input === 0.875);
  expect(await priceOf('full')).toMatchObject({
    input: 0.875,
    output: 1.75,
    price_version: '2026-11/partner',
  });
  const after = await paidRates('full');
  expect(after).toEqual({
    ...before,
    version: '2026-11/partner',
    cost: expect.closeTo(before.cost * 0.875, 12),
  });
  const own = await paidRates('plain');
  expect(own.cost).toBeCloseTo((own.prompt_tokens * 0.5 + own.completion_tokens * 0.25) / 1e6, 12);

  const listed = await fixture.people.member.send('GET', `/api/console/accounts/${fixture.account}/models`);
  const models = (await listed.json()) as {
    price_group: string;
    data: { id: string; pricing: { input: number } }[];
  };
  expect(models.price_group).toBe('partner');
  // The browser has kept what this address gave before, but not that of another group.
  const { accounts } = (await (await fixture.people.member.send('GET', '/api/console/me')).json()) as Me;
  expect(accounts).toMatchObject([{ id: fixture.account, price_group: 'partner' }]);
  const elsewhere = `/api/console/accounts/${fixture.account}/models?price_group=partner`;
  expect(await (await fixture.people.member.send('GET', elsewhere)).json()).toEqual(models as never);
  expect(models.data.find(({ id }) => id === 'full')?.pricing.input).toBe(0.875);

  // Others pay list prices.
  const strangers = await fixture.people.stranger.send(
    'GET',
    `/api/console/accounts/${fixture.strangersAccount}/models`,
  );
  const theirs = (await strangers.json()) as Omit<typeof models, 'price_group'> & { price_group: null };
  expect(theirs.price_group).toBeNull();
  expect(theirs.data.find(({ id }) => id === 'full')?.pricing.input).toBe(1);
});

test('operators see how many accounts a group has, and its margin', async () => {
  const { body: catalog } = await ask<CatalogStatus>('GET', '/catalog');
  expect(catalog.price_groups).toEqual([{ name: 'partner', price_version: '2026-11/partner', accounts: 1 }]);
  const { body: margins } = await ask<Margins>('GET', '/margins?by=price_group');
  expect(margins.rows.map(({ name, requests }) => [name, requests])).toEqual([['partner', 3]]);
});

test('a group that the catalogue does not have is refused, and so are requests of its accounts once it is gone', async () => {
  const refused = await setGroup('nobody');
  expect([refused.status, refused.body.error.code, refused.body.error.param]).toEqual([
    400,
    'invalid_parameter',
    'price_group',
  ]);
  const file = fixture.environment.TOLLGATE_CATALOG ?? '';
  const text = readFileSync(file, 'utf8');
  writeFileSync(file, text.replace(groups, ''));
  await eventually('the group is gone', async () => (await chat('full')).status === 400);
  const { status, body } = await chat('full');
  expect([status, body.error.code]).toEqual([400, 'model_pricing_not_configured']);
  expect(body.error.message).toContain('the operator has to add the price group partner');
  for (const path of ['/v1/models', '/v1/models/full']) {
    const listed = await call<ErrorBody>(path);
    expect([listed.status, listed.body.error.code]).toEqual([400, 'model_pricing_not_configured']);
  }
  const { body: catalog } = await ask<CatalogStatus>('GET', '/catalog');
  expect(catalog.warnings[0]).toBe(
    '1 account is in the price group partner, which the catalogue does not have: their requests are refused.',
  );
  writeFileSync(file, text);
  await eventually('the group is back', async () => (await chat('full')).status === 200);
});

test('the command line does the same', async () => {
  const { account, environment } = { account: fixture.account, environment: fixture.environment };
  const run = (...words: string[]) =>
    runCommand<object>(['account', 'price-group', account, ...words], environment);
  expect(await run()).toEqual({ id: account, price_group: null });
  await eventually('list prices are back', async () => (await priceOf('full')).input === 1);
  const wrong = await tollgate(['account', 'price-group', account, 'nobody'], environment);
  expect([wrong.exitCode, wrong.stderr]).toEqual([
    1,
    expect.stringContaining('has no price group nobody. It has partner.'),
  ]);
  expect(await run('partner')).toEqual({ id: account, price_group: 'partner' });
  const actions = await fixture.database.sql`
    select door, before ->> 'price_group' as before, after ->> 'price_group' as after
    from audit_log where action = 'update_account' order by id`;
  expect([...actions]).toEqual([
    { door: 'dashboard', before: null, after: 'partner' },
    { door: 'cli', before: 'partner', after: null },
    { door: 'cli', before: null, after: 'partner' },
  ]);
});
