/** How refusals reach the database: counted once whatever happens to a connection, and bounded whatever clients send. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { SQL } from 'bun';
import { ApiError, type ErrorCode } from '../../src/errors.ts';
import { type AskedRequest, RequestContext } from '../../src/http/context.ts';
import { newId, nilId } from '../../src/lib/ids.ts';
import { createLog } from '../../src/lib/log.ts';
import { maxOfAccount, maxWithModelOfAccount } from '../../src/requests/count-detail.ts';
import { RefusalRecorder } from '../../src/requests/refusal-recorder.ts';
import { removeOldRefusals } from '../../src/requests/refusal-store.ts';
import { createDatabase, type TestDatabase } from '../support/cluster.ts';
import { startDatabaseRelay } from '../support/database-relay.ts';
import { eventually } from '../support/eventually.ts';

let database: TestDatabase;
let sql: SQL;

beforeAll(async () => {
  database = await createDatabase();
  ({ sql } = database);
});

afterAll(() => database.close());

const log = createLog('error', () => undefined);
const host = { timeout: () => undefined, requestIP: () => null };

function recorderOn(connection: SQL): RefusalRecorder {
  return new RefusalRecorder({
    sql: connection,
    nodeId: newId(),
    isModel: (name) => name.startsWith('known'),
    log,
  });
}

function refuse(
  recorder: RefusalRecorder,
  caller: { id: string; accountId: string },
  given: Partial<Given> = {},
) {
  const {
    model = 'known',
    code = 'invalid_parameter',
    param = null,
    attribution = null,
    mayBeHeld = false,
  } = given;
  const context = new RequestContext(new Request('http://localhost/'), host, []);
  context.caller = { ...caller, requestsPerMinute: 600 };
  context.mayBeHeld = mayBeHeld;
  context.asked = { api: 'messages', model, attribution };
  recorder.record(context, new ApiError(code, param === null ? {} : { param }));
}

type Given = Readonly<{
  model: string;
  code: ErrorCode;
  param: string | null;
  attribution: AskedRequest['attribution'];
  mayBeHeld: boolean;
}>;

const newCaller = () => ({ id: newId(), accountId: newId() });

/** How many were counted for the key, for its account, and for everybody with this code. */
async function countedOf({ id, accountId }: { id: string; accountId: string }, code: ErrorCode) {
  const rows = await sql<{ key: number; account: number; everybody: number }[]>`
    select coalesce(sum(count) filter (where key_id = ${id}), 0)::int as key,
           coalesce(sum(count) filter (where account_id = ${accountId} and key_id = ${nilId}), 0)::int as account,
           coalesce(sum(count) filter (where account_id = ${nilId} and error_code = ${code}), 0)::int as everybody
    from request_minutes where status = 'refused'`;
  return { ...rows[0] };
}

const storedOf = async ({ id }: { id: string }) =>
  (await sql<{ count: number }[]>`select count(*)::int from refusals where key_id = ${id}`)[0]?.count;

test('a flush whose confirmation is lost counts once', async () => {
  const relay = await startDatabaseRelay(database.url);
  const behind = new SQL(relay.url, { max: 1 });
  const recorder = recorderOn(behind);
  const caller = newCaller();
  const isWaiting = async () =>
    (
      await sql`select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like '%store_refusals%'`
    ).length > 0;
  await sql.begin(async (transaction) => {
    await transaction`lock table refusals in exclusive mode`;
    for (let sent = 0; sent < 3; sent += 1) refuse(recorder, caller, { code: 'invalid_size' });
    await eventually('the flush to be under way', isWaiting);
    // The statement goes on, and nobody hears of it.
    relay.become('close');
  });
  await eventually('the flush to be over', async () => (await countedOf(caller, 'invalid_size')).key !== 0);
  expect(await countedOf(caller, 'invalid_size')).toEqual({ key: 3, account: 3, everybody: 3 });
  relay.become('pass');
  // It is only known to be over when something later arrives.
  refuse(recorder, caller, { code: 'invalid_size' });
  await eventually('the next flush', async () => (await storedOf(caller)) === 4);
  expect(await countedOf(caller, 'invalid_size')).toEqual({ key: 4, account: 4, everybody: 4 });
  await recorder.close();
  await behind.close({ timeout: 1 });
  relay.close();
});

test('a flush that has to wait gives its connection back, and comes again', async () => {
  const recorder = recorderOn(sql);
  const caller = newCaller();
  const waiting = () =>
    sql`select pid, query_start from pg_stat_activity
        where wait_event_type = 'Lock' and query like '%store_refusals%'`;
  await sql.begin(async (transaction) => {
    await transaction`lock table refusals in exclusive mode`;
    refuse(recorder, caller, { code: 'invalid_n' });
    let first = '';
    await eventually('the flush to wait', async () => {
      first = String((await waiting())[0]?.query_start ?? '');
      return first !== '';
    });
    await eventually('another flush to wait alone', async () => {
      const found = await waiting();
      expect(found.length).toBeLessThanOrEqual(1);
      return found.length === 1 && String(found[0].query_start) !== first;
    });
  });
  await eventually('the flush', async () => (await storedOf(caller)) === 1);
  await recorder.close();
});

