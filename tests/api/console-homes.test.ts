/**
 * The figures of both homes against plain SQL, over the traffic of two nodes with fallbacks, failures and refusals, and what
 * was before it.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { SQL } from 'bun';
import type { Overview, Runway } from '../../src/console/contract.ts';
import type { OperatorHome } from '../../src/console/home-contract.ts';
import { circuitsIn } from '../../src/console/operator/open-circuits.ts';
import type { OperatorAccountDetail } from '../../src/console/operator-contract.ts';
import type { RequestGroups, RequestProblems, RequestSeries } from '../../src/console/request-contract.ts';
import { openLedger } from '../../src/ledger/ledger.ts';
import { openSpool } from '../../src/ledger/spool.ts';
import { firstIdAt, newId, nilId } from '../../src/lib/ids.ts';
import { durationBoundsMs, emptyBuckets, percentileMs } from '../../src/rollups/buckets.ts';
import { addDays, dayOf } from '../../src/usage/days.ts';
import { bill } from '../support/billed-usage.ts';
import { runCommand } from '../support/commands.ts';
import {
  type ConsoleFixture,
  everyone,
  forMembers,
  openConsoleFixture,
  outcomeFor,
} from '../support/console-fixture.ts';
import { eventually } from '../support/eventually.ts';
import { type Gateway, startGateway, temporaryFolder } from '../support/gateway.ts';
import { silentLog } from '../support/ledger-fixture.ts';
import {
  newAttempt,
  newGeneration,
  newHold,
  newSettlement,
  succeeded,
} from '../support/ledger-operations.ts';

let fixture: ConsoleFixture;
let second: Gateway;

beforeAll(async () => {
  fixture = await openConsoleFixture();
  second = await startGateway({ ...fixture.environment, TOLLGATE_DATA: temporaryFolder() });
}, 60_000);

afterAll(async () => {
  await second.stop();
  await fixture.close();
});

const sqlOf = () => fixture.database.sql;

async function chat(origin: string, key: string, body: object): Promise<number> {
  const response = await fetch(`${origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ messages: [{ role: 'user', content: '[[usage 10 5]] hi' }], ...body }),
  });
  await response.text();
  return response.status;
}

type InSql = Readonly<{
  id: string;
  available: string;
  used: number;
  /** Hours of use. */
  left: number;
  /** By the clock. */
  hours: number;
  /** Whether a typical request no longer fits. */
  out: boolean;
  end: Date;
}>;

/** Until when the money of each account lasts, the one that runs out first first. */
async function runwaysInSql(): Promise<InSql[]> {
  return await sqlOf()<InSql[]>`
    select *, clock_timestamp() + case when out then interval '0' else make_interval(secs => hours * 3600) end as end from (
      select id, (balance - held)::text as available, used,
             (trunc(greatest(balance - held, 0) * used * 10 / spent) / 10)::float8 as left,
             (greatest(balance - held, 0) * greatest(24, 1 + extract(epoch from date_trunc('hour', now(), 'UTC') - first) / 3600)
               / spent)::float8 as hours,
             balance - held <= 0 or coalesce(balance - held < (
               select percentile_disc(0.5) within group (order by hold) from (
                 select hold from (
                   select account_id, id, hold from generations where status = 'completed' and created_at > now() - interval '31 days'
                   union all
                   select account_id, id, needed::numeric(38,12) from refusals where short_of = 'balance'
                 ) as asked where account_id = accounts.id order by id desc limit 20) as newest), false) as out
      from (
        select account_id, sum(spent) as spent, count(*)::int as used, min(hour) as first from (
          select account_id, date_trunc('hour', to_timestamp(id_ms(id) / 1000.0), 'UTC') as hour, sum(cost_total) as spent
          from generations where id >= first_id_at(date_trunc('hour', now(), 'UTC') - interval '167 hours')
          group by 1, 2 having sum(cost_total) > 0
        ) as hourly group by account_id
      ) as used join accounts on id = account_id
    ) as lasting order by out desc, case when out then 0 else hours end, available::numeric`;
}

