/** Who may call which route of the console API: every route, for everyone. A route without a row fails the first test. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { NewInvitation } from '../../src/console/contract.ts';
import { type ConsoleServices, consoleRoutes } from '../../src/console/routes.ts';
import { newId } from '../../src/lib/ids.ts';
import { createTokenAs } from '../../src/tokens/token-store.ts';
import type { ErrorBody } from '../support/chat-fixture.ts';
import { runCommand } from '../support/commands.ts';
import {
  type ConsoleFixture,
  type Expected,
  everyone,
  forEveryone,
  forMembers,
  forMembersAlone,
  forOperators,
  forOwners,
  forOwnersAlone,
  forSignedIn,
  openConsoleFixture,
  outcomeFor,
} from '../support/console-fixture.ts';

let fixture: ConsoleFixture;
let generation: string;

beforeAll(async () => {
  fixture = await openConsoleFixture();
  const response = await fetch(`${fixture.gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${fixture.key}`, 'content-type': 'application/json' },
    body: JSON.stringify(chat),
  });
  await response.text();
  generation = response.headers.get('x-service-request-id') ?? '';
}, 60_000);

afterAll(() => fixture.close());

type Row = Readonly<{
  who: Expected;
  /** What the path names besides the account and a request of it, created anew for each call. */
  names?: () => Promise<Readonly<Record<string, string>>>;
  body?: () => unknown;
  /** What the route cannot do without. */
  query?: string;
  /** Whether a success has changed something. */
  isChange?: boolean;
}>;

const chat = { model: 'full', messages: [{ role: 'user', content: 'hello' }] };
const newReference = () => crypto.randomUUID();
const newEmail = () => `${crypto.randomUUID()}@example.com`;
const nothing = () => ({});

async function someToken(): Promise<{ token: string }> {
  const { id } = await fixture.database.sql.begin((transaction) =>
    createTokenAs(
      transaction,
      { door: 'cli', shellUser: 'someone@somewhere' },
      {
        name: 'Some',
        scopes: ['read'],
        networks: null,
        requestsPerMinute: 1,
        expiresAt: new Date(Date.now() + 60_000),
      },
    ),
  );
  return { token: id };
}

/** Someone else, who belongs to the account. */
async function someUser(): Promise<{ user: string }> {
  const user = newId();
  const { sql } = fixture.database;
  await sql`
    insert into users (id, email, name, email_verified, is_operator) values (${user}, ${newEmail()}, 'Some', true, false)`;
  await sql`insert into memberships (user_id, account_id, role) values (${user}, ${fixture.account}, 'member')`;
  return { user };
}

async function someInvitation(): Promise<{ invitation: string }> {
  const path = `/api/console/accounts/${fixture.account}/invitations`;
  const response = await fixture.people.owner.send('POST', path, { role: 'member' });
  const { invitation, url } = (await response.json()) as NewInvitation;
  fixture.canaries.add(url?.split('token=')[1] ?? '');
  return { invitation: invitation.id };
}

/** Nobody answers there, and the events it wants do not happen. */
const webhookDraft = { url: 'https://receiver.invalid/', types: ['balance.low'] };

/** Of the account, or with null of the operator. There is a limit, so those before it are removed. */
const someWebhook = (accountId: () => string | null) => async (): Promise<{ webhook: string }> => {
  const { sql } = fixture.database;
  await sql`delete from webhook_endpoints`;
  const webhook = newId();
  await sql`
    insert into webhook_endpoints (id, account_id, url, secret, types)
    values (${webhook}, ${accountId()}, ${webhookDraft.url}, '\\x00', '{balance.low}')`;
  return { webhook };
};

async function noChoices() {
  await fixture.database.sql`delete from mail_choices`;
  return {};
}

async function someKey(): Promise<{ key: string }> {
  const path = `/api/console/accounts/${fixture.account}/keys`;
  const response = await fixture.people.owner.send('POST', path, { name: 'Some' });
  const { key, secret } = (await response.json()) as { key: { id: string }; secret: string };
  fixture.canaries.add(secret);
  return { key: key.id };
}

