/** Usage and billing, with its statements, entries, grants and payments, as customers see them. */
import { beforeAll, expect, test } from 'bun:test';
import type { SQL } from 'bun';
import type { Page } from 'playwright-core';
import {
  amountOf,
  formatBalance,
  formatMoneyExactly,
  formatTotal,
  unitsOf,
} from '../../../dashboard/kit/amounts.ts';
import { formatCount, formatDay } from '../../../dashboard/kit/format-figures.ts';
import type { UsageFigures } from '../../../src/console/contract.ts';
import { addDays } from '../../../src/usage/days.ts';
import { expectNoComplaints, visit } from '../../support/browser.ts';
import type { DashboardFixture } from '../../support/dashboard-fixture.ts';
import type { MixedTraffic } from '../../support/mixed-traffic.ts';
import { balancesOf, plainEntries, plainGrants, plainPayments } from '../../support/plain-ledger.ts';
import { moneyOf, usageOf } from '../../support/plain-money.ts';
import { exactAmountsOf, share, statsOf, tableOf } from '../../support/shown-figures.ts';
import { entryTexts, grantTexts, paymentOf, paymentTexts, signed } from '../../support/shown-records.ts';

/** The traffic is there when the first of them begins. */
export function billingShows(opened: () => MixedTraffic<DashboardFixture>): void {
  let traffic: MixedTraffic<DashboardFixture>;
  let { sql } = {} as MixedTraffic;

  beforeAll(() => {
    traffic = opened();
    ({ sql } = traffic);
  });

  const lineNames = new Map([
    ['credit paid', 'Credit added'],
    ['credit promotional', 'Promotional credit'],
    ['charge', 'Requests'],
    ['refund', 'Refunds of requests'],
    ['correction', 'Corrections'],
    ['void', 'Voided credit'],
  ]);

  async function expectStatement(page: Page): Promise<void> {
    const lines = await sql<{ line: string; entries: number; amount: string }[]>`
    select line, count(*)::int as entries, sum(amount)::text as amount from (
      select *, case kind when 'credit' then 'credit ' || coalesce((select category from grants
        where grants.account_id = ledger_entries.account_id and grants.number = ledger_entries.number), 'paid') else kind end as line
      from ledger_entries where account_id = ${traffic.account}
    ) as entry group by line`;
    const statement = page.getByRole('table', { name: /^Statement of/ });
    await statement.getByRole('row', { name: 'Balance now' }).waitFor();
    const shown = await statement.getByRole('row').allInnerTexts();
    const expected = lines.map(({ line, entries, amount }) => [
      lineNames.get(line) ?? line,
      `× ${formatCount(entries)}`,
      signed(amount, formatTotal(amount)),
    ]);
    const moved = shown.map((text) => text.split(/\t|\n/)).filter(([, count]) => count?.startsWith('×'));
    expect(moved.toSorted()).toEqual(expected.toSorted());
    const { balance } = await moneyOf(sql, traffic.account);
    expect(shown.at(-1)).toEndWith(formatBalance(balance));
    await statement
      .getByTitle(`${formatMoneyExactly(balance)} USD`, { exact: true })
      .first()
      .waitFor();
  }

  /** As the rows of the table, with its total. */
  async function chargesBy(by: 'model' | 'key' | 'day') {
    const name = {
      model: sql`model`,
      key: sql`(select name from api_keys where id = key_id)`,
      day: sql`to_char(ledger_entries.created_at at time zone 'UTC', 'YYYY-MM-DD')`,
    }[by];
    type Charged = Readonly<{
      name: string | null;
      requests: number;
      charged: string;
      refunded: string;
      share: string;
    }>;
    const rows = await sql<Charged[]>`
    select name, requests, charged::numeric(38,12)::text, refunded::numeric(38,12)::text,
           to_char(trunc(100 * charged / (sum(charged) filter (where name is not null) over ()), 2), 'FM990.0') || '%' as share
    from (
      select ${name} as name, count(*) filter (where kind = 'charge')::int as requests,
             coalesce(-sum(amount) filter (where kind = 'charge'), 0) as charged,
             coalesce(sum(amount) filter (where kind = 'refund'), 0) as refunded
      from ledger_entries join usage_records on usage_records.id = generation_id
      where ledger_entries.account_id = ${traffic.account} group by rollup(1)
    ) as grouped order by name is null, charged desc, name`;
    return rows.map(({ name: of, requests, charged, refunded, share: part }) => {
      const amounts = [charged, refunded, amountOf(unitsOf(charged) - unitsOf(refunded))];
      const label = of === null ? 'Total' : by === 'day' ? formatDay(of) : of;
      return {
        texts: [label, formatCount(requests), ...amounts.map(formatTotal), of === null ? '' : part],
        exact: amounts.map(formatMoneyExactly),
      };
    });
  }

  test('usage and billing show them', async () => {
    const watched = await traffic.enter('owner', '/usage?range=7');
    const { page } = watched;
    const today = new Date().toISOString().slice(0, 10);
    type Used = UsageFigures & Readonly<{ model: string }>;
    const used = (columns: SQL.Query<unknown>) =>
      usageOf(sql, traffic.account, addDays(today, -6), today, columns);
    const [totals] = await sql<[Used]>`${used(sql`'Total' as model,`)}`;
    const models = await sql<Used[]>`${used(sql`model,`)} group by model`;
    expect(totals.cache_read_tokens * totals.images).toBeGreaterThan(0);
    await page.getByRole('table', { name: 'Usage by model' }).getByText('known').waitFor();
    expect(await statsOf(page)).toMatchObject({
      Cost: [formatTotal(totals.cost)],
      Requests: [formatCount(totals.requests)],
      'Input tokens': [formatCount(totals.input_tokens)],
      'Output tokens': [formatCount(totals.output_tokens)],
      Images: [formatCount(totals.images)],
      'Input read from caches': [
        share(totals.cache_read_tokens / totals.input_tokens),
        `${formatCount(totals.cache_read_tokens)} of ${formatCount(totals.input_tokens)} tokens`,
      ],
    });
    for (const row of await tableOf(page, 'Usage by model')) {
      const figures = [...models, totals].find(({ model }) => model === row.Model);
      if (figures === undefined) throw new Error(`${row.Model} is not expected.`);
      expect(row).toMatchObject({
        Requests: formatCount(figures.requests),
        'Input tokens': formatCount(figures.input_tokens),
        'Output tokens': formatCount(figures.output_tokens),
        Images: formatCount(figures.images),
        Cost: formatTotal(figures.cost),
        'Saved by caches': formatTotal(figures.cache_saved),
      });
    }

    await visit(page, '/billing');
    await page.getByRole('table', { name: 'Charges by model' }).waitFor();
    const { balance, held } = await moneyOf(sql, traffic.account);
    const stats = await statsOf(page);
    expect([stats.Balance?.[0], stats.Held?.[0], stats.Available?.[0]]).toEqual([
      formatBalance(balance),
      formatTotal(held),
      formatBalance(amountOf(unitsOf(balance) - unitsOf(held))),
    ]);
    await expectStatement(page);
    for (const [tab, by] of [
      ['By model', 'model'],
      ['By key', 'key'],
      ['By day', 'day'],
    ] as const) {
      await page.getByText(tab, { exact: true }).click();
      const charges = await chargesBy(by);
      const rows = await tableOf(page, `Charges by ${by}`);
      expect(rows.map((row) => Object.values(row).toReversed())).toEqual(charges.map(({ texts }) => texts));
      expect(await exactAmountsOf(page, `Charges by ${by}`)).toEqual(charges.map(({ exact }) => exact));
    }
    const [{ month }] = await sql<
      [{ month: string }]
    >`select to_char(now() at time zone 'UTC', 'YYYY-MM') as month`;
    await visit(page, `/billing/statement/${month}`);
    await expectStatement(page);
    expectNoComplaints(watched);
    await watched.close();
  }, 60_000);

  test('the tabs of billing show entries, grants and payments', async () => {
    const watched = await traffic.enter('owner', '/billing?tab=entries');
    const { page } = watched;
    const plain = await plainEntries(sql, traffic.account);
    const entries = plain.map(entryTexts);
    await page.getByRole('cell', { name: entries[0]?.['No.'] ?? '', exact: true }).waitFor();
    expect(await tableOf(page, 'Entries')).toMatchObject(entries.slice(0, 50));
    expect(await exactAmountsOf(page, 'Entries')).toEqual(
      plain
        .slice(0, 50)
        .map(({ amount, balance_after: balance }) => [amount, balance].map(formatMoneyExactly)),
    );
    await page.getByRole('button', { name: 'Older' }).click();
    await page.getByRole('cell', { name: entries[50]?.['No.'] ?? '', exact: true }).waitFor();
    expect(await tableOf(page, 'Entries')).toMatchObject(entries.slice(50, 100));

    await page.getByRole('link', { name: 'Credit and payments' }).click();
    await page.getByRole('table', { name: 'Payments' }).waitFor();
    await page.getByRole('table', { name: 'Grants' }).waitFor();
    const payments = await plainPayments(sql, sql`account_id = ${traffic.account}`);
    expect((await tableOf(page, 'Payments')).map(paymentOf)).toEqual(payments.map(paymentTexts));
    const grants = await plainGrants(sql, traffic.account);
    expect(await tableOf(page, 'Grants')).toMatchObject(grants.map(grantTexts));
    const [paid, promotional] = balancesOf(grants).map(({ amount }) => formatBalance(amount));
    const stats = await statsOf(page);
    expect([stats['Paid credit'], stats['Promotional credit']]).toEqual([
      [paid ?? ''],
      [promotional ?? '', expect.stringContaining(`${promotional} expires on`)],
    ]);
    expectNoComplaints(watched);
    await watched.close();
  }, 60_000);
}
