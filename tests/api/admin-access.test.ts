/** Who may use the admin API: every endpoint with every scope, objects of other accounts, and the end of a token. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { adminEndpoints } from '../../src/admin/routes.ts';
import type { AdminServices } from '../../src/admin/services.ts';
import { newId } from '../../src/lib/ids.ts';
import { tokenFormat } from '../../src/tokens/token-store.ts';
import {
  type AdminFixture,
  allScopes,
  bodyOf,
  openAdminFixture,
  type Program,
  refusalOf,
  senderFor,
} from '../support/admin-fixture.ts';
import { addCheapUser } from '../support/cheap-user.ts';
import { runCommand } from '../support/commands.ts';
import { eventually } from '../support/eventually.ts';
import { type FakeStripe, startFakeStripe } from '../support/fake-stripe.ts';
import { startGateway } from '../support/gateway.ts';
import { readSamples } from '../support/metrics.ts';
import { addPaidOrder, paymentSettings } from '../support/paid-order.ts';

const metricsToken = crypto.randomUUID();

let stripe: FakeStripe;
let fixture: AdminFixture;
let everything: Program;
/** What the paths of the table name, of one account. */
let names: Record<string, string>;
/** A program for each scope, that has no other. */
let programs: Map<string, Program>;

beforeAll(async () => {
  stripe = startFakeStripe();
  fixture = await openAdminFixture({ METRICS_TOKEN: metricsToken, ...paymentSettings(stripe) });
  everything = await fixture.program();
  programs = new Map();
  for (const scope of allScopes) programs.set(scope, await fixture.program({ scopes: [scope] }));
  names = await prepareAccount('owner@example.com');
});

afterAll(async () => {
  await fixture.close();
  await stripe.stop();
});

