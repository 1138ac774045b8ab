/** The ledger in monthly partitions, on a real PostgreSQL: how an existing one is migrated, and that rules still hold. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { SQL } from 'bun';
import { createAccount } from '../../src/accounts/account-store.ts';
import { auditLedger } from '../../src/audit/audit.ts';
import { knownMigrations, migrate } from '../../src/database/migrate.ts';
import { credit } from '../../src/ledger/credit.ts';
import { book } from '../../src/ledger/movements.ts';
import { newId } from '../../src/lib/ids.ts';
import { createDatabase, createEmptyDatabase, type TestDatabase } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { idAt, middleOfMonth, settleAt, spendingOwner } from '../support/old-charges.ts';

let database: TestDatabase;

const upTo = (last: number) => knownMigrations.filter(({ version }) => version <= last);

const findViolations = async (sql: SQL) =>
  (await auditLedger(sql)).filter(({ violations }) => violations > 0);

const shell = { door: 'cli', shellUser: 'someone@somewhere' } as const;
const creditOf = (accountId: string, reference: string, amount: bigint) =>
  ({ kind: 'credit', accountId, amount, memo: null, reference }) as const;

/** As the version before gave a credit. */
async function outcomeOfOldCredit(sql: SQL, accountId: string, reference: string): Promise<string> {
  const [row] = await sql<[{ outcome: string }]>`
    select outcome from credit_from_shell('someone@somewhere', ${accountId}::uuid, 0.000000000005, null, ${reference}::uuid,
      ${newId()}::uuid)`;
  return row.outcome;
}

async function partitionsOf(sql: SQL, base: string): Promise<Record<string, bigint>> {
  const rows = await sql<{ name: string; rows: bigint }[]>`
    select relname as name, (xpath('/row/c/text()', query_to_xml(format('select count(*) as c from %I', relname), false, true, '')))[1]::text::bigint as rows
    from pg_inherits join pg_class on oid = inhrelid where inhparent = ${base}::text::regclass`;
  return Object.fromEntries(rows.filter(({ rows: count }) => count > 0n).map((row) => [row.name, row.rows]));
}

describe('an existing ledger', () => {
  let before: TestDatabase;

  beforeAll(async () => {
    before = await createEmptyDatabase();
    await migrate(before.sql, { migrations: upTo(13) });
    await before.sql.close({ timeout: 1 });
  }, 60_000);
  beforeEach(async () => {
    database = await createDatabase(new URL(before.url).pathname.slice(1));
  });

  afterEach(() => database.close());
  afterAll(() => before.close());

  const suffix = `_to_${middleOfMonth(-1).toISOString().slice(0, 7).replace('-', '_')}`;
  const [records, entries] = [`usage_records${suffix}`, `ledger_entries${suffix}`];

  test.each([
    ['whose rows all belong there', []],
    // A node whose clock was wrong, by months and by years.
    ['with rows of another time', [-3, -30]],
  ])('%s becomes the first partition without being copied, and goes on from there', async (_, strays) => {
    const { sql } = database;
    const owner = await spendingOwner(sql);
    for (const months of [14, 3, 0, ...strays]) await settleAt(sql, owner, { monthsAgo: months });
    const fileOf = async (name: string) => {
      const [row] = await sql<
        [{ file: string }]
      >`select pg_relation_filepath(${name}::text::regclass) as file`;
      return row.file;
    };
    const files = [await fileOf('usage_records'), await fileOf('ledger_entries')];
    const readAll = async () => [
      ...(await sql`select * from usage_records order by id`),
      ...(await sql`select * from ledger_entries order by account_id, number`),
    ];
    const rows = await readAll();

    await migrate(sql, { migrations: upTo(14) });
    // What is proven here need not be read again while the tables are locked.
    const proofs = await sql<{ name: string; is_proven: boolean }[]>`
      select conname as name, convalidated as is_proven from pg_constraint where conname ~ '_to_' order by 1`;
    expect(proofs.map((proof) => [proof.name, proof.is_proven])).toEqual([
      [entries, true],
      [records, strays.length === 0],
    ]);
    await migrate(sql, { migrations: upTo(15) });
    expect(await readAll()).toEqual(rows);
    expect([await fileOf(records), await fileOf(entries)]).toEqual(files);
    const count = BigInt(strays.length);
    expect(await partitionsOf(sql, 'ledger_entries')).toEqual({ [entries]: 4n + count });
    const found = await partitionsOf(sql, 'usage_records');
    expect(found[records]).toBe(3n);
    expect(found.usage_records_default ?? 0n).toBe(count / 2n);
    expect(Object.keys(found)).toHaveLength(1 + strays.length);
    expect(await sql`select 1 from pg_constraint where conname ~ '_to_[0-9_]*$'`).toHaveLength(0);

    await settleAt(sql, owner, { monthsAgo: 0 });
    await credit(sql, owner.accountId, 5n, null);
    expect(async () => await sql`delete from ledger_entries`).toThrow('append-only');
    expect(async () => await sql.unsafe(`truncate ${entries}`)).toThrow('append-only');
    // Gateways do this again and again.
    await sql`select create_partitions(current_date - 60, current_date + 365)`;
    await migrate(sql);
    expect(await findViolations(sql)).toEqual([]);
  });

  test('is migrated while it is written to, and knows the references of earlier credits', async () => {
    const { sql } = database;
    const owner = await spendingOwner(sql);
    const reference = newId();
    expect(await outcomeOfOldCredit(sql, owner.accountId, reference)).toBe('credited');
    const writer = new SQL(database.url, { max: 1, bigint: true });
    let isDone = false;
    let count = 0;
    const writing = (async () => {
      while (!isDone) {
        await settleAt(writer, owner, { monthsAgo: 0 });
        count += 1;
      }
    })();
    await migrate(sql);
    const during = count;
    await eventually('it goes on afterwards', () => count > during + 2);
    isDone = true;
    await writing;
    await writer.close();
    expect(await findViolations(sql)).toEqual([]);
    const again = (amount: bigint) => book(sql, shell, creditOf(owner.accountId, reference, amount));
    expect(await again(5n)).toMatchObject({ outcome: 'repeated' });
    expect(await again(6n)).toEqual({ outcome: 'different', earlier: 5n });
  });

  test('that was prepared and not moved yet can be prepared again', async () => {
    const { sql } = database;
    const owner = await spendingOwner(sql);
    await settleAt(sql, owner, { monthsAgo: 0 });
    await migrate(sql, { migrations: upTo(14) });
    await sql`delete from schema_migrations where version = 14`;
    expect(await migrate(sql, { migrations: upTo(15) })).toEqual([
      '0014_prepare_ledger_months.sql',
      '0015_ledger_months.sql',
    ]);
    await migrate(sql);
    expect(await findViolations(sql)).toEqual([]);
  });
});

