/** Every number that the pages ask for against plain SQL, over requests of every outcome on two nodes. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { SQL } from 'bun';
import { amountOf, unitsOf } from '../../dashboard/kit/amounts.ts';
import type { Overview } from '../../src/console/contract.ts';
import type { OperatorHome, ProviderCalls } from '../../src/console/home-contract.ts';
import type { MarginFigures, Providers } from '../../src/console/operator-contract.ts';
import type {
  ProviderSeries,
  RequestFigures,
  RequestGroups,
  RequestPage,
  RequestRow,
  RequestSeries,
} from '../../src/console/request-contract.ts';
import { addDays } from '../../src/usage/days.ts';
import { openConsoleFixture } from '../support/console-fixture.ts';
import { type MixedTraffic, openMixedTraffic, type Reader } from '../support/mixed-traffic.ts';
import { plainBill } from '../support/plain-bills.ts';
import {
  before,
  byStep,
  countOf,
  listedBy,
  noCalls,
  noRequests,
  plainAttempts,
  plainRows,
} from '../support/plain-figures.ts';
import { moneyOf, plainMargins } from '../support/plain-money.ts';
import { numbersOfMoney } from './console-numbers/money.ts';
import { numbersOfRecords } from './console-numbers/records.ts';

const hourMs = 3_600_000;

let traffic: MixedTraffic;
let { sql, get, ranges, figuresIn, sumIn } = {} as MixedTraffic;

beforeAll(async () => {
  traffic = await openMixedTraffic(openConsoleFixture);
  ({ sql, get, ranges, figuresIn, sumIn } = traffic);
}, 120_000);

afterAll(async () => {
  await traffic?.close();
}, 60_000);

test('the traffic is what it should be', async () => {
  const [row] = await sql`
    select (select count(distinct minute)::int from request_minutes
            where status = 'completed' and minute not in (select minute from dirty_minutes)) as "addedUp",
           (select count(*)::int from dirty_minutes) as changed,
           (select count(*)::int from generations where id >= first_id_at(rolled_to)) as raw,
           (select count(*)::int from nodes where stopped_at is null) as nodes
    from rollup_progress`;
  for (const [what, count] of Object.entries(row)) expect([what, count]).not.toEqual([what, 0]);
  expect(row.nodes).toBe(2);
});

type Filter = readonly [query: string, where: () => SQL.Query<unknown>];

const labelled = (kind: string, label: string) =>
  sql`id in (select generation_id from generation_attributions where kind = ${kind} and label = ${label})`;

const filters: readonly Filter[] = [
  ['', () => sql`true`],
  ['status=completed', () => sql`status = 'completed'`],
  ['status=failed', () => sql`status = 'failed'`],
  ['status=cancelled', () => sql`status = 'cancelled'`],
  ['status=refused', () => sql`status = 'refused'`],
  ['error_code=insufficient_balance', () => sql`error_code = 'insufficient_balance'`],
  ['error_code=invalid_parameter', () => sql`error_code = 'invalid_parameter'`],
  ['model=known', () => sql`model = 'known'`],
  ['model=full&status=failed', () => sql`model = 'full' and status = 'failed'`],
  ['model=no%2Fsuch-model', () => sql`id in (select id from refusals where model = 'no/such-model')`],
  ['provider=Backup', () => sql`provider = 'Backup'`],
  ['provider=Main&model=known', () => sql`provider = 'Main' and model = 'known'`],
  ['api=messages', () => sql`api = 'messages'`],
  ['api=chat_completions&status=refused', () => sql`api = 'chat_completions' and status = 'refused'`],
  ['streamed=yes', () => sql`streaming`],
  ['fallback=yes', () => sql`fallback`],
  ['min_cost=0.0001', () => sql`cost_total >= 0.0001`],
  ['min_duration_ms=200', () => sql`latency_ms >= 200`],
  ['end_user=jo', () => labelled('end_user', 'jo')],
  ['tag=team%3Dred&model=known', () => sql`${labelled('tag', 'team=red')} and model = 'known'`],
  ['session=run-1', () => labelled('session', 'run-1')],
];

async function expectSeries(
  query: string,
  range: Readonly<{ from: string; to: string }>,
  reader: Reader,
  where: SQL.Query<unknown>,
): Promise<void> {
  const times = `from=${range.from}&to=${range.to}`;
  const series = await get<RequestSeries>(
    `requests/series?${[times, query].filter(Boolean).join('&')}`,
    reader,
  );
  const { from, to, step_seconds: stepSeconds } = series;
  const count = Math.ceil((Date.parse(to) - Date.parse(from)) / 1_000 / stepSeconds);
  expect([from, to, count <= 100, series.counted_from]).toEqual([range.from, range.to, true, null]);
  const expected = byStep(await figuresIn({ from, to, stepSeconds, where }), count, noRequests);
  expect(series.points).toEqual(
    expected.map((figures, step) => ({
      at: new Date(Date.parse(from) + step * stepSeconds * 1_000).toISOString(),
      ...figures,
    })),
  );
  const totals = await sumIn({ from, to, where });
  expect(series.totals).toEqual(totals);
  expect(series.before).toEqual(await sumIn({ ...before(series), where }));
}

numbersOfMoney(() => traffic);
numbersOfRecords(() => traffic);

describe.each(['partly added up', 'added up'])('%s', (state) => {
  beforeAll(async () => {
    if (state === 'added up') await traffic.addUp();
  }, 60_000);

  test.each(filters)('requests over time, those before and in sum: %p', async (query, where) => {
    const ofAccount = sql`account_id = ${traffic.account} and (${where()})`;
    // None of its own requests, but some of others, were refused for the balance.
    const isOfOthers = query === 'error_code=insufficient_balance';
    if (!isOfOthers) expect(countOf(await sumIn({ ...ranges.week, where: ofAccount }))).toBeGreaterThan(0);
    expect(countOf(await sumIn({ ...ranges.week, where: where() }))).toBeGreaterThan(0);
    await expectSeries(query, ranges.week, 'owner', ofAccount);
    await expectSeries(query, ranges.week, 'operator', where());
  });

  test.each(['recent', 'day', 'week', 'month'] as const)('over a range of any length: %s', async (name) => {
    for (const reader of ['owner', 'operator'] as const) {
      const where = reader === 'owner' ? sql`account_id = ${traffic.account}` : sql`true`;
      const range = ranges[name];
      const sum = await sumIn({ ...range, where });
      for (const figure of Object.values(sum)) expect(Number(figure)).toBeGreaterThan(0);
      const isEarlierKnown = name === 'day' || name === 'week';
      if (isEarlierKnown) expect(countOf(await sumIn({ ...before(range), where }))).toBeGreaterThan(0);
      await expectSeries('', range, reader, where);
    }
  });

  test('of a key, and of one account for operators', async () => {
    const { first, other, limited, slow, strangers } = traffic.keys;
    for (const { id } of [first, other, limited, slow]) {
      const where = sql`key_id = ${id}`;
      expect(countOf(await sumIn({ ...ranges.week, where }))).toBeGreaterThan(0);
      await expectSeries(`key=${id}`, ranges.week, 'owner', where);
    }
    await expectSeries(`key=${strangers.id}`, ranges.week, 'operator', sql`key_id = ${strangers.id}`);
    const poor = traffic.poorAccount;
    expect((await sumIn({ ...ranges.week, where: sql`account_id = ${poor}` })).refused).toBe(4);
    await expectSeries(`account=${poor}`, ranges.week, 'operator', sql`account_id = ${poor}`);
  });

  const groupings = ['key', 'model', 'provider', 'error_code', 'account'] as const;
  test.each(groupings)('grouped by %s', async (by) => {
    const column = {
      key: sql`key_id`,
      account: sql`account_id`,
      model: sql`model`,
      provider: sql`provider`,
      error_code: sql`error_code`,
    }[by];
    const names = new Map(
      (
        await sql<
          { id: string; name: string }[]
        >`select id, name from api_keys union all select id, name from accounts`
      ).map(({ id, name }) => [id, name]),
    );
    for (const reader of by === 'account' ? (['operator'] as const) : (['owner', 'operator'] as const))
      for (const name of ['day', 'week'] as const) {
        const where = reader === 'owner' ? sql`account_id = ${traffic.account}` : sql`true`;
        const groups = await figuresIn({ ...ranges[name], where, by: column });
        expect(groups.length).toBeGreaterThanOrEqual(3);
        for (const [order, rankOf] of [
          ['requests', countOf],
          ['cost', ({ cost }: RequestFigures) => Number(cost)],
          ['errors', ({ failed, refused }: RequestFigures) => failed + refused],
        ] as const) {
          const query = `by=${by}&order=${order}&from=${ranges[name].from}&to=${ranges[name].to}`;
          const { data } = await get<RequestGroups>(`requests/groups?${query}`, reader);
          const sorted = groups.toSorted(
            (one, two) => rankOf(two) - rankOf(one) || (one.value < two.value ? -1 : 1),
          );
          expect(data).toEqual(
            sorted.map(({ step: _step, value, ...figures }) => ({
              value: value === '' ? null : value,
              name: names.get(value) ?? null,
              ...figures,
            })),
          );
        }
      }
  });

  test('the calls to each provider over time, by error and by model', async () => {
    for (const provider of ['Main', 'Gone', 'Backup'])
      for (const { from, to } of [ranges.recent, ranges.day, ranges.week]) {
        const where = sql`provider = ${provider}`;
        const series = await get<ProviderSeries>(
          `providers/${provider}/series?from=${from}&to=${to}`,
          'operator',
        );
        const { step_seconds: stepSeconds, points } = series;
        const steps = byStep(
          await plainAttempts(sql, { from, to, stepSeconds, where }),
          points.length,
          noCalls,
        );
        expect(points.map(({ at: _at, ...figures }) => figures)).toEqual(steps);
        const [totals = noCalls] = byStep(await plainAttempts(sql, { from, to, where }), 1, noCalls);
        expect(totals.succeeded + totals.failed).toBeGreaterThan(0);
        expect(series.totals).toEqual(totals);
        const [earlier] = byStep(await plainAttempts(sql, { ...before({ from, to }), where }), 1, noCalls);
        expect(series.before).toEqual(earlier ?? noCalls);
        const ofModels = await plainAttempts(sql, { from, to, where, by: sql`model` });
        const plain = ofModels.map(({ step: _step, value, ...figures }) => ({ model: value, ...figures }));
        expect(series.models.toSorted((one, two) => (one.model < two.model ? -1 : 1))).toEqual(plain);
        const failed = sql`${where} and status = 'failed'`;
        const errors = await plainAttempts(sql, { from, to, where: failed, by: sql`error_code` });
        expect(series.errors.map(({ code }) => code).toSorted()).toEqual(errors.map(({ value }) => value));
        for (const { code, failed: count, points: failures } of series.errors) {
          const own = sql`${failed} and error_code = ${code}`;
          const expected = byStep(
            await plainAttempts(sql, { from, to, stepSeconds, where: own }),
            points.length,
            noCalls,
          );
          expect(failures).toEqual(expected.map((figures) => figures.failed));
          expect(count).toBe(errors.find(({ value }) => value === code)?.failed ?? 0);
        }
      }
  });

  test('the calls to each provider of the last day and hour', async () => {
    const { data, attempts_since: since } = await get<Providers>('providers', 'operator');
    const dayAgoMs = Date.parse(since);
    const to = new Date(dayAgoMs + 25 * hourMs).toISOString();
    for (const [period, fromMs] of [
      ['last_24_hours', dayAgoMs],
      ['last_hour', dayAgoMs + 23 * hourMs],
    ] as const) {
      const counted = await plainAttempts(sql, {
        from: new Date(fromMs).toISOString(),
        to,
        by: sql`provider`,
      });
      const plain = counted.map(({ value, succeeded, failed, rejected, cancelled }) => ({
        name: value,
        attempts: succeeded + failed + cancelled,
        failed: failed - rejected,
      }));
      expect(plain).toHaveLength(3);
      expect(
        data
          .map(({ name, [period]: counts }) => ({ name, ...counts }))
          .filter(({ attempts }) => attempts > 0)
          .toSorted((one, two) => (one.name < two.name ? -1 : 1)),
      ).toEqual(plain);
    }
  });

  const partsOfHome = [
    ['calls to providers', expectCalls],
    ['refusals by code', expectRefusals],
    ['revenue, cost and margin', expectMoney],
    ['write-offs', expectWriteOffs],
    ['accounts running dry', expectDryAccounts],
    ['what needs attention', expectConcerns],
  ] as const;
  test.each(partsOfHome)('the home of operators: %s', async (_part, expectPart) => {
    for (const range of ['24h', '7d', '30d'])
      await expectPart(await get<OperatorHome>(`home?range=${range}`, 'operator'));
  });

  test('how long money lasts', async () => {
    const { used, left } = await moneyOf(sql, traffic.account);
    expect(used).toBeGreaterThan(2);
    const { runway } = await get<Overview>('overview', 'owner');
    expect(runway).toMatchObject({ hours_used: used, hours_left: left });
  });
});

/** Everything of the list in order, by following its cursors. */
async function listed(query: string, reader: Reader): Promise<RequestRow[]> {
  const rows: RequestRow[] = [];
  let cursor = '';
  do {
    const times = `from=${ranges.month.from}&to=${ranges.month.to}&limit=100`;
    const page: RequestPage = await get(
      `requests?${[times, query, cursor].filter(Boolean).join('&')}`,
      reader,
    );
    rows.push(...page.data);
    cursor = page.next_cursor === null ? '' : `cursor=${encodeURIComponent(page.next_cursor)}`;
  } while (cursor !== '');
  return rows;
}