const someLimitDraft = () => ({ scope: 'end_user', end_user: newId(), kind: 'spend_per_day', amount: '5' });

async function someLimit(): Promise<{ limit: string }> {
  const path = `/api/console/accounts/${fixture.account}/limits`;
  const response = await fixture.people.owner.send('POST', path, someLimitDraft());
  return { limit: ((await response.json()) as { id: string }).id };
}

async function someGrant(): Promise<{ grant: string }> {
  await fixture.people.operator.send('POST', `/api/console/operator/accounts/${fixture.account}/credit`, {
    amount: '1',
    memo: null,
    reference: newReference(),
    grant: { category: 'promotional', priority: 50, expires_at: null },
  });
  const [row] = await fixture.database.sql`
    select id from grants where account_id = ${fixture.account} order by number desc limit 1`;
  return { grant: row.id as string };
}

const allowanceDraft = { amount: '1', every: 'month', priority: 50, note: null };

/** There is a limit, so those before it are ended. */
async function someAllowance(): Promise<{ allowance: string }> {
  await fixture.database.sql`update allowances set ended_at = now() where ended_at is null`;
  const path = `/api/console/operator/accounts/${fixture.account}/allowances`;
  const response = await fixture.people.operator.send('POST', path, allowanceDraft);
  return { allowance: ((await response.json()) as { id: string }).id };
}

/** The same for owners and for operators, whose webhooks are their own. */
function webhookRows(
  prefix: string,
  who: Expected,
  readers: Expected,
  names: () => Promise<{ webhook: string }>,
) {
  const range = { from: '2026-01-01T00:00:00Z', to: '2026-01-02T00:00:00Z' };
  return {
    [`GET ${prefix}/webhooks`]: { who: readers },
    [`POST ${prefix}/webhooks`]: { who, names, body: () => webhookDraft },
    [`PATCH ${prefix}/webhooks/:webhook`]: { who, names, body: () => ({ description: 'Other' }) },
    [`DELETE ${prefix}/webhooks/:webhook`]: { who, names },
    [`POST ${prefix}/webhooks/:webhook/rotate-secret`]: { who, names, body: nothing },
    [`POST ${prefix}/webhooks/:webhook/test`]: { who, names, body: nothing },
    [`GET ${prefix}/webhooks/:webhook/deliveries`]: { who: readers, names },
    [`POST ${prefix}/webhooks/:webhook/replay`]: { who, names, body: () => range, isChange: false },
  };
}

async function someOrder(): Promise<{ order: string }> {
  const order = newId();
  await fixture.database.sql`
    insert into payment_orders (id, account_id, kind, amount, currency, is_live, customer)
    values (${order}, ${fixture.account}, 'checkout', 10, 'usd', false, 'cus_1')`;
  return { order };
}

let code = '';

async function someCode(): Promise<Record<string, never>> {
  const words = ['code', 'create', '--amount', '1'];
  const { codes } = await runCommand<{ codes: string[] }>(words, fixture.environment);
  code = codes[0] ?? '';
  fixture.canaries.add(code);
  return {};
}

const withoutPayments: Expected = { ...forOwnersAlone, owner: 'payments_not_configured' };

const suspended = (isSuspended: boolean) => async () => {
  await fixture.database.sql`
    update accounts set suspended_at = case when ${isSuspended}::boolean then now() end where id = ${fixture.account}`;
  return {};
};

/** One that is not in force yet. */
function nextThreshold(): string {
  threshold += 1;
  return `${threshold}`;
}
let threshold = 0;

const account = '/api/console/accounts/:account';
const operator = '/api/console/operator';

