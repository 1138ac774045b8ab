/** Limits, payments, the ledger and providers' bills, as the pages show them. */
import { beforeAll, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import {
  formatMoneyExactly,
  formatTotal,
  formatUsed,
  shareOfLimit,
  signOfMoney,
  sumMoney,
} from '../../../dashboard/kit/amounts.ts';
import { formatCount, formatDay, formatShare } from '../../../dashboard/kit/format-figures.ts';
import { expectNoComplaints, visit } from '../../support/browser.ts';
import type { DashboardFixture } from '../../support/dashboard-fixture.ts';
import { eventually } from '../../support/eventually.ts';
import type { MixedTraffic } from '../../support/mixed-traffic.ts';
import { plainChecks, plainTotals } from '../../support/plain-audit.ts';
import { plainBill, plainModels } from '../../support/plain-bills.ts';
import { plainEntries, plainGrants, plainPayments, stuck } from '../../support/plain-ledger.ts';
import { certainLimits, type PlainLimit } from '../../support/plain-limits.ts';
import { exactAmountsOf, statsOf, tableOf } from '../../support/shown-figures.ts';
import { entryTexts, grantTexts, paymentOf, paymentTexts } from '../../support/shown-records.ts';

const total = (amount: string | null) => (amount === null ? '–' : formatTotal(amount));

/** Without times. All limits are new. */
function useOf({ scope, kind, amount, increase, used, held }: PlainLimit): string {
  const most = sumMoney([amount, increase ?? '0']);
  const isSpend = kind.startsWith('spend');
  const write = (value: string) => (isSpend ? formatUsed(value, most) : formatCount(Number(value)));
  const end = isSpend ? formatMoneyExactly(most) : formatCount(Number(most));
  const since = isSpend && scope.endsWith('end_user') ? ' counted since' : '';
  if (used === null || held === null) return `${end} for each of them${since}`;
  const part = formatShare(shareOfLimit(sumMoney([used, held]), most));
  const isConcurrent = kind === 'concurrent_requests';
  const more = signOfMoney(held) > 0 && !isConcurrent ? ` plus ${write(held)} held` : '';
  const until = increase === null ? '' : ` with ${formatMoneyExactly(increase)} more until`;
  return `${part} ${write(isConcurrent ? held : used)} of ${end}${more}${since}${until}`;
}

/** The traffic is there when the first of them begins. */
export function recordsShow(opened: () => MixedTraffic<DashboardFixture>): void {
  let traffic: MixedTraffic<DashboardFixture>;
  let { sql } = {} as MixedTraffic;

  beforeAll(() => {
    traffic = opened();
    ({ sql } = traffic);
  });

  async function expectLimits(page: Page): Promise<void> {
    const { account } = traffic;
    await eventually('a moment in which nothing of them changes', async () => {
      const expected = await certainLimits(sql, account);
      await page.reload();
      const rows = await tableOf(page, 'Limits of this account');
      if (!Bun.deepEquals(expected, await certainLimits(sql, account))) return false;
      const shown = rows.map(({ Used }) =>
        Used?.replaceAll(/\s+/g, ' ')
          .replace(/(more until) .*/, '$1')
          .replace(/(counted since) \d+ \w+, \d+:\d+/, '$1'),
      );
      expect(shown).toHaveLength(6);
      // The one that may be uncertain is the newest.
      expect(shown.slice(-expected.length)).toEqual(expected.map(useOf));
      return true;
    });
  }

  test('limits show what is used and held, to customers and operators', async () => {
    await traffic.ask({ key: traffic.keys.other, model: 'pair' });
    for (const [person, path] of [
      ['owner', '/limits'],
      ['operator', `/operator/accounts/${traffic.account}?tab=limits`],
    ] as const) {
      const watched = await traffic.enter(person, path);
      await expectLimits(watched.page);
      expectNoComplaints(watched);
      await watched.close();
    }
  }, 60_000);

  test('the account of an operator shows entries and grants, and payments those of all accounts', async () => {
    const watched = await traffic.enter('operator', `/operator/accounts/${traffic.account}?tab=statement`);
    const { page } = watched;
    const entries = (await plainEntries(sql, traffic.account)).map(entryTexts);
    expect(await tableOf(page, 'Statement')).toMatchObject(entries.slice(0, 50));
    await page.getByRole('link', { name: 'Grants' }).click();
    const grants = await plainGrants(sql, traffic.account);
    expect(await tableOf(page, 'Grants')).toMatchObject(grants.map(grantTexts));

    await visit(page, '/operator/payments');
    for (const [table, where] of [
      ['Payments', sql`true`],
      ['Payments that need attention', stuck(sql)],
    ] as const) {
      const payments = await plainPayments(sql, where);
      expect((await tableOf(page, table)).map(paymentOf)).toEqual(payments.map(paymentTexts));
    }
    expectNoComplaints(watched);
    await watched.close();
  }, 60_000);

  test('the ledger shows what was checked, the totals and what was not settled', async () => {
    const watched = await traffic.enter('operator', '/operator/ledger');
    const { page } = watched;
    await page.getByRole('button', { name: 'Run full audit' }).click();
    await page.getByText('The ledger is consistent').waitFor();
    const rows = await tableOf(page, 'Audit results');
    const rules = rows.map(({ Rule = '' }) => `${Rule.slice(0, 1).toLowerCase()}${Rule.slice(1, -1)}`);
    const shown = new Map(rows.map(({ Checked = '' }, at) => [rules[at] ?? '', Checked]));
    for (const [rule, count] of await plainChecks(sql, rules))
      expect([rule, shown.get(rule)]).toEqual([rule, formatCount(count)]);
    const totals = await plainTotals(sql);
    const stats = await statsOf(page);
    const textOf = (name: string) => Object.entries(stats).find(([label]) => label.startsWith(name))?.[1];
    expect(textOf('Balances of all accounts')).toEqual([formatMoneyExactly(totals.balance)]);
    expect(textOf('Held')).toEqual([formatMoneyExactly(totals.held)]);
    expect(textOf('Written off')).toEqual([
      `${formatMoneyExactly(totals.written_off)}and ${formatCount(totals.unknown_write_offs ?? 0)} of unknown amount`,
    ]);
    expect(textOf('Implausible usage')).toEqual([formatMoneyExactly(totals.not_believed)]);
    const letters = await sql<{ amount: string }[]>`
      select (rtrim(settlement -> 'cost' ->> 'total', 'n')::numeric / 1e12)::numeric(38,12)::text as amount from dead_letters`;
    expect((await tableOf(page, 'Failed settlements')).map(({ Charge }) => Charge)).toEqual(
      letters.map(({ amount }) => formatMoneyExactly(amount)),
    );
    expectNoComplaints(watched);
    await watched.close();
  }, 60_000);

  test('reconciliation shows bills against the metered cost', async () => {
    const watched = await traffic.enter('operator', '/operator/reconciliation');
    const { page } = watched;
    const main = { id: 'main', name: 'Main' };
    const days = await plainBill(sql, main);
    const billed = days.filter((day) => day.billed !== null);
    const sum = (of: (day: (typeof days)[number]) => string | null) =>
      formatTotal(sumMoney(billed.map((day) => of(day) ?? '0')));
    expect(await tableOf(page, 'Bills of Main')).toMatchObject([
      ...days.map((day) => ({
        Charged: total(day.charged),
        'Metered cost': total(day.metered),
        Billed: total(day.billed),
        Difference: total(day.difference),
      })),
      {
        Day: 'Total of days with a bill',
        Charged: sum(({ charged }) => charged),
        'Metered cost': sum(({ metered }) => metered),
        Billed: sum((day) => day.billed),
        Difference: sum(({ difference }) => difference),
      },
    ]);
    const exact = days.map(({ charged, metered, billed: asked, difference }) =>
      [charged, metered, asked, difference].filter((amount) => amount !== null).map(formatMoneyExactly),
    );
    // The changed day begins with what it was before.
    const shown = (await exactAmountsOf(page, 'Bills of Main')).slice(0, days.length);
    expect(shown.map((amounts) => amounts.slice(-4))).toEqual(exact);
    const changed = days.at(-1);
    if (changed === undefined) throw new Error('No day was compared.');
    const [version] = await sql<
      [{ billed: string }]
    >`select billed::text from bill_versions where version = 1 and day = ${changed.day}::text::date`;
    const row = page.getByRole('row').filter({ hasText: formatDay(changed.day, true) });
    await row.getByText(`was ${formatTotal(version.billed)}`).waitFor();
    await row.getByRole('button', { name: 'Details' }).click();
    expect((await tableOf(page, 'The bill by model')).map(({ Model: _model, ...sides }) => sides)).toEqual(
      (await plainModels(sql, main, changed.day)).map(({ metered, billed: asked, difference }) => ({
        'Metered cost': formatTotal(metered),
        Billed: formatTotal(asked),
        Difference: formatTotal(difference),
      })),
    );
    expect(await statsOf(page)).toMatchObject({
      'Charged to customers': [formatMoneyExactly(changed.charged)],
      'Metered cost': [formatMoneyExactly(changed.metered)],
      'Billed by the provider': [formatMoneyExactly(changed.billed ?? '0')],
      Difference: [formatMoneyExactly(changed.difference ?? '0')],
      Tolerance: [formatMoneyExactly(changed.tolerance)],
    });
    expectNoComplaints(watched);
    await watched.close();
  }, 60_000);
}