/** What was asked in between. The gateway rounds down to minutes, and leaves out what is more than a year away. */
function expectEndBetween(
  { runs_out_at: at }: Runway,
  earliest: InSql | undefined,
  latest: InSql | undefined,
): void {
  if (earliest === undefined || latest === undefined) throw new Error('Nothing was spent.');
  if (at === null) {
    expect(latest.hours).toBeGreaterThan(8_760);
    return;
  }
  expect(Date.parse(at)).toBeGreaterThan(earliest.end.getTime() - 60_001);
  expect(Date.parse(at)).toBeLessThanOrEqual(latest.end.getTime());
}

async function get<Body>(path: string): Promise<Body> {
  const response = await fixture.people.operator.send('GET', `/api/console/${path}`);
  if (response.status !== 200) throw new Error(`${path}: ${await response.text()}`);
  return (await response.json()) as Body;
}

const correctionOf = (amount: string) => ({
  amount,
  entry_number: null,
  request_id: null,
  reason: 'Test',
  reference: newId(),
  is_preview: false,
});

const refusedOf = async (account: string) => {
  const [row] = await sqlOf()<[{ count: number }]>`
    select coalesce(sum(count), 0)::int as count from request_minutes where account_id = ${account} and key_id::text like '00000000-%'
      and status = 'refused'`;
  return row.count;
};

test('an account whose requests are refused is told so: not that all is well and it lasts for days', async () => {
  const { account, key } = await fixture.customer('1');
  const { origin } = fixture.gateway;
  const request = { model: 'tiered', max_tokens: 8_000 };
  // Its requests have grown since: what those that were refused would have held counts, too.
  const smaller = { ...request, max_tokens: 100 };
  for (let count = 0; count < 22; count += 1) expect(await chat(origin, key, smaller)).toBe(200);
  const [{ balance }] = await sqlOf()<
    [{ balance: string }]
  >`select balance from accounts where id = ${account}`;
  const corrected = await fixture.people.operator.send(
    'POST',
    `/api/console/operator/accounts/${account}/corrections`,
    correctionOf((0.0144 - Number(balance)).toFixed(12)),
  );
  expect(corrected.status).toBeLessThan(300);
  for (let count = 0; count < 48; count += 1) expect(await chat(origin, key, request)).toBe(402);
  await eventually('the refusals', async () => (await refusedOf(account)) === 48 || null);
  const overview = await get<Overview>(`accounts/${account}/overview`);
  expect(overview).toMatchObject({ balance: '0.014400000000', held: '0.000000000000' });
  expect(Number(overview.typical_hold)).toBeGreaterThan(0.0144);
  expect(overview.attention).toEqual([
    { kind: 'balance_blocked', balance: '0.014400000000', typical_hold: overview.typical_hold ?? '' },
  ]);
  const { totals } = await get<RequestSeries>(`accounts/${account}/requests/series`);
  expect(totals).toMatchObject({ completed: 22, failed: 0, refused: 48 });
  const groups = await get<RequestGroups>(`accounts/${account}/requests/groups?by=error_code&order=errors`);
  expect(groups.data[0]).toMatchObject({ value: 'insufficient_balance', refused: 48 });
  const [{ needed }] = await sqlOf()<[{ needed: string }]>`
    select needed::numeric(38,12)::text as needed from refusals where account_id = ${account} order by id desc limit 1`;
  expect(overview.typical_hold).toBe(needed);
  const shortOf = async () => (await get<OperatorHome>('operator/home')).short_accounts;
  expect(await shortOf()).toMatchObject({
    count: 1,
    data: [{ account: { id: account }, refused: 48, needed, available: '0.014400000000' }],
  });
  const credit = correctionOf(needed);
  await fixture.people.operator.send('POST', `/api/console/operator/accounts/${account}/corrections`, credit);
  expect(await shortOf()).toEqual({ count: 0, data: [] });
}, 60_000);

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** Requests of the past, as a ledger of another node would have written them. */
async function writePast(keys: readonly Readonly<{ accountId: string; keyId: string }>[]): Promise<void> {
  const sql = sqlOf();
  const nodeId = newId();
  await sql`insert into nodes (id, name, heartbeat_at) values (${nodeId}, 'past', now() - interval '1 hour')`;
  const [{ id: priceListId }] = await sql<[{ id: number }]>`select id::int from price_lists limit 1`;
  const openWriter = () => new SQL(fixture.database.url, { max: 1, bigint: true });
  const ledger = openLedger(openWriter, openSpool(temporaryFolder(), process.pid, newId()), silentLog);
  const hoursAgo = [0.5, 2, 2.2, 20, 26, 30, 50, 100, 167, 200, 340, 700, 1000];
  for (const [at, hours] of hoursAgo.entries()) {
    const timeMs = Date.now() - hours * hourMs;
    const id = firstIdAt(Math.floor(timeMs)).slice(0, 14) + newId().slice(14);
    const owner = keys[at % keys.length] ?? { accountId: '', keyId: '' };
    const facts = { id, model: at % 3 === 0 ? 'plain' : 'full', createdAtMs: timeMs, api: 'messages' };
    const hold = newHold(newGeneration({ ...owner, priceListId }, facts), nodeId, 10n ** 10n, {
      attempts: [newAttempt()],
    });
    expect(await ledger.hold(hold)).toMatchObject({ outcome: 'held' });
    const failed = {
      ...newAttempt(),
      status: 'failed' as const,
      errorCode: at % 3 === 0 ? ('provider_bad_request' as const) : ('provider_unavailable' as const),
    };
    const cost = at % 4 === 3 ? null : 10n ** 9n + BigInt(at);
    await ledger.settle(
      newSettlement(hold.generation, cost, {
        attempts: cost === null ? [failed] : [failed, succeeded(newAttempt({ index: 2, provider: 'Q' }))],
        provider: cost === null ? 'P' : 'Q',
        latencyMs: 100 * (at + 1),
        ...(at === 1 && { loss: { reason: 'usage_missing', amount: 123n } as never }),
      }),
    );
  }
  await ledger.close();
}