const table: Readonly<Record<string, Row>> = {
  'GET /api/console/sign-in-options': { who: forEveryone },
  'GET /api/console/me': { who: forSignedIn },
  [`GET ${account}/find`]: { who: forMembers, query: 'q=x' },
  [`GET ${account}/keys`]: { who: forMembers },
  [`POST ${account}/keys`]: { who: forOwnersAlone, body: () => ({ name: 'Another' }) },
  [`GET ${account}/keys/:key`]: { who: forMembers, names: someKey },
  [`PATCH ${account}/keys/:key`]: { who: forOwnersAlone, names: someKey, body: () => ({ name: 'Renamed' }) },
  [`POST ${account}/keys/:key/replace`]: {
    who: forOwnersAlone,
    names: someKey,
    body: () => ({ revoke_at: null }),
  },
  [`POST ${account}/keys/:key/revoke`]: { who: forOwnersAlone, names: someKey, body: nothing },
  [`GET ${account}/limits`]: { who: forMembers },
  [`POST ${account}/limits`]: { who: forOwnersAlone, body: someLimitDraft },
  [`PATCH ${account}/limits/:limit`]: {
    who: forOwnersAlone,
    names: someLimit,
    body: () => ({ amount: '7' }),
  },
  [`DELETE ${account}/limits/:limit`]: { who: forOwnersAlone, names: someLimit },
  [`GET ${account}/members`]: { who: forMembers },
  [`PATCH ${account}/members/:user`]: {
    who: forOwnersAlone,
    names: someUser,
    body: () => ({ role: 'owner' }),
  },
  [`DELETE ${account}/members/:user`]: { who: forOwnersAlone, names: someUser },
  [`GET ${account}/mail-choices`]: { who: forMembersAlone },
  [`PATCH ${account}/mail-choices`]: {
    who: forMembersAlone,
    body: () => ({ kinds: ['budget'] }),
    names: noChoices,
  },
  [`GET ${account}/invitations`]: { who: forOwners },
  [`POST ${account}/invitations`]: { who: forOwnersAlone, body: () => ({ role: 'member' }) },
  [`DELETE ${account}/invitations/:invitation`]: { who: forOwnersAlone, names: someInvitation },
  [`GET ${account}/models`]: { who: forMembers },
  [`GET ${account}/overview`]: { who: forMembers },
  [`GET ${account}/requests/series`]: { who: forMembers },
  [`GET ${account}/requests/groups`]: { who: forMembers, query: 'by=model' },
  [`GET ${account}/requests/problems`]: { who: forMembers },
  [`GET ${account}/requests`]: { who: forMembers },
  [`GET ${account}/requests.csv`]: { who: forMembers },
  [`GET ${account}/requests/:request`]: { who: forMembers, names: async () => ({ request: generation }) },
  [`GET ${account}/usage`]: { who: forMembers },
  [`GET ${account}/usage.csv`]: { who: forMembers },
  [`GET ${account}/billing/months`]: { who: forMembers },
  [`GET ${account}/billing/months/:month`]: {
    who: forMembers,
    names: async () => ({ month: new Date().toISOString().slice(0, 7) }),
  },
  [`POST ${account}/playground/chat`]: {
    who: forMembersAlone,
    body: () => ({ key_id: fixture.keyId, request: chat }),
  },
  [`POST ${account}/playground/images`]: {
    who: forMembersAlone,
    body: () => ({ key_id: fixture.keyId, request: { model: 'picture', prompt: 'A gate' } }),
  },
  [`GET ${account}/ledger`]: { who: forMembers },
  [`GET ${account}/grants`]: { who: forMembers },
  [`GET ${account}/payments`]: { who: forMembers },
  [`GET ${account}/payments/orders`]: { who: forMembers },
  [`POST ${account}/payments/orders/:order/check`]: { who: withoutPayments, names: someOrder, body: nothing },
  [`POST ${account}/payments/checkout`]: {
    who: withoutPayments,
    body: () => ({ amount: '10', saves_card: false }),
  },
  [`POST ${account}/payments/portal`]: { who: withoutPayments, body: nothing },
  [`PATCH ${account}/payments/automatic`]: {
    who: withoutPayments,
    body: () => ({ is_on: true, threshold: '5', amount: '20', target: null, monthly_cap: '100' }),
  },
  [`POST ${account}/payments/card`]: { who: withoutPayments, body: nothing },
  [`POST ${account}/payments/card/check`]: { who: withoutPayments, body: nothing },
  [`DELETE ${account}/payments/card`]: { who: withoutPayments },
  [`POST ${account}/payments/redeem`]: { who: forOwnersAlone, names: someCode, body: () => ({ code }) },
  [`GET ${account}/audit-log`]: { who: forOwners },
  [`GET ${account}/exports/generations`]: { who: forOwners, query: 'from=2026-01-01' },
  [`GET ${account}/exports/usage`]: { who: forOwners, query: 'from=2026-01-01' },
  [`GET ${account}/exports/entries`]: { who: forOwners, query: 'from=2026-01-01' },
  [`GET ${account}/exports/audit_log`]: { who: forOwners, query: 'from=2026-01-01' },
  ...webhookRows(
    account,
    forOwnersAlone,
    forOwners,
    someWebhook(() => fixture.account),
  ),
  [`GET ${account}/alerts`]: { who: forMembers },
  [`PATCH ${account}/alerts`]: { who: forOwnersAlone, body: () => ({ low_balance: nextThreshold() }) },
  [`GET ${operator}/find`]: { who: forOperators, query: 'q=x' },
  [`GET ${operator}/accounts`]: { who: forOperators },
  [`POST ${operator}/accounts`]: {
    who: forOperators,
    body: () => ({ name: 'New', reference: newReference() }),
  },
  [`GET ${operator}/accounts/:account`]: { who: forOperators },
  [`GET ${operator}/accounts/:account/limits`]: { who: forOperators },
  [`POST ${operator}/accounts/:account/limits`]: { who: forOperators, body: someLimitDraft },
  [`PATCH ${operator}/limits/:limit`]: { who: forOperators, names: someLimit, body: () => ({ amount: '7' }) },
  [`DELETE ${operator}/limits/:limit`]: { who: forOperators, names: someLimit },
  [`POST ${operator}/accounts/:account/credit`]: {
    who: forOperators,
    body: () => ({ amount: '1', memo: null, reference: newReference() }),
  },
  [`GET ${operator}/accounts/:account/grants`]: { who: forOperators },
  [`GET ${operator}/accounts/:account/grants/:grant/void`]: { who: forOperators, names: someGrant },
  [`POST ${operator}/accounts/:account/grants/:grant/void`]: {
    who: forOperators,
    names: someGrant,
    body: () => ({ reason: 'None' }),
  },
  [`POST ${operator}/accounts/:account/allowances`]: { who: forOperators, body: () => allowanceDraft },
  [`POST ${operator}/accounts/:account/allowances/:allowance/end`]: {
    who: forOperators,
    names: someAllowance,
    body: nothing,
  },
  [`POST ${operator}/accounts/:account/corrections`]: {
    who: forOperators,
    body: () => ({
      amount: '0.01',
      reason: 'None',
      reference: newReference(),
      entry_number: null,
      request_id: null,
    }),
  },
  [`POST ${operator}/accounts/:account/price-group`]: {
    who: forOperators,
    body: () => ({ price_group: null }),
    isChange: false,
  },
  [`GET ${operator}/accounts/:account/ledger`]: { who: forOperators },
  [`POST ${operator}/generations/:generation/refunds`]: {
    who: forOperators,
    body: () => ({ amount: '0.000000000001', reason: 'None', reference: newReference() }),
  },
  [`POST ${operator}/accounts/:account/suspend`]: {
    who: forOperators,
    names: suspended(false),
    body: nothing,
  },
  [`POST ${operator}/accounts/:account/resume`]: { who: forOperators, names: suspended(true), body: nothing },
  [`GET ${operator}/users`]: { who: forOperators },
  [`POST ${operator}/users`]: {
    who: forOperators,
    body: () => ({ email: newEmail(), account_id: fixture.account }),
  },
  [`PATCH ${operator}/users/:user`]: {
    who: forOperators,
    names: someUser,
    body: () => ({ is_operator: true }),
  },
  [`POST ${operator}/users/:user/memberships`]: {
    who: forOperators,
    names: someUser,
    body: () => ({ account_id: fixture.account, role: 'owner' }),
  },
  [`POST ${operator}/users/:user/reset-link`]: { who: forOperators, names: someUser, body: nothing },
  [`POST ${operator}/users/:user/sign-out`]: { who: forOperators, names: someUser, body: nothing },
  [`GET ${operator}/providers`]: { who: forOperators },
  [`GET ${operator}/home`]: { who: forOperators },
  [`GET ${operator}/providers/:provider/series`]: {
    who: forOperators,
    names: () => Promise.resolve({ provider: 'Sandbox' }),
  },
  [`GET ${operator}/requests/series`]: { who: forOperators },
  [`GET ${operator}/requests/groups`]: { who: forOperators, query: 'by=account' },
  [`GET ${operator}/catalog`]: { who: forOperators },
  [`GET ${operator}/nodes`]: { who: forOperators },
  [`GET ${operator}/requests`]: { who: forOperators },
  [`GET ${operator}/requests.csv`]: { who: forOperators },
  [`GET ${operator}/requests/:request`]: { who: forOperators, names: async () => ({ request: generation }) },
  [`GET ${operator}/ledger-audit`]: { who: forOperators },
  [`POST ${operator}/ledger-audit`]: { who: forOperators, body: nothing, isChange: false },
  [`GET ${operator}/dead-letters`]: { who: forOperators },
  [`GET ${operator}/payments`]: { who: forOperators },
  [`GET ${operator}/payments/stuck`]: { who: forOperators },
  [`POST ${operator}/payments/:order/check`]: {
    who: { ...forOperators, operator: 'payments_not_configured' },
    names: someOrder,
    body: nothing,
  },
  [`POST ${operator}/payments/:order/refunds`]: {
    who: { ...forOperators, operator: 'payments_not_configured' },
    names: someOrder,
    body: () => ({ amount: null, reference: newReference() }),
  },
  [`GET ${operator}/reconciliation`]: { who: forOperators },
  [`GET ${operator}/reconciliation/:provider/:day`]: {
    who: forOperators,
    names: async () => ({ provider: 'main', day: '2026-11-01' }),
  },
  [`GET ${operator}/margins`]: { who: forOperators },
  [`GET ${operator}/margins.csv`]: { who: forOperators },
  [`GET ${operator}/openapi.json`]: { who: forOperators },
  [`GET ${operator}/tokens`]: { who: forOperators },
  [`POST ${operator}/tokens`]: {
    who: forOperators,
    body: () => ({ name: 'CI', scopes: ['read'], expires_at: new Date(Date.now() + 60 * 60 * 1000) }),
  },
  [`POST ${operator}/tokens/:token/revoke`]: { who: forOperators, names: someToken, body: nothing },
  [`GET ${operator}/audit-log`]: { who: forOperators },
  [`GET ${operator}/exports/generations`]: { who: forOperators, query: 'from=2026-01-01' },
  [`GET ${operator}/exports/usage`]: { who: forOperators, query: 'from=2026-01-01' },
  [`GET ${operator}/exports/entries`]: { who: forOperators, query: 'from=2026-01-01' },
  [`GET ${operator}/exports/audit_log`]: { who: forOperators, query: 'from=2026-01-01' },
  ...webhookRows(
    operator,
    forOperators,
    forOperators,
    someWebhook(() => null),
  ),
};
const routes = Object.keys(table);

