/** Removing old months, on a real PostgreSQL: as a whole, without blocking anyone, and from any state they were left in. */
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { SQL } from 'bun';
import { createAccount } from '../../src/accounts/account-store.ts';
import { auditLedger } from '../../src/audit/audit.ts';
import { readConfig } from '../../src/config.ts';
import { removeExpiredMonths } from '../../src/database/retention.ts';
import { findGeneration, findPage, newestPosition } from '../../src/generations/generation-store.ts';
import { createKey } from '../../src/keys/key-store.ts';
import { type Ledger, openLedger } from '../../src/ledger/ledger.ts';
import type { Hold, Settlement } from '../../src/ledger/operations.ts';
import { openSpool } from '../../src/ledger/spool.ts';
import { newId, requestIdFromUuid } from '../../src/lib/ids.ts';
import { createLog } from '../../src/lib/log.ts';
import { storePriceList } from '../../src/pricing/price-list-store.ts';
import { createDatabase, type TestDatabase } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { startGateway, temporaryFolder, tollgate } from '../support/gateway.ts';
import {
  newAttempt,
  newGeneration,
  newHold,
  newSettlement,
  succeeded,
} from '../support/ledger-operations.ts';

const dayMs = 24 * 60 * 60 * 1000;
const nodeId = newId();
let database: TestDatabase;
let ledger: Ledger;
let owner: { accountId: string; keyId: string; key: string };
let priceListId: number;
let opened: SQL[];

beforeEach(async () => {
  opened = [];
  database = await createDatabase();
  const { sql } = database;
  await sql`select create_partitions(current_date - 400, current_date)`;
  const spool = openSpool(temporaryFolder(), process.pid, nodeId);
  ledger = openLedger(
    connect,
    spool,
    createLog('error', () => undefined),
  );
  priceListId = await storePriceList(sql, { version: '1', digest: '00'.repeat(32), content: {} });
  await sql`insert into nodes (id, name) values (${nodeId}, 'test')`;
  const { id: accountId } = await createAccount(sql, 'Test', 10n ** 15n);
  const created = await createKey(sql, {
    accountId,
    name: 'Test',
    requestsPerMinute: 1_000_000,
    monthlyLimit: null,
    allowedModels: null,
    expiresAt: null,
  });
  owner = { accountId, keyId: created?.id ?? '', key: created?.key ?? '' };
});

afterEach(async () => {
  await ledger.close();
  for (const sql of opened) await sql.close({ timeout: 0 });
  await database.close();
});

/** A client with one connection, as the gateway opens for this. */
function connect(): SQL {
  const sql = new SQL(database.url, { max: 1, bigint: true });
  opened.push(sql);
  return sql;
}

const remove = (days: number) => removeExpiredMonths(connect(), days);

/** The middle of the month this many months ago, which is in that month in every time zone. */
function middleOfMonth(monthsAgo: number): Date {
  const now = new Date();
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - monthsAgo, 15));
}

/** The number of days since the middle of that month. */
function daysSinceMonth(monthsAgo: number): number {
  return Math.floor((Date.now() - middleOfMonth(monthsAgo).getTime()) / dayMs);
}

const nameOf = (base: string, monthsAgo: number) =>
  `${base}_${middleOfMonth(monthsAgo).toISOString().slice(0, 7).replace('-', '_')}`;

function holdAt(at: Date): Hold {
  const createdAtMs = at.getTime();
  const time = createdAtMs.toString(16).padStart(12, '0');
  const id = `${time.slice(0, 8)}-${time.slice(8)}${newId().slice(13)}`;
  const attribution = { endUser: `user ${id}`, session: null, tags: [] };
  return newHold(newGeneration({ ...owner, priceListId }, { id, createdAtMs, attribution }), nodeId, 10n);
}

function settlementOf({ generation }: Hold): Settlement {
  const { createdAtMs } = generation;
  return newSettlement(generation, 7n, {
    attempts: [succeeded(newAttempt({ startedAtMs: createdAtMs }), createdAtMs)],
    completedAtMs: createdAtMs,
    latencyMs: 1,
  });
}

/** Creates a billed Generation of that time; returns its ID. */
async function generationAt(at: Date): Promise<string> {
  const hold = holdAt(at);
  expect((await ledger.hold(hold)).outcome).toBe('held');
  expect(await ledger.settle(settlementOf(hold))).toBe('settled');
  return hold.generation.id;
}

const isThere = async (id: string) => (await findGeneration(database.sql, id, owner.keyId)) !== null;

async function listed(): Promise<string[]> {
  const page = await findPage(database.sql, owner.keyId, { status: null, model: null }, newestPosition, 100);
  return page.map(({ id }) => id);
}

async function hasTable(name: string): Promise<boolean> {
  const [row] = await database.sql`select to_regclass(${name}::text) is not null as is_there`;
  return row.is_there;
}

async function expectSound(): Promise<void> {
  const findings = await auditLedger(database.sql);
  expect(findings.filter(({ violations }) => violations > 0)).toEqual([]);
}