test.each(filters)('the list has each request with its figures: %p', async (query, where) => {
  const ofAccount = sql`asked.account_id = ${traffic.account} and (${listedBy(sql, where())})`;
  const isEnded = ({ status }: RequestRow) => status !== 'in_progress';
  const rows = (await listed(query, 'owner')).filter(isEnded);
  expect(rows).toEqual(await plainRows(sql, ofAccount));
  const all = (await listed(query, 'operator')).filter(isEnded);
  expect(all.length).toBeGreaterThan(0);
  expect(all.map(({ account: _account, ...row }) => row)).toEqual(
    await plainRows(sql, listedBy(sql, where())),
  );
});

test('what is in progress is counted apart', async () => {
  const [{ count }] = await sql<[{ count: number }]>`select count(*)::int as count from open_generations`;
  expect(count).toBe(1);
  const { first, other } = traffic.keys;
  for (const [query, expected] of [
    ['', 1],
    [`key=${other.id}`, 1],
    [`key=${first.id}`, 0],
    ['model=held&streamed=no', 1],
    ['status=completed', 0],
  ] as const) {
    const { in_progress: open } = await get<RequestSeries>(`requests/series?${query}`, 'owner');
    expect([query, open]).toEqual([query, expected]);
  }
});

async function expectCalls(home: OperatorHome): Promise<void> {
  const callsIn = async (span: Readonly<{ from: string; to: string }>) => {
    const groups = await plainAttempts(sql, { ...span, by: sql`provider` });
    return new Map(
      groups.map(({ value, succeeded, failed, rejected, cancelled, duration_ms_p95 }) => [
        value,
        { succeeded, failed, rejected, cancelled, duration_ms_p95 },
      ]),
    );
  };
  const [now, earlier] = [await callsIn(home), await callsIn(before(home))];
  expect(now.size).toBe(3);
  const none = { succeeded: 0, failed: 0, rejected: 0, cancelled: 0, duration_ms_p95: null };
  const ownFailures = (calls: ProviderCalls) => calls.failed - calls.rejected;
  expect(home.providers).toEqual(
    [...now]
      .map(([provider, calls]) => ({ provider, ...calls, before: earlier.get(provider) ?? none }))
      .toSorted((one, two) => ownFailures(two) - ownFailures(one) || (one.provider < two.provider ? -1 : 1)),
  );
}

