/** Every number that the pages show against plain SQL, over requests of every outcome on two nodes. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { SQL } from 'bun';
import type { Page } from 'playwright-core';
import { amountOf, formatBalance, formatMoney, formatTotal, unitsOf } from '../../dashboard/kit/amounts.ts';
import { formatCount, formatDay } from '../../dashboard/kit/format-figures.ts';
import { changeOf, formatChange, formatPoints } from '../../dashboard/pages/requests/figures.ts';
import type { MarginFigures } from '../../src/console/operator-contract.ts';
import type { AttemptFigures, RequestFigures, RequestSeries } from '../../src/console/request-contract.ts';
import { addDays } from '../../src/usage/days.ts';
import { expectNoComplaints, visit } from '../support/browser.ts';
import { type DashboardFixture, openDashboardFixture } from '../support/dashboard-fixture.ts';
import { type MixedTraffic, openMixedTraffic } from '../support/mixed-traffic.ts';
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
import {
  charts,
  estimate,
  groupTexts,
  homeStats,
  rateOf,
  share,
  statsOf,
  successOf,
  tableOf,
  time,
  totalTexts,
} from '../support/shown-figures.ts';
import { billingShows } from './numbers/billing.ts';
import { listsShow } from './numbers/lists.ts';
import { recordsShow } from './numbers/records.ts';

let traffic: MixedTraffic<DashboardFixture>;
let { sql, ranges, figuresIn, sumIn } = {} as MixedTraffic;

beforeAll(async () => {
  traffic = await openMixedTraffic(openDashboardFixture);
  ({ sql, ranges, figuresIn, sumIn } = traffic);
}, 120_000);

afterAll(async () => {
  await traffic?.close();
}, 60_000);

billingShows(() => traffic);
recordsShow(() => traffic);
listsShow(() => traffic);

type Span = Readonly<{ from: string; to: string }>;

/** The period before a range, as many days earlier if it is of days: the same hours are compared. */
function daysBefore({ from, to }: Span): Span {
  const lengthMs = Date.parse(to) - Date.parse(from);
  const isOfDays = lengthMs >= dayMs && lengthMs % dayMs <= dayMs / 12;
  const shiftMs = isOfDays ? lengthMs - (lengthMs % dayMs) : lengthMs;
  const earlier = (time: string) => new Date(Date.parse(time) - shiftMs).toISOString();
  return { from: earlier(from), to: earlier(to) };
}

/** Both periods, step by step. */
async function stepsOf(span: Span, stepSeconds: number, where: SQL.Query<unknown>) {
  const count = Math.ceil((Date.parse(span.to) - Date.parse(span.from)) / 1_000 / stepSeconds);
  const [now, earlier] = await Promise.all(
    [span, daysBefore(span)].map(async (one) =>
      byStep(await figuresIn({ ...one, stepSeconds, where }), count, noRequests),
    ),
  );
  return (now ?? []).map((figures, step) => [figures, earlier?.[step] ?? noRequests] as const);
}

const dayMs = 24 * 3600 * 1_000;
const weekSteps = 2 * 3600;

async function expectChart(
  page: Page,
  chart: (typeof charts)[number],
  steps: Awaited<ReturnType<typeof stepsOf>>,
): Promise<void> {
  await page.getByRole('slider', { name: chart.label, exact: true }).waitFor();
  await page.getByRole('columnheader', { name: 'Period before' }).first().waitFor({ state: 'attached' });
  const rows = await tableOf(page, chart.label);
  expect(rows.map(({ Time: _time, ...texts }) => texts)).toEqual(
    steps.map(([now, earlier]) => chart.of(now, earlier)),
  );
}

async function spanOfHome(page: Page, path: string): Promise<Span> {
  const [response] = await Promise.all([
    page.waitForResponse((one) => new URL(one.url()).pathname.endsWith('/requests/series')),
    page.goto(path),
  ]);
  const { from, to } = (await response.json()) as RequestSeries;
  return { from, to };
}

const linkCount = (text: string | undefined) => text?.replace(/\s+with .*/, '');

