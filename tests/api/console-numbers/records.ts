/** Entries, grants, payments, limits, the audit of the ledger and providers' bills against plain SQL. */
import { beforeAll, describe, expect, test } from 'bun:test';
import type { Limit, Page, Payment, Statement, StatementEntry } from '../../../src/console/contract.ts';
import type { Grants } from '../../../src/console/grant-contract.ts';
import type {
  Audits,
  DeadLetters,
  OperatorPayments,
  OperatorStatement,
  ReconciledDetail,
  Reconciliation,
  StuckPayments,
} from '../../../src/console/operator-contract.ts';
import { eventually } from '../../support/eventually.ts';
import type { MixedTraffic, Reader } from '../../support/mixed-traffic.ts';
import { plainChecks, plainTotals } from '../../support/plain-audit.ts';
import { plainBill, plainExplanations, plainModels } from '../../support/plain-bills.ts';
import { balancesOf, plainEntries, plainGrants, plainPayments, stuck } from '../../support/plain-ledger.ts';
import { certainLimits } from '../../support/plain-limits.ts';
import { moneyOf } from '../../support/plain-money.ts';

const readers = ['owner', 'operator'] as const;
const main = { id: 'main', name: 'Main' };

/** The traffic is there when the first of them begins. */
export function numbersOfRecords(opened: () => MixedTraffic): void {
  let traffic: MixedTraffic;
  let { sql, get } = {} as MixedTraffic;

  beforeAll(() => {
    traffic = opened();
    ({ sql, get } = traffic);
  });

  /** What both see of an account. */
  const getOf = <Body>(path: string, reader: Reader) =>
    get<Body>(reader === 'owner' ? path : `accounts/${traffic.account}/${path}`, reader);

  test.each(readers)(
    'every entry, what it was drawn from and the balance after it, for %s',
    async (reader) => {
      const entries: StatementEntry[] = [];
      let cursor = '';
      do {
        const page = await getOf<Statement | OperatorStatement>(`ledger?limit=40${cursor}`, reader);
        const { balance, held } = await moneyOf(sql, traffic.account);
        expect('account' in page ? page.account : page).toMatchObject({ balance, held });
        entries.push(
          ...page.data.map((entry) => {
            const { actor: _actor, ...shown } = { actor: null, ...entry };
            return shown;
          }),
        );
        cursor = page.next_cursor === null ? '' : `&cursor=${page.next_cursor}`;
      } while (cursor !== '');
      const expected = await plainEntries(sql, traffic.account);
      expect(new Set(expected.map(({ kind }) => kind)).size).toBe(5);
      expect(expected.some(({ draws }) => draws.length > 1)).toBeTrue();
      expect(entries).toEqual(expected);
    },
  );

  test.each(readers)('what is left of grants, for %s', async (reader) => {
    const { data, balances } = await getOf<Grants>('grants', reader);
    const expected = await plainGrants(sql, traffic.account);
    expect(expected).toHaveLength(6);
    expect(data).toMatchObject(expected);
    expect(balances).toMatchObject(balancesOf(expected));
    const sum = expected.reduce((total, { remaining }) => total + Number(remaining), 0);
    expect(sum).toBeCloseTo(Number((await moneyOf(sql, traffic.account)).balance), 9);
  });

  test('payments, with what was refunded of them', async () => {
    const all = await plainPayments(sql, sql`true`);
    expect(all.map(({ state }) => state)).toEqual(['open', 'contradicted', 'failed', 'paid', 'paid']);
    expect(all.flatMap(({ reversals }) => reversals)).toHaveLength(1);
    expect((await get<Page<Payment>>('payments/orders', 'owner')).data).toEqual(all);
    expect((await get<OperatorPayments>('payments', 'operator')).data).toMatchObject(all);
    const { data } = await get<StuckPayments>('payments/stuck', 'operator');
    expect(data).toHaveLength(1);
    expect(data).toMatchObject(await plainPayments(sql, stuck(sql)));
  });

  test.each(readers)('what is used and held of limits, for %s', async (reader) => {
    // Two count towards this minute, unless it ends meanwhile.
    for (let count = 0; count < 2; count++) await traffic.ask({ key: traffic.keys.other, model: 'pair' });
    await eventually('a moment in which nothing of them changes', async () => {
      const expected = await certainLimits(sql, traffic.account);
      const { data } = await getOf<Page<Limit>>('limits', reader);
      if (!Bun.deepEquals(expected, await certainLimits(sql, traffic.account))) return false;
      expect(data).toHaveLength(6);
      const kinds = new Set(expected.map(({ kind }) => kind));
      expect(
        data
          .filter(({ kind }) => kinds.has(kind))
          .map((limit) => ({ ...limit, increase: limit.increase?.amount ?? null })),
      ).toMatchObject(expected);
      return true;
    });
  });

  describe('the ledger', () => {
    test('what an audit has checked, and its totals', async () => {
      await traffic.people.operator.send('POST', '/api/console/operator/ledger-audit', { is_full: true });
      const audit = await eventually('the end of the audit', async () => {
        const { data } = await get<Audits>('ledger-audit', 'operator');
        return data[0]?.state === 'running' ? null : data[0];
      });
      const findings = audit?.findings ?? [];
      const checks = await plainChecks(
        sql,
        findings.map(({ invariant }) => invariant),
      );
      expect(findings.length).toBeGreaterThan(checks.size);
      const checked = findings.filter(({ invariant }) => checks.has(invariant));
      expect(new Map(checked.map((finding) => [finding.invariant, finding.checked]))).toEqual(checks);
      expect(audit).toMatchObject({ state: 'sound', totals: await plainTotals(sql) });
    });

    test('settlements that the database rejected', async () => {
      const letters = await sql`
        select 'req_' || replace(generation_id::text, '-', '') as request_id,
               json_build_object('id', account_id, 'name', (select name from accounts where id = account_id)) as account,
               (rtrim(settlement -> 'cost' ->> 'total', 'n')::numeric / 1e12)::numeric(38,12)::text as amount
        from dead_letters order by created_at`;
      expect(letters).toHaveLength(1);
      const { data, total } = await get<DeadLetters>('dead-letters', 'operator');
      expect(total).toBe(letters.length);
      expect(data).toMatchObject([...letters]);
    });
  });

  test('what a provider billed against the metered cost, by day and model', async () => {
    const { data } = await get<Reconciliation>('reconciliation', 'operator');
    const days = await plainBill(sql, main);
    expect(new Set(days.map((day) => day.is_within)).size).toBe(3);
    expect(data).toMatchObject(days);
    expect(data).toHaveLength(days.length);
    const explained: string[] = [];
    for (const { day } of days.filter(({ billed }) => billed !== null)) {
      const { data: detail } = await get<{ data: ReconciledDetail }>(
        `reconciliation/main/${day}`,
        'operator',
      );
      expect(detail.models.map(({ kind: _kind, ...model }) => model)).toEqual(
        await plainModels(sql, main, day),
      );
      const versions = await sql`
        select version, (select sum((line ->> 'amount')::numeric) from jsonb_array_elements(lines) as line)::text as billed
        from bill_versions where day = ${day}::text::date order by version desc`;
      expect(detail.versions.map(({ version, billed }) => ({ version, billed })) as unknown[]).toEqual([
        ...versions,
      ]);
      const known = await plainExplanations(sql, main.name, day);
      const words = new Map([
        ['attempts_without_usage', `${known.without_usage} calls ended`],
        ['without_cost', `The cost of ${known.without_cost} calls is unknown`],
        ['across_midnight', `${known.late} requests ran across midnight (metered cost $${known.late_cost})`],
        ['not_mapped', '$0.25 was billed'],
        ['preliminary', 'The provider may still correct'],
      ]);
      for (const { kind, text } of detail.explanations) expect(text).toStartWith(words.get(kind) ?? kind);
      explained.push(...detail.explanations.map(({ kind }) => kind));
    }
    expect(explained).toEqual(
      expect.arrayContaining(['attempts_without_usage', 'without_cost', 'not_mapped']),
    );
  });
}
