/** The operator's part of the console API: who may, accounts and their money, users, and what is recorded of it all. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { asOperator } from '../../src/console/access.ts';
import { findAccount, findAccounts } from '../../src/console/operator/accounts.ts';
import { findAllChanges } from '../../src/console/operator/audit-log.ts';
import { findAnyGeneration } from '../../src/console/operator/generations.ts';
import { findAuditsAs, startAuditAs } from '../../src/console/operator/ledger.ts';
import { readListQuery } from '../../src/console/operator/list.ts';
import { findNodes } from '../../src/console/operator/nodes.ts';
import { countAttempts, findFailures, findReports } from '../../src/console/operator/providers.ts';
import { findStatement } from '../../src/console/operator/statement.ts';
import {
  appointMemberAs,
  createUserAs,
  findUser,
  findUsers,
  makeOperatorAs,
  makeResetLinkAs,
  signOutAs,
} from '../../src/console/operator/users.ts';
import type {
  AuditLog,
  NewUser,
  OperatorAccount,
  OperatorAccountDetail,
  OperatorAccounts,
  OperatorUser,
  OperatorUsers,
  ResetLink,
} from '../../src/console/operator-contract.ts';
import type { ApiError } from '../../src/errors.ts';
import { newestPosition } from '../../src/generations/generation-store.ts';
import { book } from '../../src/ledger/movements.ts';
import { firstIdAt, newId, uuidFromRequestId } from '../../src/lib/ids.ts';
import type { ErrorBody } from '../support/chat-fixture.ts';
import { runCommand } from '../support/commands.ts';
import {
  type ConsoleFixture,
  openConsoleFixture,
  outcomeFor,
  signIn,
  type Visitor,
  visitor,
} from '../support/console-fixture.ts';
import { eventually } from '../support/eventually.ts';
import { tollgate } from '../support/gateway.ts';

const root = '/api/console/operator';
/** Only those who may start an audit get this far. */
const noAudits = { start: () => Promise.reject(new Error('started')), close: () => Promise.resolve() };
const nobody = '01890a5d-ac96-774b-bcce-b302099a8057';

let fixture: ConsoleFixture;
let operator: Visitor;

beforeAll(async () => {
  fixture = await openConsoleFixture();
  operator = fixture.people.operator;
});

afterAll(() => fixture.close());

async function ask<Answer>(method: string, path: string, body?: unknown): Promise<Answer> {
  const response = await operator.send(method, `${root}${path}`, body);
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text}`);
  expect(response.headers.get('cache-control')).toBe('no-store');
  return JSON.parse(text) as Answer;
}

/** The code and the parameter of a refusal. */
async function refusalOf(method: string, path: string, body?: unknown, by = operator) {
  const response = await by.send(method, `${root}${path}`, body);
  const { error } = (await response.json()) as ErrorBody;
  return [response.status, error.code, error.param ?? null];
}

async function userIdOf(name: string): Promise<string> {
  const { data } = await ask<OperatorUsers>('GET', `/users?search=${name}@example.com`);
  return data[0]?.id ?? '';
}

async function statusOfApiCall(key: string): Promise<number> {
  const response = await fetch(`${fixture.gateway.origin}/v1/models`, {
    headers: { authorization: `Bearer ${key}` },
  });
  await response.text();
  return response.status;
}

/** Returns the ID of a request that was charged. */
async function chat(): Promise<string> {
  const response = await fetch(`${fixture.gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${fixture.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'full', messages: [{ role: 'user', content: 'hello' }] }),
  });
  expect(response.status).toBe(200);
  await response.text();
  return response.headers.get('x-service-request-id') ?? '';
}

const draftOf = (name: string) => ({ name, reference: crypto.randomUUID() });
const newCredit = (amount: string) => ({ amount, memo: null, reference: crypto.randomUUID() });

test('a dismissed operator has no rights from that moment', async () => {
  await fixture.database.sql`update users set is_operator = false where email = 'operator@example.com'`;
  try {
    expect(await outcomeFor(operator, 'GET', `${root}/accounts`)).toBe('permission_denied');
    expect(await outcomeFor(operator, 'POST', `${root}/accounts`, draftOf('Late'))).toBe('permission_denied');
  } finally {
    await fixture.database.sql`update users set is_operator = true where email = 'operator@example.com'`;
  }
});

