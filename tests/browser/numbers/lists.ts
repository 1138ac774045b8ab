/** Margins and the lists of accounts, keys, users, nodes and deliveries, as the pages show them. */
import { beforeAll, expect, test } from 'bun:test';
import type { SQL } from 'bun';
import {
  amountOf,
  formatBalance,
  formatMoney,
  formatMoneyExactly,
  formatTotal,
  signOfMoney,
  unitsOf,
} from '../../../dashboard/kit/amounts.ts';
import { formatCount } from '../../../dashboard/kit/format-figures.ts';
import { addDays } from '../../../src/usage/days.ts';
import { expectNoComplaints, visit } from '../../support/browser.ts';
import type { DashboardFixture } from '../../support/dashboard-fixture.ts';
import { eventually } from '../../support/eventually.ts';
import type { MixedTraffic } from '../../support/mixed-traffic.ts';
import { plainAttempts } from '../../support/plain-figures.ts';
import { moneyOf, plainMargins, spentThisMonth } from '../../support/plain-money.ts';
import { exactAmountsOf, share, statsOf, tableOf } from '../../support/shown-figures.ts';
import { spentText } from '../../support/shown-records.ts';

/** The traffic is there when the first of them begins. */
export function listsShow(opened: () => MixedTraffic<DashboardFixture>): void {
  let traffic: MixedTraffic<DashboardFixture>;
  let { sql } = {} as MixedTraffic;

  beforeAll(() => {
    traffic = opened();
    ({ sql } = traffic);
  });

  type ListedKey = Readonly<{
    id: string;
    name: string;
    limit: string | null;
    rate: number;
    concurrent: number;
    held: string;
    limits: number;
    errors: number;
  }>;

  const keysOf = (account: string): SQL.Query<ListedKey[]> => sql<ListedKey[]>`
  select id, name, monthly_limit::text as limit, requests_per_minute as rate, max_concurrent as concurrent,
         (select coalesce(sum(hold), 0) from open_generations where key_id = api_keys.id)::numeric(38,12)::text as held,
         (select count(*)::int from limits where key_id = api_keys.id) as limits,
         (select count(*)::int from generations where key_id = api_keys.id and status = 'failed' and id >= since)
           + (select count(*)::int from refusals where key_id = api_keys.id and id >= since) as errors
  from api_keys, (select (lpad(to_hex((floor(extract(epoch from now()) / 3600)::bigint - 168) * 3600000), 12, '0')
    || '00000000000000000000')::uuid as since) as week
  where account_id = ${account}`;

  test('keys show what they spent, hold and may do', async () => {
    const keys = await keysOf(traffic.account);
    expect(keys.some(({ limit }) => limit !== null)).toBeTrue();
    for (const [person, path, table] of [
      ['owner', '/keys', 'Keys of this account'],
      ['operator', `/operator/accounts/${traffic.account}?tab=keys`, 'Keys of the account'],
    ] as const) {
      const watched = await traffic.enter(person, path);
      const { page } = watched;
      if (person === 'operator') await page.getByRole('link', { name: / of First$/ }).waitFor();
      const rows = await tableOf(page, table);
      const exact = await exactAmountsOf(page, table);
      expect(rows).toHaveLength(keys.length);
      for (const key of keys) {
        const [{ spent }] = await sql<[{ spent: string }]>`${spentThisMonth(sql, sql`key_id = ${key.id}`)}`;
        const at = rows.findIndex(({ Name }) => Name?.startsWith(key.name));
        const row = rows[at] ?? {};
        const held = signOfMoney(key.held) > 0 ? [key.held] : [];
        expect(exact[at]).toEqual([spent, ...held].map(formatMoneyExactly));
        expect(row['Spent this month']?.replaceAll(/\s+/g, ' ')).toBe(spentText(spent, key.held, key.limit));
        expect(row['Requests/min']).toBe(
          `${formatCount(key.rate)} · ${formatCount(key.concurrent)} concurrent`,
        );
        if (person === 'owner' && key.limits > 0) expect(row.Name).toContain(`${key.limits} limit`);
        if (person === 'operator')
          expect(row['Errors, 7 d']?.split(/\s/)[0]).toBe(key.errors === 0 ? '–' : formatCount(key.errors));
      }
      expectNoComplaints(watched);
      await watched.close();
    }
  }, 60_000);

  test('the page of a key shows its room', async () => {
    const { id } = traffic.keys.other;
    const watched = await traffic.enter('owner', `/keys/${id}`);
    const [key] = (await keysOf(traffic.account)).filter((one) => one.id === id);
    const [{ spent }] = await sql<[{ spent: string }]>`${spentThisMonth(sql, sql`key_id = ${id}`)}`;
    const [{ open }] = await sql<
      [{ open: number }]
    >`select count(*)::int as open from open_generations where key_id = ${id}`;
    const { limit = null, held = '', concurrent = 0 } = key ?? {};
    const used = unitsOf(spent) + unitsOf(held);
    await watched.page.getByText('Left this month').waitFor();
    const stats = await statsOf(watched.page);
    expect(open).toBe(1);
    expect(stats['Spent this month']?.[0]).toBe(formatTotal(spent));
    expect(stats['Spent this month']?.[1]).toEndWith(
      `of ${formatMoneyExactly(limit ?? '0')}, plus ${formatMoney(held)} held`,
    );
    expect(stats['Left this month']?.[0]).toBe(formatBalance(amountOf(unitsOf(limit ?? '0') - used)));
    expect(stats['In progress']?.[0]).toBe(`${formatCount(open)} of ${formatCount(concurrent)}`);
    expectNoComplaints(watched);
    await watched.close();
  }, 60_000);

  test('providers show their calls of the last hour and day, and webhooks what was sent', async () => {
    const watched = await traffic.enter('operator', '/operator/providers');
    const { page } = watched;
    const nowMs = Date.now();
    const callsSince = async (hours: number) => {
      const span = {
        from: new Date(nowMs - hours * 3_600_000).toISOString(),
        to: new Date(nowMs + 60_000).toISOString(),
      };
      const groups = await plainAttempts(sql, { ...span, by: sql`provider` });
      return new Map(
        groups.map(({ value, succeeded, failed, rejected, cancelled }) => {
          const all = succeeded + failed + cancelled;
          return [value, [formatCount(all), share((failed - rejected) / all)]];
        }),
      );
    };
    const [hour, day] = [await callsSince(1), await callsSince(24)];
    expect([hour.size, day.size]).toEqual([3, 3]);
    for (const row of await tableOf(page, 'Providers')) {
      const cells = page
        .getByRole('row')
        .filter({ hasText: row.Provider ?? '' })
        .getByRole('cell');
      const shown = (await cells.allInnerTexts()).slice(2, 6);
      const none = ['0', '–'];
      expect([row.Provider, ...shown]).toEqual([
        row.Provider,
        ...(hour.get(row.Provider ?? '') ?? none),
        ...(day.get(row.Provider ?? '') ?? none),
      ]);
    }
    await visit(page, '/operator/webhooks');
    await eventually('that everything was sent', async () => {
      const [{ pending }] = await sql<
        [{ pending: number }]
      >`select count(*)::int as pending from webhook_deliveries where state = 'pending'`;
      return pending === 0;
    });
    await page.reload();
    const deliveries = await sql<{ type: string; attempts: number; status: number }[]>`
      select type, attempts, status from webhook_deliveries join events on events.id = event_id order by webhook_deliveries.id desc`;
    expect(deliveries.length).toBeGreaterThan(3);
    expect(await tableOf(page, 'Deliveries')).toMatchObject(
      deliveries.map(({ type, attempts, status }) => ({
        Event: type,
        Answer: `${status}`,
        Attempts: `${attempts}`,
      })),
    );
    expectNoComplaints(watched);
    await watched.close();
  }, 60_000);

  test('users show their sessions', async () => {
    const watched = await traffic.enter('operator', '/operator/users');
    const users = await sql<{ email: string; sessions: number }[]>`
    select email, (select count(*)::int from sessions where user_id = users.id and expires_at > now()) as sessions from users`;
    const rows = await tableOf(watched.page, 'Users');
    expect(rows).toHaveLength(users.length);
    for (const { email, sessions } of users)
      expect(rows.find(({ User }) => User?.startsWith(email))).toMatchObject({
        Sessions: formatCount(sessions),
      });
    expectNoComplaints(watched);
    await watched.close();
  }, 60_000);

  test('margins, accounts and nodes show them', async () => {
    const watched = await traffic.enter('operator', '/operator/margins?by=model&range=7');
    const { page } = watched;
    const today = new Date().toISOString().slice(0, 10);
    const days = [addDays(today, -6), today] as const;
    await page
      .getByRole('table', { name: 'Margins by model' })
      .getByRole('link', { name: 'known' })
      .waitFor();
    const margins = [
      ...(await plainMargins(sql, 'model', ...days)),
      ...(await plainMargins(sql, 'all', ...days)),
    ];
    const rows = await tableOf(page, 'Margins by model');
    expect(rows).toHaveLength(margins.length);
    for (const row of rows) {
      const figures = margins.find(({ id }) => id === (row.Model === 'Total' ? '' : row.Model));
      if (figures === undefined) throw new Error(`${row.Model} is not expected.`);
      const known = Number(figures.revenue) - Number(figures.unpriced_revenue);
      const unknown = figures.unpriced_requests + figures.unknown_attempts;
      const isUnpriced = figures.unpriced_requests > 0 && figures.unpriced_requests === figures.requests;
      const isUnknown =
        figures.unknown_attempts > 0 && figures.unknown_attempts === figures.uncharged_attempts;
      expect(row).toMatchObject({
        Requests: formatCount(figures.requests),
        'Revenue ↓': formatTotal(figures.revenue),
        Cost: isUnpriced ? '–' : formatTotal(figures.cost),
        Uncharged: isUnknown ? '–' : formatTotal(figures.uncharged_cost),
        Margin: isUnpriced ? '–' : formatTotal(figures.margin),
        'Margin %':
          known > 0 ? `${(Math.floor((Number(figures.margin) / known) * 1_000) / 10).toFixed(1)}%` : '–',
        Unknown: unknown === 0 ? '–' : formatCount(unknown),
      });
    }
    const margin = page.getByRole('columnheader', { name: 'Margin', exact: true });
    const marginOf = (id: string | undefined) => Number(margins.find((one) => one.id === id)?.margin);
    for (const [order, isUp] of [
      ['ascending', true],
      ['descending', false],
    ] as const) {
      await margin
        .or(page.getByRole('columnheader', { name: /^Margin [↑↓]/ }))
        .getByRole('button')
        .click();
      await page.locator(`th[aria-sort=${order}]`).waitFor();
      // The rows stay as they were until those in the new order are there.
      await eventually(`margins ${order}`, async () => {
        const names = (await tableOf(page, 'Margins by model')).map(({ Model }) => Model).slice(0, -1);
        const shown = names.map(marginOf);
        const sorted = shown.toSorted((left, right) => (isUp ? 1 : -1) * (left - right));
        return new Set(shown).size > 2 && Bun.deepEquals(shown, sorted);
      });
    }

    await visit(page, '/operator/accounts');
    const accounts = await sql<{ id: string; name: string; keys: number; members: number }[]>`
    select id, name, (select count(*)::int from api_keys where account_id = accounts.id) as keys,
           (select count(*)::int from memberships where account_id = accounts.id) as members
    from accounts`;
    await page.getByRole('table', { name: 'Accounts' }).getByText('Northwind').waitFor();
    const listedAccounts = await tableOf(page, 'Accounts');
    for (const { id, name, keys, members } of accounts) {
      const { balance, held } = await moneyOf(sql, id);
      const [{ spent }] = await sql<
        [{ spent: string }]
      >`${spentThisMonth(sql, sql`usage_records.account_id = ${id}`)}`;
      expect(listedAccounts.find(({ Account }) => Account?.startsWith(name))).toMatchObject({
        Balance: formatBalance(balance),
        Held: formatTotal(held),
        'Spent this month': formatTotal(spent),
        Keys: formatCount(keys),
        Members: formatCount(members),
      });
    }
    await visit(page, `/operator/accounts/${traffic.account}`);
    await page.getByText(/The last 7 days had \d+/).waitFor();
    const { balance, held, used, left } = await moneyOf(sql, traffic.account);
    const stats = await statsOf(page);
    expect([stats.Balance?.[0], stats.Held?.[0], stats.Available?.[0]]).toEqual([
      formatBalance(balance),
      formatTotal(held),
      formatBalance(amountOf(unitsOf(balance) - unitsOf(held))),
    ]);
    expect(stats['Runs out']).toEqual([
      'In more than a year',
      `Enough for ${formatCount(Math.floor(left ?? 0))} more hours with requests. The last 7 days had ${used} such ${used === 1 ? 'hour' : 'hours'}.`,
    ]);

    await visit(page, '/operator/nodes');
    await page.getByRole('table', { name: 'Nodes' }).getByText('This node').waitFor();
    const open = await sql<{ open: number; held: string }[]>`
    select count(hold)::int as open, coalesce(sum(hold), 0)::numeric(38,12)::text as held
    from nodes left join open_generations on node_id = nodes.id where stopped_at is null group by nodes.id`;
    const shown = (await tableOf(page, 'Nodes'))
      .map((row) => `${row['Open requests']} ${row.Held}`)
      .toSorted();
    expect(shown).toEqual(open.map((row) => `${row.open} ${formatTotal(row.held)}`).toSorted());
    expect(shown).toHaveLength(2);
    expectNoComplaints(watched);
    await watched.close();
  }, 60_000);
}