/** All in one database, so the tests that take something away from it come last. */
describe('across months', () => {
  beforeAll(async () => {
    database = await createDatabase();
    await database.sql`select create_partitions(current_date - 100, current_date)`;
  }, 60_000);

  afterAll(() => database.close());

  test('a ledger without rows has no partition from before', async () => {
    const names = await database.sql<{ name: string }[]>`
      select relname as name from pg_class where relname ~ '^(usage_records|ledger_entries)_to_'`;
    expect([...names]).toEqual([]);
  });

  test('a Generation is charged once', async () => {
    const { sql } = database;
    const owner = await spendingOwner(sql);
    const id = await settleAt(sql, owner, { monthsAgo: 2, bookedMonthsAgo: 2 });
    // Open again, as only a defect could make it, and settled a month later.
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

  test('a reference is credited once, however many give it at once', async () => {
    const { sql } = database;
    const { id } = await createAccount(sql, 'Credited', 0n);
    const reference = newId();
    const clients = Array.from({ length: 4 }, () => new SQL(database.url, { max: 1, bigint: true }));
    const outcomes = await Promise.all(
      clients.map((client) => book(client, shell, creditOf(id, reference, 3n))),
    );
    for (const client of clients) await client.close({ timeout: 1 });
    expect(outcomes.map(({ outcome }) => outcome).toSorted()).toEqual([
      'booked',
      'repeated',
      'repeated',
      'repeated',
    ]);
    expect(outcomes.every((outcome) => 'balance' in outcome && outcome.balance === 3n)).toBe(true);
  });

  test('a Generation is charged once, however many settle it at once in whatever month', async () => {
    const { sql } = database;
    // Removes what else would reject the second one, or make it wait: a different month must not let it through.
    await sql`alter table generations drop constraint generations_pkey`;
    await sql`alter table open_generations drop constraint open_generations_pkey`;
    const ids = [0, 1, 2, 0, 1, 2].map((monthsAgo) => [monthsAgo, idAt(middleOfMonth(monthsAgo))] as const);
    const settlers = await Promise.all(
      [0, 1, 2, 3].map(async (bookedMonthsAgo) => {
        const client = new SQL(database.url, { max: 1, bigint: true });
        return { client, owner: await spendingOwner(sql), bookedMonthsAgo };
      }),
    );
    const outcomes: string[] = [];
    for (const [monthsAgo, id] of ids) {
      const tries = settlers.map(({ client, owner, bookedMonthsAgo }) =>
        settleAt(client, owner, { monthsAgo, id, bookedMonthsAgo }).then(
          () => 'charged',
          (error: Error) => (error.message.includes('usage_records') ? 'rejected' : error.message),
        ),
      );
      outcomes.push((await Promise.all(tries)).toSorted().join(' '));
    }
    for (const { client } of settlers) await client.close({ timeout: 1 });
    expect(outcomes).toEqual(ids.map(() => 'charged rejected rejected rejected'));
    const [row] = await sql`
      select count(*)::int as charges, count(distinct generation_id)::int as generations,
             count(distinct tableoid)::int > 1 as has_months
      from ledger_entries where kind = 'charge' and generation_id = any (${sql.array(
        ids.map(([, id]) => id),
        'uuid',
      )})`;
    expect({ ...row }).toEqual({ charges: ids.length, generations: ids.length, has_months: true });
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
    const { id } = account;
    expect(await book(sql, shell, creditOf(id, reference, 2n * 10n ** 12n))).toMatchObject({
      outcome: 'repeated',
    });
  });
});