test('every statement itself checks that an operator runs it', async () => {
  const { sql } = fixture.database;
  const { account } = fixture;
  const [owner, member] = [await userIdOf('owner'), await userIdOf('member')];
  const stateOf = async () =>
    JSON.stringify(
      [
        await sql`select balance, entry_count, suspended_at from accounts order by id`.values(),
        await sql`select id, is_operator from users order by id`.values(),
        await sql`select * from memberships order by user_id, account_id`.values(),
        await sql`select id from sessions order by id`.values(),
        await sql`select id from audit_log order by id`.values(),
      ],
      (_, value) => (typeof value === 'bigint' ? `${value}` : value),
    );
  const charged = await chat();
  const everything = readListQuery('/');
  const before = await stateOf();
  const actor = { door: 'dashboard', userId: owner, address: null } as const;
  const words = { amount: 1n, reason: 'None', reference: nobody };
  const generationId = uuidFromRequestId(charged) ?? '';
  for (const movement of [
    { kind: 'credit', accountId: account, amount: 1n, memo: null, reference: nobody },
    { kind: 'correction', accountId: account, about: null, ...words },
    { kind: 'refund', accountId: null, generationId, ...words },
  ] as const)
    expect(await book(sql, actor, movement)).toEqual({ outcome: 'denied' });
  const invited = { email: 'sly@example.com', isOperator: true, accountId: null, role: 'owner' } as const;
  for (const attempt of [
    () => findAccounts(sql, { userId: owner }, everything),
    () => findAccount(sql, { userId: owner }, account),
    () => findAllChanges(sql, { userId: owner }, null, newestPosition, 1),
    () => findNodes(sql, { userId: owner }),
    () => findReports(sql, { userId: owner }),
    () => countAttempts(sql, { userId: owner }),
    () => findFailures(sql, { userId: owner }),
    () => findAnyGeneration(sql, { userId: owner }, uuidFromRequestId(charged) ?? ''),
    () => findAuditsAs(sql, owner),
    () => findStatement(sql, owner, account, 1_000n, 1),
    () => startAuditAs(sql, noAudits, owner, true),
    // What operators do to accounts is done in here.
    () => asOperator(sql, { signedIn: { userId: owner } }, () => Promise.reject(new Error('done'))),
    () => findUsers(sql, owner, everything),
    () => findUser(sql, owner, owner),
    () => createUserAs(sql, actor, invited),
    () => makeOperatorAs(sql, actor, member, true, true),
    () =>
      appointMemberAs(sql, actor, member, {
        accountId: fixture.strangersAccount,
        role: 'owner',
        isConfirmed: true,
      }),
    () => signOutAs(sql, actor, member),
    () => makeResetLinkAs(sql, actor, member),
  ])
    expect(await attempt().catch((error: ApiError) => error.code)).toBe('permission_denied');
  expect(await stateOf()).toBe(before);
});