/** An account with a key, a limit, a member, an invitation, a grant, an allowance, a Generation and a payment. */
async function prepareAccount(email: string): Promise<Record<string, string>> {
  const { account, key, keyId } = await fixture.customer('10');
  for (const address of [email, `second-${email}`])
    await addCheapUser(fixture.database.sql, address, 'correct horse battery', {
      accountId: account,
      role: 'owner',
    });
  const [user] = await fixture.database.sql<[{ id: string }]>`select id from users where email = ${email}`;
  const path = `/accounts/${account}/invitations`;
  const { id: limit } = await bodyOf<{ id: string }>(
    everything.send('POST', `/accounts/${account}/limits`, {
      scope: 'account',
      kind: 'spend_per_day',
      amount: '100',
    }),
  );
  const { id: invitation } = await bodyOf<{ id: string }>(everything.send('POST', path, { role: 'member' }));
  const credit = { amount: '1', category: 'promotional', reference: 'grant' };
  await bodyOf(everything.send('POST', `/accounts/${account}/credits`, credit));
  const granted = everything.send('GET', `/accounts/${account}/grants`);
  const [grant] = (await bodyOf<{ data: { id: string }[] }>(granted)).data;
  const { id: allowance } = await bodyOf<{ id: string }>(
    everything.send('POST', `/accounts/${account}/allowances`, { amount: '1', every: 'day' }, once()),
  );
  const answered = await fetch(`${fixture.gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'full', messages: [{ role: 'user', content: 'hi' }] }),
  });
  const generation = answered.headers.get('x-service-request-id') ?? '';
  const draft = { account_id: account, url: 'https://receiver.invalid/', types: ['balance.low'] };
  const { id: webhook } = await bodyOf<{ id: string }>(everything.send('POST', '/webhooks', draft));
  const money = { grant: grant?.id ?? '', allowance, generation, number: '1' };
  const payment = await addPaidOrder(fixture.database.sql, stripe, account, 50);
  return { payment, webhook, account, key: keyId, user: user.id, invitation, id: limit, ...money };
}

/** For what is only done with an Idempotency-Key. */
function once(): Record<string, string> {
  return { 'idempotency-key': newId() };
}

type Row = Readonly<{
  /** What the endpoint cannot do without. */
  query?: string;
  /** Null: any token will do. */
  scope: string | null;
  body?: () => unknown;
  headers?: () => Readonly<Record<string, string>>;
  /** The parts of the path that belong to an account, and what is said about one of another account. */
  owned?: readonly [name: string, code: string][];
}>;

const account = ['account', 'account_not_found'] as [string, string];
const any = () => ({ 'if-match': '*' });
const key = [['key', 'key_not_found']] as [string, string][];
const user = [['user', 'user_not_found']] as [string, string][];
const invitation = [['invitation', 'invitation_not_found']] as [string, string][];
const grant = [['grant', 'grant_not_found']] as [string, string][];
const allowance = [['allowance', 'allowance_not_found']] as [string, string][];

/** In an order in which each finds what it needs. */
const table: Readonly<Record<string, Row>> = {
  'GET /token': { scope: null },
  'GET /openapi.json': { scope: null },
  'GET /accounts': { scope: 'read' },
  'POST /accounts': { scope: 'accounts', body: () => ({ name: 'New' }) },
  'GET /accounts/:account': { scope: 'read' },
  'PATCH /accounts/:account': { scope: 'accounts', body: () => ({ name: newId() }), headers: any },
  'POST /accounts/:account/suspend': { scope: 'accounts' },
  'POST /accounts/:account/resume': { scope: 'accounts' },
  'GET /accounts/:account/keys': { scope: 'read' },
  'POST /accounts/:account/keys': { scope: 'keys', body: () => ({ name: 'New' }) },
  'GET /accounts/:account/keys/:key': { scope: 'read', owned: key },
  'PATCH /accounts/:account/keys/:key': {
    scope: 'keys',
    body: () => ({ name: newId() }),
    headers: any,
    owned: key,
  },
  'POST /accounts/:account/keys/:key/replace': {
    scope: 'keys',
    body: () => ({ revoke_at: new Date(Date.now() + 60_000).toISOString() }),
    owned: key,
  },
  'POST /accounts/:account/keys/:key/revoke': { scope: 'keys', owned: key },
  'GET /accounts/:account/limits': { scope: 'read' },
  'POST /accounts/:account/limits': {
    scope: 'accounts',
    body: () => ({ scope: 'end_user', end_user: newId(), kind: 'spend_per_day', amount: '10' }),
  },
  'GET /limits/:id': { scope: 'read' },
  'PATCH /limits/:id': {
    scope: 'accounts',
    body: () => ({ amount: `${Date.now() % 1_000_000}` }),
    headers: any,
  },
  'DELETE /limits/:id': { scope: 'accounts' },
  'GET /accounts/:account/members': { scope: 'read' },
  'GET /accounts/:account/members/:user': { scope: 'read', owned: user },
  'PATCH /accounts/:account/members/:user': {
    scope: 'accounts',
    body: () => ({ role: 'member' }),
    headers: any,
    owned: user,
  },
  'DELETE /accounts/:account/members/:user': { scope: 'accounts', owned: user },
  'GET /accounts/:account/invitations': { scope: 'read' },
  'POST /accounts/:account/invitations': { scope: 'accounts', body: () => ({ role: 'member' }) },
  'GET /accounts/:account/invitations/:invitation': { scope: 'read', owned: invitation },
  'DELETE /accounts/:account/invitations/:invitation': { scope: 'accounts', owned: invitation },
  'POST /accounts/:account/credits': { scope: 'money', body: () => ({ amount: '1', reference: 'R-1' }) },
  'POST /accounts/:account/corrections': {
    scope: 'money',
    body: () => ({ amount: '1', reason: 'None', reference: newId() }),
  },
  'POST /generations/:generation/refunds': {
    scope: 'money',
    body: () => ({ amount: '0.000000000001', reason: 'None', reference: newId() }),
  },
  'GET /accounts/:account/grants': { scope: 'read' },
  'GET /accounts/:account/grants/:grant': { scope: 'read', owned: grant },
  'POST /accounts/:account/grants/:grant/void': {
    scope: 'money',
    body: () => ({ reason: 'None' }),
    owned: grant,
  },
  'GET /accounts/:account/allowances': { scope: 'read' },
  'POST /accounts/:account/allowances': {
    scope: 'money',
    body: () => ({ amount: '1', every: 'day' }),
    headers: once,
  },
  'GET /accounts/:account/allowances/:allowance': { scope: 'read', owned: allowance },
  'POST /accounts/:account/allowances/:allowance/end': { scope: 'money', owned: allowance },
  'GET /accounts/:account/ledger-entries': { scope: 'read' },
  'GET /accounts/:account/ledger-entries/:number': { scope: 'read' },
  'GET /accounts/:account/payments': { scope: 'read' },
  'GET /payments/:payment': { scope: 'read' },
  'POST /payments/:payment/refunds': {
    scope: 'money',
    body: () => ({ amount: '0.01', reference: newId() }),
  },
  'GET /accounts/:account/usage': { scope: 'read' },
  'GET /accounts/:account/generations': { scope: 'read' },
  'GET /generations/:generation': { scope: 'read' },
  'GET /write-offs': { scope: 'read' },
  'GET /discrepancies': { scope: 'read' },
  'GET /exports/generations': { scope: 'read', query: '?from=2026-01-01' },
  'GET /exports/usage': { scope: 'read', query: '?from=2026-01-01' },
  'GET /exports/entries': { scope: 'read', query: '?from=2026-01-01' },
  'GET /exports/audit_log': { scope: 'read', query: '?from=2026-01-01' },
  'GET /events': { scope: 'read' },
  'GET /webhooks': { scope: 'read' },
  'POST /webhooks': {
    scope: 'accounts',
    body: () => ({ account_id: names.account, url: 'https://receiver.invalid/', types: ['balance.low'] }),
  },
  'GET /webhooks/:webhook': { scope: 'read' },
  'PATCH /webhooks/:webhook': {
    scope: 'accounts',
    body: () => ({ description: newId() }),
    headers: any,
  },
  'POST /webhooks/:webhook/rotate-secret': { scope: 'accounts' },
  'POST /webhooks/:webhook/test': { scope: 'accounts' },
  'GET /webhooks/:webhook/deliveries': { scope: 'read' },
  'POST /webhooks/:webhook/replay': {
    scope: 'accounts',
    body: () => ({ from: '2026-01-01T00:00:00Z', to: '2026-01-02T00:00:00Z' }),
  },
  'DELETE /webhooks/:webhook': { scope: 'accounts' },
  'GET /nodes': { scope: 'read' },
  'GET /circuits': { scope: 'read' },
  'GET /catalogue': { scope: 'read' },
  'POST /catalogue/check': { scope: 'catalogue', body: () => ({ catalogue: 'models: {}' }) },
  'GET /audit-log': { scope: 'read' },
};
const routes = Object.keys(table);

function call(
  program: Pick<Program, 'send'>,
  route: string,
  with_: Record<string, string>,
): Promise<Response> {
  const row = table[route];
  const [method = '', pattern = ''] = route.split(' ');
  const path = pattern.replaceAll(/:(\w+)/g, (_, name: string) => with_[name] ?? '');
  return program.send(method, path + (row?.query ?? ''), row?.body?.(), row?.headers?.());
}

test('every endpoint has a row with its scope, and every row an endpoint', () => {
  const services = { deriveKey: () => Buffer.alloc(32) } as unknown as AdminServices;
  const served = Object.entries(adminEndpoints(services, () => Promise.resolve(''))).flatMap(
    ([path, methods]) => Object.entries(methods).map(([method, { scope }]) => [`${method} ${path}`, scope]),
  );
  expect(Object.fromEntries(served)).toEqual(
    Object.fromEntries(Object.entries(table).map(([route, { scope }]) => [route, scope])),
  );
});

describe('each endpoint', () => {
  const rows = routes.flatMap((route) => allScopes.map((scope) => [route, scope] as const));

  async function state(): Promise<string> {
    const [row] = await fixture.database.sql`
      select (select count(*) from audit_log) as changes, (select sum(balance) from accounts) as balance,
             (select count(*) from admin_requests) as requests`;
    return JSON.stringify(row, (_, value) => (typeof value === 'bigint' ? `${value}` : value));
  }

  test.each(rows)('%s with the scope %s', async (route, scope) => {
    const needed = table[route]?.scope ?? null;
    const isAllowed = needed === null || needed === scope;
    const before = await state();
    const program = programs.get(scope) ?? everything;
    const [status, code] = await refusalOf(call(program, route, names));
    if (isAllowed) expect([status < 300, code]).toEqual([true, 'done']);
    else {
      expect([status, code]).toEqual([403, 'insufficient_scope']);
      expect(await state()).toBe(before);
    }
  });

  test.each(routes)('%s without a token, and with one that does not exist', async (route) => {
    const { origin } = fixture.gateway;
    for (const secret of [null, tokenFormat.generate(), 'svc_sk_x', everything.secret.slice(0, -1)])
      expect(await refusalOf(call({ send: senderFor(origin, secret) }, route, names))).toEqual([
        401,
        'invalid_admin_token',
        undefined,
      ]);
  });

  test('another account’s object is not found below an account, whatever the scopes', async () => {
    const others = await prepareAccount('other@example.com');
    const mine = await prepareAccount('mine@example.com');
    const before = await state();
    for (const route of routes) {
      for (const [name, code] of table[route]?.owned ?? []) {
        const mixed = { ...mine, [name]: others[name] ?? '' };
        expect([route, (await refusalOf(call(everything, route, mixed)))[1]]).toEqual([route, code]);
      }
      if (!route.includes(':account')) continue;
      for (const unknown of [newId(), 'external_id:nobody', 'external_id:', 'x', '%00', 'external_id:%00']) {
        const [, code] = await refusalOf(call(everything, route, { ...mine, account: unknown }));
        expect([route, unknown, code]).toEqual([route, unknown, account[1]]);
      }
    }
    expect(await state()).toBe(before);
  });
});

describe('a token', () => {
  const ask = (program: Pick<Program, 'send'>) => refusalOf(program.send('GET', '/token'));

  test('that has expired says so', async () => {
    const late = await fixture.program();
    await fixture.database.sql`update admin_tokens set expires_at = now() where id = ${late.tokenId}`;
    expect(await ask(late)).toEqual([401, 'expired_admin_token', undefined]);
  });

  test('is revoked at once on all nodes, and its use is shown', async () => {
    const second = await startGateway({
      ...fixture.environment,
      TOLLGATE_DATA: `${fixture.environment.TOLLGATE_DATA}-2`,
    });
    try {
      const made = await runCommand<{ id: string; token: string }>(
        ['token', 'create', '--name', 'CI', '--scopes', 'read,money'],
        fixture.environment,
      );
      fixture.canaries.add(made.token);
      const nodes = [fixture.gateway, second].map(({ origin }) => ({ send: senderFor(origin, made.token) }));
      for (const node of nodes) expect((await ask(node))[0]).toBe(200);
      type Listed = { id: string; last_used_at: string | null; state: string; scopes: string[] };
      const listed = async () =>
        (await runCommand<Listed[]>(['token', 'list'], fixture.environment)).find(({ id }) => id === made.id);
      expect(await listed()).toMatchObject({ state: 'active', scopes: ['read', 'money'] });
      expect((await listed())?.last_used_at).not.toBe(null);
      await runCommand(['token', 'revoke', made.id], fixture.environment);
      for (const node of nodes) expect(await ask(node)).toEqual([401, 'invalid_admin_token', undefined]);
      expect((await listed())?.state).toBe('revoked');
    } finally {
      await second.stop();
    }
  });

  test('that ends while a change is sent does not make it', async () => {
    const { sql } = fixture.database;
    const ends = {
      invalid_admin_token: (id: string) => sql`update admin_tokens set revoked_at = now() where id = ${id}`,
      expired_admin_token: (id: string) => sql`update admin_tokens set expires_at = now() where id = ${id}`,
    };
    for (const [code, end] of Object.entries(ends)) {
      const { tokenId, secret } = await fixture.program();
      const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
      const writer = writable.getWriter();
      const body = new TextEncoder().encode(`{"name": "${code}"}`);
      const sent = fetch(`${fixture.gateway.origin}/admin/v1/accounts`, {
        method: 'POST',
        headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
        body: readable,
      });
      await writer.write(body.subarray(0, 5));
      await eventually('the token was found', async () => {
        const [use] = await sql`select last_used_at from admin_token_uses where token_id = ${tokenId}`;
        return use.last_used_at !== null;
      });
      await end(tokenId);
      await writer.write(body.subarray(5));
      await writer.close();
      expect(await refusalOf(sent)).toEqual([401, code, undefined]);
      expect(await sql`select 1 from accounts where name = ${code}`).toHaveLength(0);
    }
  });

  test('is bound to its networks', async () => {
    expect((await ask(await fixture.program({ networks: ['10.0.0.0/8', '127.0.0.0/8'] })))[0]).toBe(200);
    const elsewhere = await fixture.program({ networks: ['10.0.0.0/8', '2001:db8::/32'] });
    expect(await ask(elsewhere)).toEqual([403, 'address_not_allowed', undefined]);
    const [row] = await fixture.database.sql`
      select last_used_at from admin_token_uses where token_id = ${elsewhere.tokenId}`;
    expect(row.last_used_at).toBe(null);
    const headers = { authorization: `Bearer ${metricsToken}` };
    const metrics = await (await fetch(`${fixture.gateway.origin}/metrics`, { headers })).text();
    const counted = readSamples(metrics).find(({ labels }) => labels.code === 'address_not_allowed');
    expect(counted).toMatchObject({
      name: 'tollgate_requests_total',
      labels: { route: '/admin/v1/token', status: '403' },
      value: 1,
    });
  });

  test('has its own rate, of all nodes together', async () => {
    const slow = await fixture.program({ requestsPerMinute: 5 });
    const responses = await Promise.all(Array.from({ length: 12 }, () => slow.send('GET', '/token')));
    const served = responses.filter(({ status }) => status === 200);
    expect(served).toHaveLength(5);
    const refused = responses.find(({ status }) => status === 429);
    expect(Number(refused?.headers.get('retry-after'))).toBeWithin(1, 13);
    expect(refused?.headers.get('x-ratelimit-limit-requests')).toBe('5');
    expect(refused?.headers.get('x-ratelimit-remaining-requests')).toBe('0');
    expect((await ask(everything))[0]).toBe(200);
  });

  test('of an operator ends when they are no longer one', async () => {
    const { sql } = fixture.database;
    const [maker] = await sql<[{ id: string }]>`
      insert into users (id, email, name, is_operator) values (${newId()}, 'maker@example.com', 'M', true) returning id`;
    const program = await fixture.program();
    await sql`update admin_tokens set created_by = ${maker.id} where id = ${program.tokenId}`;
    const [chief] = await sql<[{ id: string }]>`
      insert into users (id, email, name, is_operator) values (${newId()}, 'chief@example.com', 'C', true) returning id`;
    const { makeOperatorAs } = await import('../../src/console/operator/users.ts');
    const actor = { door: 'dashboard', userId: chief.id, address: null } as const;
    await makeOperatorAs(sql, actor, maker.id, false, true);
    expect(await ask(program)).toEqual([401, 'invalid_admin_token', undefined]);
    const [change] =
      await sql`select object_id from audit_log where action = 'revoke_token' order by id desc limit 1`;
    expect(change.object_id).toBe(program.tokenId);
  });

  test('is not taken for an API key, nor a key for a token', async () => {
    const response = await fetch(`${fixture.gateway.origin}/v1/models`, {
      headers: { authorization: `Bearer ${everything.secret}` },
    });
    expect(response.status).toBe(401);
    expect(await response.text()).not.toContain(everything.secret);
  });
});

test('no response may be cached, and each has the ID of its request', async () => {
  for (const path of ['/token', '/accounts/x', '/nowhere']) {
    const { headers } = await everything.send('GET', path);
    expect(headers.get('x-service-request-id')).toMatch(/^req_[0-9a-f]{32}$/);
    if (path !== '/nowhere') expect(headers.get('cache-control')).toBe('no-store');
  }
  await eventually('the log has them', () => fixture.gateway.output().includes('/admin/v1/token'));
});
