/**
 * What is added up and what is read, against every Generation that was written: at any moment, with several nodes that write and
 * add up, whatever comes late, changes or is undone, and wherever a node stops.
 */
import { afterAll, beforeEach, describe, expect, test } from 'bun:test';
import { SQL } from 'bun';
import fc from 'fast-check';
import { findProviderSeries } from '../../src/console/operator/provider-series.ts';
import { findGroups, findSeries } from '../../src/console/request-figures.ts';
import type { CountFilter } from '../../src/console/request-filter.ts';
import type { Hold, Settlement } from '../../src/ledger/operations.ts';
import { failure } from '../../src/ledger/settlement.ts';
import { firstIdAt, newId } from '../../src/lib/ids.ts';
import { formatMoney, moneyFromDatabase } from '../../src/lib/money.ts';
import { durationBoundsMs, emptyBuckets, percentileMs } from '../../src/rollups/buckets.ts';
import { maxLookedAt } from '../../src/rollups/one-by-one.ts';
import { RollUp } from '../../src/rollups/roll-up.ts';
import { addCheapUser } from '../support/cheap-user.ts';
import { eventually } from '../support/eventually.ts';
import { type Customer, LedgerFixture } from '../support/ledger-fixture.ts';
import {
  newAttempt,
  newGeneration,
  newHold,
  newSettlement,
  succeeded,
} from '../support/ledger-operations.ts';

const fixture = await LedgerFixture.open();
const { database, nodeId } = fixture;
const { sql } = database;
const ledgers = [fixture.openLedger('one'), fixture.openLedger('other')] as const;
await sql`insert into nodes (id, name) values (${nodeId}, 'test')`;
const first = await fixture.customer(10n ** 15n);
const second = await fixture.anotherKey(first.accountId);
const third = await fixture.customer(10n ** 15n);
const customers = [first, second, third] as const;
const { id: operatorId } = await addCheapUser(sql, 'operator@example.com', 'secret', { accountId: null });

afterAll(async () => {
  await Promise.all(ledgers.map((ledger) => ledger.close()));
  await fixture.close();
});

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** As if nothing had been added up since this many hours ago. */
async function forget(hours: number): Promise<void> {
  await sql`truncate request_minutes, request_hours, request_days, attempt_minutes, attempt_hours, dirty_minutes`;
  await sql`
    update rollup_progress set frontier = at, rolled_to = at, minutes_from = '-infinity', hours_from = '-infinity'
    from (select date_trunc('hour', now(), 'UTC') - make_interval(hours => ${hours}::int) as at) as long_ago`;
}

// Nothing here is older than that.
beforeEach(() => forget(5));

/** An ID of this time. */
function idAt(timeMs: number): string {
  return firstIdAt(Math.floor(timeMs)).slice(0, 14) + newId().slice(14);
}

function holdAt(owner: Customer, timeMs: number, model = 'm'): Hold {
  const facts = { id: idAt(timeMs), model, createdAtMs: timeMs, api: 'messages' };
  const generation = newGeneration({ ...owner, priceListId: fixture.priceListId }, facts);
  return newHold(generation, nodeId, 1_000_000n, { attempts: [newAttempt()] });
}

describe('the database and the code agree', () => {
  test('on the buckets of durations', async () => {
    const [row] = await sql<[{ bounds: string }]>`select duration_bounds()::text as bounds`;
    expect(row.bounds).toBe(`{${durationBoundsMs.join(',')}}`);
  });

  test('on the time in an ID', async () => {
    const timeMs = Date.now();
    const [row] = await sql<[{ ms: number }]>`select id_ms(${idAt(timeMs)}::uuid)::float8 as ms`;
    expect(row.ms).toBe(timeMs);
  });
});

type Written = Readonly<{
  ms: number;
  account: string;
  key: string;
  model: string;
  provider: string;
  status: string;
  error_code: string | null;
  input: number;
  output: number;
  cost: string | null;
  latency: number;
  first_token: number | null;
}>;

