/** The console's statement: every movement of a balance, with the balance after it. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { LedgerEntry, Statement } from '../../src/console/contract.ts';
import { uuidFromRequestId } from '../../src/lib/ids.ts';
import { moneyFromDatabase } from '../../src/lib/money.ts';
import type { ErrorBody } from '../support/chat-fixture.ts';
import { type ConsoleFixture, openConsoleFixture, outcomeFor } from '../support/console-fixture.ts';
import { tollgate } from '../support/gateway.ts';
import { refund, settleAs } from '../support/rare-settlements.ts';

let fixture: ConsoleFixture;
let path: string;
/** The request IDs of what was charged, the oldest first. */
let charged: string[];

beforeAll(async () => {
  fixture = await openConsoleFixture();
  path = `/api/console/accounts/${fixture.account}/ledger`;
  charged = [];
  for (const content of ['[[usage 10 5]] hi', '[[status 503]]', '[[zero-usage]] hi', '[[usage 1 0]] hi']) {
    const response = await fetch(`${fixture.gateway.origin}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${fixture.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'full', messages: [{ role: 'user', content }] }),
    });
    if (response.status === 200) charged.push(response.headers.get('x-service-request-id') ?? '');
  }
  const memo = '<b>Bank transfer</b>, "12"';
  await tollgate(['account', 'credit', fixture.account, '7.5', '--memo', memo], fixture.environment);
}, 60_000);

afterAll(() => fixture.close());

const ask = (query = '') => fixture.people.member.send('GET', path + query);

async function statementOf(query = ''): Promise<Statement> {
  const response = await ask(query);
  expect(response.status).toBe(200);
  return (await response.json()) as Statement;
}

async function errorOf(response: Response): Promise<[number, string, string | undefined]> {
  const { error } = (await response.json()) as ErrorBody;
  return [response.status, error.code, error.param];
}

describe('who may', () => {
  test('nobody sees the entries of another account', async () => {
    const theirs = `/api/console/accounts/${fixture.strangersAccount}/ledger`;
    expect(await outcomeFor(fixture.people.owner, 'GET', theirs)).toBe('account_not_found');
    const own = (await (await fixture.people.stranger.send('GET', theirs)).json()) as Statement;
    expect(own.data.map(({ kind }) => kind)).toEqual(['credit']);
  });

  test.each([
    ['a number', '1'],
    ['SQL', encodeURIComponent("' or 1=1 --")],
    ['a name of the language', 'constructor'],
    ['NUL', '%00'],
    ['a long text', 'x'.repeat(5_000)],
  ])('%s is no account', async (_, word) => {
    const elsewhere = `/api/console/accounts/${word}/ledger`;
    expect(await outcomeFor(fixture.people.owner, 'GET', elsewhere)).toBe('account_not_found');
  });
});

describe('the statement', () => {
  const charge = (place: number, amount: string): Partial<LedgerEntry> => ({
    kind: 'charge',
    amount,
    memo: null,
    generation: { id: charged[place] ?? '', model: 'full' },
  });

  test('has credits and charges, the newest first, each with the balance after it', async () => {
    const { data, balance, held, has_more: hasMore, next_cursor: next } = await statementOf();
    expect([balance, held, hasMore, next]).toEqual(['107.499979000000', '0.000000000000', false, null]);
    expect(data.map(({ number }) => number)).toEqual([5, 4, 3, 2, 1]);
    expect(data).toMatchObject([
      { kind: 'credit', amount: '7.500000000000', memo: '<b>Bank transfer</b>, "12"', generation: null },
      charge(2, '-0.000001000000'),
      charge(1, '0.000000000000'),
      charge(0, '-0.000020000000'),
      { kind: 'credit', amount: '100.000000000000', memo: 'Opening credit', generation: null },
    ]);
    let running = 0n;
    for (const entry of data.toReversed()) {
      running += moneyFromDatabase(entry.amount);
      expect(moneyFromDatabase(entry.balance_after)).toBe(running);
      expect(new Date(entry.created_at).toISOString()).toBe(entry.created_at);
    }
  });

  test.each([1, 2, 3, 5, 100])('pages of %d are the whole', async (limit) => {
    const whole = (await statementOf()).data;
    const seen: LedgerEntry[] = [];
    let cursor: string | null = null;
    do {
      const next: string = cursor === null ? '' : `&cursor=${cursor}`;
      const page = await statementOf(`?limit=${limit}${next}`);
      expect(page.balance).toBe('107.499979000000');
      expect(page.has_more).toBe(page.next_cursor !== null);
      seen.push(...page.data);
      cursor = page.next_cursor;
    } while (cursor !== null);
    expect(seen).toEqual(whole);
  });

  test('a charge whose Generation is no longer kept stays, without its model', async () => {
    const id = uuidFromRequestId(charged[0] ?? '') ?? '';
    await fixture.database.sql`delete from generations where id = ${id}`;
    const { data } = await statementOf('?cursor=3');
    expect(data[0]).toMatchObject({ number: 2, generation: { id: charged[0], model: null } });
  });

  test('a refund names the request whose charge it returns, and an estimated charge is marked', async () => {
    const { sql } = fixture.database;
    const [key] = await sql`select id from api_keys where account_id = ${fixture.strangersAccount}`;
    const owner = { accountId: fixture.strangersAccount, keyId: key.id as string };
    const id = await settleAs(fixture.database, owner, { isEstimated: true });
    await refund(fixture.database, owner, uuidFromRequestId(id) ?? '');
    const theirs = await fixture.people.stranger.send(
      'GET',
      `/api/console/accounts/${fixture.strangersAccount}/ledger`,
    );
    const generation = { id, model: 'full' };
    expect((await theirs.json()) as Statement).toMatchObject({
      balance: '100.000000000000',
      data: [
        { kind: 'refund', amount: '0.250000000000', is_estimated: false, generation },
        { kind: 'charge', amount: '-0.250000000000', is_estimated: true, generation },
        { kind: 'credit', amount: '100.000000000000', is_estimated: false },
      ],
    });
  });

  test('before the first entry there is nothing', async () => {
    expect(await statementOf('?cursor=1')).toMatchObject({ data: [], has_more: false, next_cursor: null });
    expect((await statementOf('?cursor=999999999999999999')).data).toHaveLength(5);
  });

  test.each([
    ['?limit=0', 'invalid_parameter', 'limit'],
    ['?limit=101', 'invalid_parameter', 'limit'],
    ['?limit=-1', 'invalid_parameter', 'limit'],
    ['?limit=', 'invalid_parameter', 'limit'],
    ['?cursor=', 'invalid_cursor', 'cursor'],
    ['?cursor=0', 'invalid_cursor', 'cursor'],
    ['?cursor=-1', 'invalid_cursor', 'cursor'],
    ['?cursor=1.5', 'invalid_cursor', 'cursor'],
    ['?cursor=1e3', 'invalid_cursor', 'cursor'],
    ['?cursor=9223372036854775808', 'invalid_cursor', 'cursor'],
    ['?cursor=99999999999999999999999999', 'invalid_cursor', 'cursor'],
    ['?cursor=%00', 'invalid_cursor', 'cursor'],
    ["?cursor='%20or%201%3D1", 'invalid_cursor', 'cursor'],
    ['?toString=1', 'unsupported_parameter', 'toString'],
    ['?cursor=2&cursor=3', 'invalid_parameter', 'cursor'],
  ])('%s: %s', async (query, code, param) => {
    expect(await errorOf(await ask(query))).toEqual([400, code, param]);
  });

  test('500 balance_lookup_failed when it cannot be read', async () => {
    const { sql } = fixture.database;
    await sql`alter table ledger_entries rename to ledger_entries_away`;
    try {
      expect((await errorOf(await ask())).slice(0, 2)).toEqual([500, 'balance_lookup_failed']);
    } finally {
      await sql`alter table ledger_entries_away rename to ledger_entries`;
    }
  });
});