type Range = '24h' | '7d' | '30d';
const lengths: Readonly<Record<Range, number>> = { '24h': 24, '7d': 168, '30d': 720 };
const ranges = ['24h', '7d', '30d'] as const;

type Counted = Readonly<{ status: string; error_code: string | null; cost: string; latency: number | null }>;

/** Everything of an account in a range, one by one. */
const countedIn = (account: string, from: string, to: string) => sqlOf()<Counted[]>`
  select status, error_code, coalesce(cost_total, 0)::text as cost, latency_ms as latency from generations
  where account_id = ${account} and status <> 'in_progress'
    and id >= first_id_at(${from}::text::timestamptz) and id < first_id_at(${to}::text::timestamptz)
  union all
  select 'refused', code, '0', null from refusals
  where account_id = ${account} and id >= first_id_at(${from}::text::timestamptz) and id < first_id_at(${to}::text::timestamptz)`;

type CallRow = Readonly<{ provider: string; durations: readonly number[] | null }>;

function withPercentile({ durations, ...calls }: Omit<CallRow, 'provider'>) {
  return { ...calls, duration_ms_p95: percentileMs(bucketsOf(durations ?? []), 0.95) };
}

function bucketsOf(durationsMs: readonly number[]): number[] {
  const buckets = [...emptyBuckets];
  for (const ms of durationsMs) {
    const bucket = durationBoundsMs.filter((bound) => bound <= ms).length;
    buckets[bucket] = (buckets[bucket] ?? 0) + 1;
  }
  return buckets;
}

function summed(rows: readonly Counted[]) {
  const count = (status: string) => rows.filter((row) => row.status === status).length;
  const completed = rows.flatMap(({ status, latency }) =>
    status !== 'completed' || latency === null ? [] : [latency],
  );
  return {
    completed: count('completed'),
    failed: count('failed'),
    refused: count('refused'),
    duration_ms_p95: percentileMs(bucketsOf(completed), 0.95),
    cost: rows.reduce((sum, { cost }) => sum + BigInt(cost.replace('.', '')), 0n),
  };
}

const figuresOf = ({ cost, ...figures }: RequestSeries['totals']) => ({
  ...figures,
  cost: BigInt(cost.replace('.', '')),
});

