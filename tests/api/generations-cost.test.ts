/** What a page costs the database, in a table with a million Generations: the same at any depth and with any filter. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { SQL } from 'bun';
import { boundedList } from '../../src/console/bounded-read.ts';
import { type GenerationStatus, newestPosition, pageQuery } from '../../src/generations/generation-store.ts';
import { newId } from '../../src/lib/ids.ts';
import {
  findRequests,
  type ListedRequest,
  maxScanned,
  type Scan,
  scanQuery,
} from '../../src/requests/list-query.ts';
import { createDatabase, type TestDatabase } from '../support/cluster.ts';

const months = ['2025-01-01', '2025-02-01', '2025-03-01'];
const rowsPerMonth = 333_400;
const pageSize = 20;
const openCount = 5_000;
const accountId = newId();
/** Has the first 300,000 and nothing since, up to the middle of a month in which others went on. */
const quietKey = newId();
/** Has every third of the rest. Its rare status and its rare model are at the very beginning. */
const steadyKey = newId();
const busyKey = newId();

let database: TestDatabase;
/** One connection, so that plans are kept from one query to the next, as in a pool. */
let sql: SQL;

beforeAll(async () => {
  database = await createDatabase();
  sql = new SQL(database.url, { max: 1, bigint: true });
  await sql`insert into accounts (id, name) values (${accountId}, 'Test')`;
  for (const key of [quietKey, steadyKey, busyKey])
    await sql`
      insert into api_keys (id, account_id, name, hash, hint, requests_per_minute)
      values (${key}, ${accountId}, 'Test', ${Buffer.from(key.replaceAll('-', '').repeat(2), 'hex')}, '…', 1)`;
  for (const [index, month] of months.entries()) await loadMonth(month, index * rowsPerMonth);
  await sql`
    insert into open_generations (id, account_id, key_id, node_id, workload, model, provider, streaming, hold,
      price_list_id, attempts, created_at)
    select gen_random_uuid(), ${accountId}, ${busyKey}, ${newId()}, 'chat', 'usual', 'P', true, 0, 1, '[]', now()
    from generate_series(1, ${openCount}::int)`;
}, 180_000);

afterAll(async () => {
  await sql.close({ timeout: 1 });
  await database.close();
});

/**
 * Fills a partition before it is attached, which builds the indexes in one go. It is unlogged: only reads are measured.
 */
async function loadMonth(month: string, rowsBefore: number): Promise<void> {
  const name = `generations_${month.slice(0, 7).replace('-', '_')}`;
  await sql.begin(async (transaction) => {
    await transaction`set local synchronous_commit = off`;
    await transaction`set local maintenance_work_mem = '256MB'`;
    await transaction.unsafe(
      `create unlogged table ${name} (like generations including defaults including constraints)`,
    );
    await transaction.unsafe(`
      insert into ${name} (id, account_id, key_id, workload, model, provider, status, streaming, fallback, attempt_count,
        price_list_id, input_tokens, output_tokens, units, unit, cost_input, cost_output, cost_total, latency_ms,
        error_code, created_at, completed_at)
      select (lpad(to_hex(ms), 12, '0') || '70008000' || lpad(to_hex(n), 12, '0'))::uuid, '${accountId}',
             case when n <= 300000 then '${quietKey}' when n % 3 = 0 then '${steadyKey}' else '${busyKey}' end::uuid,
             'chat', case when n between 300001 and 300009 then 'rare' else 'usual' end, 'P',
             case when n <= 10 then 'failed' when n between 300001 and 300009 then 'cancelled' else 'completed' end,
             true, false, 1, 1, 10, 20, 30, 'tokens', 0.1, 0.2, 0.3, 100,
             case when n <= 10 then 'provider_timeout' end, at, at
      from (select ${rowsBefore} + place as n, ${Date.parse(month)} + place * 7000 as ms,
                   timestamptz '${month} 00:00Z' as at
            from generate_series(1, ${rowsPerMonth}::bigint) as place) as row`);
    const [{ bounds }] = await transaction<[{ bounds: string }]>`
      select format('from (%L) to (%L)', first_id_at(begins), first_id_at(begins + interval '1 month')) as bounds
      from (select (${month}::text || ' 00:00Z')::timestamptz as begins) as month`;
    await transaction.unsafe(`alter table generations attach partition ${name} for values ${bounds}`);
  });
}

