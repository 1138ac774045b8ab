/** The migration to meters: what it locks, that it can be repeated, and what happens to usage that is being added up. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { SQL } from 'bun';
import { auditLedger } from '../../src/audit/audit.ts';
import { knownMigrations, migrate, migrateWithin } from '../../src/database/migrate.ts';
import { type Migration, statementsOf } from '../../src/database/migration-files.ts';
import { addUpUsage } from '../../src/usage/usage-days.ts';
import { createDatabase, createEmptyDatabase, type TestDatabase } from '../support/cluster.ts';
import { type SpendingOwner, settleAt, spendingOwner } from '../support/old-charges.ts';

const meters = knownMigrations.find(({ name }) => name === '0023_meters.sql') as Migration;
const before = knownMigrations.filter(({ version }) => version < meters.version);

let old: TestDatabase;

beforeAll(async () => {
  old = await createEmptyDatabase();
  await migrate(old.sql, { migrations: before });
}, 60_000);

afterAll(() => old.close());

/** Tables and views that were there before, with their partitions counted as one. */
async function lockedBy(sql: SQL, newOid: string): Promise<string[]> {
  const rows = await sql<{ name: string }[]>`
    select distinct coalesce(pg_partition_root(relation), relation)::regclass::text as name from pg_locks
    where pid = pg_backend_pid() and mode = 'AccessExclusiveLock' and granted and locktype = 'relation'
      and relation in (select oid from pg_class where relkind in ('r', 'p', 'v') and oid::bigint < ${newOid}::text::bigint)`;
  return rows.map(({ name }) => name);
}

/** Larger than that of any table so far. */
async function findNewOid(sql: SQL): Promise<string> {
  const [row] = await sql<[{ oid: string }]>`select max(oid::bigint + 1)::text as oid from pg_class`;
  return row.oid;
}

test('no statement keeps requests out of more than one table, or of anything but views, and each can be repeated', async () => {
  expect(meters.isTransactional).toBe(false);
  const newOid = await findNewOid(old.sql);
  const locked = new Set<string>();
  for (const _round of [1, 2])
    for (const statement of statementsOf(meters))
      await old.sql.begin(async (transaction) => {
        await transaction.unsafe('set local client_min_messages = warning');
        await transaction.unsafe(statement);
        const names = await lockedBy(transaction, newOid);
        for (const name of names) locked.add(name);
        if (names.includes('generation_details')) {
          expect(names.toSorted()).toEqual([
            'finished_generations',
            'generation_details',
            'unfinished_generations',
          ]);
          return;
        }
        expect(names.length, statement.slice(0, 100)).toBeLessThanOrEqual(1);
      });
  expect([...locked]).toEqual(
    expect.arrayContaining(['generations', 'usage_records', 'finished_generations']),
  );
});

test('partitions have the constraints, whether they were made before or are made later', async () => {
  await old.sql`select create_partitions(current_date + 400, current_date + 400)`;
  const rows = await old.sql`
    select conname, count(*)::int as count, (select count(*)::int from pg_inherits where inhparent = root) + 1 as expected
    from (select conname, pg_partition_root(conrelid) as root from pg_constraint
          where conname ~ '_cached_|_records_provider_cost$') as constraints
    group by root, conname`;
  expect(rows.length).toBe(4);
  for (const { conname, count, expected } of rows) expect([conname, count]).toEqual([conname, expected]);
  // As the archive does it with a month that changed meanwhile.
  const [{ name, bounds }] = await old.sql<[{ name: string; bounds: string }]>`
    select relname as name, pg_get_expr(relpartbound, pg_class.oid) as bounds
    from pg_class join pg_inherits on inhrelid = pg_class.oid
    where inhparent = 'usage_records'::regclass and relname ~ '[0-9]$' order by relname limit 1`;
  await old.sql.unsafe(`alter table usage_records detach partition ${name}`);
  await old.sql.unsafe(`alter table usage_records attach partition ${name} ${bounds}`);
});

test('a backup of the version before is migrated when it is restored', async () => {
  const database = await createEmptyDatabase();
  await database.sql.begin(async (transaction) => {
    await migrateWithin(transaction, before);
    expect(await migrateWithin(transaction)).toContain(meters.name);
  });
  expect((await auditLedger(database.sql)).filter(({ violations }) => violations > 0)).toEqual([]);
  await database.close();
});

test('an add_up_usage of the version before that is still running loses nothing', async () => {
  const database = await createDatabase();
  const { sql } = database;
  const owner: SpendingOwner = await spendingOwner(sql);
  const body = before.flatMap(({ statements }) =>
    [...statements.matchAll(/create (?:or replace )?function add_up_usage.*?end \$\$;/gs)].map(
      ([text]) => text,
    ),
  );
  await sql.unsafe((body.at(-1) ?? '').replace('add_up_usage', 'add_up_usage_before'));
  const addUpBefore = () => sql`select add_up_usage_before(${owner.accountId}, 100)`;
  const expectSound = async (requests: number, margins: number) => {
    const [sums] = await sql`
      select (select sum(requests) from usage_days)::int as requests, (select sum(requests) from margin_days)::int as margins`;
    expect({ ...sums }).toEqual({ requests, margins });
    expect((await auditLedger(sql)).filter(({ violations }) => violations > 0)).toEqual([]);
  };
  await settleAt(sql, owner, { monthsAgo: 0 });
  await addUpBefore();
  await settleAt(sql, owner, { monthsAgo: 0 });
  await addUpUsage(sql);
  await expectSound(2, 2);
  // It read the number of entries before the migration, and stores it now.
  await settleAt(sql, owner, { monthsAgo: 0 });
  await addUpBefore();
  await expectSound(3, 2);
  await addUpUsage(sql);
  await expectSound(3, 3);
  await settleAt(sql, owner, { monthsAgo: 0 });
  await addUpBefore();
  await settleAt(sql, owner, { monthsAgo: 0 });
  await addUpUsage(sql);
  await expectSound(5, 5);
  await database.close();
});