/** Reads the table and keeps its transaction open, so that no partition can be detached meanwhile. */
async function openReader(): Promise<{ leave: () => Promise<void> }> {
  const connection = await connect().reserve();
  await connection.unsafe('begin');
  await connection`select count(*) from generations`;
  return {
    leave: async () => {
      await connection.unsafe('commit');
      await connection.release();
    },
  };
}

/** Whether someone waits for an exclusive lock on the table. */
async function isWaiting(): Promise<boolean> {
  const rows = await database.sql`
    select 1 from pg_locks where not granted and relation = 'generations'::regclass and mode = 'AccessExclusiveLock'`;
  return rows.length > 0;
}

/** A removal that waits for a reader. */
async function startWaiting(days: number) {
  const reader = await openReader();
  let hasEnded = false;
  const removal = remove(days).finally(() => {
    hasEnded = true;
  });
  await eventually('the removal waits', async () => hasEnded || (await isWaiting()));
  return { reader, removal, hasEnded: () => hasEnded };
}

test('months that end before the cutoff are removed with their attempts, everything else stays', async () => {
  const old = [await generationAt(middleOfMonth(7)), await generationAt(middleOfMonth(6))];
  // The cutoff falls into the month of the first of these, so all of that month stays.
  const firstMoment = new Date(middleOfMonth(5).setUTCDate(1));
  const kept = [
    await generationAt(firstMoment),
    await generationAt(middleOfMonth(4)),
    await generationAt(new Date()),
  ];
  const countRows = async () => {
    const [row] = await database.sql`
      select (select count(*) from usage_records) as records, (select count(*) from ledger_entries) as entries`;
    return [row.records, row.entries];
  };
  const before = await countRows();

  // All months from 400 days ago to six months ago, in three tables.
  const count = await remove(daysSinceMonth(5));
  expect(count).toBeGreaterThanOrEqual(3 * 7);
  expect(await Promise.all(old.map(isThere))).toEqual([false, false]);
  expect(await Promise.all(kept.map(isThere))).toEqual([true, true, true]);
  expect(await listed()).toEqual(kept.toReversed());
  for (const base of ['generations', 'attempts', 'generation_attributions'])
    expect([await hasTable(nameOf(base, 6)), await hasTable(nameOf(base, 5))]).toEqual([false, true]);
  const [attempts] = await database.sql`select count(*) as count from attempts`;
  expect(attempts.count).toBe(3n);
  const labels = await database.sql`select label from generation_attributions order by label`.values();
  expect(labels.flat()).toEqual(kept.map((id) => `user ${id}`));
  expect(await countRows()).toEqual(before);
  await expectSound();
  expect(await remove(daysSinceMonth(5))).toBe(0);
});

test('this month and the last one stay, however short the retention', async () => {
  const ids = [await generationAt(new Date()), await generationAt(new Date(Date.now() - 31 * dayMs))];
  expect(await remove(1)).toBeGreaterThan(0);
  expect(await Promise.all(ids.map(isThere))).toEqual([true, true]);
  // Nothing was removed that the next start would create again.
  const [before] = await database.sql`select count(*) as count from pg_inherits`;
  await database.sql`select create_partitions(current_date - 31, current_date)`;
  const [after] = await database.sql`select count(*) as count from pg_inherits`;
  expect(after.count).toBe(before.count);
});

test('a month in which a Generation is still open stays until that is settled', async () => {
  const open = holdAt(middleOfMonth(6));
  expect((await ledger.hold(open)).outcome).toBe('held');
  await remove(30);
  const areThere = await Promise.all([7, 6, 5].map((months) => hasTable(nameOf('generations', months))));
  expect(areThere).toEqual([false, true, false]);
  expect(await ledger.settle(settlementOf(open))).toBe('settled');
  await expectSound();
  await remove(30);
  expect([await isThere(open.generation.id), await hasTable(nameOf('attempts', 6))]).toEqual([false, false]);
  await expectSound();
});

test('requests go on while it waits for whoever still reads the table', async () => {
  const old = await generationAt(middleOfMonth(6));
  const { reader, removal, hasEnded } = await startWaiting(90);
  // All of this happens while a lock is tried repeatedly: nobody waits behind it for long.
  const made: string[] = [];
  for (let count = 0; count < 20; count++) made.push(await generationAt(new Date()));
  expect(await Promise.all(made.map(isThere))).toEqual(made.map(() => true));
  expect(await listed()).toContain(made[0] ?? '');
  expect(hasEnded()).toBe(false);

  let isDone = false;
  const goOn = async () => {
    while (!isDone) made.push(await generationAt(new Date()));
  };
  const load = Promise.all([goOn(), goOn(), goOn()]);
  await reader.leave();
  expect(await removal).toBeGreaterThan(0);
  isDone = true;
  await load;
  expect(await isThere(old)).toBe(false);
  expect((await Promise.all(made.map(isThere))).every(Boolean)).toBe(true);
  await expectSound();
});