describe('accounts', () => {
  test('are created with an opening credit, or with nothing', async () => {
    const rich = await ask<OperatorAccount>('POST', '/accounts', {
      ...draftOf('  Rich & Co. '),
      credit: '0.000000000001',
    });
    expect(rich).toEqual({
      id: expect.any(String),
      name: 'Rich & Co.',
      balance: '0.000000000001',
      held: '0.000000000000',
      is_suspended: false,
      keys_in_force: 0,
      members: 0,
      month_spent: '0.000000000000',
      price_group: null,
      created_at: expect.stringMatching(/Z$/),
    });
    const entries = await fixture.database.sql`
      select number, kind, amount, memo from ledger_entries where account_id = ${rich.id}`;
    expect([...entries]).toEqual([
      { number: 1n, kind: 'credit', amount: '0.000000000001', memo: 'Opening credit' },
    ]);
    const poor = await ask<OperatorAccount>('POST', '/accounts', { ...draftOf('Poor'), credit: '0' });
    expect(poor.balance).toBe('0.000000000000');
  });

  test('are shown one by one, with how long their money lasts', async () => {
    const { sql } = fixture.database;
    const { account } = await fixture.customer('3');
    const path = `/accounts/${account}`;
    const idle = await ask<OperatorAccountDetail>('GET', path);
    expect(idle).toMatchObject({ id: account, balance: '3.000000000000' });
    expect(idle.runway).toEqual({ hours_left: null, hours_used: 0, runs_out_at: null });
    const [{ id: keyId }] = await sql<
      [{ id: string }]
    >`select id from api_keys where account_id = ${account}`;
    // Two in one hour, one in another; one long ago.
    const hourMs = 3_600_000;
    const thisHour = Math.floor(Date.now() / hourMs) * hourMs;
    for (const [cost, hoursAgo] of [
      ['0.5', 50],
      ['0.5', 50],
      ['2', 3],
      ['100', 8 * 24],
    ] as const)
      await sql`
        insert into generations (id, account_id, key_id, workload, model, provider, status, streaming, fallback, attempt_count,
          price_list_id, latency_ms, cost_total, created_at, completed_at)
        select ${firstIdAt(thisHour - hoursAgo * hourMs).slice(0, 14) + newId().slice(14)}, ${account}, ${keyId}, 'chat',
               'full', 'P', 'completed', false, false, 1, min(id), 1, ${cost}::numeric, ${new Date(thisHour - hoursAgo * hourMs)}, now() from price_lists`;
    // The hours before the gateway first started are added up little by little.
    await eventually('the hours of the last week', async () => {
      const { runway } = await ask<OperatorAccountDetail>('GET', path);
      return runway.hours_left === 2 && runway.hours_used === 2;
    });
    await sql`delete from generations where account_id = ${account}`;
    expect(await outcomeFor(operator, 'GET', `${root}/accounts/${nobody}`)).toBe('account_not_found');
  });

  test('with the same reference are one account, also at the same moment', async () => {
    const draft = { ...draftOf('Once'), credit: '10' };
    const answers = await Promise.all(
      Array.from({ length: 12 }, () => ask<OperatorAccount>('POST', '/accounts', draft)),
    );
    const [first] = answers;
    for (const answer of answers) expect(answer).toEqual(first as OperatorAccount);
    const repeated = { ...draft, reference: draft.reference.toUpperCase(), credit: '10.0' };
    expect(await ask<OperatorAccount>('POST', '/accounts', repeated)).toEqual(first as OperatorAccount);
    const { data } = await ask<OperatorAccounts>('GET', '/accounts?search=once');
    expect(data).toEqual([first as OperatorAccount]);
    expect(first?.balance).toBe('10.000000000000');
    const noted = await fixture.database.sql`
      select action, after ->> 'amount' as amount from audit_log where account_id = ${first?.id ?? ''}`;
    expect([...noted]).toEqual([{ action: 'create_account', amount: '10.000000000000' }]);
    for (const other of [
      { ...draft, credit: '11' },
      { ...draft, credit: undefined },
      { ...draft, name: 'Other' },
    ])
      expect(await refusalOf('POST', '/accounts', other)).toEqual([400, 'invalid_parameter', 'reference']);
  });

  test('show keys, members and what was spent this month', async () => {
    const { account } = fixture;
    await fixture.database.sql`
      insert into api_keys (id, account_id, name, hash, hint, requests_per_minute, expires_at, revoked_at)
      values (gen_random_uuid(), ${account}, 'Over', sha256('over'), 'x', 1, now() - interval '1 hour', null),
             (gen_random_uuid(), ${account}, 'Gone', sha256('gone'), 'x', 1, null, now()),
             (gen_random_uuid(), ${account}, 'Soon', sha256('soon'), 'x', 1, null, now() + interval '1 hour')`;
    await chat();
    const { data } = await ask<OperatorAccounts>('GET', `/accounts?search=${account}`);
    const [{ total }] = await fixture.database.sql<[{ total: string }]>`
      select sum(cost) as total from usage_records where account_id = ${account}`;
    expect(data).toHaveLength(1);
    expect(data[0]).toMatchObject({ id: account, keys_in_force: 2, month_spent: total });
    expect(data[0]?.members).toBeGreaterThanOrEqual(2);
    expect(Number(total)).toBeGreaterThan(0);
  });

  test('are paged newest first, each once', async () => {
    const names = Array.from({ length: 7 }, (_, index) => `Paged ${index}`);
    for (const name of names) await ask('POST', '/accounts', draftOf(name));
    const seen: string[] = [];
    let cursor = '';
    for (;;) {
      const page: OperatorAccounts = await ask('GET', `/accounts?search=paged&limit=3${cursor}`);
      seen.push(...page.data.map(({ name }) => name));
      expect(page.has_more).toBe(page.next_cursor !== null);
      if (page.next_cursor === null) break;
      cursor = `&cursor=${page.next_cursor}`;
    }
    expect(seen).toEqual(names.toReversed());
  });

  test('are found by any part of their name, whatever characters it has', async () => {
    const names = [
      '100% sure',
      '1000 sure',
      'under_score',
      'underXscore',
      'back\\slash',
      "O'Brien; --",
      'Ärger & Söhne',
    ];
    for (const name of names) await ask('POST', '/accounts', draftOf(name));
    const found = async (search: string) =>
      (await ask<OperatorAccounts>('GET', `/accounts?search=${encodeURIComponent(search)}`)).data
        .map(({ name }) => name)
        .filter((name) => names.includes(name));
    expect(await found('100%')).toEqual(['100% sure']);
    expect(await found('R_S')).toEqual(['under_score']);
    expect(await found('\\')).toEqual(['back\\slash']);
    expect(await found("o'brien; --")).toEqual(["O'Brien; --"]);
    expect(await found('ÄRGER & söh')).toEqual(['Ärger & Söhne']);
    expect(await found(' SURE ')).toEqual(['1000 sure', '100% sure']);
    expect((await ask<OperatorAccounts>('GET', '/accounts?search=')).data.length).toBeGreaterThan(6);
    expect((await ask<OperatorAccounts>('GET', `/accounts?search=${nobody}`)).data).toEqual([]);
  });

  test('are searched for the text itself, whatever it may mean to a database', async () => {
    const text = fc
      .string({ unit: 'grapheme', minLength: 1, maxLength: 20 })
      .filter((one) => !one.includes('\0'));
    const isFound = async (name: string, search: string) => {
      const { pattern } = readListQuery(`/?search=${encodeURIComponent(search)}`).search;
      const [{ found }] = await fixture.database.sql<[{ found: boolean }]>`
        select ${pattern}::text is null or ${name}::text ~ ${pattern}::text as found`;
      return found;
    };
    await fc.assert(
      fc.asyncProperty(text, text, text, async (before, search, after) => {
        expect(await isFound(`${before}${search}${after}`, search)).toBe(true);
      }),
    );
    const ascii = fc.string({
      unit: fc.constantFrom(...'aA1.*+?^$|\\()[]{}%_- '),
      minLength: 1,
      maxLength: 4,
    });
    await fc.assert(
      fc.asyncProperty(ascii, ascii, async (name, search) => {
        const isThere = name.toLowerCase().includes(search.trim().toLowerCase());
        expect(await isFound(name, search)).toBe(isThere);
      }),
      { numRuns: 500 },
    );
  });

  test.each([
    ['limit=0', 'invalid_parameter', 'limit'],
    ['limit=101', 'invalid_parameter', 'limit'],
    ['limit=1e1', 'invalid_parameter', 'limit'],
    ['limit=5&limit=6', 'invalid_parameter', 'limit'],
    ['cursor=x', 'invalid_cursor', 'cursor'],
    ["cursor=';drop table accounts", 'invalid_cursor', 'cursor'],
    ['search=%00', 'invalid_parameter', 'search'],
    [`search=${'x'.repeat(201)}`, 'invalid_parameter', 'search'],
    ['sort=name', 'unsupported_parameter', 'sort'],
    ['__proto__=1', 'unsupported_parameter', '__proto__'],
  ])('the query %s is refused with %s', async (query, code, param) => {
    expect(await refusalOf('GET', `/accounts?${query}`)).toEqual([400, code, param]);
    expect(await refusalOf('GET', `/users?${query}`)).toEqual([400, code, param]);
  });

  test.each<[body: unknown, code: string, param: string | null]>([
    [{}, 'missing_required_parameter', 'name'],
    [{ name: '' }, 'invalid_parameter', 'name'],
    [{ name: ' ' }, 'invalid_parameter', 'name'],
    [{ name: 'a\nb' }, 'invalid_parameter', 'name'],
    [{ name: 'a\0b' }, 'invalid_parameter', 'name'],
    [{ name: 'x'.repeat(201) }, 'invalid_parameter', 'name'],
    [{ name: 7 }, 'invalid_parameter', 'name'],
    [{ name: 'x', credit: 5 }, 'invalid_parameter', 'credit'],
    [{ name: 'x', credit: '-1' }, 'invalid_parameter', 'credit'],
    [{ name: 'x' }, 'missing_required_parameter', 'reference'],
    [{ name: 'x', reference: 'again' }, 'invalid_parameter', 'reference'],
    [{ name: 'x', balance: '5' }, 'unsupported_parameter', 'balance'],
    [JSON.parse('{"name":"x","__proto__":{}}'), 'unsupported_parameter', '__proto__'],
  ])('a draft %j is refused', async (body, code, param) => {
    expect(await refusalOf('POST', '/accounts', body)).toEqual([400, code, param]);
  });
});