test('the home of a customer shows them', async () => {
  const watched = await traffic.enter('owner', '/keys');
  const { page } = watched;
  const span = await spanOfHome(page, '/?range=7d');
  const where = sql`account_id = ${traffic.account}`;
  const [now, earlier] = [await sumIn({ ...span, where }), await sumIn({ ...before(span), where })];
  await page.getByRole('table', { name: 'Top keys' }).getByRole('link', { name: 'First' }).waitFor();
  expect(await statsOf(page)).toMatchObject(homeStats(now, earlier));
  const { balance, held, lasts } = await moneyOf(sql, traffic.account);
  const available = amountOf(unitsOf(balance) - unitsOf(held));
  expect(lasts).toBeGreaterThan(365 * 24);
  expect((await statsOf(page)).Available).toEqual([
    formatBalance(available),
    `Lasts for more than a year, ${formatTotal(held)} is held`,
  ]);
  const [volume] = charts;
  if (volume !== undefined) await expectChart(page, volume, await stepsOf(span, weekSteps, where));
  const codes = await figuresIn({ ...span, where, by: sql`error_code` });
  const problems = await tableOf(page, 'Problems');
  expect(problems.length).toBeGreaterThan(4);
  for (const problem of problems) {
    const group = codes.find(({ value }) => value === problem['Error code']);
    expect(linkCount(problem.Requests)).toBe(formatCount((group?.failed ?? 0) + (group?.refused ?? 0)));
  }
  for (const [caption, header, by] of [
    ['Top keys', 'Key', sql`(select name from api_keys where id = key_id)`],
    ['Top models', 'Model', sql`model`],
  ] as const) {
    const groups = await figuresIn({ ...span, where, by });
    const rows = await tableOf(page, caption);
    expect(rows.length).toBeGreaterThan(3);
    for (const row of rows) {
      const group = groups.find(({ value }) => value === row[header]) ?? { ...noRequests, cost: '-1' };
      expect(row).toMatchObject({
        Requests: formatCount(countOf(group)),
        Errors: share(rateOf(group)),
        Spend: formatTotal(group.cost),
      });
    }
  }
  const newest = (await plainRows(sql, sql`asked.account_id = ${traffic.account}`)).slice(0, 3);
  expect(
    (await tableOf(page, 'Latest requests')).filter(({ Status }) => Status !== 'In progress').slice(0, 3),
  ).toMatchObject(
    newest.map(({ model, cost, duration_ms: ms }) => ({
      Model: model ?? '',
      Cost: cost === null ? '–' : formatMoney(cost),
      Duration: time(ms),
    })),
  );
  expectNoComplaints(watched);
  await watched.close();
}, 60_000);

test('the activity of an account shows them to operators', async () => {
  const watched = await traffic.enter('operator', '/operator/nodes');
  const { page } = watched;
  const span = await spanOfHome(page, `/operator/accounts/${traffic.account}`);
  const where = sql`account_id = ${traffic.account}`;
  const [now, earlier] = [await sumIn({ ...span, where }), await sumIn({ ...before(span), where })];
  expect(await statsOf(page)).toMatchObject(homeStats(now, earlier));
  const [volume] = charts;
  if (volume !== undefined) await expectChart(page, volume, await stepsOf(span, weekSteps, where));
  expectNoComplaints(watched);
  await watched.close();
}, 60_000);

test('the explorer shows them in every chart, in its totals and in its rows', async () => {
  const where = sql`account_id = ${traffic.account}`;
  const { from, to } = ranges.week;
  const watched = await traffic.enter('owner', `/requests?from=${from}&to=${to}`);
  const { page } = watched;
  const steps = await stepsOf(ranges.week, weekSteps, where);
  for (const chart of charts) {
    await page.getByText(chart.tab, { exact: true }).first().click();
    await expectChart(page, chart, steps);
  }
  const totals = totalTexts(
    await sumIn({ ...ranges.week, where }),
    await sumIn({ ...before(ranges.week), where }),
  );
  expect(await statsOf(page)).toMatchObject({ ...totals, 'In progress': ['1'] });
  await expectRows(page, where);
  expectNoComplaints(watched);
  await watched.close();
}, 60_000);