async function expectRefusals(home: OperatorHome): Promise<void> {
  const refusals = await figuresIn({ ...home, where: sql`status = 'refused'`, by: sql`error_code` });
  expect(refusals).toHaveLength(5);
  expect(home.refusals).toEqual(
    refusals
      .map(({ value, refused }) => ({ code: value, count: refused }))
      .toSorted((one, two) => two.count - one.count || (one.code < two.code ? -1 : 1)),
  );
}

async function expectMoney({ money }: OperatorHome): Promise<void> {
  const lengthDays = (Date.parse(money.to) - Date.parse(money.from)) / (24 * hourMs) + 1;
  const earlier = { from: addDays(money.from, -lengthDays), to: addDays(money.from, -1) };
  for (const [shown, { from, to }] of [
    [money.now, money],
    [money.before, earlier],
  ] as const) {
    const days = await plainMargins(sql, 'day', from, to);
    const sum = (of: (figures: MarginFigures) => string) =>
      amountOf(days.reduce((units, day) => units + unitsOf(of(day)), 0n));
    expect(Number(shown.revenue)).toBeGreaterThan(0);
    expect(shown).toEqual({
      revenue: sum(({ revenue }) => revenue),
      cost: amountOf(unitsOf(sum(({ cost }) => cost)) + unitsOf(sum((day) => day.uncharged_cost))),
      margin: sum(({ margin }) => margin),
      unpriced_revenue: sum((day) => day.unpriced_revenue),
    });
  }
}

