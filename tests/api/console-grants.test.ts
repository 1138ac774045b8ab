/** Grants in the console: what members see of them, and how operators give, void and repeat them. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Statement } from '../../src/console/contract.ts';
import type { Allowance, Grants } from '../../src/console/grant-contract.ts';
import type { ConsoleContext } from '../../src/console/guard.ts';
import { accountGrantsPage } from '../../src/console/operator/grants.ts';
import type { AuditLog, OperatorStatement, VoidedGrant } from '../../src/console/operator-contract.ts';
import type { FoundGeneration } from '../../src/console/request-contract.ts';
import { moneyFromDatabase } from '../../src/lib/money.ts';
import { chatCatalog, type ErrorBody } from '../support/chat-fixture.ts';
import { type ConsoleFixture, openConsoleFixture } from '../support/console-fixture.ts';
import { eventually } from '../support/eventually.ts';
import { type HeldProvider, heldModel, startHeldProvider } from '../support/held-provider.ts';

let fixture: ConsoleFixture;
let held: HeldProvider;
/** Paid for by a promotional grant of 0.001 USD, and by the balance from before. */
let request: string;

beforeAll(async () => {
  held = startHeldProvider();
  fixture = await openConsoleFixture((url) => chatCatalog(url, heldModel(held, url)));
}, 60_000);

afterAll(async () => {
  await fixture.close();
  await held.stop();
});

const root = '/api/console';

async function ask<Answer>(method: string, path: string, body?: unknown, by = fixture.people.operator) {
  const response = await by.send(method, `${root}${path}`, body);
  return { status: response.status, body: (await response.json()) as Answer };
}

const own = <Answer>(path: string) =>
  ask<Answer>('GET', `/accounts/${fixture.account}/${path}`, undefined, fixture.people.member);

const credit = (account: string, changes: Record<string, unknown>) =>
  ask<ErrorBody>('POST', `/operator/accounts/${account}/credit`, {
    amount: '1',
    memo: null,
    reference: crypto.randomUUID(),
    ...changes,
  });

const grantsOf = async (account: string) => {
  const { status, body } = await ask<Grants>('GET', `/operator/accounts/${account}/grants`);
  expect(status).toBe(200);
  return body;
};