/** Those that have ended. */
async function expectRows(page: Page, where: SQL.Query<unknown>): Promise<void> {
  const rows = (await tableOf(page, 'Requests')).filter(({ State }) => State !== 'In progress');
  const plain = (await plainRows(sql, listedBy(sql, where))).slice(0, 49);
  const names = new Map(
    (
      await sql<{ id: string; name: string }[]>`
      select asked.id, name from (
        select id, account_id from generations union all select id, account_id from refusals
      ) as asked join accounts on accounts.id = account_id`
    ).map(({ id, name }) => [`req_${id.replaceAll('-', '')}`, name]),
  );
  const isOfAll = rows[0] !== undefined && 'Account' in rows[0];
  expect(rows).toMatchObject(
    plain.map(({ id, usage, cost, duration_ms: ms }) => ({
      ...(isOfAll ? { Account: names.get(id) } : {}),
      Tokens:
        usage === null
          ? '–'
          : usage.unit === 'images'
            ? `${usage.units} images`
            : formatCount(usage.input_tokens + usage.output_tokens),
      Cost: cost === null ? '–' : formatMoney(cost),
      Duration: time(ms),
    })),
  );
}

test('the explorer of operators shows those of all accounts', async () => {
  const where = sql`true`;
  const { from, to } = ranges.week;
  const watched = await traffic.enter('operator', `/operator/requests?from=${from}&to=${to}`);
  const { page } = watched;
  const steps = await stepsOf(ranges.week, weekSteps, where);
  for (const chart of charts) {
    await page.getByText(chart.tab, { exact: true }).first().click();
    await expectChart(page, chart, steps);
  }
  const totals = totalTexts(
    await sumIn({ ...ranges.week, where }),
    await sumIn({ ...before(ranges.week), where }),
  );
  expect(await statsOf(page)).toMatchObject({ ...totals, 'In progress': ['1'] });
  await expectRows(page, where);
  expectNoComplaints(watched);
  await watched.close();
}, 60_000);

async function expectGroups(
  page: Page,
  table: string,
  where: SQL.Query<unknown>,
  by: SQL.Query<unknown>,
): Promise<void> {
  const isOfProviders = table.startsWith('Providers');
  const groups = new Map(
    (await figuresIn({ ...ranges.week, where, by })).map((group) => [
      group.value,
      groupTexts(group, isOfProviders),
    ]),
  );
  const rows = await tableOf(page, table);
  expect(rows.length).toBe(groups.size);
  for (const row of rows) {
    const name = Object.values(row).at(-1) ?? '';
    expect(row).toMatchObject(groups.get(groups.has(name) ? name : '') ?? { [name]: 'is not expected' });
  }
}

