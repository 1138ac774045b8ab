/** Balances, spend, margins, usage and statements against plain SQL. */
import { beforeAll, expect, test } from 'bun:test';
import type { SQL } from 'bun';
import type { MonthStatement } from '../../../src/console/billing-contract.ts';
import type { Keys, Overview, Usage } from '../../../src/console/contract.ts';
import type { KeyDetail } from '../../../src/console/key-contract.ts';
import type {
  Margins,
  OperatorAccountDetail,
  OperatorAccounts,
} from '../../../src/console/operator-contract.ts';
import type { MixedTraffic } from '../../support/mixed-traffic.ts';
import { moneyOf, plainMargins, spentThisMonth, usageOf } from '../../support/plain-money.ts';

/** The traffic is there when the first of them begins. */
export function numbersOfMoney(opened: () => MixedTraffic): void {
  let traffic: MixedTraffic;
  let { sql, get } = {} as MixedTraffic;

  beforeAll(() => {
    traffic = opened();
    ({ sql, get } = traffic);
  });

  test('the balance, what is held, and how long it lasts, for customers and operators', async () => {
    const { account, poorAccount } = traffic;
    const expected = await moneyOf(sql, account);
    const overview = await get<Overview>('overview', 'owner');
    expect(Number(expected.held)).toBeGreaterThan(0);
    expect(overview).toMatchObject({
      balance: expected.balance,
      held: expected.held,
      typical_hold: expected.typical,
      runway: { hours_used: expected.used, hours_left: expected.left },
    });
    for (const id of [account, poorAccount]) {
      const { balance, held, used, left } = await moneyOf(sql, id);
      expect(used).toBeGreaterThan(1);
      const detail = await get<OperatorAccountDetail>(`accounts/${id}`, 'operator');
      const [{ spent }] = await sql<
        [{ spent: string }]
      >`${spentThisMonth(sql, sql`usage_records.account_id = ${id}`)}`;
      const [{ keys, members, charges }] = await sql<[{ keys: number; members: number; charges: number }]>`
      select (select count(*)::int from api_keys where account_id = ${id}) as keys,
             (select count(*)::int from memberships where account_id = ${id}) as members,
             (select count(*)::int from ledger_entries where account_id = ${id} and kind = 'charge') as charges`;
      expect(charges).toBeGreaterThan(0);
      expect(detail).toMatchObject({
        balance,
        held,
        runway: { hours_used: used, hours_left: left },
        month_spent: spent,
        keys_in_force: keys,
        members,
      });
      const { data } = await get<OperatorAccounts>(`accounts?search=${id}`, 'operator');
      expect(data).toMatchObject([{ id, balance, held, month_spent: spent, keys_in_force: keys, members }]);
    }
  });

  test('what each key has spent, holds and has left', async () => {
    const { data } = await get<Keys>('keys', 'owner');
    expect(data).toHaveLength(4);
    for (const { id, monthly_limit: limit, ...key } of data) {
      const [{ spent }] = await sql<[{ spent: string }]>`${spentThisMonth(sql, sql`key_id = ${id}`)}`;
      const [{ typical }] = await sql<[{ typical: string | null }]>`
        select (percentile_disc(0.5) within group (order by hold))::text as typical from (
          select hold from generations where key_id = ${id} and status = 'completed' order by id desc limit 20
        ) as newest`;
      const [row] = await sql<[{ held: string; left: string | null; open: number }]>`
      select coalesce(sum(hold), 0)::numeric(38,12)::text as held, count(*)::int as open,
             case when ${limit}::text is not null
               then greatest(${limit}::text::numeric - ${spent}::text::numeric - coalesce(sum(hold), 0), 0)::numeric(38,12)::text end as left
      from open_generations where key_id = ${id}`;
      expect({ id, spent: key.month_spent, held: key.held, left: key.month_left }).toEqual({
        id,
        spent,
        held: row.held,
        left: row.left,
      });
      const detail = await get<KeyDetail>(`keys/${id}`, 'owner');
      expect(detail).toMatchObject({
        month_spent: spent,
        held: row.held,
        // What it would be compared with.
        typical_hold: limit === null ? null : typical,
        now: { open: row.open },
      });
    }
    const charged =
      await sql`select distinct key_id from usage_records where account_id = ${traffic.account}`;
    expect(charged.length).toBeGreaterThan(1);
  });

  test.each(['day', 'model', 'provider', 'account'] as const)(
    'revenue, cost and margin by %s',
    async (by) => {
      const { from, to, rows, totals } = await get<Margins>(`margins?by=${by}`, 'operator');
      const expected = await plainMargins(sql, by, from, to);
      expect(expected.length).toBeGreaterThan(1);
      expect(expected.some(({ margin }) => Number(margin) > 0)).toBeTrue();
      expect(
        expected.some((row) => row.unpriced_requests > 0 && Number(row.unpriced_revenue) > 0),
      ).toBeTrue();
      const shown = rows
        .map(({ name: _name, ...row }) => row)
        .toSorted((one, two) => (one.id < two.id ? -1 : 1));
      expect(shown).toEqual(expected);
      const [sum] = await plainMargins(sql, 'all', from, to);
      expect({ id: '', ...totals }).toEqual(sum ?? { id: 'nothing', ...totals });
    },
  );

  test('usage by day, model and key, with what caches saved', async () => {
    const { from, to, rows, totals } = await get<Usage>('usage', 'owner');
    const plain = (columns: SQL.Query<unknown>) => usageOf(sql, traffic.account, from, to, columns);
    const expected = await sql<Usage['rows']>`
    ${plain(sql`to_char(day, 'YYYY-MM-DD') as day, model, key_id, (select name from api_keys where id = key_id) as key_name,`)}
    group by day, model, key_id order by day, model, key_id`;
    expect(expected.length).toBeGreaterThan(3);
    expect(rows).toEqual(expected.map((row) => ({ ...row })));
    const [sum] = await sql<[Usage['totals']]>`${plain(sql``)}`;
    expect(totals).toEqual({ ...sum });
    expect(totals.cache_read_tokens * totals.images * Number(totals.cache_saved)).toBeGreaterThan(0);
  });

  test('the statement of a month leads from one balance to the other', async () => {
    const { account } = traffic;
    const [{ month, opening }] = await sql<[{ month: string; opening: string }]>`
    select to_char(month, 'YYYY-MM') as month, coalesce((
      select balance_after from ledger_entries where account_id = ${account} and created_at at time zone 'UTC' < month
      order by number desc limit 1), 0)::numeric(38,12)::text as opening
    from (
      select date_trunc('month', max(created_at) at time zone 'UTC') as month from ledger_entries
      where account_id = ${account} and kind = 'refund'
    ) as last`;
    const { closing, detail } = await get<MonthStatement>(`billing/months/${month}`, 'owner');
    const entries = () => sql`
    select ledger_entries.*, case kind when 'credit' then coalesce((select category from grants
             where grants.account_id = ledger_entries.account_id and grants.number = ledger_entries.number), 'paid') end as category,
           usage_records.model, usage_records.key_id, to_char(ledger_entries.created_at at time zone 'UTC', 'YYYY-MM-DD') as day
    from ledger_entries left join usage_records on usage_records.id = generation_id where ledger_entries.account_id = ${account}
      and to_char(ledger_entries.created_at at time zone 'UTC', 'YYYY-MM') = ${month}`;
    const lines = await sql`
    select kind, category, count(*)::int as entries, sum(amount)::text as amount
    from (${entries()}) as entry group by kind, category
    order by array_position(array['credit', 'charge', 'refund', 'correction', 'void'], kind), category`;
    expect(lines).toHaveLength(6);
    expect(detail?.lines as unknown[]).toEqual([...lines]);
    const by = async (column: SQL.Query<unknown>) =>
      (
        await sql`
        select ${column} as name, count(*) filter (where kind = 'charge')::int as requests,
               coalesce(-sum(amount) filter (where kind = 'charge'), 0)::numeric(38,12)::text as charged,
               coalesce(sum(amount) filter (where kind = 'refund'), 0)::numeric(38,12)::text as refunded
        from (${entries()}) as entry where kind in ('charge', 'refund') group by 1
        order by sum(amount) filter (where kind = 'charge'), 1`
      ).map((row: object) => ({ ...row }));
    const named = (rows: readonly object[] = []) => rows as unknown[];
    expect(named(detail?.by_model.map(({ model, ...row }) => ({ name: model, ...row })))).toEqual(
      await by(sql`model`),
    );
    expect(
      named(detail?.by_key.map(({ key_id: key, key_name: _name, ...row }) => ({ name: key, ...row }))),
    ).toEqual(await by(sql`key_id`));
    expect(named(detail?.by_day.map(({ day, ...row }) => ({ name: day, ...row })))).toEqual(
      await by(sql`day`),
    );
    expect([detail?.opening, closing]).toEqual([opening, (await moneyOf(sql, account)).balance]);
  });
}