describe('credits', () => {
  const open = async () => (await ask<OperatorAccount>('POST', '/accounts', draftOf('Credited'))).id;

  test('are booked with a memo', async () => {
    const id = await open();
    const credit = { amount: '25.5', memo: ' Invoice 17 ', reference: crypto.randomUUID() };
    const { balance } = await ask<OperatorAccount>('POST', `/accounts/${id}/credit`, credit);
    expect(balance).toBe('25.500000000000');
    const [entry] = await fixture.database.sql`
      select number, amount, balance_after, memo, reference from ledger_entries where account_id = ${id}`;
    expect(entry).toEqual({
      number: 1n,
      amount: '25.500000000000',
      balance_after: '25.500000000000',
      memo: 'Invoice 17',
      reference: credit.reference,
    });
  });

  test('with the same reference are one credit, also at the same moment', async () => {
    const id = await open();
    const credit = { amount: '10', memo: 'Once', reference: crypto.randomUUID() };
    const answers = await Promise.all(
      Array.from({ length: 12 }, () => ask<OperatorAccount>('POST', `/accounts/${id}/credit`, credit)),
    );
    expect(new Set(answers.map(({ balance }) => balance))).toEqual(new Set(['10.000000000000']));
    const repeated = { ...credit, reference: credit.reference.toUpperCase(), amount: '10.0' };
    expect((await ask<OperatorAccount>('POST', `/accounts/${id}/credit`, repeated)).balance).toBe(
      '10.000000000000',
    );
    const [{ count }] = await fixture.database.sql<[{ count: bigint }]>`
      select count(*) from audit_log where account_id = ${id} and action = 'credit_account'`;
    expect(count).toBe(1n);
  });

  test('with different references at the same moment all count', async () => {
    const id = await open();
    await Promise.all(
      Array.from({ length: 12 }, () => ask('POST', `/accounts/${id}/credit`, newCredit('0.1'))),
    );
    const { data } = await ask<OperatorAccounts>('GET', `/accounts?search=${id}`);
    expect(data[0]?.balance).toBe('1.200000000000');
  });

  test('with a reference of another credit are refused; another account may have the same', async () => {
    const id = await open();
    const credit = newCredit('3');
    await ask('POST', `/accounts/${id}/credit`, credit);
    for (const other of [
      { ...credit, amount: '4' },
      { ...credit, memo: 'Other' },
    ])
      expect(await refusalOf('POST', `/accounts/${id}/credit`, other)).toEqual([
        409,
        'reference_in_use',
        'reference',
      ]);
    const elsewhere = await ask<OperatorAccount>('POST', `/accounts/${await open()}/credit`, credit);
    expect(elsewhere.balance).toBe('3.000000000000');
  });

  test.each<[change: Record<string, unknown>, code: string, param: string]>([
    [{ amount: '0' }, 'invalid_parameter', 'amount'],
    [{ amount: '0.000000000000' }, 'invalid_parameter', 'amount'],
    [{ amount: '-1' }, 'invalid_parameter', 'amount'],
    [{ amount: '0.0000000000001' }, 'invalid_parameter', 'amount'],
    [{ amount: '1e3' }, 'invalid_parameter', 'amount'],
    [{ amount: 'NaN' }, 'invalid_parameter', 'amount'],
    [{ amount: '1000000000000.000000000001' }, 'invalid_parameter', 'amount'],
    [{ amount: '9'.repeat(400) }, 'invalid_parameter', 'amount'],
    [{ amount: 20 }, 'invalid_parameter', 'amount'],
    [{ memo: 'x'.repeat(501) }, 'invalid_parameter', 'memo'],
    [{ memo: 'a\u001bb' }, 'invalid_parameter', 'memo'],
    [{ memo: 5 }, 'invalid_parameter', 'memo'],
    [{ memo: undefined }, 'missing_required_parameter', 'memo'],
    [{ reference: 'again' }, 'invalid_parameter', 'reference'],
    [{ reference: undefined }, 'missing_required_parameter', 'reference'],
    [{ operator_id: nobody }, 'unsupported_parameter', 'operator_id'],
  ])('of %j are refused', async (change, code, param) => {
    const body = { ...newCredit('1'), ...change };
    expect(await refusalOf('POST', `/accounts/${fixture.account}/credit`, body)).toEqual([400, code, param]);
  });

  test('of a trillion are the most, and a blank memo is none', async () => {
    const id = await open();
    const credit = { ...newCredit('1000000000000'), memo: ' ' };
    const { balance } = await ask<OperatorAccount>('POST', `/accounts/${id}/credit`, credit);
    expect(balance).toBe('1000000000000.000000000000');
    const [entry] = await fixture.database.sql`select memo from ledger_entries where account_id = ${id}`;
    expect(entry).toEqual({ memo: null });
  });

  test.each([nobody, 'x', '__proto__', "';--", '%00', '..%2f..'])(
    'to the account %s go nowhere',
    async (id) => {
      for (const path of ['credit', 'suspend', 'resume'])
        expect(
          await refusalOf('POST', `/accounts/${id}/${path}`, path === 'credit' ? newCredit('1') : {}),
        ).toEqual([404, 'account_not_found', null]);
    },
  );
});