test('the pages of a key and of a model show them', async () => {
  const { from, to } = ranges.week;
  const { first } = traffic.keys;
  const watched = await traffic.enter('owner', `/keys/${first.id}?from=${from}&to=${to}`);
  const { page } = watched;
  const ofKey = sql`key_id = ${first.id}`;
  const expectFigures = async (where: SQL.Query<unknown>) => {
    await page.getByRole('slider', { name: 'Requests over time' }).waitFor();
    const steps = await stepsOf(ranges.week, weekSteps, where);
    for (const chart of charts.slice(0, 3)) {
      await page.getByText(chart.tab, { exact: true }).first().click();
      await expectChart(page, chart, steps);
    }
    const totals = totalTexts(
      await sumIn({ ...ranges.week, where }),
      await sumIn({ ...before(ranges.week), where }),
    );
    const { p50, p95, ...others } = totals;
    expect(await statsOf(page)).toMatchObject({ ...others, p50: p50 ?? [], p95: p95 ?? [] });
  };
  await expectFigures(ofKey);
  await expectGroups(page, 'Models', ofKey, sql`model`);

  await visit(page, `/models/known?from=${from}&to=${to}`);
  const ofModel = sql`account_id = ${traffic.account} and model = 'known'`;
  await expectFigures(ofModel);
  await expectGroups(page, 'Providers of this model', ofModel, sql`provider`);
  await expectGroups(page, 'Keys', ofModel, sql`(select name from api_keys where id = key_id)`);
  const steps = await stepsOf(ranges.week, weekSteps, sql`${ofModel} and provider = 'Main'`);
  for (const [name, textOf] of [
    ['p50', (figures: RequestFigures) => estimate(figures.duration_ms_p50)],
    ['p95', (figures: RequestFigures) => estimate(figures.duration_ms_p95)],
    ['First token', (figures: RequestFigures) => estimate(figures.time_to_first_token_ms_p50)],
    ['Success', (figures: RequestFigures) => share(successOf(figures))],
  ] as const) {
    const measure = page.getByRole('group', { name: 'Measure' });
    await measure.getByRole('radio', { name, exact: true }).check({ force: true });
    const rows = await tableOf(page, `${name} by provider over time`);
    expect(rows.map(({ Main }) => Main)).toEqual(steps.map(([now]) => textOf(now)));
  }

  await visit(page, '/models');
  await page.getByRole('cell', { name: '100%' }).first().waitFor();
  const week = await figuresIn({
    ...ranges.week,
    where: sql`account_id = ${traffic.account}`,
    by: sql`model`,
  });
  const shown = await tableOf(page, 'Models');
  for (const { value, cost, ...figures } of week.filter(({ value }) => value !== '' && value !== 'held'))
    expect(shown.find(({ Model }) => Model === value)).toMatchObject({
      p50: estimate(figures.duration_ms_p50),
      Success: share(successOf({ cost, ...figures })),
      'Your spend': formatTotal(cost),
    });
  expectNoComplaints(watched);
  await watched.close();
}, 90_000);

test('the page of a provider shows them', async () => {
  const { from, to } = ranges.week;
  const watched = await traffic.enter('operator', `/operator/providers/main?from=${from}&to=${to}`);
  const { page } = watched;
  const where = sql`provider = 'Main'`;
  await page.getByRole('slider', { name: 'Calls over time' }).waitFor();
  const [now = noCalls] = byStep(await plainAttempts(sql, { from, to, where }), 1, noCalls);
  const [earlier = noCalls] = byStep(
    await plainAttempts(sql, { ...before({ from, to }), where }),
    1,
    noCalls,
  );
  const calls = ({ succeeded, failed, cancelled }: AttemptFigures) => succeeded + failed + cancelled;
  const success = ({ succeeded, failed, rejected }: AttemptFigures) =>
    succeeded + failed - rejected === 0 ? null : succeeded / (succeeded + failed - rejected);
  const changed = (of: (figures: AttemptFigures) => number | null, write: (value: number) => string) =>
    `${formatChange(changeOf(of(now), of(earlier)))} from ${write(of(earlier) ?? 0)}`;
  expect(earlier.succeeded).toBeGreaterThan(0);
  expect(await statsOf(page)).toMatchObject({
    Calls: [formatCount(calls(now)), changed(calls, formatCount)],
    Success: [
      share(success(now)),
      `${formatPoints(success(now), success(earlier))} from ${share(success(earlier))}`,
    ],
    p50: [estimate(now.duration_ms_p50), changed((figures) => figures.duration_ms_p50, estimate)],
    p95: [estimate(now.duration_ms_p95), changed((figures) => figures.duration_ms_p95, estimate)],
  });
  const failed = sql`${where} and status = 'failed'`;
  const codes = await plainAttempts(sql, { from, to, where: failed, by: sql`error_code` });
  const shownCodes = await tableOf(page, 'Errors by code');
  expect(shownCodes.toSorted((one, two) => ((one.Code ?? '') < (two.Code ?? '') ? -1 : 1))).toEqual(
    codes.map((group) => ({
      Code:
        group.value === 'provider_bad_request'
          ? `${group.value} Rejected as invalid: no failure of the provider`
          : group.value,
      Calls: formatCount(group.failed),
      'Of all calls': share(group.failed / calls(now)),
    })),
  );
  const served = await plainAttempts(sql, { from, to, where, by: sql`model` });
  for (const row of await tableOf(page, 'Models of this provider')) {
    const figures = served.find(({ value }) => value === row.Model) ?? noCalls;
    expect(row).toMatchObject({
      Calls: formatCount(calls(figures)),
      Failed: formatCount(figures.failed - figures.rejected),
      'Rejected as invalid': formatCount(figures.rejected),
      Success: share(success(figures)),
      p50: estimate(figures.duration_ms_p50),
      p95: estimate(figures.duration_ms_p95),
    });
  }
  const count = Math.ceil((Date.parse(to) - Date.parse(from)) / 1_000 / weekSteps);
  const stepsWith = async (condition: SQL.Query<unknown>) =>
    byStep(await plainAttempts(sql, { from, to, stepSeconds: weekSteps, where: condition }), count, noCalls);
  const steps = await stepsWith(where);
  const failures = new Map(
    await Promise.all(
      codes.map(
        async ({ value }) => [value, await stepsWith(sql`${failed} and error_code = ${value}`)] as const,
      ),
    ),
  );
  for (const [name, label, textsOf] of [
    [
      'Calls',
      'Calls over time',
      (figures: AttemptFigures) => ({
        Succeeded: formatCount(figures.succeeded),
        Cancelled: formatCount(figures.cancelled),
        'Rejected as invalid': formatCount(figures.rejected),
        Failed: formatCount(figures.failed - figures.rejected),
      }),
    ],
    ['Success', 'Success over time', (figures: AttemptFigures) => ({ Success: share(success(figures)) })],
    [
      'Errors by code',
      'Errors by code over time',
      (_figures: AttemptFigures, step: number) =>
        Object.fromEntries(
          [...failures].map(([code, ofCode]) => [code, formatCount(ofCode[step]?.failed ?? 0)]),
        ),
    ],
    [
      'p50/p95',
      'Duration over time',
      (figures: AttemptFigures) => ({
        p50: estimate(figures.duration_ms_p50),
        p95: estimate(figures.duration_ms_p95),
      }),
    ],
  ] as const) {
    await page.getByRole('radio', { name, exact: true }).check({ force: true });
    await page.getByRole('slider', { name: label, exact: true }).waitFor();
    const rows = await tableOf(page, label);
    expect(rows.map(({ Time: _time, ...texts }) => texts) as object[]).toEqual(steps.map(textsOf));
  }
  expectNoComplaints(watched);
  await watched.close();
}, 60_000);

