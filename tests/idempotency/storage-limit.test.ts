/** How much a key may have stored for its retries: counted in a real PostgreSQL, added up in between. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { StorageLimit } from '../../src/idempotency/storage-limit.ts';
import { newId } from '../../src/lib/ids.ts';
import { createDatabase, type TestDatabase } from '../support/cluster.ts';

let database: TestDatabase;

beforeAll(async () => {
  database = await createDatabase();
}, 60_000);

afterAll(() => database.close());

type Row = Readonly<{ answer?: number; staged?: number; hoursLeft?: number }>;

/** Bytes are zeros: only how many there are matters. */
async function store(keyId: string, rows: readonly Row[]): Promise<void> {
  for (const { answer, staged, hoursLeft = 24 } of rows)
    await database.sql`
      insert into idempotent_requests (key_id, name_hash, body_hash, request_id, node_id, expires_at, answer, staged)
      values (${keyId}, sha256(${newId()}::text::bytea), sha256(''), ${newId()}, ${newId()},
              now() + make_interval(hours => ${hoursLeft}), ${answer === undefined ? null : Buffer.alloc(answer)},
              ${staged === undefined ? null : Buffer.alloc(staged)})`;
}

const limits = { count: 3, bytes: 100_000 };

test.each<[string, Row[], boolean]>([
  ['nothing', [], false],
  ['less than the number', [{ answer: 1 }, {}], false],
  ['the number, under way or answered', [{ answer: 1 }, {}, {}], true],
  ['the number, of which one has expired', [{ answer: 1 }, {}, { hoursLeft: -1 }], false],
  ['less than the bytes', [{ answer: 50_000 }, { answer: 49_999 }], false],
  ['the bytes, kept and staged', [{ answer: 50_000 }, { staged: 50_000 }], true],
])('a key that has %s', async (_what, rows, isReached) => {
  const keyId = newId();
  await store(keyId, rows);
  await store(newId(), [{ answer: 100_000 }, {}, {}]);
  const limit = new StorageLimit(database.sql, limits);
  // Others that ask during the first count wait as well.
  const asked = await Promise.all([limit.isReached(keyId), limit.isReached(keyId)]);
  expect(asked).toEqual([isReached, isReached]);
});

test('what is added and returned counts at once', async () => {
  const keyId = newId();
  const limit = new StorageLimit(database.sql, limits);
  await limit.isReached(keyId);
  limit.add(keyId, 3, 0);
  expect(await limit.isReached(keyId)).toBe(true);
  limit.add(keyId, -1, 0);
  expect(await limit.isReached(keyId)).toBe(false);
  limit.add(keyId, 0, 60_000);
  expect([limit.fits(keyId, 40_000), limit.fits(keyId, 40_001)]).toEqual([true, false]);
  limit.add(keyId, 0, 40_000);
  expect(await limit.isReached(keyId)).toBe(true);
});
