/** Money that is moved from a shell: `account correct`, `account undo`, `account entries` and `generation refund`. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { hostname } from 'node:os';
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

type Booked = {
  account: string;
  entry: number | null;
  amount: string;
  balance: string;
  already_booked: boolean;
  dry_run: boolean;
};

const run = (...words: string[]) => runCommand<Booked>(words, environment);
const textOf = async (...words: string[]) => (await outcomeOf(words, environment)).text;
const failureOf = (...words: string[]) =>
  run(...words).then(
    () => 'nothing',
    (error: Error) => error.message,
  );

async function newAccount(credit: string): Promise<string> {
  const words = ['account', 'create', '--name', 'Acme', '--credit', credit];
  return (await runCommand<{ id: string }>(words, environment)).id;
}

test('a credit to the wrong account is undone with one command', async () => {
  const account = await newAccount('1');
  await run('account', 'credit', account, '50', '--reference', 'Invoice 7');
  const undo = ['account', 'undo', account, '--reference', 'Invoice 7'];
  expect(await textOf(...undo, '--dry-run')).toBe(
    `Correction of -50 USD: account ${account} would have 1 USD. Nothing was changed.`,
  );
  expect(await run(...undo)).toMatchObject({
    entry: 3,
    amount: '-50.000000000000',
    balance: '1.000000000000',
  });
  expect(await run(...undo)).toMatchObject({ entry: 3, already_booked: true });
  expect(await run('account', 'undo', account, '2')).toMatchObject({ already_booked: true });
  const printed = await tollgate(['account', 'entries', account, '--limit', '2'], environment);
  expect(printed.stdout.split('\n')[1]).toContain(`entry 2: Undoes entry 2  shell:`);
  expect(printed.stdout).toContain('Invoice 7');
  // Once the undoing is undone, the credit can be undone again.
  expect(await run('account', 'undo', account, '3')).toMatchObject({ entry: 4, amount: '50.000000000000' });
  expect(await run(...undo, '--dry-run')).toMatchObject({ already_booked: false, balance: '1.000000000000' });
  const again = { entry: 5, amount: '-50.000000000000', balance: '1.000000000000' };
  expect(await run(...undo)).toMatchObject({ ...again, already_booked: false });
  expect(await run(...undo)).toMatchObject({ ...again, already_booked: true });
});

test('what of it was spent cannot be taken back', async () => {
  const account = await newAccount('1');
  await run('account', 'credit', account, '50');
  await run('account', 'correct', account, '--take', '31', '--reason', 'Spent', '--reference', 'S');
  expect(await failureOf('account', 'undo', account, '2')).toBe(
    'The balance must cover what is held for requests in progress. The most that can be taken now is 20 USD.',
  );
  const rest = ['account', 'correct', account, '--take', '20', '--entry', '2', '--reason', 'Back'];
  await run(...rest, '--reference', 'B');
  await run('account', 'correct', account, '--add', '30', '--reason', 'Paid', '--reference', 'P');
  // What is left of it.
  expect(await run('account', 'undo', account, '2')).toMatchObject({ amount: '-30.000000000000' });
});

describe('a refund', () => {
  test('gives back a request, all of it or a part, and says who did', async () => {
    const account = await newAccount('5');
    const key = await runCommand<{ id: string }>(['key', 'create', '--account', account], environment);
    const request = await settleAs(database, { accountId: account, keyId: key.id });
    const words = ['--reason', 'Cut short', '--reference'];
    const part = ['generation', 'refund', request, '0.1', ...words, 'T1'];
    expect(await run(...part)).toMatchObject({
      account,
      amount: '0.100000000000',
      balance: '4.850000000000',
    });
    expect(await run(...part)).toMatchObject({ already_booked: true, balance: '4.850000000000' });
    expect(await failureOf('generation', 'refund', request, '0.2', ...words, 'T1')).toContain('of 0.1 USD');
    expect(await failureOf('generation', 'refund', request, '0.2', ...words, 'T2')).toEndWith('0.15 USD.');
    expect(await run('generation', 'refund', request, ...words, 'T3')).toMatchObject({
      balance: '5.000000000000',
    });
    const entries = await runCommand<object[]>(['account', 'entries', account], environment);
    expect(entries.slice(0, 2)).toMatchObject([
      { kind: 'refund', amount: '0.150000000000', request_id: request, memo: 'Cut short', reference: 'T3' },
      { kind: 'refund', amount: '0.100000000000', actor: expect.stringContaining(`@${hostname()}`) },
    ]);
    const [action] = await database.sql`
      select action, door, after ->> 'amount' as amount from audit_log where account_id = ${account} order by id desc limit 1`;
    expect(action).toEqual({ action: 'refund_generation', door: 'cli', amount: '0.150000000000' });
  });

  test('of nothing is refused', async () => {
    const words = ['--reason', 'None', '--reference', 'N'];
    expect(await failureOf('generation', 'refund', `req_${'0'.repeat(32)}`, ...words)).toContain(
      'no request',
    );
  });
});

test.each([
  [['account', 'correct', 'ID', '--reason', 'x', '--reference', 'x'], 'either --add or --take'],
  [
    ['account', 'correct', 'ID', '--add', '1', '--take', '1', '--reason', 'x', '--reference', 'x'],
    'either --add',
  ],
  [['account', 'correct', 'ID', '--take', '0', '--reason', 'x', '--reference', 'x'], 'more than zero'],
  [['account', 'correct', 'ID', '--take', '1', '--reference', 'x'], '--reason is required'],
  [['account', 'correct', 'ID', '--take', '1', '--reason', 'x'], '--reference is required'],
  [
    ['account', 'correct', 'ID', '--add', '1', '--reason', 'x', '--reference', 'x', '--entry', 'x'],
    'the number of an entry',
  ],
  [['account', 'undo', 'ID'], 'Which entry?'],
  [['account', 'undo', 'ID', '1', '--reference', 'x'], 'Which entry?'],
  [['account', 'undo', 'ID', '--reference', 'x'], 'no entry with reference x'],
  [['account', 'undo', 'ID', '9'], 'no such entry'],
  [['generation', 'refund', 'x', '--reason', 'x', '--reference', 'x'], 'a request ID such as'],
])('%j says what is wrong', async (words, message) => {
  const account = await newAccount('1');
  expect(await failureOf(...words.map((word) => (word === 'ID' ? account : word)))).toContain(message);
});