async function expectWriteOffs({ from, to, write_offs: shown }: OperatorHome): Promise<void> {
  const inRange = sql`ms >= ${Date.parse(from)}::float8 and ms < ${Date.parse(to)}::float8`;
  const written = sql`select *, ('x' || left(replace(generation_id::text, '-', ''), 12))::bit(48)::bigint as ms from write_offs`;
  const reasons = await sql`
    select reason, count(*)::int as count, coalesce(sum(amount), 0)::numeric(38,12)::text as amount,
           count(*) filter (where amount is null)::int as unknown
    from (${written}) as written where ${inRange} group by reason order by count desc, reason`;
  expect(reasons.map(({ reason }: { reason: string }) => reason)).toEqual([
    'implausible_usage',
    'usage_missing',
    'insufficient_balance',
    'interrupted',
  ]);
  expect(shown.reasons as unknown[]).toEqual([...reasons]);
  const latest = await sql`
    select 'req_' || replace(generation_id::text, '-', '') as request_id, reason, amount::text as amount,
           json_build_object('id', account_id, 'name', (select name from accounts where id = account_id)) as account
    from (${written}) as written where ${inRange} order by generation_id desc limit 5`;
  expect(shown.latest.map(({ at: _at, ...one }) => one) as unknown[]).toEqual([...latest]);
}

