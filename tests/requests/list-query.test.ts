/** Lists of requests with any filter, page after page, compared with one plain query over everything. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { SQL } from 'bun';
import fc from 'fast-check';
import { findSeries } from '../../src/console/request-figures.ts';
import type { CountFilter } from '../../src/console/request-filter.ts';
import type { Label } from '../../src/generations/attribution.ts';
import { newestPosition } from '../../src/generations/generation-store.ts';
import { firstIdAt, newId } from '../../src/lib/ids.ts';
import type { RequestFilter } from '../../src/requests/filter.ts';
import {
  type FoundRequests,
  findRequests,
  type ListedRequest,
  maxScanned,
  type Scan,
  scanQuery,
} from '../../src/requests/list-query.ts';
import { createDatabase, type TestDatabase } from '../support/cluster.ts';

const requestCount = 3_000;
const minuteMs = 60_000;
const baseMs = Date.now() - 3_600_000;
const accounts = [newId(), newId(), newId()] as const;
const keys = [newId(), newId(), newId(), newId()] as const;
let database: TestDatabase;
let sql: SQL;

/** One request every 100 ms, with properties that are independent of each other. A sixth was refused, a few are open. */
beforeAll(async () => {
  database = await createDatabase();
  sql = new SQL(database.url, { max: 1, bigint: true });
  await sql.begin(async (transaction) => {
    await transaction`
      create temporary table made on commit drop as
      select (lpad(to_hex(${baseMs}::bigint + n * 100), 12, '0') || '70008000' || lpad(to_hex(n), 12, '0'))::uuid as id,
             (array[${accounts[0]}, ${accounts[1]}, ${accounts[2]}]::uuid[])[1 + n % 3] as account_id,
             (array[${keys[0]}, ${keys[1]}, ${keys[2]}, ${keys[3]}]::uuid[])[1 + n % 4] as key_id,
             (array['a', 'b'])[1 + (random() * 1.2)::int % 2] as model, (array['P', 'Q'])[1 + (random() * 10)::int % 2] as provider,
             (random() * 5)::int as kind, random() < 0.5 as streaming, random() < 0.2 as fallback,
             (random() * 1000)::int as latency_ms, round((random() / 10)::numeric, 4) as cost, n
      from generate_series(1, ${requestCount}::bigint) as n`;
    await transaction`
      insert into generations (id, account_id, key_id, workload, model, provider, status, streaming, fallback, attempt_count,
        price_list_id, latency_ms, cost_total, error_code, created_at, completed_at)
      select id, account_id, key_id, 'chat', model, provider,
             case kind when 1 then 'failed' when 2 then 'cancelled' else 'completed' end, streaming, fallback,
             case when kind = 1 and n % 2 = 0 then 0 else 1 end, 1, latency_ms, case when kind <> 1 then cost end,
             case when kind = 1 then (array['provider_timeout', 'provider_error'])[1 + n % 2] end, now(), now()
      from made where kind <> 5 and n <= ${requestCount - 5}`;
    await transaction`
      insert into open_generations (id, account_id, key_id, node_id, workload, model, provider, streaming, hold, price_list_id,
        attempts, created_at)
      select id, account_id, key_id, ${newId()}, 'chat', model, provider, streaming, 1, 1,
             jsonb_build_array(jsonb_build_object('provider', 'P'), jsonb_build_object('provider', 'Q')), now()
      from made where n > ${requestCount - 5}`;
    await transaction`
      insert into refusals (id, account_id, key_id, api, model, code, http_status)
      select id, account_id, key_id, (array['messages', 'images'])[1 + n % 2], model,
             (array['insufficient_balance', 'invalid_parameter', 'provider_timeout'])[1 + n % 3], 400
      from made where kind = 5 and n <= ${requestCount - 5}`;
    await transaction`
      insert into generation_attributions (generation_id, account_id, kind, label)
      select id, account_id, 'end_user', 'user-' || n % 5 from made where n % 2 = 0
      union all select id, account_id, 'tag', 'env=' || (n % 3) from made
      union all select id, account_id, 'session', 'rare' from made where n % 97 = 0`;
    // What the plain query reads, with the same names for everything.
    await transaction`
      create table everything as
      select id, account_id, key_id, status, null::text as api, model, case when attempt_count > 0 then provider end as provider,
             streaming, fallback, error_code, cost_total, latency_ms from generations
      union all select id, account_id, key_id, 'in_progress', null, model, provider, streaming, true, null, null, 0
      from open_generations
      union all select id, account_id, key_id, 'refused', api, model, null, null, null, code, null, null from refusals`;
  });
}, 60_000);

