/** Months of the ledger that are archived to a file: what it contains, what stays, and that the audit sees no difference. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'bun:test';
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SQL } from 'bun';
import { credit } from '../../src/ledger/credit.ts';
import { book } from '../../src/ledger/movements.ts';
import { newId } from '../../src/lib/ids.ts';
import { addUpUsage } from '../../src/usage/usage-days.ts';
import { createDatabase, type TestDatabase } from '../support/cluster.ts';
import { outcomeOf, runCommand } from '../support/commands.ts';
import { eventually } from '../support/eventually.ts';
import { startGateway, temporaryFolder, tollgate } from '../support/gateway.ts';
import { middleOfMonth, type SpendingOwner, settleAt, spendingOwner } from '../support/old-charges.ts';

let database: TestDatabase;
let prepared: TestDatabase;
let owner: SpendingOwner;
let folder: string;

const environment = () => ({ DATABASE_URL: database.url, TOLLGATE_DATA: folder });
const monthName = (monthsAgo: number) => middleOfMonth(monthsAgo).toISOString().slice(0, 7);

/** Each test gets a copy of it. Months that ended more than a month ago can be archived. */
beforeAll(async () => {
  prepared = await createDatabase();
  const { sql } = prepared;
  await sql`select create_partitions(${middleOfMonth(5)}::timestamptz::date, current_date)`;
  owner = await spendingOwner(sql);
  // What its entries are drawn from has to be known before they are archived.
  await sql`select begin_grants(${owner.accountId}::uuid)`;
  // Its opening credit is as old as its first charge.
  await withoutProtection(
    sql,
    (unprotected) => unprotected`update ledger_entries set created_at = ${middleOfMonth(5)}`,
  );
  await sql.close({ timeout: 1 });
}, 60_000);

beforeEach(async () => {
  database = await createDatabase(new URL(prepared.url).pathname.slice(1));
  folder = temporaryFolder();
});

afterEach(() => database.close());
afterAll(() => prepared.close());

async function withoutProtection(sql: SQL, change: (sql: SQL) => Promise<unknown>): Promise<void> {
  await sql.begin(async (transaction) => {
    // An entry that moves to another month is not a new one.
    await transaction`alter table ledger_entries disable trigger ledger_entries_keep_reference`;
    await transaction`alter table ledger_entries disable trigger ledger_entries_append_only`;
    await change(transaction);
    await transaction`alter table ledger_entries enable trigger ledger_entries_append_only`;
    await transaction`alter table ledger_entries enable trigger ledger_entries_keep_reference`;
  });
}

const archive = (...words: string[]) =>
  runCommand<{ archives: { file: string; ledger_entries: number; usage_records: number }[] }>(
    ['ledger', 'archive', ...words],
    environment(),
  );

async function audit(...words: string[]) {
  const { exitCode, json } = await outcomeOf(['ledger', 'audit', ...words], environment());
  const { invariants } = json as { invariants: { invariant: string; violations: number }[] };
  return {
    exitCode,
    broken: invariants.filter(({ violations }) => violations > 0).map(({ invariant }) => invariant),
  };
}

const sound = { exitCode: 0, broken: [] };

/** What the command would report. */
const failureOf = (running: Promise<unknown>) =>
  running.then(
    () => 'nothing',
    (error: Error) => error.message,
  );

