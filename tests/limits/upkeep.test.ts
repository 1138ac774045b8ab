/** Meters of end users go when they no longer count, and those that do stay. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { newId } from '../../src/lib/ids.ts';
import { createLog } from '../../src/lib/log.ts';
import { createLimitAs, type LimitDraft } from '../../src/limits/limit-store.ts';
import { keepLimitsTidy } from '../../src/limits/upkeep.ts';
import { createDatabase, type TestDatabase } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';

let database: TestDatabase;

beforeAll(async () => {
  database = await createDatabase();
});

afterAll(() => database.close());

test('all that are old, however many, and none that counts', async () => {
  const { sql } = database;
  const accountId = newId();
  await sql`insert into accounts (id, name) values (${accountId}, 'Acme')`;
  const create = (kind: LimitDraft['kind']) =>
    sql.begin((transaction) =>
      createLimitAs(
        transaction,
        { door: 'cli', shellUser: 'test@test' },
        {
          accountId,
          scope: 'each_end_user',
          keyId: null,
          endUser: null,
          kind,
          amount: 10n ** 12n,
          increase: null,
          setBy: 'operator',
        },
      ),
    );
  const perDay = await create('spend_per_day');
  const atOnce = await create('concurrent_requests');
  const add = (limitId: string, prefix: string, count: number, start: string, held: number) => sql`
    insert into limit_meters (id, limit_id, end_user, window_start, used, held)
    select gen_random_uuid(), ${limitId}, ${prefix} || number, ${start}::timestamp, 1, ${held}
    from generate_series(1, ${count}::int) as number`;
  await add(perDay.id, 'old', 2_100, '2020-01-01', 0);
  await add(perDay.id, 'still held', 1, '2020-01-01', 1);
  await add(perDay.id, 'today', 1, new Date().toISOString().slice(0, 10), 0);
  await add(atOnce.id, 'gone', 1, '-infinity', 0);
  await add(atOnce.id, 'in progress', 1, '-infinity', 1);
  const stop = keepLimitsTidy(sql, createLog('error'));
  const left = async () => {
    const rows = await sql<{ end_user: string }[]>`select end_user from limit_meters order by end_user`;
    return rows.map((row) => row.end_user);
  };
  const expected = ['in progress1', 'still held1', 'today1'];
  await eventually('only those that count are left', async () => (await left()).length === expected.length);
  stop();
  expect(await left()).toEqual(expected);
});