async function allWritten(): Promise<Written[]> {
  return await sql<Written[]>`
    select id_ms(id)::float8 as ms, account_id as account, key_id as key, model, provider, status, error_code,
           coalesce(input_tokens, 0)::float8 as input, coalesce(output_tokens, 0)::float8 as output, cost_total as cost,
           latency_ms as latency, time_to_first_token_ms as first_token
    from generations`;
}

/** The figures of some Generations, without anything that was added up. */
function figuresOf(written: readonly Written[]) {
  const count = (status: string) => written.filter((one) => one.status === status).length;
  const sum = (of: (one: Written) => number) => written.reduce((total, one) => total + of(one), 0);
  const cost = written.reduce(
    (total, one) => total + (one.cost === null ? 0n : moneyFromDatabase(one.cost)),
    0n,
  );
  const buckets = (of: (one: Written) => number | null) => {
    const counts = [...emptyBuckets];
    for (const one of written) {
      const ms = of(one);
      if (one.status !== 'completed' || ms === null) continue;
      const bucket = durationBoundsMs.filter((bound) => bound <= ms).length;
      counts[bucket] = (counts[bucket] ?? 0) + 1;
    }
    return counts;
  };
  const durations = buckets(({ latency }) => latency);
  const firstTokens = buckets(({ first_token }) => first_token);
  return {
    completed: count('completed'),
    failed: count('failed'),
    cancelled: count('cancelled'),
    refused: 0,
    input_tokens: sum(({ input }) => input),
    output_tokens: sum(({ output }) => output),
    cost: formatMoney(cost),
    duration_ms_p50: percentileMs(durations, 0.5),
    duration_ms_p95: percentileMs(durations, 0.95),
    time_to_first_token_ms_p50: percentileMs(firstTokens, 0.5),
    time_to_first_token_ms_p95: percentileMs(firstTokens, 0.95),
  };
}

const everything: CountFilter = {
  span: { fromMs: 0, toMs: 0 },
  accountId: null,
  keyId: null,
  sums: { status: null, errorCode: null, model: null, provider: null },
  rows: { api: null, isStreamed: null, isFallback: null, minCost: null, minDurationMs: null, labels: [] },
  needsRows: false,
};

const anyone = () => sql`(select 1)`;
const read = (filter: CountFilter) => findSeries(sql, anyone, 'permission_denied', filter);

/** Ranges whose steps are minutes, and hours; with odd ends. */
function ranges(): CountFilter['span'][] {
  const now = Date.now();
  return [
    { fromMs: now - 5 * hourMs - 17_123, toMs: now },
    { fromMs: now - 70 * hourMs, toMs: now },
    { fromMs: now - 2 * hourMs, toMs: now - 90 * minuteMs },
  ];
}

async function expectExact(): Promise<void> {
  const written = await allWritten();
  const scopes = [
    { accountId: null, keyId: null },
    { accountId: first.accountId, keyId: null },
    { accountId: first.accountId, keyId: second.keyId },
    { accountId: third.accountId, keyId: null },
  ];
  for (const scope of scopes) {
    const own = written.filter(
      ({ account, key }) => (scope.accountId ?? account) === account && (scope.keyId ?? key) === key,
    );
    for (const span of ranges()) await expectSeries({ ...everything, ...scope, span }, own);
  }
  const [span = everything.span] = ranges();
  for (const sums of [
    { ...everything.sums, status: 'failed' },
    { ...everything.sums, model: 'n' },
    { ...everything.sums, provider: 'Q' },
    { ...everything.sums, errorCode: 'provider_unavailable' },
  ]) {
    const own = written.filter(
      (one) =>
        (sums.status ?? one.status) === one.status &&
        (sums.model ?? one.model) === one.model &&
        (sums.provider ?? one.provider) === one.provider &&
        (sums.errorCode ?? one.error_code) === one.error_code,
    );
    await expectSeries({ ...everything, span, sums }, own);
    // The same, one by one.
    await expectSeries({ ...everything, span, sums, needsRows: true }, own);
  }
  await expectGroups(span, written);
  await expectAttempts(span);
}

