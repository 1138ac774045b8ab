/** What a page of requests for someone costs the database: no more than its rows, whatever else there is. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { SQL } from 'bun';
import {
  attributedQuery,
  findMatching,
  maxScanned,
  type ScannedRow,
} from '../../src/generations/attributed-query.ts';
import type { Label } from '../../src/generations/attribution.ts';
import { type GenerationStatus, newestPosition } from '../../src/generations/generation-store.ts';
import { newId } from '../../src/lib/ids.ts';
import { hourMs } from '../../src/lib/time-units.ts';
import { lookedAtQuery } from '../../src/rollups/one-by-one.ts';
import { createDatabase, type TestDatabase } from '../support/cluster.ts';

const rowCount = 60_000;
const accountId = newId();
const otherAccountId = newId();
const keyId = newId();
let database: TestDatabase;
/** One connection, so that plans are kept from one query to the next, as in a pool. */
let sql: SQL;

/**
 * Every request has the tag env=prod; half of them are another account's. One in 600 is for the end user rare, one in 3,000
 * has failed.
 */
beforeAll(async () => {
  database = await createDatabase();
  sql = new SQL(database.url, { max: 1, bigint: true });
  await sql.begin(async (transaction) => {
    await transaction`
      create temporary table made on commit drop as
      select (lpad(to_hex((extract(epoch from now()) * 1000)::bigint - n * 1000), 12, '0')
               || '70008000' || lpad(to_hex(n), 12, '0'))::uuid as id,
             case when n % 2 = 0 then ${accountId} else ${otherAccountId} end::uuid as account_id, n
      from generate_series(1, ${rowCount}::bigint) as n`;
    await transaction`
      insert into generations (id, account_id, key_id, workload, model, provider, status, streaming, fallback, attempt_count,
        price_list_id, latency_ms, error_code, created_at, completed_at)
      select id, account_id, ${keyId}, 'chat', 'm', 'P', case when n % 3000 = 0 then 'failed' else 'cancelled' end, true,
             false, 1, 1, 100, case when n % 3000 = 0 then 'provider_timeout' end, now(), now()
      from made`;
    await transaction`
      insert into generation_attributions (generation_id, account_id, kind, label)
      select id, account_id, 'tag', 'env=prod' from made
      union all select id, account_id, 'end_user', 'user-' || n from made
      union all select id, account_id, 'session', 'rare' from made where n % 600 = 0`;
  });
}, 120_000);

afterAll(async () => {
  await sql.close({ timeout: 1 });
  await database.close();
});

type Question = Readonly<{
  labels: readonly Label[];
  isOperator?: boolean;
  status?: GenerationStatus;
  before?: string;
}>;
type Counters = { scanned: bigint; fetched: bigint };

async function costOf(question: Question, wanted = 51) {
  const { labels, isOperator = false, status = null, before = newestPosition } = question;
  const filter = { accountId: isOperator ? null : accountId, keyId: null, status, model: null, labels };
  const find = (connection: SQL) =>
    findMatching<ScannedRow & { account_id: string }>(
      (position, scanCount) => connection`${attributedQuery(connection, filter, position, scanCount)}`,
      before,
      wanted,
    );
  // The first time the plan is made, which reads the catalogue.
  await find(sql);
  return await sql.begin(async (transaction) => {
    const start = await readCounters(transaction);
    const { rows, scannedTo } = await find(transaction);
    const end = await readCounters(transaction);
    const rowsScanned = Number(end.scanned - start.scanned);
    return { rows, scannedTo, rowsScanned, rowsRead: Number(end.fetched - start.fetched) };
  });
}

/** Rows by table, whether found by an index or by a scan. */
async function readCounters(connection: SQL): Promise<Counters> {
  const [row] = await connection<[Counters]>`
    select sum(seq_tup_read)::bigint as scanned, sum(idx_tup_fetch)::bigint as fetched from pg_stat_xact_user_tables
    where relname ~ '^(generations|open_generations|generation_attributions)'`;
  return row;
}

const env: Label = ['tag', 'env=prod'];

test.each(['before', 'after'])('a page reads its own rows, %s the tables are analysed', async (when) => {
  if (when === 'after') await sql`analyze generations, open_generations, generation_attributions`;
  const [{ before }] = await sql<[{ before: string }]>`
    select id as before from generations where account_id = ${accountId} order by id offset 5000 limit 1`;
  const expected: [Question, number][] = [
    [{ labels: [env] }, 51],
    [{ labels: [env], before }, 51],
    [{ labels: [env], isOperator: true }, 51],
    [{ labels: [env], isOperator: true, before }, 51],
    [{ labels: [['end_user', 'user-4242']] }, 1],
    [{ labels: [['end_user', 'user-4242'], env] }, 1],
    [{ labels: [['end_user', 'user-4241']] }, 0],
    [{ labels: [['end_user', 'user-4241']], isOperator: true }, 1],
    [{ labels: [['session', 'rare'], env] }, 51],
    [{ labels: [['session', 'nobody']] }, 0],
  ];
  for (const [question, count] of expected) {
    const { rows, rowsScanned, rowsRead } = await costOf(question);
    expect({ question, count: rows.length }).toEqual({ question, count });
    if (question.isOperator !== true)
      expect(new Set(rows.map((row) => row.account_id)).size).toBeLessThanOrEqual(1);
    // Of the label, of the Generation, and of the other labels that it needs.
    expect({ question, rowsRead, isFew: rowsRead <= 4 * count + 4, rowsScanned }).toEqual({
      question,
      rowsRead,
      isFew: true,
      rowsScanned: 0,
    });
  }
});

test('what hardly anything matches is looked for among a bounded number', async () => {
  const { rows, scannedTo, rowsScanned, rowsRead } = await costOf({ labels: [env], status: 'failed' });
  // One in 1,500 of this account.
  expect(rows.length).toBe(6);
  expect(scannedTo).not.toBeNull();
  expect(rowsScanned).toBe(0);
  expect(rowsRead).toBeLessThanOrEqual(2 * maxScanned + 4);
  const rest = await costOf({ labels: [env], status: 'failed', before: scannedTo ?? '' });
  expect(rest.rows[0]?.id).not.toBe(rows.at(-1)?.id);
});

test('figures read the requests with a label, and no others', async () => {
  const any = { status: null, errorCode: null, model: null, provider: null };
  const anyRow = { api: null, isStreamed: null, isFallback: null, minCost: null, minDurationMs: null };
  const wanted = { scope: { accountId, keyId: null }, filter: any, rows: { ...anyRow, labels: [env] } };
  const nowMs = Date.now();
  const steps = { fromMs: nowMs - 24 * hourMs, toMs: nowMs, stepMs: hourMs };
  const { rowsScanned, rowsRead, count } = await sql.begin(async (transaction) => {
    const start = await readCounters(transaction);
    const rows = await transaction<
      { cancelled: number; failed: number }[]
    >`${lookedAtQuery(transaction, wanted, steps)}`;
    const end = await readCounters(transaction);
    return {
      count: rows.reduce((sum, row) => sum + Number(row.cancelled) + Number(row.failed), 0),
      rowsScanned: Number(end.scanned - start.scanned),
      rowsRead: Number(end.fetched - start.fetched),
    };
  });
  expect(count).toBe(rowCount / 2);
  expect(rowsScanned).toBe(0);
  // The label, the Generation, and the label once more.
  expect(rowsRead).toBeLessThanOrEqual(3 * count + 4);
});