describe('suspension', () => {
  test('ends every call of the account at once, and resuming allows them again', async () => {
    const { account, key } = fixture;
    expect(await statusOfApiCall(key)).toBe(200);
    const suspended = await ask<OperatorAccount>('POST', `/accounts/${account}/suspend`, {});
    expect(suspended.is_suspended).toBe(true);
    // The node hears of it as the others do, a moment after the response.
    await eventually('a refusal', async () => (await statusOfApiCall(key)) === 401);
    const refused = await fetch(`${fixture.gateway.origin}/v1/models`, {
      headers: { authorization: `Bearer ${key}` },
    });
    expect(await refused.json()).toEqual({
      error: {
        message: 'This account is suspended. Ask the operator of this gateway why.',
        type: 'authentication_error',
        code: 'invalid_api_key',
      },
    });
    const { accounts } = (await (await fixture.people.owner.send('GET', '/api/console/me')).json()) as {
      accounts: { is_suspended: boolean }[];
    };
    expect(accounts.map(({ is_suspended: isSuspended }) => isSuspended)).toEqual([true]);
    const resumed = await ask<OperatorAccount>('POST', `/accounts/${account}/resume`, {});
    expect(resumed.is_suspended).toBe(false);
    await eventually('an answer', async () => (await statusOfApiCall(key)) === 200);
  });

  test('is recorded when it changes something, and holds for the command line too', async () => {
    const { id } = await ask<OperatorAccount>('POST', '/accounts', draftOf('Noted'));
    for (const path of ['suspend', 'suspend', 'resume', 'resume'])
      await ask('POST', `/accounts/${id}/${path}`, {});
    const noted = await fixture.database.sql`
      select action from audit_log where account_id = ${id} order by id`;
    expect(noted.map(({ action }: { action: string }) => action)).toEqual([
      'create_account',
      'suspend_account',
      'resume_account',
    ]);
    const { environment } = fixture;
    for (const [word, isSuspended] of [
      ['suspend', true],
      ['resume', false],
    ] as const) {
      const answer = await runCommand<object>(['account', word, id], environment);
      expect(answer).toEqual({ id, suspended: isSuspended });
      const { data } = await ask<OperatorAccounts>('GET', `/accounts?search=${id}`);
      expect(data[0]?.is_suspended).toBe(isSuspended);
    }
    const unknown = await tollgate(['account', 'suspend', nobody], environment);
    expect([unknown.exitCode, unknown.stderr]).toEqual([1, expect.stringContaining('There is no account')]);
  });
});