async function expectAttempts(span: CountFilter['span']): Promise<void> {
  const rows = await sql<
    { ms: number; model: string; provider: string; status: string; error_code: string | null }[]
  >`
    select id_ms(generation_id)::float8 as ms, model, attempts.provider, attempts.status, attempts.error_code
    from attempts join generations on id = generation_id`;
  const count = (some: readonly Readonly<{ status: string }>[], status: string) =>
    some.filter((row) => row.status === status).length;
  for (const provider of ['P', 'Q']) {
    const series = await findProviderSeries(sql, { userId: operatorId }, provider, span);
    const [fromMs, toMs] = [Date.parse(series.from), Date.parse(series.to)];
    const own = rows.filter((row) => row.provider === provider && row.ms >= fromMs && row.ms < toMs);
    for (const { at, ...point } of series.points) {
      const start = Date.parse(at);
      const some = own.filter(({ ms }) => ms >= start && ms < start + series.step_seconds * 1000);
      expect(point).toMatchObject({ succeeded: count(some, 'succeeded'), failed: count(some, 'failed') });
    }
    expect(series.totals).toMatchObject({ succeeded: count(own, 'succeeded'), failed: count(own, 'failed') });
    expect(series.errors.reduce((sum, { failed }) => sum + failed, 0)).toBe(count(own, 'failed'));
    expect(series.models.reduce((sum, { succeeded }) => sum + succeeded, 0)).toBe(count(own, 'succeeded'));
  }
}

async function expectSeries(filter: CountFilter, own: readonly Written[]): Promise<void> {
  const series = await read(filter);
  const [fromMs, toMs] = [Date.parse(series.from), Date.parse(series.to)];
  expect(fromMs).toBeLessThanOrEqual(filter.span.fromMs);
  expect(toMs).toBeGreaterThanOrEqual(filter.span.toMs);
  const within = (from: number, to: number) => own.filter(({ ms }) => ms >= from && ms < to);
  expect(series.counted_from).toBeNull();
  expect(series.totals).toEqual(figuresOf(within(fromMs, toMs)));
  expect(series.before).toEqual(figuresOf(within(fromMs - (toMs - fromMs), fromMs)));
  expect(series.points.length).toBeLessThanOrEqual(100);
  for (const { at, ...figures } of series.points) {
    const start = Date.parse(at);
    const end = Math.min(start + series.step_seconds * 1000, toMs);
    expect(figures).toEqual(figuresOf(within(start, end)));
  }
}

const groupings = [
  ['key', ({ key }: Written) => key],
  ['account', ({ account }: Written) => account],
  ['model', ({ model }: Written) => model],
  ['provider', ({ provider }: Written) => provider],
  ['error_code', ({ error_code }: Written) => error_code],
] as const;

async function expectGroups(span: CountFilter['span'], written: readonly Written[]): Promise<void> {
  for (const [by, groupOf] of groupings) {
    const filter = { ...everything, span };
    const groups = await findGroups(sql, anyone, 'permission_denied', filter, { by, order: 'requests' });
    const [fromMs, toMs] = [Date.parse(groups.from), Date.parse(groups.to)];
    const expected = [
      ...Map.groupBy(
        written.filter(({ ms }) => ms >= fromMs && ms < toMs),
        groupOf,
      ),
    ]
      .map(([value, own]) => [value, figuresOf(own)] as const)
      .sort();
    expect(groups.data.map(({ value, name: _, ...figures }) => [value, figures] as const).sort()).toEqual(
      expected,
    );
  }
}

/** What was billed according to the ledger, and according to the figures. */
async function expectBilledAsCharged(): Promise<void> {
  for (const { accountId } of [first, third]) {
    const [row] = await sql<[{ billed: string }]>`
      select coalesce(-sum(amount), 0)::numeric(38,12) as billed from ledger_entries
      where account_id = ${accountId} and kind in ('charge', 'refund')`;
    const [, span = everything.span] = ranges();
    expect((await read({ ...everything, accountId, span })).totals.cost).toBe(row.billed);
  }
}

