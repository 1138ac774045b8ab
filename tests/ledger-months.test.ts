/** The ledger in months, on a real PostgreSQL: how an existing one gets there, and that months weaken none of its rules. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { SQL } from 'bun';
import { createAccount } from '../src/accounts/account-store.ts';
import { knownMigrations, migrate } from '../src/database/migrate.ts';
import { auditLedger } from '../src/ledger/audit.ts';
import { credit } from '../src/ledger/credit.ts';
import { newId } from '../src/lib/ids.ts';
import { createDatabase, createEmptyDatabase, type TestDatabase } from './support/cluster.ts';
import { middleOfMonth, settleAt, spendingOwner } from './support/old-charges.ts';

let database: TestDatabase;

const upTo = (last: number) => knownMigrations.filter(({ version }) => version <= last);

const findViolations = async (sql: SQL) =>
  (await auditLedger(sql)).filter(({ violations }) => violations > 0);

async function partitionsOf(sql: SQL, base: string): Promise<Record<string, bigint>> {
  const rows = await sql<{ name: string; rows: bigint }[]>`
    select relname as name, (xpath('/row/c/text()', query_to_xml(format('select count(*) as c from %I', relname), false, true, '')))[1]::text::bigint as rows
    from pg_inherits join pg_class on oid = inhrelid where inhparent = ${base}::text::regclass`;
  return Object.fromEntries(rows.filter(({ rows: count }) => count > 0n).map((row) => [row.name, row.rows]));
}

describe('an existing ledger', () => {
  beforeEach(async () => {
    database = await createEmptyDatabase();
    await migrate(database.sql, { migrations: upTo(13) });
  });

  afterEach(() => database.close());

  test('becomes the first partition without being copied, and goes on from there', async () => {
    const { sql } = database;
    const owner = await spendingOwner(sql);
    for (const months of [14, 3, 0]) await settleAt(sql, owner, { monthsAgo: months });
    // A node whose clock was wrong, by months and by years.
    await settleAt(sql, owner, { monthsAgo: -2 });
    await settleAt(sql, owner, { monthsAgo: -30 });
    const fileOf = async (name: string) => {
      const [row] = await sql<
        [{ file: string }]
      >`select pg_relation_filepath(${name}::text::regclass) as file`;
      return row.file;
    };
    const before = [await fileOf('usage_records'), await fileOf('ledger_entries')];
    const readAll = async () => [
      ...(await sql`select * from usage_records order by id`),
      ...(await sql`select * from ledger_entries order by account_id, number`),
    ];
    const rows = await readAll();

    await migrate(sql, { migrations: upTo(15) });
    expect(await readAll()).toEqual(rows);
    const month = middleOfMonth(-1).toISOString().slice(0, 7).replace('-', '_');
    const [records, entries] = [`usage_records_to_${month}`, `ledger_entries_to_${month}`];
    expect([await fileOf(records), await fileOf(entries)]).toEqual(before);
    expect(await partitionsOf(sql, 'ledger_entries')).toEqual({ [entries]: 6n });
    expect(await partitionsOf(sql, 'usage_records')).toMatchObject({
      [records]: 3n,
      usage_records_default: 1n,
    });
    expect(Object.keys(await partitionsOf(sql, 'usage_records'))).toHaveLength(3);

    await settleAt(sql, owner, { monthsAgo: 0 });
    await credit(sql, owner.accountId, 5n, null);
    expect(await findViolations(sql)).toEqual([]);
    expect(async () => await sql`delete from ledger_entries`).toThrow('append-only');
    expect(async () => await sql.unsafe(`truncate ${entries}`)).toThrow('append-only');
    // Gateways do this again and again.
    await sql`select create_partitions(current_date - 400, current_date + 365)`;
    await migrate(sql);
    expect(await findViolations(sql)).toEqual([]);
  });

  test('without rows leaves no partition of its own', async () => {
    await migrate(database.sql);
    const names = await database.sql<{ name: string }[]>`
      select relname as name from pg_class where relname ~ '^(usage_records|ledger_entries)_to_'`;
    expect([...names]).toEqual([]);
  });
});

describe('across months', () => {
  beforeEach(async () => {
    database = await createDatabase();
    await database.sql`select create_partitions(current_date - 100, current_date)`;
  });

  afterEach(() => database.close());

  test('a Generation is charged once', async () => {
    const { sql } = database;
    const owner = await spendingOwner(sql);
    const id = await settleAt(sql, owner, { monthsAgo: 2, bookedMonthsAgo: 2 });
    // Open again by mistake, as nothing but a defect could have it, and settled a month later.
    await sql`delete from generations where id = ${id}`;
    const again = settleAt(sql, owner, { monthsAgo: 2, id, bookedMonthsAgo: 1 });
    expect(again).rejects.toThrow('usage_records');
    await again.catch(() => undefined);
    const [row] = await sql`select count(*)::int as charges from ledger_entries where generation_id = ${id}`;
    expect(row.charges).toBe(1);
  });

  test('a charge is refunded once', async () => {
    const { sql } = database;
    const owner = await spendingOwner(sql);
    const id = await settleAt(sql, owner, { monthsAgo: 2, bookedMonthsAgo: 2 });
    const refund = async (connection: SQL) => {
      const [{ number, balance }] = await connection<[{ number: bigint; balance: string }]>`
        update accounts set entry_count = entry_count + 1, balance = balance + 0.25 where id = ${owner.accountId}
        returning entry_count as number, balance`;
      await connection`update api_key_meters set month_spent = greatest(month_spent - 0.25, 0) where key_id = ${owner.keyId}`;
      await connection`select ledger_refund(${id}::uuid, ${number}, ${balance}::numeric)`;
    };
    await sql.begin(refund);
    const again = sql.begin(refund);
    expect(again).rejects.toThrow('refunded before');
    await again.catch(() => undefined);
    expect(await findViolations(sql)).toEqual([]);
  });

  test('a reference is credited once, even when its entry is gone', async () => {
    const { sql } = database;
    const account = await createAccount(sql, 'Credited', 0n);
    const [user] = await sql<[{ id: string }]>`
      insert into users (id, email, name, is_operator) values (${newId()}, 'o@example.com', 'O', true) returning id`;
    const reference = newId();
    const give = async (amount: string) => {
      const [row] = await sql<[{ outcome: string }]>`
        select credit_by_operator(${user.id}::uuid, ${account.id}::uuid, ${amount}::numeric, null, ${reference}::uuid,
          ${newId()}::uuid) as outcome`;
      return row.outcome;
    };
    expect([await give('2'), await give('2'), await give('3')]).toEqual([
      'credited',
      'repeated',
      'different',
    ]);
    const month = new Date().toISOString().slice(0, 7).replace('-', '_');
    await sql.unsafe(`alter table ledger_entries detach partition ledger_entries_${month}`);
    expect([await give('2'), await give('3')]).toEqual(['repeated', 'different']);
  });

  test('numbers have no gaps and no doubles, however many write to the account at once', async () => {
    const { sql } = database;
    const owner = await spendingOwner(sql);
    const clients = Array.from({ length: 4 }, () => new SQL(database.url, { max: 1, bigint: true }));
    await Promise.all(
      clients.map(async (client, index) => {
        for (let count = 0; count < 10; count++) {
          if (index % 2 === 0) await credit(client, owner.accountId, 1n, null);
          else await settleAt(client, owner, { monthsAgo: count % 3 });
        }
      }),
    );
    for (const client of clients) await client.close({ timeout: 1 });
    expect(await findViolations(sql)).toEqual([]);
  });

  test('an entry of a time that has no partition waits in the default one, and cannot be changed there', async () => {
    const { sql } = database;
    const owner = await spendingOwner(sql);
    await settleAt(sql, owner, { monthsAgo: 0, bookedMonthsAgo: -30 });
    expect(await partitionsOf(sql, 'ledger_entries')).toMatchObject({ ledger_entries_default: 1n });
    expect(async () => await sql`delete from ledger_entries_default`).toThrow('append-only');
    await sql`select create_partitions(current_date + 880, current_date + 950)`;
    expect(await partitionsOf(sql, 'ledger_entries')).not.toMatchObject({ ledger_entries_default: 1n });
    expect(async () => await sql`delete from ledger_entries_default`).not.toThrow();
    expect(await findViolations(sql)).toEqual([]);
  });
});
