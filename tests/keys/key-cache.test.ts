/** The cache of keys on a real database whose queries are counted and can be held up. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test';
import { createAccount } from '../../src/accounts/account-store.ts';
import { ApiError } from '../../src/errors.ts';
import { type KeyCache, openKeyCache } from '../../src/keys/key-cache.ts';
import { generateKey, hashKey } from '../../src/keys/key-format.ts';
import { type ApiKey, createKey, defaultRequestsPerMinute } from '../../src/keys/key-store.ts';
import { LookupSlots } from '../../src/keys/lookup-slots.ts';
import { LateError } from '../../src/lib/within.ts';
import { createDatabase, type TestDatabase } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';

const barrier = 7;
/** On a busy machine, what is held up on purpose may take longer than a client would wait. */
const lookupPatienceMs = 30_000;
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
  // A query sees the table as it was when it began, however long it takes. It counts once, whatever it finds.
  await database.sql.unsafe(`
    alter table api_keys rename to stored_keys;
    create table pace (is_held boolean);
    insert into pace values (false);
    create sequence questions;
    create function take_time() returns boolean language plpgsql as
      $$ begin
        perform nextval('questions');
        perform pg_advisory_xact_lock_shared(${barrier}) from pace where is_held;
        return true;
      end $$;
    create view api_keys as select * from stored_keys where (select take_time())`);
});

beforeEach(async () => {
  cache = await openKeyCache(database.sql, Date.now, { maxKnown: 2, maxUnknown: 2, lookupPatienceMs });
});

afterAll(() => database.close());

/** Sends a query and holds it up inside the database until it is released. Later ones are not held up. */
async function holdUp<Answer>(ask: () => Promise<Answer>) {
  const holder = await database.sql.reserve();
  await holder`select pg_advisory_lock(${barrier})`;
  await holder`update pace set is_held = true`;
  const answer = ask();
  await eventually('the question is asked', async () => {
    const waiting = await holder`
      select 1 from pg_stat_activity where datname = current_database() and wait_event = 'advisory'`;
    return waiting.length > 0;
  });
  await holder`update pace set is_held = false`;
  const letGo = async () => {
    await holder`select pg_advisory_unlock(${barrier})`;
    await holder.release();
  };
  return { answer, letGo };
}

async function questions(ask: () => Promise<unknown>): Promise<number> {
  const count = async () => Number((await database.sql`select nextval('questions') as number`)[0].number);
  const before = await count();
  await ask();
  return (await count()) - before - 1;
}

test('a change that is announced during a lookup is not hidden by the row read before it', async () => {
  const [hash, known] = hashes;
  await cache.find(known);
  const { answer: before, letGo } = await holdUp(() => cache.find(hash));
  await database.sql`update stored_keys set revoked_at = now() where hash = ${hash}`;
  // Announced after it: once this change is known, so is that one.
  await database.sql`update stored_keys set requests_per_minute = 7 where hash = ${known}`;
  await eventually('the change is announced', async () => (await cache.find(known))?.requestsPerMinute === 7);
  await letGo();
  expect((await before)?.revokedAt).toBeNull();
  expect((await cache.find(hash))?.revokedAt).toBeInstanceOf(Date);
  await cache.close();
});