/** Until everything that can be has been added up. */
async function addUp(rollUp = new RollUp(sql)): Promise<void> {
  for (;;) {
    await rollUp.run();
    const [row] = await sql<[{ is_done: boolean }]>`
      select rolled_to >= now() - interval '151 seconds' and rolled_to = frontier
             and not exists (select from dirty_minutes) as is_done
      from rollup_progress`;
    if (row.is_done) return;
  }
}

/** Those of days are always the sums of their hours. */
async function expectTrueDays(): Promise<void> {
  const different = await sql`
    select from (
      select account_id, key_id, (hour at time zone 'UTC')::date as day, status, sum(count)::bigint as count, sum(cost) as cost
      from request_hours where account_id <> '00000000-0000-0000-0000-000000000000' group by 1, 2, 3, 4
    ) as hours full join (select * from request_days where count <> 0) as days using (account_id, key_id, day, status)
    where (hours.count, hours.cost) is distinct from (days.count, days.cost)`;
  expect(different).toHaveLength(0);
}

/** Sums themselves, level by level. */
async function expectTrueSums(): Promise<void> {
  await expectTrueDays();
  const written = await allWritten();
  for (const table of ['request_minutes', 'request_hours']) {
    const time = table === 'request_minutes' ? 'minute' : 'hour';
    const rows = await sql<{ level: string; count: number; cost: string; last: Date | null }[]>`
      select case when account_id = nobody then 'everybody' when key_id = nobody then 'account' else 'key' end as level,
             sum(count)::int as count, sum(cost)::numeric(38,12) as cost
      from ${sql(table)}, (values ('00000000-0000-0000-0000-000000000000'::uuid)) as nil (nobody)
      where ${sql(time)} < date_trunc('hour', now(), 'UTC') - interval '1 hour' group by 1 order by 1`;
    const endMs = Math.floor(Date.now() / hourMs) * hourMs - hourMs;
    const figures = figuresOf(written.filter(({ ms }) => ms < endMs));
    const count = figures.completed + figures.failed + figures.cancelled;
    const levels = count === 0 ? [] : ['account', 'everybody', 'key'];
    expect(rows.map((row) => ({ ...row }))).toEqual(
      levels.map((level) => ({ level, count, cost: figures.cost })) as never,
    );
  }
}

type Event = Readonly<{
  owner: Customer;
  minutesAgo: number;
  model: string;
  node: 0 | 1;
  latencyMs: number;
  cost: number;
  end: 'completed' | 'failed' | 'cancelled' | 'fallback' | 'refunded' | 'discarded';
  /** What the nodes that add up do before: nothing, a pass of one of them, or of both at once. */
  passes: 0 | 1 | 2;
  /** A further one stops after so many steps. */
  stepsBeforeEnd: number;
}>;

const anyEvent: fc.Arbitrary<Event> = fc.record({
  owner: fc.constantFrom(...customers),
  minutesAgo: fc.oneof(fc.integer({ min: 0, max: 4 }), fc.integer({ min: 0, max: 250 })),
  model: fc.constantFrom('m', 'n'),
  node: fc.constantFrom(0 as const, 1 as const),
  latencyMs: fc.integer({ min: 0, max: 400_000 }),
  cost: fc.integer({ min: 1, max: 1_000_000 }),
  end: fc.constantFrom('completed', 'completed', 'failed', 'cancelled', 'fallback', 'refunded', 'discarded'),
  passes: fc.constantFrom(0 as const, 0 as const, 1 as const, 2 as const),
  stepsBeforeEnd: fc.integer({ min: 0, max: 40 }),
});