async function callOf(route: string): Promise<[method: string, path: string, body: unknown, row: Row]> {
  const row = table[route];
  if (row === undefined) throw new Error(`There is no row for ${route}.`);
  const names = new Map(Object.entries({ account: fixture.account, generation, ...(await row.names?.()) }));
  const [method = '', pattern = ''] = route.split(' ');
  const path = pattern.replaceAll(/:(\w+)/g, (_, name: string) => names.get(name) ?? '');
  return [method, row.query === undefined ? path : `${path}?${row.query}`, row.body?.(), row];
}

/** Everything that a call could change, except for what a chat leaves behind when it has ended. */
async function state(): Promise<string> {
  const { sql } = fixture.database;
  const [row] = await sql`
    select (select string_agg(users.id::text || is_operator, ' ' order by id) from users) as users,
           (select string_agg(memberships::text, ' ' order by user_id, account_id) from memberships) as memberships,
           (select string_agg(id::text, ' ' order by id) from sessions) as sessions,
           (select string_agg(id::text, ' ' order by id) from verifications) as links,
           (select string_agg(id::text, ' ' order by id) from invitations) as invitations,
           (select string_agg(id::text || name || coalesce(suspended_at::text, ''), ' ' order by id) from accounts) as accounts,
           (select string_agg(api_keys::text, ' ' order by id) from api_keys) as keys,
           (select count(*)::int from ledger_entries where kind <> 'charge') as movements,
           (select count(*)::int from mail_choices) as choices,
           (select count(*)::int from events where type = 'webhook.test') as tests,
           (select string_agg(id::text, ' ' order by id) from webhook_endpoints) as webhooks,
           (select count(*)::int from audit_log) as changes`;
  return JSON.stringify([row, fixture.sandbox.entries.length]);
}