test('closed months are archived to files, and everything still adds up', async () => {
  const { sql } = database;
  const at = (began: number, booked: number) =>
    settleAt(sql, owner, { monthsAgo: began, bookedMonthsAgo: booked });
  for (const months of [5, 5, 4]) await at(months, months);
  // Began in one month and charged in the next, on both sides of what is archived.
  await at(5, 4);
  const late = await at(3, 2);
  const kept = [await at(2, 2), await at(1, 1), await at(0, 0)];
  await credit(sql, owner.accountId, 5n * 10n ** 12n, null);
  const usageBefore = async () => [...(await sql`select * from usage_days order by 1, 2, 3, 4`)];
  const statements = () =>
    sql`select count(distinct date_trunc('month', day))::int as months, sum(entries)::int as entries, sum(amount) as amount,
               (select balance_before(${owner.accountId}, (${monthName(4)} || '-01')::timestamp at time zone 'UTC')) as balance
        from statement_days where account_id = ${owner.accountId}`;
  await addUpUsage(sql);
  const days = await usageBefore();

  const { archives } = await archive('--before', monthName(2));
  const nonEmpty = archives.filter(({ ledger_entries: count }) => count > 0);
  expect(nonEmpty.map(({ ledger_entries: entries, usage_records: records }) => [entries, records])).toEqual([
    [3, 2],
    [2, 2],
  ]);
  const [file = ''] = nonEmpty.map((one) => one.file);
  expect(file).toBe(join(folder, 'archive', `ledger-${monthName(5)}.jsonl.gz`));
  expect(await audit()).toEqual(sound);
  expect(await audit('--full')).toEqual(sound);
  expect(await audit('--full', '--archive', join(folder, 'archive'))).toEqual(sound);
  const records = await sql<{ id: string }[]>`select id from usage_records order by id`;
  expect(records.map(({ id }) => id).toSorted()).toEqual([late, ...kept].toSorted());
  expect(await usageBefore()).toEqual(days);
  // Statements were added up before their entries left.
  expect([...(await statements())]).toEqual([
    { months: 5, entries: 10, amount: '1003.000000000000', balance: '999.500000000000' },
  ]);
  const manifest = JSON.parse(readFileSync(file.replace('.jsonl.gz', '.manifest.json'), 'utf8'));
  const { stdout } = Bun.spawnSync(['sh', '-c', `sha256sum < ${file}; gzip -dc ${file} | wc -l`]);
  expect(stdout.toString()).toBe(`${manifest.sha256}  -\n5\n`);
  const tables =
    await sql`select 1 from pg_class where relname = ${`ledger_entries_${monthName(5).replace('-', '_')}`}`;
  expect(tables).toHaveLength(0);

  // Later months follow, and what began in an archived month is archived with its charge.
  const next = await archive('--to', join(folder, 'archive'));
  expect(next.archives.reduce((sum, one) => sum + one.ledger_entries, 0)).toBe(2);
  expect(await audit('--full', '--archive', join(folder, 'archive'))).toEqual(sound);
  expect(await sql`select id from usage_records`).toHaveLength(2);
  expect((await archive()).archives).toEqual([]);

  const gateway = await startGateway(environment());
  const get = async (path: string) => {
    const response = await fetch(`${gateway.origin}${path}`, {
      headers: { authorization: `Bearer ${owner.key}` },
    });
    return { status: response.status, body: (await response.json()) as { data: { id: string }[] } };
  };
  const usage = await get('/v1/usage');
  expect([usage.status, usage.body.data.map(({ id }) => id)]).toEqual([200, kept.slice(1).toReversed()]);
  await gateway.stop();
  await settleAt(sql, owner, { monthsAgo: 0 });
  expect(await audit()).toEqual(sound);
});

test('a refund of a charge that is archived meanwhile still adds up, and so does archiving the refund', async () => {
  const { sql } = database;
  const id = await settleAt(sql, owner, { monthsAgo: 4, bookedMonthsAgo: 4 });
  await sql.begin(async (transaction) => {
    const [{ number, balance }] = await transaction<[{ number: bigint; balance: string }]>`
      update accounts set entry_count = entry_count + 1, balance = balance + 0.25 where id = ${owner.accountId}
      returning entry_count as number, balance`;
    await transaction`update api_key_meters set month_spent = 0`;
    await transaction`select ledger_refund(${id}::uuid, ${number}, ${balance}::numeric)`;
  });
  await archive('--before', monthName(3));
  expect(await audit('--full')).toEqual(sound);
  expect(await sql`select 1 from usage_records where id = ${id}`).toHaveLength(1);
  // As if the refund were old as well.
  const month = new Date().toISOString().slice(0, 7).replace('-', '_');
  await dateRefundsBack(sql, 2);
  expect(await sql.unsafe(`select 1 from ledger_entries_${month}`)).toHaveLength(0);
  await archive();
  expect(await sql`select 1 from usage_records`).toHaveLength(0);
  expect(await audit('--full', '--archive', join(folder, 'archive'))).toEqual(sound);
});

