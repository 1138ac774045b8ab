/** Grants and allowances from a shell: `account credit` with terms, `grant …` and `allowance …`. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { newId } from '../../src/lib/ids.ts';
import { createDatabase, type TestDatabase } from '../support/cluster.ts';
import { outcomeOf, runCommand } from '../support/commands.ts';
import { tollgate } from '../support/gateway.ts';
import { settleAs } from '../support/rare-settlements.ts';

let database: TestDatabase;
let environment: Record<string, string>;

beforeAll(async () => {
  database = await createDatabase();
  environment = { DATABASE_URL: database.url };
});

afterAll(async () => {
  expect((await tollgate(['ledger', 'audit', '--full'], environment)).exitCode).toBe(0);
  await database.close();
});

type Grant = {
  id: string;
  entry_number: number | null;
  category: string;
  remaining: string;
  priority: number;
  expires_at: string | null;
  state: string;
};
type Entry = { kind: string; memo: string | null; drawn_from: { grant_id: string; amount: string }[] | null };
type Allowance = {
  id: string;
  amount: string;
  every: string;
  next_at: string | null;
  ended_at: string | null;
};

const run = <Answer = unknown>(...words: string[]) => runCommand<Answer>(words, environment);
const failureOf = (...words: string[]) =>
  run(...words).then(
    () => 'nothing',
    (error: Error) => error.message,
  );

async function newAccount(credit = '5'): Promise<string> {
  return (await run<{ id: string }>('account', 'create', '--name', 'Acme', '--credit', credit)).id;
}
const grantsOf = (account: string, ...words: string[]) =>
  run<Grant[]>('grant', 'list', '--account', account, ...words);

const dayMs = 24 * 60 * 60 * 1000;

test('a credit with terms is a grant, which charges are drawn from, and which can be voided once', async () => {
  const account = await newAccount();
  expect((await outcomeOf(['grant', 'list', '--account', account], environment)).text).toStartWith(
    'No grants',
  );
  const give = ['account', 'credit', account, '2', '--category', 'promotional', '--expires', '30d'];
  await run(...give, '--reference', 'Launch');
  // Repeated later, `30d` is another time, and still the same credit.
  expect(await run(...give, '--reference', 'Launch')).toMatchObject({ already_credited: true });
  await run('account', 'credit', account, '1', '--priority', '10');
  const [first, second, before] = await grantsOf(account);
  expect(first).toMatchObject({ category: 'paid', priority: 10, entry_number: 3, expires_at: null });
  expect(second).toMatchObject({ category: 'promotional', entry_number: 2, priority: 50, state: 'active' });
  expect((Date.parse(second?.expires_at ?? '') - Date.now()) / dayMs).toBeWithin(29.9, 30.01);
  expect(before).toMatchObject({ category: 'paid', entry_number: null });

  const key = await run<{ id: string }>('key', 'create', '--account', account);
  await settleAs(database, { accountId: account, keyId: key.id });
  const [charge] = await run<Entry[]>('account', 'entries', account);
  expect(charge?.drawn_from).toMatchObject([{ grant_id: first?.id, amount: '0.250000000000' }]);

  const end = ['grant', 'void', second?.id ?? '', '--reason', 'Campaign cancelled'];
  expect(await run(...end)).toMatchObject({ account, taken: '2.000000000000', already_voided: false });
  expect(await run(...end)).toMatchObject({ taken: null, already_voided: true });
  const [entry] = await run<Entry[]>('account', 'entries', account);
  expect(entry).toMatchObject({ kind: 'void', memo: 'Campaign cancelled' });
  expect(await grantsOf(account)).toHaveLength(2);
  const all = await grantsOf(account, '--all');
  expect(all.map(({ entry_number: number, state }) => [number, state])).toEqual([
    [3, 'active'],
    [2, 'voided'],
    [null, 'active'],
  ]);
  expect(await failureOf('grant', 'void', before?.id ?? '', '--reason', 'x')).toContain(
    'correct the balance',
  );
  expect(await failureOf('grant', 'void', newId(), '--reason', 'x')).toStartWith('There is no grant');
  expect((await outcomeOf(['grant', 'list', '--account', account], environment)).text).toContain(
    'before the first grant',
  );
});

test('an allowance is given at once, listed and ended', async () => {
  const account = await newAccount('0');
  const create = ['allowance', 'create', '--account', account, '--amount', '5', '--every', 'week'];
  const created = await run<Allowance>(...create, '--note', 'Plan gold', '--priority', '0');
  expect(created).toMatchObject({ amount: '5.000000000000', every: 'week', priority: 0, ended_at: null });
  expect(new Date(created.next_at ?? '').getUTCDay()).toBe(1);
  expect(await grantsOf(account)).toMatchObject([{ category: 'allowance', expires_at: created.next_at }]);
  const list = ['allowance', 'list', '--account', account];
  expect(await run<Allowance[]>(...list)).toEqual([created]);
  expect(await run('allowance', 'end', created.id)).toMatchObject({ id: created.id, next_at: null });
  expect(await run<Allowance[]>(...list)).toMatchObject([{ ended_at: expect.any(String) }]);
  expect(await failureOf('allowance', 'end', newId())).toStartWith('There is no allowance');
  const doors = await database.sql`
    select action, door from audit_log where account_id = ${account} and action like '%allowance' order by id`;
  expect([...doors]).toEqual([
    { action: 'create_allowance', door: 'cli' },
    { action: 'end_allowance', door: 'cli' },
  ]);
});

test.each([
  [
    ['account', 'credit', 'ID', '1', '--category', 'free'],
    '--category must be one of paid, promotional, allowance',
  ],
  [['account', 'credit', 'ID', '1', '--priority', '101'], 'from 0 to 100'],
  [['account', 'credit', 'ID', '1', '--expires', 'soon'], 'such as 2027-01-31'],
  [['account', 'credit', 'ID', '1', '--expires', '2020-01-01'], 'in the future'],
  [['account', 'credit', 'ID', '1', '--expires', '0d'], 'in the future'],
  [['allowance', 'create', '--account', 'ID', '--amount', '0', '--every', 'day'], 'more than zero'],
  [['allowance', 'create', '--account', 'ID', '--amount', '1', '--every', 'year'], 'one of day, week, month'],
  [['code', 'create', '--amount', '1', '--grant-days', '0'], 'from 1 to 3650'],
  [['code', 'create', '--amount', '1', '--expires', '0d'], 'in the future'],
])('%j is refused', async (words, expected) => {
  const account = newId();
  expect(await failureOf(...words.map((word) => (word === 'ID' ? account : word)))).toContain(expected);
});