test('an interrupted removal leaves everything in place, and the next one removes it', async () => {
  const old = await generationAt(middleOfMonth(6));
  const { reader, removal } = await startWaiting(90);
  const outcome = removal.then(
    () => 'done',
    () => 'interrupted',
  );
  await database.sql`
    select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and query ~ 'detach partition' and pid <> pg_backend_pid()`;
  expect(await outcome).toBe('interrupted');
  expect(await isThere(old)).toBe(true);
  await reader.leave();
  expect(await remove(90)).toBeGreaterThan(0);
  expect(await isThere(old)).toBe(false);
  await expectSound();
});

test('rows in the default partition move to their month when that is created', async () => {
  const farAway = new Date(Date.now() + 800 * dayMs);
  const id = await generationAt(farAway);
  const [stray] = await database.sql`select count(*) as count from generations_default`;
  expect(stray.count).toBe(1n);
  await database.sql`select create_partitions(current_date + 790, current_date + 810)`;
  const [left] = await database.sql`
    select (select count(*) from generations_default) as generations, (select count(*) from attempts_default) as attempts,
           (select count(*) from generation_attributions_default) as attributions`;
  expect({ ...left }).toEqual({ generations: 0n, attempts: 0n, attributions: 0n });
  expect(await isThere(id)).toBe(true);
  await expectSound();
});

test('a month that was detached and not dropped is dropped when it has expired, and only then', async () => {
  const [gone, young] = [nameOf('generations', 8), nameOf('attempts', 2)];
  await database.sql.unsafe(`alter table generations detach partition ${gone}`);
  await database.sql.unsafe(`alter table attempts detach partition ${young}`);
  await remove(daysSinceMonth(5));
  expect([await hasTable(gone), await hasTable(young)]).toEqual([false, true]);
});

test('tables that only look alike are left alone', async () => {
  await database.sql`create table generations_2020_13 (id uuid)`;
  await database.sql`create table generations_2020_01_backup (id uuid)`;
  await database.sql`create table old_generations_2020_01 (id uuid)`;
  await database.sql`create view attempts_2020_01 as select 1 as one`;
  await remove(30);
  for (const name of [
    'generations_2020_13',
    'generations_2020_01_backup',
    'old_generations_2020_01',
    'attempts_2020_01',
  ])
    expect(await hasTable(name)).toBe(true);
});

test('only one node does it at a time', async () => {
  const { reader, removal } = await startWaiting(90);
  expect(await remove(90)).toBe(0);
  await reader.leave();
  expect(await removal).toBeGreaterThan(0);
});

test('the gateway does it when it starts; lookups answer 404, usage and the audit do not change', async () => {
  const old = await generationAt(middleOfMonth(6));
  const young = await generationAt(new Date());
  const environment = {
    DATABASE_URL: database.url,
    TOLLGATE_DATA: temporaryFolder(),
    GENERATION_RETENTION_DAYS: '90',
  };
  const gateway = await startGateway(environment);
  const get = (path: string) =>
    fetch(`${gateway.origin}${path}`, { headers: { authorization: `Bearer ${owner.key}` } });
  await eventually('old months are removed', () => gateway.output().includes('expired partitions removed'));
  expect(gateway.output()).toContain('expired partitions removed');
  const lookUp = async (id: string) => (await get(`/v1/generations/${requestIdFromUuid(id)}`)).status;
  expect([await lookUp(old), await lookUp(young)]).toEqual([404, 200]);
  const { data: generations } = (await (await get('/v1/generations')).json()) as { data: { id: string }[] };
  expect(generations.map(({ id }) => id)).toEqual([requestIdFromUuid(young)]);
  const { data: records } = (await (await get('/v1/usage')).json()) as { data: { id: string }[] };
  expect(records.map(({ id }) => id)).toEqual([young, old]);
  expect((await tollgate(['ledger', 'audit', '--full'], environment)).exitCode).toBe(0);
  expect(await gateway.stop()).toBe(0);
});

test('a gateway that is still waiting can stop, and the next start finishes', async () => {
  const old = await generationAt(middleOfMonth(6));
  const reader = await openReader();
  const environment = {
    DATABASE_URL: database.url,
    TOLLGATE_DATA: temporaryFolder(),
    GENERATION_RETENTION_DAYS: '90',
  };
  const gateway = await startGateway(environment);
  await eventually('the removal waits', isWaiting);
  expect(await gateway.stop()).toBe(0);
  expect(gateway.output()).not.toContain('not removed');
  await reader.leave();
  const next = await startGateway(environment);
  await eventually('old months are removed', () => next.output().includes('expired partitions removed'));
  expect(await next.stop()).toBe(0);
  expect(await isThere(old)).toBe(false);
});

test('the setting is a number of days, or nothing', () => {
  const read = (value?: string) =>
    readConfig(value === undefined ? {} : { GENERATION_RETENTION_DAYS: value }).generationRetentionDays;
  expect([read(), read(''), read('1'), read('365')]).toEqual([null, null, 1, 365]);
  for (const value of ['0', '-1', '1.5', '36501', 'forever', ' 7'])
    expect(() => read(value)).toThrow(
      `GENERATION_RETENTION_DAYS must be a whole number from 1 to 36500, but is "${value}".`,
    );
});