test('concurrent lookups of one key send one query', async () => {
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

const invented = () => hashKey(generateKey());

test('invented keys evict no real one, and are remembered for a while themselves', async () => {
  await cache.find(hashes[1]);
  const last = invented();
  for (const hash of [...Array.from({ length: 10 }, invented), last])
    expect(await cache.find(hash)).toBeNull();
  expect(await questions(() => cache.find(hashes[1]))).toBe(0);
  expect(await questions(() => cache.find(last))).toBe(0);
  expect(await questions(() => cache.find(invented()))).toBe(1);
  await cache.close();
});

test('a key that is created after it was looked up is known at once', async () => {
  const hash = invented();
  expect(await cache.find(hash)).toBeNull();
  await database.sql`update stored_keys set hash = ${hash} where hash = ${hashes[2]}`;
  await eventually('the key is known', async () => (await cache.find(hash)) !== null);
  await database.sql`update stored_keys set hash = ${hashes[2]} where hash = ${hash}`;
  await cache.close();
});

test('keys that are requested during a query are looked up together, and each gets its own result', async () => {
  const { answer: first, letGo } = await holdUp(() => cache.find(invented()));
  const asked = Array.from({ length: 50 }, invented);
  let found: (ApiKey | null)[] = [];
  const askAll = async () => {
    const answers = [...asked, hashes[1], hashes[2]].map((hash) => cache.find(hash));
    await letGo();
    found = await Promise.all(answers);
  };
  expect(await questions(askAll)).toBe(1);
  expect(found.slice(0, 50)).toEqual(asked.map(() => null));
  const ids = await database.sql`select id from stored_keys where hash = ${hashes[1]} or hash = ${hashes[2]}`;
  expect(new Set(found.slice(50).map((key) => key?.id))).toEqual(
    new Set(ids.map(({ id }: { id: string }) => id)),
  );
  expect(await first).toBeNull();
  await cache.close();
});

test('a known key does not wait for keys that may be invented', async () => {
  let nowMs = 0;
  await cache.close();
  cache = await openKeyCache(database.sql, () => nowMs, { lookupPatienceMs });
  await cache.find(hashes[1]);
  const { answer: slow, letGo } = await holdUp(() => cache.find(invented()));
  nowMs = 10_000;
  // It is found although the other one is still waiting.
  expect(await cache.find(hashes[1])).not.toBeNull();
  await letGo();
  expect(await slow).toBeNull();
  await cache.close();
});

test('a known key is accepted while the database does not answer, and one that is not known is given up', async () => {
  let nowMs = 0;
  await cache.close();
  cache = await openKeyCache(database.sql, () => nowMs, { lookupPatienceMs: 1_000 });
  const known = await cache.find(hashes[1]);
  nowMs = 10_000;
  const { answer, letGo } = await holdUp(() => cache.find(hashes[1]));
  expect(await answer).toBe(known);
  await letGo();
  const { answer: unknown, letGo: letUnknownGo } = await holdUp(() =>
    cache.find(invented()).catch((error: unknown) => error),
  );
  expect(await unknown).toBeInstanceOf(LateError);
  await letUnknownGo();
  // Neither blocks the next.
  expect(await cache.find(hashes[1])).not.toBe(known);
  expect(await cache.find(invented())).toBeNull();
  await cache.close();
});

test('a limited number wait in all and from one network, and the rest are told to come back', async () => {
  await cache.close();
  cache = await openKeyCache(database.sql, Date.now, { slots: new LookupSlots(3, 2), lookupPatienceMs });
  const statusOf = (address: string | null): Promise<unknown> =>
    cache
      .find(invented(), () => address)
      .catch((thrown: unknown) => {
        if (thrown instanceof ApiError) return [thrown.code, thrown.retryAfterSeconds];
        throw thrown;
      });
  const refused = ['server_overloaded', 1];
  const addresses = ['2001:db8::1', '2001:db8::2', '2001:db8::3', '192.0.2.1', '192.0.2.2'];
  expect(await Promise.all(addresses.map(statusOf))).toEqual([null, null, refused, null, refused]);
  // A request that was answered frees its place.
  expect(await Promise.all([null, null, null].map(statusOf))).toEqual([null, null, refused]);
  // However many ask for one key, they take one place.
  const same = await Promise.all(Array.from({ length: 8 }, () => cache.find(hashes[2], () => '192.0.2.1')));
  expect(same.map((key) => key?.id)).toEqual(Array(8).fill(same[0]?.id));
  expect(same[0]).not.toBeNull();
  // A key of the dashboard is not invented, and one that is known waits for nothing.
  expect(await cache.find(hashes[1])).not.toBeNull();
  await cache.close();
});

test('an import is noticed when its keys are announced', async () => {
  await cache.close();
  // The clock stands still, so it is not the age of the last reading.
  cache = await openKeyCache(database.sql, () => 0, { lookupPatienceMs });
  expect(cache.hasImportedKeys()).toBe(false);
  await database.sql.begin(async (transaction) => {
    await transaction`insert into imported_keys (key_id, source) select id, 'litellm' from stored_keys limit 1`;
    await transaction`select pg_notify('tollgate_keys', 'some hash')`;
  });
  await eventually('the node knows', async () => cache.hasImportedKeys());
  await cache.close();
});