test('the home of operators shows them', async () => {
  const watched = await traffic.enter('operator', '/operator/nodes');
  const { page } = watched;
  const span = await spanOfHome(page, '/operator?range=7d');
  const all = sql`true`;
  const [now, earlier] = [await sumIn({ ...span, where: all }), await sumIn({ ...before(span), where: all })];
  await page.getByRole('table', { name: 'Accounts running dry' }).getByText('Poor').waitFor();
  const { Spend: _spend, ...stats } = homeStats(now, earlier);
  const today = new Date().toISOString().slice(0, 10);
  const [money] = await plainMargins(sql, 'all', addDays(today, -6), today);
  const [moneyBefore] = await plainMargins(sql, 'all', addDays(today, -13), addDays(today, -7));
  const asked = (figures: MarginFigures | undefined) =>
    amountOf(unitsOf(figures?.cost ?? '') + unitsOf(figures?.uncharged_cost ?? ''));
  const against = (old: string) => `${formatTotal(old)} in the 7 days before`;
  const { revenue = '', margin = '', unpriced_revenue: unpriced = '' } = money ?? {};
  const shown = await statsOf(page);
  expect(shown).toMatchObject({
    ...stats,
    'Revenue, 7 days': [formatTotal(revenue), against(moneyBefore?.revenue ?? '')],
    'Provider cost, 7 days': [formatTotal(asked(money)), against(asked(moneyBefore))],
    'Margin, 7 days': [
      formatTotal(margin),
      `${share(Number(margin) / (Number(revenue) - Number(unpriced)))}, ${against(moneyBefore?.margin ?? '')}, without ${formatTotal(unpriced)} whose cost is unknown`,
    ],
  });
  const [volume] = charts;
  if (volume !== undefined) await expectChart(page, volume, await stepsOf(span, weekSteps, all));
  const failedShare = (figures: AttemptFigures | undefined) =>
    figures === undefined
      ? null
      : (figures.failed - figures.rejected) / (figures.succeeded + figures.failed + figures.cancelled);
  const providers = await plainAttempts(sql, { ...span, by: sql`provider` });
  const providersBefore = await plainAttempts(sql, { ...before(span), by: sql`provider` });
  const rows = await tableOf(page, 'Providers');
  expect(rows).toHaveLength(3);
  for (const row of rows) {
    const figures = providers.find(({ value }) => value === row.Provider);
    const old = providersBefore.find(({ value }) => value === row.Provider);
    const p95 = figures?.duration_ms_p95 ?? null;
    expect(row).toMatchObject({
      Calls: formatCount((figures?.succeeded ?? 0) + (figures?.failed ?? 0) + (figures?.cancelled ?? 0)),
      'Errors, change': `${share(failedShare(figures))}\n${formatPoints(failedShare(figures), failedShare(old)) ?? '–'}`,
      'p95, change': `${estimate(p95)}\n${formatChange(changeOf(p95, old?.duration_ms_p95)) ?? '–'}`,
    });
  }
  const refusals = await figuresIn({ ...span, where: sql`status = 'refused'`, by: sql`error_code` });
  const refused = (await tableOf(page, 'Refusals')).map((row) => [
    row['Error code'] ?? '',
    linkCount(row.Refused) ?? '',
  ]);
  expect(Object.fromEntries(refused)).toEqual(
    Object.fromEntries(refusals.map(({ value, refused: count }) => [value, formatCount(count)])),
  );
  for (const row of await tableOf(page, 'Accounts running dry')) {
    const account = row.Account === 'Poor' ? traffic.poorAccount : traffic.shortAccount;
    const { balance, held, lasts } = await moneyOf(sql, account);
    expect(row.Available).toBe(formatBalance(amountOf(unitsOf(balance) - unitsOf(held))));
    if (lasts === 0) expect(row['Runs out']).toBe('Out of money');
    else expect(row['Runs out']).toStartWith('About ');
  }
  const written = await sql<{ reason: string; count: number; amount: string; unknown: number }[]>`
    select reason, count(*)::int as count, coalesce(sum(amount), 0)::numeric(38,12)::text as amount,
           count(*) filter (where amount is null)::int as unknown from write_offs group by reason`;
  const names = new Map([
    ['usage_missing', 'Usage missing'],
    ['insufficient_balance', 'Balance did not cover it'],
    ['implausible_usage', 'Implausible usage'],
    ['interrupted', 'Interrupted'],
  ]);
  expect(written).toHaveLength(4);
  for (const { reason, count, amount, unknown } of written)
    expect(shown[names.get(reason) ?? '']).toEqual([
      `${formatCount(count)}, ${formatTotal(amount)}${unknown > 0 ? ` and ${formatCount(unknown)} unknown` : ''}`,
    ]);
  const amounts = await sql<
    { amount: string | null }[]
  >`select amount::text from write_offs order by generation_id desc limit 5`;
  expect((await tableOf(page, 'Write-offs')).map(({ Amount }) => Amount)).toEqual(
    amounts.map(({ amount }) => (amount === null ? '–' : formatMoney(amount))),
  );
  const [short] = await sql<[{ refused: number; needed: string }]>`
    select count(*)::int as refused, (array_agg(needed order by id desc))[1] as needed from refusals
    where code = 'insufficient_balance' and account_id = ${traffic.poorAccount}`;
  const poor = await moneyOf(sql, traffic.poorAccount);
  // For three days after its end, a day is preliminary.
  const isFinal = (day: string) => Date.parse(addDays(day, 4)) < Date.now();
  const compared = (await plainBill(sql, { id: 'main', name: 'Main' })).filter(
    ({ day, billed }) => billed !== null && isFinal(day),
  );
  const [off, ...more] = compared.filter((day) => day.is_within === false);
  if (off === undefined) throw new Error('No bill differs.');
  const [{ letters, held }] = await sql<[{ letters: number; held: number }]>`
    select (select count(*)::int from dead_letters) as letters,
           (select count(*)::int from open_generations where id in (select generation_id from dead_letters)) as held`;
  expect([letters, held, compared.length, more.length]).toEqual([1, 0, 1, 0]);
  const main = await page.getByRole('main').innerText();
  for (const words of [
    `${formatCount(short.refused)} requests refused in 24 hours. The last one would hold ${formatMoney(short.needed)}, and ${formatMoney(amountOf(unitsOf(poor.balance) - unitsOf(poor.held)))} is available.`,
    `${formatCount(letters)} failed settlement`,
    'Nothing is held or charged meanwhile.',
    `By more than the tolerance on 1 of 1 final day: ${formatDay(off.day)}.`,
    `${formatDay(off.day)}: ${formatTotal(off.difference ?? '').replace('−', '')} ${off.difference?.startsWith('-') ? 'below' : 'above'} the metered cost, 1 of 1 final day differs`,
  ])
    expect(main).toContain(words);
  expect(shown['Failed settlements']).toEqual([formatCount(letters)]);
  await page.getByText('2 live', { exact: true }).waitFor();
  expectNoComplaints(watched);
  await watched.close();
}, 60_000);