async function play(event: Event, keepers: readonly RollUp[]): Promise<void> {
  let steps = 0;
  const isStopped = () => {
    steps += 1;
    return steps > event.stepsBeforeEnd;
  };
  await Promise.all(keepers.slice(0, event.passes).map((keeper) => keeper.run()));
  await new RollUp(sql, { isStopped }).run();
  const ledger = ledgers[event.node];
  const hold = holdAt(event.owner, Date.now() - event.minutesAgo * minuteMs, event.model);
  expect(await ledger.hold(hold)).toMatchObject({ outcome: 'held' });
  const isFallback = event.end === 'fallback';
  const failed = { ...newAttempt(), status: 'failed' as const, errorCode: 'provider_unavailable' as const };
  const served = succeeded(newAttempt({ index: isFallback ? 2 : 1, provider: isFallback ? 'Q' : 'P' }));
  const changes: Partial<Settlement> = {
    latencyMs: event.latencyMs,
    timeToFirstTokenMs: event.latencyMs > 1_000 ? event.latencyMs >> 1 : null,
    provider: served.provider,
    attempts: isFallback ? [failed, served] : [served],
    onInsufficientBalance: 'write_off',
  };
  const total = event.end === 'failed' ? null : BigInt(event.cost);
  const status = event.end === 'cancelled' ? ({ status: 'cancelled' } as const) : {};
  const settlement = newSettlement(hold.generation, total, { ...changes, ...status });
  if (event.end === 'discarded')
    await ledger.settle({
      ...newSettlement(hold.generation, null, changes),
      ...failure('gateway_interrupted', 'interrupted'),
      isHeld: false,
    });
  await ledger.settle(settlement);
  if (event.end === 'refunded')
    await ledger.settle({ ...newSettlement(hold.generation, null), onAlreadyCharged: 'refund' });
}

test('whatever happens, figures are exact before, while and after it is added up', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyEvent, { minLength: 1, maxLength: 15 }), async (events) => {
      await forget(5);
      const keepers = [new RollUp(sql), new RollUp(sql)];
      for (const event of events) await play(event, keepers);
      await expectExact();
      await expectBilledAsCharged();
      await addUp();
      await expectTrueSums();
      await expectExact();
      await expectBilledAsCharged();
    }),
    { numRuns: 3 },
  );
}, 120_000);

/** One Generation, written in a transaction that the test ends. */
async function writeGeneration(connection: SQL, owner: Customer, timeMs: number): Promise<void> {
  const { accountId, keyId } = owner;
  await connection`
    insert into generations (id, account_id, key_id, workload, model, provider, status, streaming, fallback, attempt_count,
      price_list_id, input_tokens, output_tokens, latency_ms, created_at, completed_at)
    values (${idAt(timeMs)}, ${accountId}, ${keyId}, 'chat', 'm', 'P', 'completed', false, false, 1,
      ${fixture.priceListId}, 1, 1, 5, ${new Date(timeMs)}, now())`;
}

describe('a Generation whose transaction began before its minute was added up', () => {
  test('is waited for if it may have seen the frontier of before', async () => {
    const reasons: string[] = [];
    const keeper = new RollUp(sql, { lateForMs: 0, onLate: ({ reason }) => reasons.push(reason) });
    await addUp(keeper);
    const timeMs = Date.now() - 30 * minuteMs;
    await sql`
      update rollup_progress set frontier = at, rolled_to = at
      from (select date_trunc('minute', to_timestamp(${timeMs}::float8 / 1000))) as earlier (at)`;
    const slow = await sql.reserve();
    try {
      await slow`begin`;
      await writeGeneration(slow, first, timeMs);
      await keeper.run();
      await keeper.run();
      const [progress] = await sql<[{ has_moved: boolean; is_rolled: boolean }]>`
        select frontier > now() - interval '3 minutes' as has_moved, rolled_to > now() - interval '20 minutes' as is_rolled
        from rollup_progress`;
      expect(progress).toEqual({ has_moved: true, is_rolled: false });
      expect(reasons.at(-1)).toContain('waits for a transaction');
      await slow`commit`;
    } finally {
      await slow.release();
    }
    expect(await sql`select 1 from dirty_minutes`).toHaveLength(0);
    await expectExact();
    await addUp(keeper);
    await expectExact();
  });

  test('leaves a mark otherwise', async () => {
    const keeper = new RollUp(sql);
    await addUp(keeper);
    const slow = await sql.reserve();
    try {
      await slow`begin`;
      await slow`select 1`;
      await keeper.run();
      await writeGeneration(slow, first, Date.now() - 30 * minuteMs);
      await keeper.run();
      await slow`commit`;
    } finally {
      await slow.release();
    }
    expect(await sql`select 1 from dirty_minutes`).toHaveLength(1);
    await expectExact();
    await addUp();
    await expectExact();
  });
});

