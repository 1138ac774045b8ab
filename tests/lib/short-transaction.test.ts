/** Transactions that the database ends by itself when whoever began them stands still. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { SQL } from 'bun';
import { shortSnapshot, shortTransaction } from '../../src/lib/short-transaction.ts';
import { createDatabase, type TestDatabase } from '../support/cluster.ts';

let database: TestDatabase;
/** One connection, to see what is left of a transaction on it. */
let client: SQL;

beforeAll(async () => {
  database = await createDatabase();
  client = new SQL(database.url, { max: 1 });
});

afterAll(async () => {
  await client.close();
  await database.close();
});

const settingsOf = async (sql: SQL) => {
  const [row] = await sql<[{ idle: string; isolation: string }]>`
    select current_setting('idle_in_transaction_session_timeout') as idle,
           current_setting('transaction_isolation') as isolation`;
  return row;
};

test('are bounded, and only they', async () => {
  const usual = await settingsOf(client);
  expect(usual).toEqual({ idle: '0', isolation: 'read committed' });
  expect(await shortTransaction(client, settingsOf)).toEqual({ ...usual, idle: '10s' });
  expect(await shortSnapshot(client, settingsOf)).toEqual({ idle: '10s', isolation: 'repeatable read' });
  expect(await settingsOf(client)).toEqual(usual);
});
