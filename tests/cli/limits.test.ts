/** Limits from a shell: `limit set`, `limit list` and `limit remove`. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { newId } from '../../src/lib/ids.ts';
import { createDatabase, type TestDatabase } from '../support/cluster.ts';
import { outcomeOf, runCommand } from '../support/commands.ts';

let database: TestDatabase;
let environment: Record<string, string>;
let account: string;
let key: string;

beforeAll(async () => {
  database = await createDatabase();
  environment = { DATABASE_URL: database.url };
  account = (await runCommand<{ id: string }>(['account', 'create', '--name', 'Acme'], environment)).id;
  key = (await runCommand<{ id: string }>(['key', 'create', '--account', account], environment)).id;
});

afterAll(() => database.close());

type Limit = { id: string; scope: string; kind: string; amount: string; increase: unknown; set_by: string };

const set = (...words: string[]) =>
  runCommand<Limit>(['limit', 'set', ...words, '--account', account], environment);
const list = (...words: string[]) =>
  runCommand<Limit[]>(['limit', 'list', '--account', account, ...words], environment);
const failureOf = (running: Promise<unknown>) =>
  running.then(
    () => 'nothing',
    (error: Error) => error.message,
  );

test('a limit is set, changed, increased for a while, listed and removed', async () => {
  const first = await set('spend-per-day', '10');
  expect(first).toMatchObject({
    scope: 'account',
    kind: 'spend_per_day',
    amount: '10',
    increase: null,
    set_by: 'operator',
  });
  const until = '2099-01-31T00:00:00.000Z';
  expect(await set('spend_per_day', '12', '--increase', '5', '--until', '2099-01-31')).toMatchObject({
    id: first.id,
    amount: '12',
    increase: { amount: '5', until },
  });
  // What is left out stays.
  expect(await set('spend-per-day', '13')).toMatchObject({ amount: '13', increase: { amount: '5', until } });
  expect(await set('spend-per-day', '13', '--increase', 'none')).toMatchObject({ increase: null });
  const ofKey = await set('tokens-per-minute', '5000', '--key', key);
  const ofEach = await set('concurrent-requests', '2', '--each-end-user');
  const ofAnn = await set('concurrent-requests', '4', '--end-user', 'ann');
  expect((await list()).map(({ id }) => id)).toEqual([ofAnn.id, ofEach.id, ofKey.id, first.id]);
  expect((await list('--key', key)).map(({ id }) => id)).toEqual([ofKey.id]);
  expect((await list('--end-user', 'ann')).map(({ id }) => id)).toEqual([ofAnn.id]);
  const { text } = await outcomeOf(['limit', 'list', '--account', account], environment);
  expect(text.split('\n')[0]).toMatch(/^ID +FOR +KIND +AMOUNT +INCREASE +USED +HELD +RESETS +SET BY$/);
  expect(text).toMatch(/ end user ann +concurrent-requests +4 +- +0 +0 +- +operator/);
  expect(await runCommand<unknown>(['limit', 'remove', first.id], environment)).toEqual({
    id: first.id,
    removed: true,
  });
  expect(await list()).toHaveLength(3);
  expect(await failureOf(runCommand(['limit', 'remove', first.id], environment))).toBe(
    'There is no such limit.',
  );
});

test('an owner’s limit is another one, which `limit set` leaves alone', async () => {
  const other = newId();
  expect(
    await failureOf(runCommand(['limit', 'set', 'spend-per-day', '1', '--account', other], environment)),
  ).toContain(`There is no account ${other}`);
  await set('spend-per-week', '20');
  const { sql } = database;
  await sql`update limits set is_operators = false where account_id = ${account} and kind = 'spend_per_week'`;
  await set('spend-per-week', '30');
  const perWeek = (await list()).filter(({ kind }) => kind === 'spend_per_week');
  expect(perWeek.map(({ amount, set_by }) => [amount, set_by])).toEqual([
    ['30', 'operator'],
    ['20', 'account'],
  ]);
});

test('what is wrong is named', async () => {
  for (const [words, message] of [
    [['spend-per-year', '1'], 'KIND must be one of spend-per-day, '],
    [['spend-per-day', '1,5'], 'AMOUNT must be USD as a decimal text'],
    [['tokens-per-minute', '1.5'], 'AMOUNT must be a whole number from 1 to '],
    [['spend-per-day', '1', '--key', key, '--each-end-user'], 'Give one of --key, --end-user'],
    [['spend-per-day', '1', '--end-user', ' '], '--end-user must be an end user of 1 to 256'],
    [['spend-per-day', '1', '--increase', '5'], 'An increase needs both --increase AMOUNT and --until'],
    [['spend-per-day', '1', '--increase', '0', '--until', '2099-01-01'], '--increase must be USD'],
    [['spend-per-day', '1', '--increase', '5', '--until', '2020-01-01'], '--until must be in the future'],
    [['spend-per-month', '1', '--key', key], 'A key has its own setting for this: monthly_limit.'],
    [['spend-per-day', '1', '--key', newId()], 'This account has no such key.'],
  ] as const)
    expect(await failureOf(set(...words))).toContain(message);
});