describe('users', () => {
  test('are listed with their accounts, sessions and last sign-in', async () => {
    const { data } = await ask<OperatorUsers>('GET', '/users?search=owner@');
    expect(data).toEqual([
      {
        id: expect.any(String),
        email: 'owner@example.com',
        name: 'owner',
        email_verified: true,
        is_operator: false,
        accounts: [{ id: fixture.account, name: 'Test', role: 'owner' }],
        sessions: 1,
        last_signed_in_at: expect.stringMatching(/Z$/),
        created_at: expect.stringMatching(/Z$/),
      },
    ]);
    const first = await ask<OperatorUsers>('GET', '/users?limit=2');
    const second = await ask<OperatorUsers>('GET', `/users?limit=2&cursor=${first.next_cursor}`);
    const ids = [...first.data, ...second.data].map(({ id }) => id);
    expect(ids).toEqual(ids.toSorted().toReversed());
    expect(new Set(ids).size).toBe(4);
  });

  test('are invited by a link that works once', async () => {
    const body = { email: 'Invited@Example.com', account_id: fixture.account, role: 'member' };
    const { user, reset_url: resetUrl, expires_at: expiresAt } = await ask<NewUser>('POST', '/users', body);
    expect(user).toMatchObject({
      email: 'invited@example.com',
      is_operator: false,
      accounts: [{ id: fixture.account, name: 'Test', role: 'member' }],
      sessions: 0,
      last_signed_in_at: null,
    });
    expect(Date.parse(expiresAt)).toBeGreaterThan(Date.now());
    const [origin, token = ''] = resetUrl.split('/reset-password#token=');
    expect(origin).toBe(fixture.gateway.origin);
    fixture.canaries.add(token);
    const choose = (newPassword: string) =>
      outcomeFor(fixture.people['signed out'], 'POST', '/api/auth/reset-password', { token, newPassword });
    expect(await choose('a password of mine')).toBe(null);
    expect(await choose('another password')).toBe('invalid_reset_token');
    const invited = visitor(
      fixture.gateway.origin,
      await signIn(fixture.gateway.origin, 'invited', 'a password of mine'),
    );
    expect(await outcomeFor(invited, 'GET', '/api/console/me')).toBe(null);
    expect(await outcomeFor(invited, 'GET', `${root}/users`)).toBe('permission_denied');
    const { data } = await ask<OperatorUsers>('GET', '/users?search=invited@example.com');
    expect(data[0]).toMatchObject({ sessions: 1, last_signed_in_at: expect.any(String) });
  });

  test.each<[body: unknown, status: number, code: string, param: string | null]>([
    [{ email: 'owner@example.com', is_operator: true }, 400, 'email_taken', 'email'],
    [{ email: 'OWNER@example.com', is_operator: true }, 400, 'email_taken', 'email'],
    [{ email: 'nobody@example.com' }, 400, 'missing_required_parameter', 'account_id'],
    [{ email: 'nobody@example.com', account_id: null }, 400, 'missing_required_parameter', 'account_id'],
    [{ email: 'nobody@example.com', account_id: nobody }, 404, 'account_not_found', 'account_id'],
    [{ email: 'nobody@example.com', account_id: 'x' }, 400, 'invalid_parameter', 'account_id'],
    [{ email: 'nobody@example.com', is_operator: 'yes' }, 400, 'invalid_parameter', 'is_operator'],
    [{ email: 'nobody', is_operator: true }, 400, 'invalid_parameter', 'email'],
    [{ email: 'a b@example.com', is_operator: true }, 400, 'invalid_parameter', 'email'],
    [{ email: 'a\0@example.com', is_operator: true }, 400, 'invalid_parameter', 'email'],
    [{ email: `${'x'.repeat(250)}@example.com`, is_operator: true }, 400, 'invalid_parameter', 'email'],
    [{ email: 'n@example.com', is_operator: true, role: 'admin' }, 400, 'invalid_parameter', 'role'],
    [{ email: 'n@example.com', is_operator: true, password: 'x' }, 400, 'unsupported_parameter', 'password'],
  ])('a draft %j is refused', async (body, status, code, param) => {
    expect(await refusalOf('POST', '/users', body)).toEqual([status, code, param]);
    const [{ count }] = await fixture.database.sql<[{ count: bigint }]>`
      select count(*) from users where email like 'nobody%' or email like 'n@%'`;
    expect(count).toBe(0n);
  });

  test('get a link to choose a new password', async () => {
    const link = await ask<ResetLink>('POST', `/users/${await userIdOf('member')}/reset-link`, {});
    expect(link.reset_url).toStartWith(`${fixture.gateway.origin}/reset-password#token=`);
    fixture.canaries.add(link.reset_url.split('=')[1] ?? '');
  });

  test('are signed out everywhere', async () => {
    const { origin } = fixture.gateway;
    const browsers = [await signIn(origin, 'stranger'), await signIn(origin, 'stranger')];
    const answer = await ask<object>('POST', `/users/${await userIdOf('stranger')}/sign-out`, {});
    expect(answer).toEqual({ sessions_ended: 3 });
    for (const cookie of [...browsers, fixture.people.stranger.cookie])
      expect(await outcomeFor(visitor(origin, cookie), 'GET', '/api/console/me')).toBe('session_required');
  });

  test('are added to an account, or get another role there', async () => {
    const member = await userIdOf('member');
    const add = (role: string) =>
      ask<OperatorUser>('POST', `/users/${member}/memberships`, {
        account_id: fixture.strangersAccount,
        role,
      });
    const roleIn = ({ accounts }: OperatorUser) =>
      accounts.find(({ id }) => id === fixture.strangersAccount)?.role;
    expect(roleIn(await add('member'))).toBe('member');
    expect(roleIn(await add('owner'))).toBe('owner');
    await fixture.database.sql`
      delete from memberships where user_id = ${member} and account_id = ${fixture.strangersAccount}`;
    const path = `/users/${member}/memberships`;
    const lastOwner = { account_id: fixture.strangersAccount, role: 'member' };
    expect(await refusalOf('POST', `/users/${await userIdOf('stranger')}/memberships`, lastOwner)).toEqual([
      400,
      'last_owner',
      null,
    ]);
    expect(await refusalOf('POST', path, { account_id: nobody, role: 'owner' })).toEqual([
      404,
      'account_not_found',
      'account_id',
    ]);
    expect(await refusalOf('POST', path, { account_id: fixture.account })).toEqual([
      400,
      'missing_required_parameter',
      'role',
    ]);
  });

  test.each([nobody, 'x', '__proto__', "';--", '%00'])('with the ID %s there are none', async (id) => {
    const membership = { account_id: fixture.account, role: 'member' };
    const missing = [404, 'user_not_found', null];
    expect(await refusalOf('PATCH', `/users/${id}`, { is_operator: true })).toEqual(missing);
    expect(await refusalOf('POST', `/users/${id}/memberships`, membership)).toEqual(missing);
    expect(await refusalOf('POST', `/users/${id}/reset-link`, {})).toEqual(missing);
    expect(await refusalOf('POST', `/users/${id}/sign-out`, {})).toEqual(missing);
  });
});

