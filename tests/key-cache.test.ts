/** The cache of keys on a real database whose questions are counted and can be made slow. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test';
import { createAccount } from '../src/accounts/account-store.ts';
import { type KeyCache, openKeyCache } from '../src/keys/key-cache.ts';
import { hashKey } from '../src/keys/key-format.ts';
import { createKey, defaultRequestsPerMinute } from '../src/keys/key-store.ts';
import { createDatabase, type TestDatabase } from './support/cluster.ts';

let database: TestDatabase;
let cache: KeyCache;
let hashes: [Buffer, Buffer, Buffer];

beforeAll(async () => {
  database = await createDatabase();
  const { id: accountId } = await createAccount(database.sql, 'Acme', 0n);
  const createHash = async () => {
    const created = await createKey(database.sql, {
      accountId,
      name: 'Key',
      requestsPerMinute: defaultRequestsPerMinute,
      monthlyLimit: null,
      allowedModels: null,
      expiresAt: null,
    });
    return hashKey(created?.key ?? '');
  };
  hashes = [await createHash(), await createHash(), await createHash()];
  // A question sees the table as it was when it began, however long it takes.
  await database.sql.unsafe(`
    alter table api_keys rename to stored_keys;
    create table pace (seconds float8);
    insert into pace values (0);
    create sequence questions;
    create function take_time() returns boolean language plpgsql as
      $$ begin perform nextval('questions'), pg_sleep(seconds) from pace; return true; end $$;
    create view api_keys as select * from stored_keys where take_time()`);
});

beforeEach(async () => {
  await database.sql`update pace set seconds = 0`;
  cache = await openKeyCache(database.sql, Date.now, 2);
});

afterAll(() => database.close());

async function questions(ask: () => Promise<unknown>): Promise<number> {
  const count = async () => Number((await database.sql`select nextval('questions') as number`)[0].number);
  const before = await count();
  await ask();
  return (await count()) - before - 1;
}

test('a change that is announced during a lookup is not hidden by the row read before it', async () => {
  await database.sql`update pace set seconds = 0.5`;
  const [hash] = hashes;
  const before = cache.find(hash);
  while ((await database.sql`select 1 from pg_stat_activity where wait_event = 'PgSleep'`).length === 0)
    await Bun.sleep(5);
  await database.sql`update stored_keys set revoked_at = now() where hash = ${hash}`;
  expect((await before)?.revokedAt).toBeNull();
  expect((await cache.find(hash))?.revokedAt).toBeInstanceOf(Date);
  await cache.close();
});

test('those who ask for one key at the same time ask the database once', async () => {
  expect(await questions(() => Promise.all(Array.from({ length: 8 }, () => cache.find(hashes[1]))))).toBe(1);
  expect(await questions(() => cache.find(hashes[1]))).toBe(0);
  await cache.close();
});

test('when it is full, the oldest entry makes room', async () => {
  for (const hash of hashes) await cache.find(hash);
  expect(await questions(() => cache.find(hashes[1]))).toBe(0);
  expect(await questions(() => cache.find(hashes[2]))).toBe(0);
  expect(await questions(() => cache.find(hashes[0]))).toBe(1);
  await cache.close();
});

test('a lookup that fails is not remembered', async () => {
  await database.sql`alter view api_keys rename to api_keys_away`;
  expect(async () => await cache.find(hashes[0])).toThrow('api_keys');
  await database.sql`alter view api_keys_away rename to api_keys`;
  expect(await cache.find(hashes[0])).not.toBeNull();
  await cache.close();
});
