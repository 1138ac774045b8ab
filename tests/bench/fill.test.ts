/** The ledger that the bench fills in SQL could have been written by the gateway. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { createAccounts, type Owner } from '../../bench/accounts.ts';
import { countCharges } from '../../bench/charges.ts';
import {
  countGenerations,
  emptyLedger,
  fillGenerations,
  finishMaintenance,
  measureStorage,
} from '../../bench/fill.ts';
import { fillRequests } from '../../bench/fill-requests.ts';
import { auditLedger } from '../../src/audit/audit.ts';
import { nilId } from '../../src/lib/ids.ts';
import { storePriceList } from '../../src/pricing/price-list-store.ts';
import { createDatabase, type TestDatabase } from '../support/cluster.ts';

let database: TestDatabase;
let owners: Owner[];

beforeAll(async () => {
  database = await createDatabase();
  await storePriceList(database.sql, { version: 'bench', digest: '00'.repeat(32), content: {} });
  owners = await createAccounts(database.sql, 7);
}, 60_000);
afterAll(() => database.close());

const violations = async () => (await auditLedger(database.sql)).filter((finding) => finding.violations > 0);

test('every account gets equally many, with all rows of a real one, and an audit finds nothing', async () => {
  const { sql } = database;
  expect(await fillGenerations(sql, owners, 1_000)).toBe(1_001);
  expect(await countGenerations(sql)).toBe(1_001);
  expect(await countCharges(sql)).toBe(1_001);
  const [rows] = await sql`
    select (select count(*)::int from attempts) as attempts, (select count(*)::int from usage_records) as usage,
           (select count(distinct entry_count)::int from accounts) as counts, (select max(entry_count)::int from accounts) as most`;
  expect(rows).toEqual({ attempts: 1_001, usage: 1_001, counts: 1, most: 144 });
  expect(await violations()).toEqual([]);
});

test('more can be added, and maintenance leaves nothing to add up', async () => {
  const { sql } = database;
  expect(await fillGenerations(sql, owners.slice(0, 2), 10)).toBe(10);
  await finishMaintenance(sql);
  const [{ requests }] = await sql`select sum(requests)::int as requests from usage_days`;
  expect(requests).toBe(1_011);
  const { tableBytes, indexBytes } = await measureStorage(sql);
  expect(tableBytes).toBeGreaterThan(100);
  expect(indexBytes).toBeGreaterThan(100);
  expect(await violations()).toEqual([]);
});

test('an emptied ledger has the credit of each account and nothing else', async () => {
  const { sql } = database;
  await emptyLedger(sql);
  expect(await countGenerations(sql)).toBe(0);
  expect(await countCharges(sql)).toBe(0);
  expect(await violations()).toEqual([]);
  await fillGenerations(sql, owners, 7);
  expect(await violations()).toEqual([]);
  // Only the bench may do this.
  expect(sql`truncate ledger_entries`.execute()).rejects.toThrow('append-only');
});

test('requests of a day are added up with their refusals', async () => {
  const { sql } = database;
  const { accountId } = await fillRequests(sql, { requests: 300, keys: 3, days: 1 });
  const [counts] = await sql`
    select sum(count) filter (where status <> 'refused')::int as served, sum(count) filter (where status = 'refused')::int as refused,
           (select count(*)::int from generations where account_id = ${accountId}) as generations,
           (select count(*)::int from refusals) as refusals
    from request_hours where account_id = ${accountId} and key_id <> ${nilId}`;
  expect(counts).toEqual({ served: 300, refused: 15, generations: 300, refusals: 15 });
});