describe('operators', () => {
  test('are made and unmade by others, never by themselves', async () => {
    const self = await userIdOf('operator');
    const member = await userIdOf('member');
    expect(await refusalOf('PATCH', `/users/${self}`, { is_operator: false })).toEqual([
      403,
      'permission_denied',
      null,
    ]);
    expect(await refusalOf('PATCH', `/users/${member}`, { is_operator: null })).toEqual([
      400,
      'invalid_parameter',
      'is_operator',
    ]);
    const made = await ask<OperatorUser>('PATCH', `/users/${member}`, { is_operator: true });
    expect(made.is_operator).toBe(true);
    expect(await outcomeFor(fixture.people.member, 'GET', `${root}/users`)).toBe(null);
    await ask('PATCH', `/users/${member}`, { is_operator: false });
    expect(await outcomeFor(fixture.people.member, 'GET', `${root}/users`)).toBe('permission_denied');
  });

  test('who dismiss each other at the same moment leave one', async () => {
    const { sql } = fixture.database;
    const [self, member] = [await userIdOf('operator'), await userIdOf('member')];
    for (let round = 0; round < 10; round += 1) {
      await sql`update users set is_operator = true where id in (${self}, ${member})`;
      const outcomes = await Promise.all([
        outcomeFor(operator, 'PATCH', `${root}/users/${member}`, { is_operator: false }),
        outcomeFor(fixture.people.member, 'PATCH', `${root}/users/${self}`, { is_operator: false }),
      ]);
      expect(outcomes.toSorted()).toEqual([null, 'permission_denied']);
      const left = await sql`select id from users where is_operator and id in (${self}, ${member})`;
      expect(left).toHaveLength(1);
    }
    await sql`update users set is_operator = (id = ${self}) where id in (${self}, ${member})`;
  });

  test('are named with what they did', async () => {
    const { id, name } = await ask<OperatorAccount>('POST', '/accounts', draftOf('Watched'));
    await ask('POST', `/accounts/${id}/credit`, newCredit('7'));
    await ask('POST', `/users/${await userIdOf('owner')}/reset-link`, {});
    const { data } = await ask<AuditLog>('GET', '/audit-log?limit=3');
    const owner = { type: 'user', id: await userIdOf('owner'), name: 'owner@example.com' };
    const common = {
      id: expect.any(String),
      door: 'dashboard',
      actor: { type: 'user', id: await userIdOf('operator'), name: 'operator@example.com' },
      address: '127.0.0.1',
      account: { id, name },
      object: { type: 'account', id, name },
      before: null,
      at: expect.stringMatching(/Z$/),
    };
    expect(data as unknown[]).toEqual([
      { ...common, action: 'make_reset_link', account: null, object: owner, after: null },
      {
        ...common,
        action: 'credit_account',
        after: { amount: '7.000000000000', memo: null, reference: expect.any(String), entry_number: 1 },
      },
      { ...common, action: 'create_account', after: { name, external_id: null, metadata: {} } },
    ]);
    const { sql } = fixture.database;
    for (const change of [sql`delete from audit_log`, sql`update audit_log set action = 'x'`]) {
      const refusal = await change.then(
        () => 'changed',
        (error: Error) => error.message,
      );
      expect(refusal).toContain('append-only');
    }
  });
});