/** As if all refunds were old, so that statements have them in a month that is archived. */
async function dateRefundsBack(sql: SQL, monthsAgo: number): Promise<void> {
  await withoutProtection(
    sql,
    (unprotected) =>
      unprotected`update ledger_entries set created_at = ${middleOfMonth(monthsAgo)} where kind = 'refund'`,
  );
  await sql`delete from statement_days where kind = 'refund'`;
}

function refundBy(sql: SQL, id: string, cents: bigint, reference: string) {
  const amount = cents * 10n ** 10n;
  const words = { reason: 'Sorry', reference };
  const actor = { door: 'cli', shellUser: 'someone@somewhere' } as const;
  return book(sql, actor, { kind: 'refund', generationId: id, accountId: null, amount, ...words });
}

/** As if it were old. Its reference says how many months. */
async function refundAt(sql: SQL, id: string, cents: bigint, monthsAgo: number): Promise<void> {
  expect(await refundBy(sql, id, cents, `${monthsAgo}`)).toMatchObject({ outcome: 'booked' });
  await withoutProtection(
    sql,
    (unprotected) => unprotected`
      update ledger_entries set created_at = ${middleOfMonth(monthsAgo)} where reference_text = ${`${monthsAgo}`}`,
  );
}

test('refunds by hand, in parts of other months than the charge, still add up while all of them are archived', async () => {
  const { sql } = database;
  const id = await settleAt(sql, owner, { monthsAgo: 4, bookedMonthsAgo: 4 });
  const give = (cents: bigint, reference: string) => refundBy(sql, id, cents, reference);
  for (const monthsAgo of [3, 2]) await refundAt(sql, id, 5n, monthsAgo);
  await give(1n, 'now');
  await addUpUsage(sql);
  const days = async () => [...(await sql`select model, requests, cost from usage_days`)];
  const before = await days();
  expect(before).toEqual([{ model: 'm', requests: 1n, cost: '0.140000000000' }]);
  for (const month of [3, 2]) {
    await archive('--before', monthName(month));
    expect(await audit('--full')).toEqual(sound);
    expect(await sql`select 1 from usage_records where id = ${id}`).toHaveLength(1);
  }
  // What is left can still be refunded, as long as the record is there, and a reference is known for ever.
  expect(await give(15n, 'too much')).toMatchObject({ outcome: 'too_large', possible: 14n * 10n ** 10n });
  expect(await give(5n, '3')).toMatchObject({ outcome: 'repeated' });
  await give(14n, 'rest');
  await dateRefundsBack(sql, 2);
  await archive();
  expect(await sql`select 1 from usage_records`).toHaveLength(0);
  expect(await give(1n, 'late')).toMatchObject({ outcome: 'nothing_left' });
  await addUpUsage(sql);
  expect(await days()).toEqual([{ model: 'm', requests: 1n, cost: '0.000000000000' }]);
  expect(await audit('--full', '--archive', join(folder, 'archive'))).toEqual(sound);
  // A refund that is sent again is known, even when nothing else of its request is.
  expect(await give(5n, '3')).toMatchObject({ outcome: 'repeated', accountId: owner.accountId });
  await sql`delete from generations`;
  expect(await give(5n, '3')).toMatchObject({ outcome: 'repeated', accountId: owner.accountId });
  expect(await give(6n, '3')).toMatchObject({ outcome: 'different' });
  expect(await give(1n, 'late')).toEqual({ outcome: 'no_generation' });
});