test('a connection that is lost in the middle of a minute changes nothing', async () => {
  await addUp();
  await play(
    {
      owner: first,
      minutesAgo: 70,
      model: 'm',
      node: 0,
      latencyMs: 9,
      cost: 7,
      end: 'completed',
      passes: 0,
      stepsBeforeEnd: 0,
    },
    [],
  );
  const blocking = await sql.reserve();
  const client = new SQL(database.url, { max: 1, connection: { application_name: 'lost keeper' } });
  try {
    await blocking`begin`;
    await blocking`lock table attempt_minutes in share mode`;
    const lost = new RollUp(client).run().catch((error: unknown) => error);
    await eventually('a keeper that waits', async () => {
      const killed = await sql`
        select pg_terminate_backend(pid) from pg_stat_activity
        where application_name = 'lost keeper' and wait_event_type = 'Lock'`;
      return killed.length > 0;
    });
    expect(await lost).toBeInstanceOf(Error);
    await blocking`rollback`;
  } finally {
    await blocking.release();
    await client.close();
  }
  expect(await sql`select 1 from dirty_minutes`).not.toBeEmpty();
  await expectExact();
  await addUp();
  await expectTrueSums();
  await expectExact();
});

test('what was there before is added up little by little, the newest first, and then removed when it is old', async () => {
  const dayMs = 24 * hourMs;
  for (const daysAgo of [0.2, 1, 3, 13, 20, 50])
    await sql.begin((transaction) => writeGeneration(transaction, third, Date.now() - daysAgo * dayMs));
  await sql`truncate request_minutes, request_hours, request_days, attempt_minutes, attempt_hours, dirty_minutes`;
  await sql`
    update rollup_progress set frontier = at, rolled_to = at, minutes_from = at, hours_from = at
    from (select date_trunc('hour', now(), 'UTC')) as this_hour (at)`;
  const span = { fromMs: Date.now() - 60 * dayMs, toMs: Date.now() };
  const series = () => read({ ...everything, accountId: third.accountId, span });
  const before = await series();
  expect(Date.parse(before.counted_from ?? '')).toBeGreaterThan(Date.now() - hourMs);
  const patient = new RollUp(sql, { patienceMs: 60_000 });
  await patient.run();
  await addUp(patient);
  const after = await series();
  expect(after.counted_from).toBeNull();
  const written = (await allWritten()).filter(({ account }) => account === third.accountId);
  expect(after.totals).toEqual(figuresOf(written));
  const [kept] = await sql<[{ minutes: number; hours: number }]>`
    select (select count(distinct minute)::int from request_minutes where minute < now() - interval '12 hours') as minutes,
           (select count(distinct hour)::int from request_hours where hour < now() - interval '12 hours') as hours`;
  expect(kept).toEqual({ minutes: 3, hours: 5 });
  // As if time had passed.
  await sql`update request_minutes set minute = minute - interval '2 days' where minute < now() - interval '12 days'`;
  await new RollUp(sql).run();
  const [left] = await sql<[{ minutes: number }]>`
    select count(distinct minute)::int as minutes from request_minutes where minute < now() - interval '12 hours'`;
  expect(left.minutes).toBe(2);
  expect((await series()).totals).toEqual(figuresOf(written));
});

test('with nothing to do, a pass writes nothing and takes no lock', async () => {
  let transactions = 0;
  const counting = new Proxy(sql, {
    get: (target, name) => {
      if (name === 'begin') transactions += 1;
      return Reflect.get(target, name, target);
    },
  });
  const keeper = new RollUp(counting);
  // A minute may end meanwhile.
  await eventually('an idle pass', async () => {
    await addUp(keeper);
    transactions = 0;
    await keeper.run();
    return transactions === 0;
  });
  const [row] = await sql<[{ hours_from: string }]>`select hours_from::text from rollup_progress`;
  expect(row.hours_from).toBe('-infinity');
});