async function expectDryAccounts({ dry_accounts: shown }: OperatorHome): Promise<void> {
  const accounts = await sql<{ id: string; name: string }[]>`select id, name from accounts`;
  const all = await Promise.all(
    accounts.map(async (account) => ({ account: { ...account }, ...(await moneyOf(sql, account.id)) })),
  );
  const dry = all
    .filter(({ lasts }) => lasts !== null && lasts <= 30 * 24)
    .toSorted((one, two) => (one.lasts ?? 0) - (two.lasts ?? 0))
    .map(({ account, balance, held, used, left, typical }) => ({
      account,
      available: amountOf(unitsOf(balance) - unitsOf(held)),
      typical_hold: typical,
      runway: { hours_used: used, hours_left: left ?? 0 },
    }));
  expect(dry.map(({ account }) => account.name)).toEqual(['Short', 'Poor']);
  expect(shown).toHaveLength(dry.length);
  expect(shown).toMatchObject(dry);
}

async function expectConcerns(home: OperatorHome): Promise<void> {
  const short = await sql<{ id: string; name: string; refused: number; needed: string }[]>`
    select accounts.id, name, count(*)::int as refused,
           ((array_agg(needed::numeric order by refusals.id desc))[1])::numeric(38,12)::text as needed
    from refusals join accounts on accounts.id = account_id
    where code = 'insufficient_balance' group by accounts.id`;
  expect(short).toHaveLength(1);
  expect(home.short_accounts).toEqual({
    count: short.length,
    data: await Promise.all(
      short.map(async ({ id, name, refused, needed }) => {
        const { balance, held } = await moneyOf(sql, id);
        return {
          account: { id, name },
          refused,
          needed,
          available: amountOf(unitsOf(balance) - unitsOf(held)),
        };
      }),
    ),
  });
  const [{ count }] = await sql<[{ count: number }]>`select count(*)::int as count from dead_letters`;
  expect([count, home.failed_settlements.count]).toEqual([1, count]);
  // For three days after its end, a day is preliminary.
  const isFinal = (day: string) => Date.parse(addDays(day, 4)) < Date.now();
  const days = (await plainBill(sql, { id: 'main', name: 'Main' })).filter(
    ({ day, billed }) => billed !== null && isFinal(day),
  );
  const outside = days.filter((day) => day.is_within === false);
  expect(outside).not.toBeEmpty();
  expect(home.reconciliation).toMatchObject([
    {
      provider: 'Main',
      day: outside[0]?.day,
      difference: outside[0]?.difference,
      days_compared: days.length,
      days_outside: outside.length,
    },
  ]);
  expect(home.nodes).toMatchObject({ alive: 2, lost: 0 });
}