async function chat(key: string, model: string, content: string): Promise<string> {
  const response = await fetch(`${fixture.gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, max_tokens: 1000, messages: [{ role: 'user', content }] }),
  });
  expect(response.status).toBe(200);
  await response.text();
  return response.headers.get('x-service-request-id') ?? '';
}

const inAWeek = () => new Date(Date.now() + 7 * 24 * 60 * 60 * 1000).toISOString();

test('of an account with plain credits, nothing is told apart', async () => {
  expect((await own<Grants>('grants')).body).toEqual({
    data: [],
    has_more: false,
    next_cursor: null,
    balances: null,
    allowances: [],
  });
  const { body } = await own<Statement>('ledger');
  expect(body.data.map(({ draws }) => draws)).toEqual([[]]);
});

describe('a grant', () => {
  test('is shown to members, with what each charge took from it', async () => {
    const expiresAt = inAWeek();
    const given = { amount: '0.001', memo: 'Welcome', reference: crypto.randomUUID() };
    const terms = { category: 'promotional', priority: 10, expires_at: expiresAt };
    expect((await credit(fixture.account, { ...given, grant: terms })).status).toBe(200);
    expect((await credit(fixture.account, { ...given, grant: terms })).status).toBe(200);
    const other = await credit(fixture.account, { ...given, grant: { ...terms, category: 'paid' } });
    expect([other.status, other.body.error.code]).toEqual([409, 'reference_in_use']);
    request = await chat(fixture.key, 'full', '[[usage 1000 100]] hi');

    const { body } = await own<Grants>('grants');
    expect(body.balances).toEqual([
      { category: 'paid', amount: '99.999800000000', next_expiry: null },
      { category: 'promotional', amount: '0.000000000000', next_expiry: null },
      { category: 'allowance', amount: '0.000000000000', next_expiry: null },
    ]);
    expect(body.data).toMatchObject([
      {
        entry_number: 2,
        category: 'promotional',
        amount: '0.001000000000',
        remaining: '0.000000000000',
        priority: 10,
        expires_at: expiresAt,
        memo: 'Welcome',
        allowance_id: null,
        state: 'used',
      },
      { entry_number: null, category: 'paid', amount: '100.000000000000', expires_at: null, state: 'active' },
    ]);
    const draws = [
      { number: 0, category: 'paid', amount: '0.000200000000' },
      { number: 2, category: 'promotional', amount: '0.001000000000' },
    ] as const;
    const { body: statement } = await own<Statement>('ledger');
    expect(statement.data.map((entry) => entry.draws)).toEqual([[...draws], [], []]);
    expect((await own<FoundGeneration>(`requests/${request}`)).body.request.draws).toEqual([...draws]);
    const theirs = await ask<FoundGeneration>('GET', `/operator/requests/${request}`);
    expect(theirs.body.request.draws).toEqual([...draws]);
  });

  test('gets back what is refunded, on the page of the statement that has it', async () => {
    const path = `/operator/generations/${request}/refunds`;
    await ask('POST', path, { amount: '0.0005', reason: 'Bad', reference: crypto.randomUUID() });
    const { body } = await ask<OperatorStatement>(
      'GET',
      `/operator/accounts/${fixture.account}/ledger?limit=1`,
    );
    expect(body.data.map(({ kind, draws }) => [kind, draws])).toEqual([
      [
        'refund',
        [
          { number: 0, category: 'paid', amount: '-0.000200000000' },
          { number: 2, category: 'promotional', amount: '-0.000300000000' },
        ],
      ],
    ]);
  });

  test('is listed page by page, and says what expires next', async () => {
    const { account } = await fixture.customer('1');
    const [soon, late] = [inAWeek(), new Date(Date.now() + 30 * 24 * 60 * 60 * 1000).toISOString()];
    await credit(account, { amount: '5', grant: { category: 'paid', priority: 50, expires_at: late } });
    await credit(account, { amount: '2', grant: { category: 'paid', priority: 50, expires_at: soon } });
    await credit(account, { amount: '3', grant: { category: 'paid', priority: 50, expires_at: soon } });
    const path = `/operator/accounts/${account}/grants`;
    const { body: first } = await ask<Grants>('GET', `${path}?limit=3`);
    expect(first.balances?.[0]).toEqual({
      category: 'paid',
      amount: '11.000000000000',
      next_expiry: { amount: '5.000000000000', at: soon },
    });
    expect(first.data.map((grant) => grant.entry_number)).toEqual([4, 3, 2]);
    const { body: rest } = await ask<Grants>('GET', `${path}?limit=3&cursor=${first.next_cursor}`);
    expect([rest.data.map((grant) => grant.entry_number), rest.next_cursor]).toEqual([[null], null]);
  });

  test('that has expired can be sent again, but not given anew', async () => {
    const { account } = await fixture.customer('1');
    const soon = new Date(Date.now() + 1500).toISOString();
    const given = {
      reference: crypto.randomUUID(),
      grant: { category: 'paid', priority: 50, expires_at: soon },
    };
    expect((await credit(account, given)).status).toBe(200);
    await eventually(
      'the end of the grant',
      async () => (await grantsOf(account)).data[0]?.state === 'expired',
    );
    expect((await credit(account, given)).status).toBe(200);
    const late = await credit(account, { ...given, reference: crypto.randomUUID() });
    expect([late.status, late.body.error.param]).toEqual([400, 'grant.expires_at']);
    expect((await grantsOf(account)).data).toHaveLength(2);
  });

  test.each<[Record<string, unknown>, string, string]>([
    [{ category: 'free' }, 'invalid_parameter', 'grant.category'],
    [{ category: undefined }, 'missing_required_parameter', 'grant.category'],
    [{ priority: 101 }, 'invalid_parameter', 'grant.priority'],
    [{ priority: -1 }, 'invalid_parameter', 'grant.priority'],
    [{ priority: 0.5 }, 'invalid_parameter', 'grant.priority'],
    [{ expires_at: '2026-01-01T00:00:00Z' }, 'invalid_parameter', 'grant.expires_at'],
    [{ expires_at: 'soon' }, 'invalid_parameter', 'grant.expires_at'],
    [{ allowance_id: null }, 'unsupported_parameter', 'grant.allowance_id'],
  ])('with %j is refused', async (changes, code, param) => {
    const grant = { category: 'paid', priority: 50, expires_at: null, ...changes };
    const refused = await credit(fixture.strangersAccount, { grant });
    expect([refused.status, refused.body.error.code, refused.body.error.param]).toEqual([400, code, param]);
  });
});

describe('voiding', () => {
  test('takes what no request holds, as it said before, and the rest when they end', async () => {
    const { account, key } = await fixture.customer('0.001');
    await credit(account, {
      amount: '3',
      memo: 'Trial',
      grant: { category: 'promotional', priority: 1, expires_at: null },
    });
    const running = chat(key, 'held', 'held');
    await held.holds(1);
    const [grant] = (await grantsOf(account)).data;
    const path = `/operator/accounts/${account}/grants/${grant?.id}/void`;
    const shown = (await ask<VoidedGrant>('GET', path)).body;
    const [taken, kept] = [moneyFromDatabase(shown.taken), moneyFromDatabase(shown.kept)];
    expect([taken > 0n, kept > 0n, taken + kept]).toEqual([true, true, 3n * 10n ** 12n]);
    expect((await ask<VoidedGrant>('POST', path, { reason: 'Abuse' })).body).toEqual(shown);
    const again = await ask<VoidedGrant>('POST', path, { reason: 'Abuse' });
    expect(again.body).toEqual({ taken: '0.000000000000', kept: shown.kept });
    held.release();
    await running;

    const [voided] = (await grantsOf(account)).data;
    expect(voided).toMatchObject({ state: 'voided', remaining: '0.000000000000', void_reason: 'Abuse' });
    const { body } = await ask<OperatorStatement>('GET', `/operator/accounts/${account}/ledger`);
    const voids = body.data.filter(({ kind }) => kind === 'void');
    expect(voids.map(({ memo, concerns_entry: entry, actor }) => [memo, entry, actor?.name])).toEqual([
      ['Abuse', 2, 'operator@example.com'],
      ['Abuse', 2, 'operator@example.com'],
    ]);
    expect(voids.at(-1)?.amount).toBe(`-${shown.taken}`);
    const log = await ask<AuditLog>('GET', '/operator/audit-log');
    expect(log.body.data[0]).toMatchObject({ action: 'void_grant', account: { id: account } });
  });

  test('is refused where there is nothing to void', async () => {
    const voided = async (account: string, grant: string, reason = 'None') => {
      const path = `/operator/accounts/${account}/grants/${grant}/void`;
      const { status, body } = await ask<ErrorBody>('POST', path, { reason });
      return [status, body.error.code];
    };
    const { data } = await grantsOf(fixture.account);
    const [before, grant] = [data.at(-1)?.id ?? '', data[0]?.id ?? ''];
    expect(await voided(fixture.account, before)).toEqual([404, 'grant_not_found']);
    expect(await voided(fixture.strangersAccount, grant)).toEqual([404, 'grant_not_found']);
    expect(await voided(fixture.account, 'x')).toEqual([404, 'grant_not_found']);
    expect(await voided(fixture.account, grant, ' ')).toEqual([400, 'invalid_parameter']);
    const path = `/operator/accounts/${fixture.strangersAccount}/grants/${grant}/void`;
    expect((await ask<ErrorBody>('GET', path)).body.error.code).toBe('grant_not_found');
    // All of it is spent.
    await credit(fixture.account, {
      amount: '0.000001',
      grant: { category: 'paid', priority: 0, expires_at: null },
    });
    await chat(fixture.key, 'full', '[[usage 10 0]] hi');
    const spent = (await grantsOf(fixture.account)).data[0];
    expect(spent?.state).toBe('used');
    expect(await voided(fixture.account, spent?.id ?? '')).toEqual([409, 'nothing_left']);
  });
});

describe('an allowance', () => {
  const draft = { amount: '10', every: 'month', priority: 5, note: 'Team plan' };

  test('is given at once, shown with the next one, and ended', async () => {
    const { account } = await fixture.customer('1');
    const path = `/operator/accounts/${account}/allowances`;
    const { status, body } = await ask<Allowance>('POST', path, draft);
    expect([status, body]).toMatchObject([
      200,
      { ...draft, amount: '10.000000000000', next_at: expect.stringMatching(/-01T00:00:00.000Z$/) },
    ]);
    const { allowances, data, balances } = await grantsOf(account);
    expect(allowances).toEqual([body]);
    expect(data[0]).toMatchObject({
      category: 'allowance',
      allowance_id: body.id,
      memo: 'Team plan',
      expires_at: body.next_at,
    });
    expect(balances?.[2]).toMatchObject({ amount: '10.000000000000', next_expiry: { at: body.next_at } });
    const ended = await ask<Allowance>('POST', `${path}/${body.id}/end`, {});
    expect(ended.body).toMatchObject({ id: body.id, next_at: null, ended_at: expect.any(String) });
    const elsewhere = `/operator/accounts/${fixture.account}/allowances/${body.id}/end`;
    const refused = await ask<ErrorBody>('POST', elsewhere, {});
    expect([refused.status, refused.body.error.code]).toEqual([404, 'allowance_not_found']);
  });

  test('is one of at most 20', async () => {
    const { account } = await fixture.customer('1');
    await fixture.database.sql`
      insert into allowances (id, account_id, amount, every, priority, next_at)
      select gen_random_uuid(), ${account}, 1, 'day', 50, now() + interval '1 day' from generate_series(1, 20)`;
    const refused = await ask<ErrorBody>('POST', `/operator/accounts/${account}/allowances`, draft);
    expect([refused.status, refused.body.error.code]).toEqual([400, 'too_many_allowances']);
  });

  test.each<[Record<string, unknown>, string]>([
    [{ amount: '0' }, 'amount'],
    [{ every: 'year' }, 'every'],
    [{ priority: 101 }, 'priority'],
    [{ note: 'x'.repeat(501) }, 'note'],
  ])('with %j is refused', async (changes, param) => {
    const path = `/operator/accounts/${fixture.strangersAccount}/allowances`;
    const { status, body } = await ask<ErrorBody>('POST', path, { ...draft, ...changes });
    expect([status, body.error.code, body.error.param]).toEqual([400, 'invalid_parameter', param]);
  });
});

test('every statement itself checks that an operator runs it', async () => {
  const { sql } = fixture.database;
  const { account } = fixture;
  const [{ id: userId }] = await sql`select id from users where email = 'owner@example.com'`;
  const { data } = await grantsOf(account);
  const grant = data[0]?.id ?? '';
  // As if the guard had let them in.
  const context = {
    params: { account, grant, allowance: crypto.randomUUID() },
    signedIn: { userId, isOperator: true },
    actor: { door: 'dashboard', userId, address: null },
  } as unknown as ConsoleContext;
  const bodies = new Map<string, object>([
    ['POST /accounts/:account/grants/:grant/void', { reason: 'None' }],
    ['POST /accounts/:account/allowances', { amount: '1', every: 'day', priority: 50, note: null }],
    ['POST /accounts/:account/allowances/:allowance/end', {}],
  ]);
  for (const [path, methods] of Object.entries(accountGrantsPage({ sql }))) {
    for (const [method, handler] of Object.entries(methods)) {
      const body = bodies.get(`${method} ${path}`);
      const sent = new Request('http://gateway.test/', {
        method,
        headers: { 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const outcome = handler(sent, context).catch((error: unknown) => error);
      expect([method, path, await outcome]).toMatchObject([method, path, { code: 'permission_denied' }]);
    }
  }
  expect(await grantsOf(account)).toMatchObject({ data, allowances: [] });
});

test('an account that does not exist has no grants', async () => {
  const nobody = crypto.randomUUID();
  const listed = await ask<ErrorBody>('GET', `/operator/accounts/${nobody}/grants`);
  const created = await ask<ErrorBody>('POST', `/operator/accounts/${nobody}/allowances`, {
    amount: '1',
    every: 'day',
    priority: 50,
    note: null,
  });
  for (const { status, body } of [listed, created])
    expect([status, body.error.code]).toEqual([404, 'account_not_found']);
});