afterAll(async () => {
  await sql.close({ timeout: 1 });
  await database.close();
});

const orNull = <Value>(arbitrary: fc.Arbitrary<Value>) => fc.option(arbitrary, { freq: 2, nil: null });
const time = fc.nat({ max: requestCount * 100 }).map((afterMs) => firstIdAt(baseMs + afterMs));
const label: fc.Arbitrary<Label> = fc.constantFrom<Label>(
  ['session', 'rare'],
  ['end_user', 'user-2'],
  ['end_user', 'nobody'],
  ['tag', 'env=1'],
);

const manyFilters: fc.Arbitrary<RequestFilter> = fc.record({
  first: fc.oneof(fc.constant(firstIdAt(0)), time),
  end: fc.oneof(fc.constant(newestPosition), time),
  accountId: orNull(fc.constantFrom(...accounts)),
  keyId: orNull(fc.constantFrom(...keys)),
  status: orNull(fc.constantFrom('in_progress', 'completed', 'failed', 'cancelled', 'refused')),
  errorCode: orNull(fc.constantFrom('insufficient_balance', 'provider_timeout')),
  model: orNull(fc.constantFrom('a', 'b')),
  provider: orNull(fc.constantFrom('P', 'Q')),
  api: orNull(fc.constant('messages')),
  labels: fc.uniqueArray(label, { maxLength: 2, selector: ([kind]) => kind }),
  isStreamed: orNull(fc.boolean()),
  isFallback: orNull(fc.boolean()),
  minCost: orNull(fc.constantFrom('0', '0.05')),
  minDurationMs: orNull(fc.constantFrom(0, 900)),
});

const noFilter: RequestFilter = {
  first: firstIdAt(0),
  end: newestPosition,
  accountId: null,
  keyId: null,
  status: null,
  errorCode: null,
  model: null,
  provider: null,
  api: null,
  labels: [],
  isStreamed: null,
  isFallback: null,
  minCost: null,
  minDurationMs: null,
};

const names = Object.keys(noFilter) as (keyof RequestFilter)[];
/** With many of them, hardly any request is left. */
const fewFilters = fc.tuple(manyFilters, fc.subarray(names, { maxLength: 3 })).map(
  ([many, chosen]): RequestFilter => ({
    ...noFilter,
    ...Object.fromEntries(chosen.map((name) => [name, many[name]])),
  }),
);
const filterArbitrary = fc.oneof(manyFilters, fewFilters);

type Row = ListedRequest & Scan;

function find(filter: RequestFilter, before: string, rowCount: number): Promise<FoundRequests<Row>> {
  return findRequests<Row>(
    (position, scanCount, wanted) =>
      sql`${scanQuery(sql, filter, position, scanCount, wanted)} order by id desc`,
    before,
    rowCount,
  );
}

/** All of them, page by page, and how many pages that took. */
async function walk(filter: RequestFilter, limit: number) {
  const ids: string[] = [];
  let pages = 0;
  for (let before: string | null = filter.end; before !== null; pages += 1) {
    const { rows, scannedTo }: FoundRequests<Row> = await find(filter, before, limit);
    ids.push(...rows.map(({ id }) => id));
    before = scannedTo ?? (rows.length < limit ? null : (rows.at(-1)?.id ?? null));
  }
  return { ids, pages };
}