test('an hour that was half added up when everything stood still for weeks is added up as a whole', async () => {
  const hour = Math.floor((Date.now() - 15 * 24 * hourMs) / hourMs) * hourMs;
  const stoppedAt = hour + 30 * minuteMs;
  await sql`
    update rollup_progress set frontier = to_timestamp(${hour}::float8 / 1000), rolled_to = to_timestamp(${hour}::float8 / 1000)`;
  for (const minutes of [0, 20, 40])
    await sql.begin((transaction) => writeGeneration(transaction, second, hour + minutes * minuteMs));
  for (const minutes of [0, 20])
    await sql`select roll_up_minute(to_timestamp(${hour + minutes * minuteMs}::float8 / 1000))`;
  await sql`
    update rollup_progress
    set frontier = to_timestamp(${stoppedAt}::float8 / 1000), rolled_to = to_timestamp(${stoppedAt}::float8 / 1000)`;

  const slow = await sql.reserve();
  const keeper = new RollUp(sql);
  try {
    await slow`begin`;
    await slow`select pg_current_xact_id()`;
    // It may not go on yet, and what is old must stay.
    await keeper.run();
    await slow`commit`;
  } finally {
    await slow.release();
  }
  await addUp(keeper);
  const rows = await sql<{ count: number }[]>`
    select count::int from request_hours
    where key_id = ${second.keyId} and hour = to_timestamp(${hour}::float8 / 1000)`;
  expect(rows.map(({ count }) => count)).toEqual([3]);
  await sql`delete from generations where id < first_id_at(to_timestamp(${hour + hourMs}::float8 / 1000)) and key_id = ${second.keyId}`;
});

test('what was added up stays when its Generations are gone, whatever this node knows of that', async () => {
  const timeMs = Date.now() - 100 * 24 * hourMs;
  const hour = new Date(Math.floor(timeMs / hourMs) * hourMs);
  // There is no partition of that month. One that was late is in the default partition.
  await sql.begin((transaction) => writeGeneration(transaction, second, timeMs));
  await sql`
    insert into request_hours (account_id, key_id, hour, model, provider, status, error_code, count)
    values (${second.accountId}, ${second.keyId}, ${hour}, 'm', 'P', 'completed', '', 7)`;
  await addUp();
  const [row] = await sql<[{ count: number }]>`
    select sum(count)::int as count from request_hours where key_id = ${second.keyId} and hour = ${hour}`;
  expect(row.count).toBe(7);
  await sql`delete from generations where id < first_id_at(now() - interval '99 days') and key_id = ${second.keyId}`;
});

test('requests in progress are counted by the filters of the list', async () => {
  const called = holdAt(first, Date.now());
  const uncalled = { ...holdAt(first, Date.now()), attempts: [] };
  for (const hold of [called, uncalled]) await ledgers[0].hold(hold);
  const span = { fromMs: Date.now() - hourMs, toMs: Date.now() + minuteMs };
  const countIf = async (sums: Partial<CountFilter['sums']>, rows: Partial<CountFilter['rows']> = {}) => {
    const filter = { ...everything, accountId: first.accountId, span };
    const { in_progress: count } = await read({
      ...filter,
      sums: { ...everything.sums, ...sums },
      rows: { ...everything.rows, ...rows },
    });
    return count;
  };
  expect(await countIf({})).toBe(2);
  // Without a call, the provider is the one that would have been called.
  expect(await countIf({ provider: 'P' })).toBe(1);
  expect(await countIf({ status: 'in_progress', model: 'm' }, { api: 'messages', isFallback: false })).toBe(
    2,
  );
  const none: Parameters<typeof countIf>[] = [
    [{ status: 'completed' }],
    [{ model: 'n' }],
    [{ errorCode: 'provider_unavailable' }],
    [{}, { api: 'images' }],
    [{}, { isFallback: true }],
    [{}, { minCost: '0' }],
    [{}, { minDurationMs: hourMs }],
    [{}, { labels: [['tag', 'a=b']] }],
  ];
  for (const wanted of none) expect([wanted, await countIf(...wanted)]).toEqual([wanted, 0]);
  for (const { generation } of [called, uncalled])
    await ledgers[0].settle(newSettlement(generation, null, { attempts: [] }));
});