describe('with traffic of two nodes and of the past', () => {
  let account: string;

  beforeAll(async () => {
    const { sandbox: _sandbox, keyId, key, account: own, strangersAccount, strangersKeyId } = fixture;
    account = own;
    const other = await runCommand<{ id: string; key: string }>(
      ['key', 'create', '--account', account],
      fixture.environment,
    );
    const origins = [fixture.gateway.origin, second.origin];
    const messages = [{ role: 'user', content: '[[status 503]]' }];
    for (const [at, origin] of origins.entries()) {
      await chat(origin, key, { model: 'full' });
      await chat(origin, other.key, { model: 'fallback' });
      await chat(origin, key, { model: 'full', messages });
      await chat(origin, other.key, { model: 'no such model' });
      if (at === 0) await chat(origin, key, { model: 'full', temperature: 'hot' });
    }
    await writePast([
      { accountId: account, keyId },
      { accountId: account, keyId: other.id },
      { accountId: strangersAccount, keyId: strangersKeyId },
    ]);
    const today = dayOf(new Date());
    const used = (day: string, cost: bigint, providerCost: bigint) => ({
      keyId,
      model: 'full',
      billedAt: new Date(`${day}T00:00:01Z`),
      inputTokens: 1,
      outputTokens: 1,
      cost,
      provider: 'Main',
      providerCost,
    });
    await bill(sqlOf(), account, [
      used(today, 10n ** 12n, 3n * 10n ** 11n),
      used(addDays(today, -1), 2n * 10n ** 12n, 5n * 10n ** 11n),
      used(addDays(today, -8), 4n * 10n ** 12n, 7n * 10n ** 11n),
    ]);
    await bill(sqlOf(), strangersAccount, [
      { ...used(today, 10n ** 12n, 13n * 10n ** 11n), keyId: strangersKeyId },
      { ...used(addDays(today, -8), 10n ** 12n, 2n * 10n ** 11n), keyId: strangersKeyId },
    ]);
    await eventually('the refusals', async () => (await refusedOf(account)) === 3 || null);
  }, 60_000);

  test.each(ranges)('the figures of a customer, and of the period before: %s', async (range) => {
    const from = new Date(Date.now() - lengths[range] * hourMs).toISOString();
    const series = await get<RequestSeries>(`accounts/${account}/requests/series?from=${from}`);
    expect(figuresOf(series.totals)).toMatchObject(summed(await countedIn(account, series.from, series.to)));
    const lengthMs = Date.parse(series.to) - Date.parse(series.from);
    const earlier = new Date(Date.parse(series.from) - lengthMs).toISOString();
    expect(series.before).not.toBeNull();
    if (series.before !== null)
      expect(figuresOf(series.before)).toMatchObject(summed(await countedIn(account, earlier, series.from)));
    const groups = await get<RequestGroups>(
      `accounts/${account}/requests/groups?by=error_code&order=errors&from=${from}`,
    );
    const rows = await countedIn(account, groups.from, groups.to);
    for (const { value, failed, refused } of groups.data) {
      const own = summed(rows.filter(({ error_code: code }) => code === value));
      expect({ value, failed, refused }).toEqual({ value, failed: own.failed, refused: own.refused });
    }
    expect(groups.data.reduce((sum, { refused }) => sum + refused, 0)).toBe(3);
  });

  test.each(ranges)('where the problems of a customer come from: %s', async (range) => {
    const from = new Date(Date.now() - lengths[range] * hourMs).toISOString();
    const problems = await get<RequestProblems>(`accounts/${account}/requests/problems?from=${from}`);
    const expected = await sqlOf()<RequestProblems['data']>`
      with problem as (
        select id, error_code as code, key_id, model, null as param, status from generations
        where account_id = ${account} and status = 'failed'
        union all
        -- Sums have no models that are not in the catalogue.
        select id, code, key_id, nullif(model, 'no such model'), param, 'refused' from refusals where account_id = ${account}
      ), wanted as (
        select *, (select name from api_keys where api_keys.id = key_id) as key_name from problem
        where id >= first_id_at(${problems.from}::text::timestamptz) and id < first_id_at(${problems.to}::text::timestamptz)
      )
      select code, (count(*) filter (where status = 'failed'))::int as failed,
        (count(*) filter (where status = 'refused'))::int as refused,
        (select jsonb_build_object('id', key_id, 'name', key_name, 'requests', count(*)) from wanted as own
         where own.code = wanted.code group by key_id, key_name order by count(*) desc, key_id limit 1) as key,
        (select jsonb_build_object('name', model, 'requests', count(*)) from wanted as own
         where own.code = wanted.code and model is not null group by model order by count(*) desc, model limit 1) as model,
        mode() within group (order by param) as param,
        to_char(to_timestamp(max(id_ms(id)) / 1000.0) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as last_at
      from wanted group by code order by count(*) desc, code`;
    expect(problems.data).toEqual(expected.map((row) => ({ ...row })));
    expect(problems.data.map(({ code }) => code)).toContain('model_not_found');
    expect(problems.data.find(({ code }) => code === 'invalid_parameter')?.param).toBe('temperature');
  });

  test('problems are for those who may see the account', async () => {
    const path = `/api/console/accounts/${account}/requests/problems`;
    for (const person of everyone)
      expect(await outcomeFor(fixture.people[person], 'GET', path)).toBe(forMembers[person]);
  });

  test('how long the money of a customer lasts, here and for operators', async () => {
    const sql = sqlOf();
    await sql`update accounts set held = held where id = ${account}`;
    const expectedOf = async () => {
      const found = (await runwaysInSql()).find(({ id }) => id === account);
      if (found === undefined) throw new Error('Nothing was spent.');
      return found;
    };
    const earliest = await expectedOf();
    const { runway, typical_hold: hold } = await get<Overview>(`accounts/${account}/overview`);
    const expected = await expectedOf();
    expect(expected.used).toBeGreaterThan(2);
    expect(runway).toMatchObject({ hours_used: expected.used, hours_left: expected.left });
    expectEndBetween(runway, earliest, expected);
    const [{ typical }] = await sql<[{ typical: string }]>`
      select percentile_disc(0.5) within group (order by hold)::text as typical from (
        select hold from (
          select id, hold from generations where account_id = ${account} and status = 'completed' and created_at > now() - interval '31 days'
          union all
          select id, needed::numeric(38,12) from refusals where account_id = ${account} and short_of = 'balance'
        ) as asked order by id desc limit 20) as newest`;
    expect(hold).toBe(typical);
    const shown = await get<OperatorAccountDetail>(`operator/accounts/${account}`);
    expect(shown).toMatchObject({
      typical_hold: typical,
      runway: { hours_used: runway.hours_used, hours_left: runway.hours_left },
    });
    expectEndBetween(shown.runway, earliest, await expectedOf());
  });

  test('accounts run dry in the order of their runway', async () => {
    const sql = sqlOf();
    // So that some of them do.
    const leave = async (id: string, amount: string) => {
      const [{ less }] = await sql<[{ less: string }]>`
        select (${amount}::text::numeric - balance)::text as less from accounts where id = ${id}`;
      const body = correctionOf(less);
      await fixture.people.operator.send('POST', `/api/console/operator/accounts/${id}/corrections`, body);
    };
    await leave(fixture.strangersAccount, '0.002');
    const [{ id: other }] = await sql<[{ id: string }]>`
      select account_id as id from generations where account_id not in (${account}, ${fixture.strangersAccount}) limit 1`;
    await leave(other, '0.01');
    const earliest = await runwaysInSql();
    const { dry_accounts: dry } = await get<OperatorHome>('operator/home');
    const expected = (await runwaysInSql()).filter(({ out, hours }) => out || hours < 720);
    expect(expected.length).toBeGreaterThanOrEqual(2);
    expect(
      dry.map(({ account: { id }, available, runway: { hours_left: left, hours_used: used } }) => ({
        id,
        left,
        available,
        used,
      })),
    ).toEqual(expected.map(({ id, left, available, used }) => ({ id, left, available, used })));
    for (const [at, { runway }] of dry.entries())
      expectEndBetween(
        runway,
        earliest.find(({ id }) => id === expected[at]?.id),
        expected[at],
      );
    // It could be spent slowly for months, but no request fits.
    await leave(fixture.strangersAccount, '0.000001');
    const [first] = (await get<OperatorHome>('operator/home')).dry_accounts;
    expect(first?.account.id).toBe(fixture.strangersAccount);
    expect(Date.parse(first?.runway.runs_out_at ?? '')).toBeLessThanOrEqual(Date.now());
    await sql`update accounts set suspended_at = now() where id = ${fixture.strangersAccount}`;
    const { dry_accounts: fewer } = await get<OperatorHome>('operator/home');
    await sql`update accounts set suspended_at = null where id = ${fixture.strangersAccount}`;
    expect(fewer.map(({ account: { id } }) => id)).not.toContain(fixture.strangersAccount);
  });

  test.each(ranges)('calls, refusals and write-offs of all accounts: %s', async (range) => {
    const sql = sqlOf();
    // That of the chart of the explorer, which starts with a round time.
    const stepMs = { '24h': hourMs / 4, '7d': 2 * hourMs, '30d': 8 * hourMs }[range];
    const startOf = () => Math.floor((Date.now() - lengths[range] * hourMs) / stepMs) * stepMs;
    const earliest = startOf();
    const home = await get<OperatorHome>(`operator/home?range=${range}`);
    expect([earliest, startOf()]).toContain(Date.parse(home.from));
    expect(Date.parse(home.to) - Date.parse(home.from)).toBeGreaterThanOrEqual(lengths[range] * hourMs);
    const inRange = (column: string, from: string, to: string) =>
      `${column} >= first_id_at('${from}') and ${column} < first_id_at('${to}')`;
    const callsIn = (from: string, to: string) =>
      sql.unsafe(`
        select provider, (count(*) filter (where status = 'succeeded'))::int as succeeded,
               (count(*) filter (where status = 'failed'))::int as failed,
               (count(*) filter (where status = 'failed' and error_code = 'provider_bad_request'))::int as rejected,
               (count(*) filter (where status = 'cancelled'))::int as cancelled,
               array_agg((extract(epoch from completed_at - started_at) * 1000)::int) filter (where status = 'succeeded') as durations
        from attempts where ${inRange('generation_id', from, to)} group by provider
        order by count(*) filter (where status = 'failed' and error_code is distinct from 'provider_bad_request') desc, provider`);
    const lengthMs = Date.parse(home.to) - Date.parse(home.from);
    const earlier = await callsIn(new Date(Date.parse(home.from) - lengthMs).toISOString(), home.from);
    const none = { succeeded: 0, failed: 0, rejected: 0, cancelled: 0, durations: null };
    const expected = (await callsIn(home.from, home.to)).map(({ provider, ...calls }: CallRow) => {
      const { provider: _, ...before } = earlier.find((row: CallRow) => row.provider === provider) ?? {
        provider,
        ...none,
      };
      return { provider, ...withPercentile(calls), before: withPercentile(before) };
    });
    expect(expected.length).toBeGreaterThan(3);
    expect(home.providers as unknown[]).toEqual(expected);
    expect(home.providers.some(({ rejected }) => rejected > 0)).toBe(true);
    const refused = await sql.unsafe(
      `select code, count(*)::int as count from refusals where ${inRange('id', home.from, home.to)} group by code order by 2 desc, 1`,
    );
    expect(home.refusals as unknown[]).toEqual([...refused]);
    const reasons = await sql.unsafe(
      `select reason, count(*)::int as count, coalesce(sum(amount), 0)::numeric(38,12)::text as amount, (count(*) filter (where amount is null))::int as unknown
       from write_offs where ${inRange('generation_id', home.from, home.to)} group by reason order by 2 desc, 1`,
    );
    expect(home.write_offs.reasons as unknown[]).toEqual([...reasons]);
    expect(home.write_offs.latest.length).toBe(
      Math.min(
        5,
        home.write_offs.reasons.reduce((sum, { count }) => sum + count, 0),
      ),
    );
  });

  test.each(ranges)('revenue, cost and margin by UTC days: %s', async (range) => {
    const days = lengths[range] / 24;
    const { money } = await get<OperatorHome>(`operator/home?range=${range}`);
    const today = dayOf(new Date());
    expect([money.from, money.to]).toEqual([addDays(today, 1 - days), today]);
    const sumIn = async (from: string, to: string) => {
      const [row] = await sqlOf()`
        select revenue::numeric(38,12)::text as revenue, (cost + uncharged)::numeric(38,12)::text as cost,
               (revenue - unpriced - cost - uncharged)::numeric(38,12)::text as margin, unpriced::numeric(38,12)::text as unpriced_revenue
        from (
          select coalesce(sum(cost), 0) as revenue, coalesce(sum(provider_cost), 0) as cost,
                 coalesce(sum(cost) filter (where provider_cost is null), 0) as unpriced
          from usage_records where (billed_at at time zone 'UTC')::date between ${from}::text::date and ${to}::text::date
        ) as charged, (
          select coalesce(sum(cost), 0) as uncharged from uncharged_calls
          where (ended_at at time zone 'UTC')::date between ${from}::text::date and ${to}::text::date
        ) as calls`;
      return { ...row };
    };
    expect(money.now).toEqual(await sumIn(money.from, money.to));
    expect(money.before).toEqual(await sumIn(addDays(today, 1 - 2 * days), addDays(today, -days)));
    expect(Number(money.now.revenue)).toBeGreaterThanOrEqual(1);
    const { from: lossesFrom, data: belowCost } = money.below_cost;
    expect(lossesFrom).toBe(addDays(today, 1 - Math.max(7, days)));
    const losses = await sqlOf()`
      select account_id::text as id, revenue::numeric(38,12)::text as revenue, margin::numeric(38,12)::text as margin
      from (
        select account_id, sum(cost) as revenue,
               sum(cost) filter (where provider_cost is not null) - coalesce(sum(provider_cost), 0)
                 - coalesce((select sum(cost) from uncharged_calls as call where call.account_id = usage_records.account_id
                     and (ended_at at time zone 'UTC')::date between ${lossesFrom}::text::date and ${money.to}::text::date), 0) as margin
        from usage_records where (billed_at at time zone 'UTC')::date between ${lossesFrom}::text::date and ${money.to}::text::date
        group by account_id
      ) as margins where margin < 0 order by margins.margin limit 5`;
    expect(belowCost.map(({ account: { id }, revenue, margin }) => ({ id, revenue, margin }))).toEqual(
      losses.map((row: object) => ({ ...row })),
    );
    // What a customer paid too little today was paid eight days ago.
    expect(losses.some(({ id }: { id: string }) => id === fixture.strangersAccount)).toBe(range !== '30d');
  });

  test('what is wrong: settlements, webhooks, circuits, nodes, the audit and bills', async () => {
    const sql = sqlOf();
    await runCommand(['ledger', 'audit'], fixture.environment);
    const letter = newId();
    await sql`insert into dead_letters (generation_id, account_id, key_id, settlement, refusal_code, refusal_about)
      values (${letter}, ${account}, ${fixture.keyId}, '{}', '23514', 'test')`;
    await sql`insert into webhook_endpoints (id, account_id, url, secret, failing_since) values
      (${newId()}, ${account}, 'https://hooks.example.com/secret?token=1', 'x', now() - interval '1 hour'),
      (${newId()}, ${account}, 'https://fine.example.com/', 'x', null)`;
    const circuit = {
      provider: 'main',
      model: 'full',
      consecutive_failures: 5,
      until: null,
      state: 'half_open',
    };
    const report = {
      circuits: [
        { ...circuit, failing_since: '2030-01-01T00:00:00.000Z' },
        {
          ...circuit,
          model: 'plain',
          state: 'open',
          until: '2030-01-01T00:00:00.000Z',
          failing_since: '2026-01-01T00:00:00.000Z',
        },
        { ...circuit, model: 'proven', failing_since: '2026-01-01T00:00:00.000Z' },
      ],
      price_version: 'other',
      catalog_error: 'It is broken.',
    };
    const node = newId();
    await sql`insert into nodes (id, name, heartbeat_at, report) values (${node}, 'sick', now() + interval '1 hour', ${report})`;
    await sql`insert into attempt_minutes (provider, minute, model, status, error_code, count)
      values ('Main', '2026-02-01', 'proven', 'succeeded', '', 1)`;
    const daysAgo = (count: number) => addDays(dayOf(new Date()), -count);
    await sql`insert into reconciled_days (provider, day, charged, metered, uncharged, billed, difference, tolerance, is_within,
        is_preliminary, models, explanations)
      values ('main', ${daysAgo(9)}::text::date, 1, 1, 0, 3, 2, 0.1, false, false, '[]', '[]'),
             ('main', ${daysAgo(8)}::text::date, 1, 1, 0, 1, 0, 0.1, true, false, '[]', '[]'),
             ('main', ${daysAgo(7)}::text::date, 1, 1, 0, null, null, 0.1, null, false, '[]', '[]'),
             ('main', ${daysAgo(1)}::text::date, 1, 1, 0, 9, 8, 0.1, false, true, '[]', '[]')`;
    const home = await get<OperatorHome>('operator/home');
    await sql`delete from dead_letters where generation_id = ${letter}`;
    await sql`delete from nodes where id = ${node}`;
    await sql`delete from attempt_minutes where model = 'proven'`;
    expect(home.failed_settlements).toMatchObject({ count: 1 });
    expect(home.failing_webhooks).toMatchObject({
      count: 1,
      data: [{ account: { id: account }, host: 'hooks.example.com', is_disabled: false }],
    });
    expect(JSON.stringify(home)).not.toContain('token=1');
    expect(home.circuits.map(({ model, state }) => [model, state])).toEqual([
      ['plain', 'open'],
      ['full', 'half_open'],
    ]);
    expect(home.nodes).toEqual({
      alive: 3,
      lost: 1,
      price_versions: ['2026-11', 'other'],
      catalog_errors: [{ node: 'sick', error: 'It is broken.' }],
    });
    expect(home.audit).toMatchObject({ state: 'sound', violations: 0 });
    expect(home.reconciliation).toMatchObject([
      {
        provider: 'Main',
        day: daysAgo(9),
        difference: '2.000000000000',
        is_preliminary: false,
        days_compared: 2,
        days_outside: 1,
      },
    ]);
  }, 60_000);

  test('an unknown range is an error', async () => {
    const response = await fixture.people.operator.send('GET', '/api/console/operator/home?range=1h');
    expect(response.status).toBe(400);
  });
});