test('every route has a row, and every row a route', () => {
  // Nothing is called, so only what creates the routes is needed.
  const services = { deriveKey: () => Buffer.alloc(32) } as unknown as ConsoleServices;
  const served = Object.entries(consoleRoutes(services, () => Promise.resolve(''))).flatMap(
    ([path, methods]) => Object.keys(methods).map((method) => `${method} ${path}`),
  );
  expect(routes.toSorted()).toEqual(served.toSorted());
});

/** Nothing of the account, but a choice of each of its members for themselves. */
const notForOperators = [`GET ${account}/mail-choices`];

test('operators read all that there is of an account, and change nothing', () => {
  const ofAccount = Object.entries(table).filter(([route]) => route.includes(account));
  const expected = ofAccount.map(([route]) => [
    route,
    route.startsWith('GET ') && !notForOperators.includes(route) ? null : 'permission_denied',
  ]);
  expect(ofAccount.map(([route, { who }]) => [route, who.operator])).toEqual(expected);
});

describe('who may', () => {
  const rows = routes.flatMap((route) => everyone.map((person) => [route, person] as const));

  test.each(rows)('%s as %s', async (route, person) => {
    const [method, path, body, { who, isChange = method !== 'GET' }] = await callOf(route);
    const before = await state();
    expect(await outcomeFor(fixture.people[person], method, path, body)).toBe(who[person]);
    expect((await state()) !== before).toBe(isChange && who[person] === null);
  });

  test.each(routes)('%s from a page elsewhere: nobody', async (route) => {
    const [method, path, body] = await callOf(route);
    const before = await state();
    const elsewhere = [
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { origin: `${fixture.gateway.origin}.evil.example` },
      // A browser need not name the origin of a page that only reads.
      ...(method === 'GET' ? [{ 'sec-fetch-site': 'cross-site' }] : []),
    ];
    for (const person of ['owner', 'operator'] as const) {
      for (const headers of elsewhere) {
        const response = await fixture.people[person].send(method, path, body, headers);
        const { error } = (await response.json()) as ErrorBody;
        expect([response.status, error.code]).toEqual([403, 'invalid_origin']);
      }
    }
    expect(await state()).toBe(before);
  });
});