test('the page of a request shows its tokens, its cost and its calls, and that of a refusal what was missing', async () => {
  const watched = await traffic.enter('operator', '/operator/nodes');
  const { page } = watched;
  const textOf = async (id: string) => {
    await page.goto(`/operator/requests/req_${id.replaceAll('-', '')}`);
    await page.getByText('Raw JSON').waitFor();
    return (await page.getByRole('main').innerText()).replaceAll(/\s+/g, ' ');
  };
  const [cached] = await sql<Record<string, string>[]>`
    select id::text, input_tokens::text, output_tokens::text, cache_read_tokens::text, cost_input::text, cost_output::text, cost_total::text,
           cost_cache_read::text, (cost_input - cost_cache_read)::text as cost_fresh, latency_ms::text, time_to_first_token_ms::text
    from generations where cache_read_tokens > 0 order by id desc limit 1`;
  if (cached === undefined) throw new Error('Nothing was read from a cache.');
  const text = await textOf(cached.id ?? '');
  for (const name of ['cost_input', 'cost_output', 'cost_total', 'cost_cache_read', 'cost_fresh'])
    expect(text).toContain(`$${cached[name]}`);
  expect(text).toContain(`Cost ${formatMoney(cached.cost_total ?? '')}`);
  expect(text).toContain(`Duration ${time(Number(cached.latency_ms))}`);
  expect(text).toContain(`Time to first token ${time(Number(cached.time_to_first_token_ms))}`);
  expect(text).toContain(`Input tokens ${formatCount(Number(cached.input_tokens))}`);
  expect(text).toContain(`Output tokens ${formatCount(Number(cached.output_tokens))}`);
  expect(text).toContain(`${formatCount(Number(cached.cache_read_tokens))} tokens`);

  const calls = await sql<{ id: string; ms: number }[]>`
    select generation_id as id, round(extract(epoch from completed_at - started_at) * 1000)::int as ms from attempts
    where generation_id = (select id from generations where fallback order by id desc limit 1) order by index`;
  expect(calls).toHaveLength(2);
  const fallback = await textOf(calls[0]?.id ?? '');
  for (const { ms } of calls) expect(fallback).toContain(`${time(ms)}, started`);

  const [short] = await sql<{ id: string; needed: string; available: string; fitting: number }[]>`
    select id, needed, available, fitting_max_tokens::int as fitting from refusals
    where code = 'insufficient_balance' order by id desc limit 1`;
  if (short === undefined) throw new Error('Nothing was refused for the balance.');
  const refusal = await textOf(short.id);
  expect(refusal).toContain(`Hold ${formatMoney(short.needed)}, available ${formatMoney(short.available)}`);
  expect(refusal).toContain(`${formatCount(short.fitting)} tokens`);
  expectNoComplaints(watched);
  await watched.close();
}, 60_000);