test('a circuit is listed once, as bad as the worst node has it', () => {
  const circuit = {
    provider: 'p',
    model: 'm',
    consecutive_failures: 1,
    accounts_shut: 0,
    setback: null,
  };
  const found = circuitsIn(
    [
      { ...circuit, state: 'half_open', until: null, failing_since: '2026-01-02' },
      { ...circuit, state: 'open', until: '2026-01-05', failing_since: '2026-01-03' },
      { ...circuit, state: 'closed', until: null, failing_since: null },
    ],
    (id) => id.toUpperCase(),
  );
  expect(found).toEqual([
    { provider: 'P', model: 'm', state: 'open', nodes: 2, failing_since: '2026-01-02', until: '2026-01-05' },
  ]);
});

test('problems have what was not counted for each key', async () => {
  const id = fixture.strangersAccount;
  const counts = [
    { at: new Date(), account_id: id, key_id: nilId, model: '', error_code: 'model_not_found', count: 40 },
  ];
  const [{ stored }] = await sqlOf()<[{ stored: boolean }]>`
    select store_refusals(${newId()}, 1, '[]', ${JSON.stringify(counts)}::text::jsonb) as stored`;
  expect(stored).toBe(true);
  const { data } = await get<RequestProblems>(`accounts/${id}/requests/problems`);
  expect(data).toEqual([
    { code: 'model_not_found', failed: 0, refused: 40, key: null, model: null, param: null, last_at: null },
  ]);
});