// The last one, because it writes so many.
test('figures of a label say from when on all requests were looked at, also if none is of the key', async () => {
  const timeMs = Date.now() - 30 * minuteMs;
  const olderMs = timeMs - 10 * minuteMs;
  await sql.begin((transaction) => writeGeneration(transaction, second, olderMs));
  await sql`
    insert into generations (id, account_id, key_id, workload, model, provider, status, streaming, fallback, attempt_count,
      latency_ms, created_at, completed_at)
    select (left(${firstIdAt(timeMs)}, 14) || '7000-8000-' || lpad(to_hex(number), 12, '0'))::uuid, ${first.accountId},
      ${first.keyId}, 'chat', 'm', 'P', 'completed', false, false, 1, 5, now(), now()
    from generate_series(1, ${maxLookedAt}::int) as number`;
  await sql`
    insert into generation_attributions (generation_id, account_id, kind, label)
    select id, account_id, 'tag', 'many' from generations
    where id >= ${firstIdAt(olderMs)}::uuid and id < ${firstIdAt(timeMs + 1)}::uuid and account_id = ${first.accountId}`;
  const { accountId, keyId } = second;
  const rows = { ...everything.rows, labels: [['tag', 'many'] as const] };
  const span = { fromMs: Date.now() - hourMs, toMs: Date.now() };
  const series = await read({ ...everything, accountId, keyId, rows, needsRows: true, span });
  expect(series.totals.completed).toBe(0);
  expect(series.counted_from).toBe(new Date(timeMs).toISOString());
});

test('which of many keys come first is found by days, hours and what is not added up yet', async () => {
  const { accountId } = await fixture.customer(10n ** 15n);
  const keyCount = 60;
  await sql`
    insert into api_keys (id, account_id, name, hash, hint, requests_per_minute)
    select gen_random_uuid(), ${accountId}, 'Key ' || n, sha256(${accountId}::text::bytea || n::text::bytea), 'x', 1
    from generate_series(1, ${keyCount}::int) as n`;
  await sql`
    insert into request_hours (account_id, key_id, hour, model, provider, status, error_code, count, cost)
    select account_id, id, date_trunc('hour', now(), 'UTC') - make_interval(hours => hour), 'm', 'p', status, '',
           1 + abs(hashtext(id::text || hour || status)) % 1000, abs(hashtext(status || id::text || hour)) % 1000
    from api_keys, generate_series(6, 80, 7) as hour, unnest(array['completed', 'failed', 'refused']) as status
    where account_id = ${accountId}`;
  await sql`update request_hours set count = count + 1 where account_id = ${accountId} and status = 'refused'`;
  await sql`delete from request_hours where account_id = ${accountId} and hour < now() - interval '75 hours'`;
  await expectTrueDays();
  const span = { fromMs: Date.now() - 70 * hourMs, toMs: Date.now() };
  const filter = { ...everything, accountId, span };
  const ranks = {
    requests: sql`sum(count)`,
    cost: sql`sum(cost)`,
    errors: sql`sum(count) filter (where status <> 'completed')`,
  };
  for (const order of ['requests', 'cost', 'errors'] as const) {
    const groups = await findGroups(sql, anyone, 'permission_denied', filter, { by: 'key', order });
    const expected = await sql<{ key_id: string; completed: number; refused: number; cost: string }[]>`
      select key_id, sum(count) filter (where status = 'completed')::int as completed,
             sum(count) filter (where status = 'refused')::int as refused, sum(cost)::numeric(38,12)::text as cost
      from request_hours where account_id = ${accountId} and hour >= ${groups.from}::text::timestamptz
      group by 1 order by ${ranks[order]} desc, key_id::text limit 50`;
    expect(
      groups.data.map(({ value, completed, refused, cost }) => [value, completed, refused, cost]),
    ).toEqual(expected.map((row) => [row.key_id, row.completed, row.refused, row.cost]));
  }
  await sql`delete from request_hours where account_id = ${accountId}`;
});