type Question = Readonly<{
  /** Absent for all keys of the account. */
  key?: string;
  before?: string;
  status?: GenerationStatus;
  model?: string;
  limit?: number;
}>;
type Cost = Readonly<{ rows: number; buffers: number; rowsScanned: number; rowsRead: number }>;
type Explained = { 'QUERY PLAN': [{ Plan: Record<string, number> }] };
type Counters = { scanned: bigint; fetched: bigint };

/** What a page touches: its buffers, and the rows by table, whether found by an index or by a scan. */
async function costOf(question: Question): Promise<Cost> {
  // The first time the plan is made, which reads the catalogue.
  await explain(sql, question);
  return await sql.begin(async (transaction) => {
    const before = await readCounters(transaction);
    const { Plan: plan } = await explain(transaction, question);
    const after = await readCounters(transaction);
    return {
      rows: plan['Actual Rows'] ?? Number.NaN,
      buffers: (plan['Shared Hit Blocks'] ?? Number.NaN) + (plan['Shared Read Blocks'] ?? Number.NaN),
      rowsScanned: Number(after.scanned - before.scanned),
      rowsRead: Number(after.fetched - before.fetched),
    };
  });
}

async function explain(connection: SQL, question: Question) {
  const { key, before = newestPosition, status = null, model = null, limit = pageSize } = question;
  const owner = key === undefined ? { accountId } : { keyId: key };
  const [row] = await connection<[Explained]>`
    explain (analyze, buffers, format json)
    ${pageQuery(connection, owner, { status, model }, before, limit + 1)}`;
  return row['QUERY PLAN'][0];
}

async function readCounters(connection: SQL): Promise<Counters> {
  const [row] = await connection<[Counters]>`
    select sum(seq_tup_read)::bigint as scanned, sum(idx_tup_fetch)::bigint as fetched from pg_stat_xact_user_tables
    where relname ~ '^(generations|open_generations|api_keys)'`;
  return row;
}

async function positionAt(key: string, depth: number): Promise<string> {
  const [row] = await sql<[{ id: string }]>`
    select id from generations where key_id = ${key} order by id desc offset ${depth - 1} limit 1`;
  return row.id;
}

// The planner's statistics make no difference: the same holds before the table is first analyzed and after.
test.each(['before', 'after'])(
  'a page costs the same everywhere, %s the tables are analysed',
  async (when) => {
    if (when === 'after') await sql`analyze generations, open_generations`;
    const deep = await positionAt(steadyKey, 10_000 * pageSize);
    const full = pageSize + 1;
    const expected: [Question, number][] = [
      [{ key: steadyKey }, full],
      [{ key: steadyKey, before: deep }, full],
      [{ key: steadyKey, limit: 100 }, 101],
      [{ key: steadyKey, limit: 100, before: deep }, 101],
      [{ key: quietKey }, full],
      [{ key: busyKey }, full],
      [{ key: newId() }, 0],
      [{ key: steadyKey, status: 'completed' }, full],
      [{ key: steadyKey, status: 'completed', before: deep }, full],
      [{ key: steadyKey, status: 'cancelled' }, 3],
      [{ key: steadyKey, status: 'cancelled', before: deep }, 3],
      [{ key: steadyKey, status: 'failed' }, 0],
      [{ key: steadyKey, status: 'in_progress' }, 0],
      [{ key: busyKey, status: 'in_progress' }, full],
      [{ key: quietKey, status: 'failed' }, 10],
      [{ key: steadyKey, model: 'usual' }, full],
      [{ key: steadyKey, model: 'usual', before: deep }, full],
      [{ key: steadyKey, model: 'rare' }, 3],
      [{ key: steadyKey, model: 'rare', before: deep }, 3],
      [{ key: steadyKey, model: 'none' }, 0],
      [{ key: steadyKey, model: 'usual', status: 'completed' }, full],
      [{ key: steadyKey, model: 'usual', status: 'completed', before: deep }, full],
      [{ key: steadyKey, model: 'usual', status: 'cancelled' }, 0],
      [{ key: steadyKey, model: 'rare', status: 'cancelled' }, 3],
      [{ key: steadyKey, model: 'rare', status: 'completed' }, 0],
    ];
    const first = await costOf({ key: steadyKey });
    expect((await costOf({ key: steadyKey, before: deep })).buffers).toBeLessThanOrEqual(first.buffers);
    for (const [question, rows] of expected) {
      const cost = await costOf(question);
      const context = JSON.stringify({ question, cost });
      expect(cost.rows, context).toBe(rows);
      expect(cost.rowsScanned, context).toBe(0);
      // A few for each partition and status, and the page itself.
      expect(cost.buffers, context).toBeLessThan(250);
      // The page, the first of each partition, and at most what the key has open, which its own limit bounds.
      const open = question.key === busyKey ? openCount : 0;
      expect(cost.rowsRead, context).toBeLessThan(2 * ((question.limit ?? pageSize) + 1) + 60 + open);
    }
  },
);

