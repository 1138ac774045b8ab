/** Which table a statement failed on, as PostgreSQL and its driver really report it. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { SQL } from 'bun';
import { isAboutSpend, isIntegrityError, summarizeError, tableOf } from '../../src/ledger/database-error.ts';
import { openLedger } from '../../src/ledger/ledger.ts';
import { openSpool } from '../../src/ledger/spool.ts';
import { newId } from '../../src/lib/ids.ts';
import { createLog } from '../../src/lib/log.ts';
import { createDatabase, type TestDatabase } from '../support/cluster.ts';
import { temporaryFolder } from '../support/gateway.ts';

let database: TestDatabase;

beforeAll(async () => {
  database = await createDatabase();
});

afterAll(() => database.close());

async function errorOf(run: () => Promise<unknown>): Promise<unknown> {
  try {
    await run();
  } catch (error) {
    return error;
  }
  throw new Error('Nothing failed.');
}

describe('a table that is gone', () => {
  test.each([
    ['accounts', false],
    ['api_key_meters', true],
  ])('%s is named by the error that the ledger throws', async (table, isSpend) => {
    const ledger = openLedger(
      () => new SQL(database.url, { max: 1, bigint: true }),
      openSpool(temporaryFolder(), process.pid, newId()),
      createLog('error', () => undefined),
    );
    const count = () =>
      ledger.count({ kind: 'count', generation: { id: newId(), accountId: newId(), keyId: newId() } });
    try {
      // Once with everything in place, so that the connection has its plans before the table goes.
      await count();
      await database.sql.unsafe(`alter table ${table} rename to ${table}_away`);
      const errors = [await errorOf(count), await errorOf(count)];
      expect(errors.map(tableOf)).toEqual([table, table]);
      expect(errors.map(isAboutSpend)).toEqual([isSpend, isSpend]);
      expect(errors.map(isIntegrityError)).toEqual([false, false]);
    } finally {
      await database.sql.unsafe(`alter table if exists ${table}_away rename to ${table}`);
      await ledger.close();
    }
  });
});

test('a violated constraint is an integrity error that names its table', async () => {
  const error = await errorOf(
    () => database.sql`insert into accounts (id, name, balance, held) values (${newId()}, 'Test', 1, 2)`,
  );
  expect(tableOf(error)).toBe('accounts');
  expect(isIntegrityError(error)).toBe(true);
  expect(summarizeError(error)).toEqual({ code: '23514', about: 'accounts_hold_covered' });
});

test('a message that mentions a table says nothing', async () => {
  const error = await errorOf(() => database.sql`select ${'api_key_meters'}::text::integer`);
  expect(summarizeError(error).code).toBe('22P02');
  expect(tableOf(error)).toBeNull();
  expect(isAboutSpend(error)).toBe(false);
  expect(isAboutSpend(new Error('relation "api_key_meters" does not exist'))).toBe(false);
});