async function expected(filter: RequestFilter): Promise<string[]> {
  const cost = filter.minCost;
  const rows = await sql<{ id: string }[]>`
    select id from everything
    where id >= ${filter.first} and id < ${filter.end}
      and account_id = coalesce(${filter.accountId}::uuid, account_id) and key_id = coalesce(${filter.keyId}::uuid, key_id)
      and status = coalesce(${filter.status}::text, status) and model = coalesce(${filter.model}::text, model)
      and (${filter.errorCode}::text is null or error_code = ${filter.errorCode}::text)
      and (${filter.provider}::text is null or provider = ${filter.provider}::text)
      and (${filter.api}::text is null or api = ${filter.api}::text)
      and (${filter.isStreamed}::boolean is null or streaming = ${filter.isStreamed}::boolean)
      and (${filter.isFallback}::boolean is null or fallback = ${filter.isFallback}::boolean)
      and (${cost}::numeric is null or cost_total >= ${cost}::numeric)
      and (${filter.minDurationMs}::int is null or latency_ms >= ${filter.minDurationMs}::int
           or (status = 'in_progress' and ${filter.minDurationMs}::int <= 900))
    order by id desc`;
  const labels = filter.labels.map(([kind, text]) => `${kind} ${text}`);
  if (labels.length === 0) return rows.map(({ id }) => id);
  const stored = await sql<{ id: string; labels: string[] }[]>`
    select generation_id as id, array_agg(kind || ' ' || label) as labels from generation_attributions group by generation_id`;
  const byId = new Map(stored.map((row) => [row.id, row.labels]));
  return rows.map(({ id }) => id).filter((id) => labels.every((wanted) => byId.get(id)?.includes(wanted)));
}

test('finds what a plain query finds, with any filter and any size of page', async () => {
  // Open for long enough to be in every list of slow ones.
  await sql`update open_generations set created_at = now() - interval '1 hour'`;
  await fc.assert(
    fc.asyncProperty(filterArbitrary, fc.integer({ min: 2, max: 101 }), async (filter, limit) => {
      const { ids } = await walk(filter, limit);
      expect(ids).toEqual(await expected(filter));
    }),
    { numRuns: 150 },
  );
}, 60_000);

/** The same filter, for figures that are counted row by row. */
function countFilterOf(filter: RequestFilter): CountFilter {
  const { accountId, keyId } = filter;
  const span = { fromMs: baseMs - minuteMs, toMs: baseMs + requestCount * 100 + minuteMs };
  return { span, accountId, keyId, sums: filter, rows: filter, needsRows: true };
}

test('figures count what the list has', async () => {
  await fc.assert(
    fc.asyncProperty(fewFilters, async (anyFilter) => {
      const filter = { ...anyFilter, keyId: null, first: firstIdAt(0), end: newestPosition };
      const series = await findSeries(sql, () => sql`(select 1)`, 'permission_denied', countFilterOf(filter));
      const listed = await sql<{ status: string; id: string }[]>`
        select id, status from everything where id = any (${sql.array((await walk(filter, 101)).ids, 'uuid')})`;
      const count = (status: string) => listed.filter((row) => row.status === status).length;
      expect({ ...series.totals, in_progress: series.in_progress }).toMatchObject({
        in_progress: count('in_progress'),
        completed: count('completed'),
        failed: count('failed'),
        cancelled: count('cancelled'),
        refused: count('refused'),
      });
      expect(series.points.reduce((sum, { refused }) => sum + refused, 0)).toBe(count('refused'));
    }),
    { numRuns: 60 },
  );
}, 60_000);

test.each([
  ['nothing', {}],
  ['an account', { accountId: accounts[0] }],
  ['a key', { keyId: keys[0] }],
  ['failed', { status: 'failed' }],
  ['refused', { accountId: accounts[0], status: 'refused' }],
  ['a code', { accountId: accounts[0], errorCode: 'provider_timeout' }],
  ['a model', { accountId: accounts[1], model: 'a' }],
] as const)('everything with %s', async (_, chosen) => {
  const filter = { ...noFilter, ...chosen };
  expect((await walk(filter, 51)).ids).toEqual(await expected(filter));
});

test('looks at a limited number of requests for a page, and says where it stopped', async () => {
  await sql`
    insert into refusals (id, account_id, key_id, api, code, http_status)
    select (lpad(to_hex(${baseMs - 86_400_000}::bigint + n), 12, '0') || '70008000' || lpad(to_hex(n), 12, '0'))::uuid,
           ${accounts[0]}, ${keys[0]}, case when n = 1 then 'responses' else 'messages' end, 'rate_limit_exceeded', 429
    from generate_series(1, ${maxScanned + 500}::bigint) as n`;
  const filter = { ...noFilter, end: firstIdAt(baseMs), api: 'responses' };
  const page = await find(filter, filter.end, 51);
  expect(page.rows).toEqual([]);
  expect(page.scannedTo).not.toBeNull();
  const next = await find(filter, page.scannedTo ?? '', 51);
  expect(next.rows.length).toBe(1);
  expect(next.scannedTo).toBeNull();
});