test('a flood is counted to the last request on every node, and stored in part', async () => {
  const nodes = [recorderOn(sql), recorderOn(sql)];
  const caller = newCaller();
  const neighbour = newCaller();
  for (let sent = 0; sent < 5_000; sent += 1)
    for (const node of nodes) refuse(node, caller, { model: `made-up-${sent}`, code: 'model_not_found' });
  for (const node of nodes) refuse(node, neighbour, { code: 'invalid_n' });
  await Promise.all(nodes.map((node) => node.close()));
  expect(await countedOf(caller, 'model_not_found')).toEqual({
    key: 10_000,
    account: 10_000,
    everybody: 10_000,
  });
  expect(await storedOf(caller)).toBeLessThanOrEqual(2 * 110);
  expect(await storedOf(caller)).toBeGreaterThanOrEqual(2 * 100);
  expect(await storedOf(neighbour)).toBe(2);
  const models = await sql`select distinct model from request_minutes where error_code = 'model_not_found'`;
  expect(models.map(({ model }: { model: string }) => model)).toEqual(['']);
});

test('whatever keys and models a flood names, its totals are exact and its rows are few', async () => {
  const recorder = recorderOn(sql);
  const { accountId } = newCaller();
  const code = 'unsupported_parameter';
  const [one = '', ...others] = Array.from({ length: 1_200 }, () => newId());
  for (let sent = 0; sent < 100; sent += 1)
    refuse(recorder, { id: one, accountId }, { model: `known-${sent}`, code });
  for (const [index, id] of others.entries())
    for (const model of ['known', `known-${index}`]) refuse(recorder, { id, accountId }, { model, code });
  await recorder.close();
  const total = 100 + 2 * others.length;
  expect(await countedOf({ id: one, accountId }, code)).toEqual({
    key: 100,
    account: total,
    everybody: total,
  });
  for (const table of ['request_minutes', 'request_hours']) {
    const [row] = await sql.unsafe<{ keys: number; one: number; account: number; total: number }[]>(
      `select count(*) filter (where key_id <> '${nilId}')::int as keys,
              count(*) filter (where key_id = '${one}')::int as one,
              count(*) filter (where key_id = '${nilId}')::int as account,
              sum(count) filter (where key_id = '${nilId}')::int as total
       from ${table} where account_id = '${accountId}'`,
    );
    // The flood may meet the end of a minute or an hour.
    const periods = Math.ceil((row?.one ?? 0) / 21);
    expect(periods).toBeLessThanOrEqual(2);
    expect(row?.keys).toBeLessThanOrEqual(maxOfAccount * periods);
    expect(row?.account).toBeLessThanOrEqual(maxWithModelOfAccount * periods);
    expect(row?.total).toBe(total);
  }
});

test('what may have become a Generation is no refusal besides', async () => {
  const recorder = recorderOn(sql);
  const caller = newCaller();
  for (const mayBeHeld of [true, false]) refuse(recorder, caller, { code: 'server_overloaded', mayBeHeld });
  await recorder.close();
  expect(await countedOf(caller, 'server_overloaded')).toEqual({ key: 1, account: 1, everybody: 1 });
});

test('the keys of one account share what is stored', async () => {
  const recorder = recorderOn(sql);
  const { accountId } = newCaller();
  for (let sent = 0; sent < 1_000; sent += 1) refuse(recorder, { id: newId(), accountId });
  await recorder.close();
  const [row] = await sql<{ count: number }[]>`
    select count(*)::int from refusals where account_id = ${accountId}`;
  expect(row?.count).toBeGreaterThanOrEqual(300);
  expect(row?.count).toBeLessThanOrEqual(310);
});

test('of a flood it is stored of few whom they were for', async () => {
  const recorder = recorderOn(sql);
  const { accountId } = newCaller();
  const attribution = { endUser: 'someone', session: 'some', tags: [['team', 'a']] } as const;
  for (let sent = 0; sent < 1_000; sent += 1) refuse(recorder, { id: newId(), accountId }, { attribution });
  await recorder.close();
  const labels = await sql`select 1 from generation_attributions where account_id = ${accountId}`;
  expect(labels.length).toBeGreaterThanOrEqual(3 * 100);
  expect(labels.length).toBeLessThanOrEqual(3 * 102);
});

test('what no table can hold is neither lost nor in the way', async () => {
  const recorder = recorderOn(sql);
  const caller = newCaller();
  refuse(recorder, caller, { param: 'a\0\ud800', model: `${'x'.repeat(199)}😀` });
  await recorder.close();
  const rows = await sql<{ param: string; model: string }[]>`
    select param, model from refusals where key_id = ${caller.id}`;
  expect(rows.map((row) => ({ ...row }))).toEqual([
    { param: 'a\ufffd\ufffd', model: `${'x'.repeat(199)}\ufffd` },
  ]);
});

test('refusals leave after their retention period, with whom they were for', async () => {
  const caller = newCaller();
  const idAt = (days: number) =>
    sql`overlay(first_id_at(now() - make_interval(days => ${days}::int))::text placing ${newId().slice(-12)} from 25)::uuid`;
  for (const days of [6, 8])
    await sql`
      with made as (
        insert into refusals (id, account_id, key_id, api, code, http_status)
        values (${idAt(days)}, ${caller.accountId}, ${caller.id}, 'messages', 'invalid_n', 400) returning id
      )
      insert into generation_attributions (generation_id, account_id, kind, label)
      select id, ${caller.accountId}, 'end_user', 'x' from made`;
  expect(await removeOldRefusals(sql, 7)).toBe(1);
  expect(await storedOf(caller)).toBe(1);
  const labels = await sql`select 1 from generation_attributions where account_id = ${caller.accountId}`;
  expect(labels.length).toBe(1);
});