test('a page of all keys of an account costs the same everywhere, too', async () => {
  const deep = await positionAt(steadyKey, 10_000 * pageSize);
  const early = await positionAt(quietKey, 290_000);
  const full = pageSize + 1;
  const expected: [Question, number][] = [
    [{}, full],
    [{ before: deep }, full],
    [{ before: early, limit: 100 }, 101],
    [{ status: 'completed' }, full],
    [{ status: 'completed', before: deep }, full],
    [{ status: 'failed' }, 10],
    [{ status: 'failed', before: early }, 10],
    [{ status: 'cancelled' }, 9],
    [{ status: 'cancelled', before: early }, 0],
    [{ status: 'in_progress' }, full],
    [{ model: 'usual' }, full],
    [{ model: 'usual', before: deep }, full],
    [{ model: 'rare' }, 9],
    [{ model: 'rare', before: early }, 0],
    [{ model: 'none' }, 0],
    [{ model: 'usual', status: 'completed', before: deep }, full],
    [{ model: 'rare', status: 'cancelled' }, 9],
    [{ model: 'rare', status: 'completed' }, 0],
  ];
  for (const [question, rows] of expected) {
    const cost = await costOf(question);
    const context = JSON.stringify({ question, cost });
    expect(cost.rows, context).toBe(rows);
    // There are few open ones, and no index has their account or model, so all of them may be read, once.
    const open = [undefined, 'in_progress'].includes(question.status) ? openCount + openCount / 10 : 0;
    expect(cost.rowsScanned, context).toBeLessThanOrEqual(open);
    expect(cost.buffers, context).toBeLessThan(250 + open);
    expect(cost.rowsRead, context).toBeLessThan(2 * ((question.limit ?? pageSize) + 1) + 60 + open);
  }
});

test('a list that finds nothing looks at a bounded number of requests, however short its range is', async () => {
  await sql`analyze generations`;
  const end = await positionAt(steadyKey, 1);
  for (const depth of [2_000, 6_000, 15_000]) {
    const filter = {
      ...{
        accountId,
        keyId: null,
        status: null,
        errorCode: null,
        model: null,
        provider: null,
        api: null,
        labels: [],
      },
      ...{ isStreamed: null, isFallback: null, minCost: '1', minDurationMs: null },
      ...{ first: await positionAt(steadyKey, depth), end },
    };
    const [rowsRead, found] = await boundedList(sql, async (transaction) => {
      const before = await readCounters(transaction);
      const page = await findRequests<ListedRequest & Scan>(
        (position, scanCount, wanted) =>
          transaction`${scanQuery(transaction, filter, position, scanCount, wanted)}`,
        end,
        51,
      );
      const after = await readCounters(transaction);
      return [Number(after.fetched - before.fetched), page.rows.length];
    });
    expect(found).toBe(0);
    expect([depth, rowsRead < 2 * Math.min(3 * depth, maxScanned)], `${rowsRead} rows`).toEqual([
      depth,
      true,
    ]);
  }
});