/** For a lock of the database. */
async function someoneWaits(sql: SQL): Promise<void> {
  await eventually('someone waits for a lock', async () => {
    const waiting = await sql`
      select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    return waiting.length > 0;
  });
}

/** Returns what brings the tables of a month back after it was archived, as a run leaves them that is killed before it drops them. */
async function saveMonth(sql: SQL, monthsAgo: number): Promise<() => Promise<void>> {
  const month = monthName(monthsAgo).replace('-', '_');
  const tables = [`ledger_entries_${month}`, `usage_records_${month}`];
  const copy = async (from: string, to: string) => {
    await sql.unsafe(`create table ${to} (like ${from} including all)`);
    await sql.unsafe(`insert into ${to} select * from ${from}`);
  };
  for (const table of tables) await copy(table, `saved_${table}`);
  return async () => {
    for (const table of tables) await copy(`saved_${table}`, table);
  };
}

test('a request that is refunded while its month is being archived keeps its usage record', async () => {
  const { sql } = database;
  const id = await settleAt(sql, owner, { monthsAgo: 5, bookedMonthsAgo: 5 });
  const manifest = join(folder, 'archive', `ledger-${monthName(5)}.manifest.json`);
  const { running } = await sql.begin(async (reading) => {
    // The month cannot be detached as long as someone reads it.
    await reading`select 1 from usage_records`;
    const archiving = archive('--before', monthName(4));
    await eventually('the file is complete', () => existsSync(manifest));
    expect(await refundBy(sql, id, 5n, 'meanwhile')).toMatchObject({ outcome: 'booked' });
    return { running: archiving };
  });
  await running;
  expect([...(await sql`select refunded from usage_records where id = ${id}`)]).toEqual([
    { refunded: '0.050000000000' },
  ]);
  expect(await audit('--full', '--archive', join(folder, 'archive'))).toEqual(sound);
  expect(await refundBy(sql, id, 20n, 'rest')).toMatchObject({ outcome: 'booked' });
  expect(await audit('--full')).toEqual(sound);
});

test('a usage record stays if it is refunded while the last entry of it is being removed, or is not refunded', async () => {
  const { sql } = database;
  const id = await settleAt(sql, owner, { monthsAgo: 5, bookedMonthsAgo: 5 });
  await refundAt(sql, id, 5n, 4);
  await archive('--before', monthName(4));
  const bringBack = await saveMonth(sql, 4);
  await sql`create table saved_record as select * from usage_records`;
  await archive('--before', monthName(3));
  expect(await sql`select 1 from usage_records`).toHaveLength(0);
  await bringBack();
  await sql`insert into usage_records select * from saved_record`;
  const { running } = await sql.begin(async (transaction) => {
    expect(await refundBy(transaction, id, 6n, 'meanwhile')).toMatchObject({ outcome: 'booked' });
    const removing = archive('--before', monthName(3));
    await someoneWaits(sql);
    return { running: removing };
  });
  await running;
  expect([...(await sql`select refunded from usage_records`)]).toEqual([{ refunded: '0.110000000000' }]);
  expect(await audit('--full', '--archive', join(folder, 'archive'))).toEqual(sound);

  const { refunding } = await sql.begin(async (transaction) => {
    await transaction`delete from usage_records`;
    const waiting = refundBy(sql, id, 1n, 'too late');
    await someoneWaits(sql);
    return { refunding: waiting };
  });
  expect(await refunding).toEqual({ outcome: 'nothing_left', kind: 'refund' });
});

test('a file that is missing, damaged or of another ledger is found', async () => {
  const { sql } = database;
  await settleAt(sql, owner, { monthsAgo: 5, bookedMonthsAgo: 5 });
  const to = join(folder, 'archive');
  await archive('--before', monthName(4));
  const file = join(to, `ledger-${monthName(5)}.jsonl.gz`);
  const broken = { exitCode: 1, broken: [`ledger-${monthName(5)}.jsonl.gz has what was archived`] };
  renameSync(file, `${file}.away`);
  expect(await audit('--archive', to)).toEqual(broken);
  const whole = readFileSync(`${file}.away`);
  writeFileSync(file, whole.subarray(0, whole.length - 5));
  expect(await audit('--archive', to)).toEqual(broken);
  writeFileSync(file, whole);
  expect(await audit('--archive', to)).toEqual(sound);
  await sql`update ledger_archive_accounts set balance_after = balance_after + 1`;
  expect((await audit('--full', '--archive', to)).broken).toHaveLength(3);
});

test('a month stays as long as something of it is open, and when its file cannot be written', async () => {
  const { sql } = database;
  await settleAt(sql, owner, { monthsAgo: 5, bookedMonthsAgo: 5 });
  const tables = async () => {
    const [row] = await sql<[{ count: bigint }]>`select count(*) as count from pg_inherits`;
    return row.count;
  };
  const time = middleOfMonth(5).getTime().toString(16).padStart(12, '0');
  const open = `${time.slice(0, 8)}-${time.slice(8)}${newId().slice(13)}`;
  await sql`
    insert into open_generations (id, account_id, key_id, node_id, workload, model, provider, streaming, hold,
      price_list_id, attempts, created_at)
    values (${open}, ${owner.accountId}, ${owner.keyId}, ${newId()}, 'chat', 'm', 'P', false, 0, ${owner.priceListId},
      '[]', now())`;
  await sql`update api_key_meters set open_count = 1`;
  const refused = await tollgate(['ledger', 'archive', '--before', monthName(4)], environment());
  expect([refused.exitCode, refused.stderr]).toEqual([1, expect.stringContaining('still open')]);
  const before = await tables();
  await sql`delete from open_generations`;
  await sql`update api_key_meters set open_count = 0`;
  writeFileSync(join(folder, 'file'), '');
  expect(await failureOf(archive('--to', join(folder, 'file')))).toContain('EEXIST');
  expect(await tables()).toBe(before);
  expect(await audit('--full')).toEqual(sound);
  expect(await failureOf(archive('--before', 'May'))).toContain('--before must be a month');
});

test('what was detached and not dropped is dropped by the next run, or goes back if it has more than its file', async () => {
  const { sql } = database;
  const id = await settleAt(sql, owner, { monthsAgo: 5, bookedMonthsAgo: 5 });
  await refundBy(sql, id, 5n, 'first');
  const entries = `ledger_entries_${monthName(5).replace('-', '_')}`;
  const bringBack = await saveMonth(sql, 5);
  const isPartition = async () => {
    const [row] = await sql<
      { is: boolean }[]
    >`select relispartition as is from pg_class where relname = ${entries}`;
    return row?.is;
  };
  await archive('--before', monthName(4));
  await bringBack();
  await archive('--before', monthName(4));
  expect(await isPartition()).toBeUndefined();
  expect(await audit('--full')).toEqual(sound);

  await bringBack();
  await refundBy(sql, id, 6n, 'second');
  await sql.unsafe(`
    insert into ${entries} (account_id, number, kind, amount, balance_after, created_at)
    select account_id, 9, 'credit', 1, 1, created_at from ${entries} limit 1`);
  expect(await failureOf(archive('--before', monthName(4)))).toContain('changed while');
  expect(await isPartition()).toBe(true);
  expect(await sql`select 1 from ledger_archives`).toHaveLength(0);
  // With what was refunded meanwhile.
  expect([...(await sql`select refunded from usage_records`)]).toEqual([{ refunded: '0.110000000000' }]);
  expect(readdirSync(join(folder, 'archive')).some((one) => one.endsWith('.partial'))).toBe(false);
  expect(existsSync(join(folder, 'archive', `ledger-${monthName(5)}.jsonl.gz`))).toBe(true);
});

test('a month that was detached keeps its file if it cannot be dropped, and goes back if that file is gone', async () => {
  const { sql } = database;
  await settleAt(sql, owner, { monthsAgo: 5, bookedMonthsAgo: 5 });
  const file = join(folder, 'archive', `ledger-${monthName(5)}.jsonl.gz`);
  const month = ['--before', monthName(4)];
  await sql.unsafe(`
    create function refuse_drop() returns event_trigger language plpgsql as $$ begin raise 'not now'; end $$;
    create event trigger refuse_drop on ddl_command_start when tag in ('DROP TABLE') execute function refuse_drop()`);
  expect(await failureOf(archive(...month))).toContain('not now');
  expect(existsSync(file)).toBe(true);
  expect(await audit('--full')).toEqual(sound);
  rmSync(file);
  await sql`alter event trigger refuse_drop disable`;
  expect((await archive(...month)).archives).toMatchObject([{ file, ledger_entries: 1 + 1 }]);
  expect(existsSync(file)).toBe(true);
  expect(await audit('--full')).toEqual(sound);
});

test('requests go on while a month is being archived', async () => {
  const { sql } = database;
  for (let count = 0; count < 5; count++) await settleAt(sql, owner, { monthsAgo: 5, bookedMonthsAgo: 5 });
  const client = new SQL(database.url, { max: 1, bigint: true });
  let isDone = false;
  let count = 0;
  const load = (async () => {
    while (!isDone) {
      await settleAt(client, owner, { monthsAgo: 0 });
      count += 1;
    }
  })();
  await archive();
  isDone = true;
  await load;
  await client.close();
  expect(count).toBeGreaterThan(0);
  expect(await audit('--full', '--archive', join(folder, 'archive'))).toEqual(sound);
});
