/** How a bill is compared with the metered cost, and what may explain a difference. */
import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { parseMoney, sizeOf } from '../../src/lib/money.ts';
import type { BillLine } from '../../src/reconciliation/bill.ts';
import {
  allowedDifference,
  type BilledDay,
  type Comparison,
  compareDays,
} from '../../src/reconciliation/compare.ts';
import type { ComparedDay } from '../../src/reconciliation/compared.ts';
import { daysToRead } from '../../src/reconciliation/daily.ts';
import type { MeteredModel, UnchargedModel } from '../../src/reconciliation/metered.ts';
import { presentExplanation } from '../../src/reconciliation/store.ts';
import { describeExplanation } from '../../src/reconciliation/words.ts';

const usd = (text: string) => parseMoney(text) ?? 0n;
const [first, second] = ['2026-11-01', '2026-11-02'] as const;

const billLine = (name: string, amount: string, more: Partial<BillLine> = {}): BillLine => ({
  name,
  isModel: true,
  meter: 'input',
  amount: usd(amount),
  listAmount: null,
  quantity: null,
  ...more,
});
const served = (day: string, cost: string, more: Partial<MeteredModel> = {}): MeteredModel => ({
  day,
  model: 'house-gpt',
  charged: usd(cost) * 2n,
  cost: usd(cost),
  requestsWithoutCost: 0,
  lateRequests: 0,
  lateCost: 0n,
  ...more,
});
const uncharged = (day: string, cost: string, more: Partial<UnchargedModel> = {}): UnchargedModel => ({
  day,
  model: 'house-gpt',
  cost: usd(cost),
  attemptsWithoutUsage: 0,
  attemptsWithoutCost: 0,
  ...more,
});
const bill = (...lines: BillLine[]): BilledDay => ({ lines, refreshedAt: null });

const usual: Omit<Comparison, 'bills' | 'metered'> = {
  days: [first, second],
  names: {
    upstreamOf: (model) => (model === 'house-gpt' ? 'gpt-6' : model),
    upstreamModels: new Set(['gpt-6']),
    givenNames: new Map(),
  },
  tolerance: { amount: usd('0.01'), percent: usd('0.1') },
  now: new Date('2026-12-01T00:00:00Z'),
};

function compare(
  bills: Record<string, BilledDay>,
  metered: { served?: MeteredModel[]; uncharged?: UnchargedModel[] },
  changes: Partial<Comparison> = {},
): [ComparedDay, ComparedDay] {
  const [one, other] = compareDays({
    ...usual,
    bills: new Map(Object.entries(bills)),
    metered: { served: metered.served ?? [], uncharged: metered.uncharged ?? [] },
    ...changes,
  });
  if (one === undefined || other === undefined) throw new Error('There are two days.');
  return [one, other];
}

const kindsOf = ({ explanations }: ComparedDay) => explanations.map(({ kind }) => kind);

test('a day is within the tolerance by an amount and a share of the larger side, and not one unit beyond', () => {
  // 0.01 and a thousandth of 100.
  const day = (amount: string) =>
    compare(
      { [first]: bill(billLine('gpt-6', amount)) },
      { served: [served(first, '90'), served(first, '9')], uncharged: [uncharged(first, '1')] },
    )[0];
  expect(day('99.89')).toMatchObject({ isWithin: true, difference: usd('-0.11'), uncharged: usd('1') });
  expect(day('99.889999999999')).toMatchObject({ isWithin: false });
  expect(day('100.11')).toMatchObject({ isWithin: true, charged: usd('198'), metered: usd('100') });
  expect(day('100.2')).toMatchObject({ isWithin: false, billed: usd('100.2') });
  expect(allowedDifference(usd('100'), usd('-200'), usual.tolerance)).toBe(usd('0.21'));
});

test('a day without a bill is neither right nor wrong, and a bill of nothing is one', () => {
  const [one, other] = compare({ [second]: bill() }, { served: [served(first, '5')] });
  expect(one).toMatchObject({ billed: null, difference: null, isWithin: null, models: [], explanations: [] });
  expect(other).toMatchObject({ billed: 0n, difference: 0n, isWithin: true });
});

test('names are matched, what matches nothing is listed, and every cent is in the sum', () => {
  const [day] = compare(
    {
      [first]: bill(
        billLine('gpt-6-2026-05-01', '3'),
        billLine('gpt-6', '1'),
        billLine('gpt-6-nano', '0.5'),
        billLine('web search', '0.25', { isModel: false }),
        billLine('retired', '2'),
      ),
    },
    { served: [served(first, '4'), served(first, '2', { model: 'retired' })] },
  );
  expect(day.models.map(({ name, kind, metered, billed }) => [name, kind, metered, billed])).toEqual([
    ['gpt-6-nano', 'not_mapped', 0n, usd('0.5')],
    ['web search', 'not_a_model', 0n, usd('0.25')],
    ['gpt-6', 'model', usd('4'), usd('4')],
    ['retired', 'model', usd('2'), usd('2')],
  ]);
  expect(kindsOf(day)).toEqual(['not_mapped', 'not_a_model']);
  expect(day.explanations[0]).toMatchObject({ amount: usd('0.5'), names: ['gpt-6-nano'] });
});

test('a name that the operator has mapped means that model, even if it is none', () => {
  const names = { ...usual.names, givenNames: new Map([['Text tokens', 'gpt-6']]) };
  const bills = { [first]: bill(billLine('Text tokens', '4', { isModel: false })) };
  const [day] = compare(bills, { served: [served(first, '4')] }, { names });
  expect(day.models).toMatchObject([{ name: 'gpt-6', kind: 'model', difference: 0n }]);
});

describe('a difference', () => {
  test('where the provider billed more may be calls without usage, or without a cost', () => {
    const [day] = compare(
      { [first]: bill(billLine('gpt-6', '5')) },
      {
        served: [served(first, '1', { requestsWithoutCost: 3 })],
        uncharged: [uncharged(first, '1', { attemptsWithoutUsage: 2, attemptsWithoutCost: 4 })],
      },
    );
    expect(day.explanations).toMatchObject([
      { kind: 'attempts_without_usage', count: 2, names: ['house-gpt'] },
      { kind: 'without_cost', count: 7, names: ['house-gpt'] },
    ]);
  });

  test('where it billed less is not explained by them, but by discounts', () => {
    const [day] = compare(
      { [first]: bill(billLine('gpt-6', '8', { listAmount: usd('10') })) },
      { served: [served(first, '10', { requestsWithoutCost: 3 })] },
    );
    expect(day.explanations).toMatchObject([{ kind: 'list_price', amount: usd('10') }]);
  });

  test('that cancels out with the next day ran across midnight', () => {
    const [one, other] = compare(
      { [first]: bill(billLine('gpt-6', '12')), [second]: bill(billLine('gpt-6', '8')) },
      { served: [served(first, '10'), served(second, '10', { lateRequests: 5, lateCost: usd('2') })] },
    );
    expect(one.explanations).toMatchObject([
      { kind: 'across_midnight', day: second, count: 5, amount: usd('2') },
    ]);
    expect(other.explanations).toMatchObject([{ kind: 'across_midnight', day: first, count: 5 }]);
  });

  test('does not cancel out with just any difference of a neighbour', () => {
    const [one] = compare(
      { [first]: bill(billLine('gpt-6', '12')), [second]: bill(billLine('gpt-6', '5')) },
      { served: [served(first, '10'), served(second, '10', { lateRequests: 1 })] },
    );
    expect(one.explanations).toMatchObject([{ kind: 'across_midnight', day: null, count: 1 }]);
  });

  test('of a day that the provider may still correct says so, by its age or by its own word', () => {
    const bills = { [first]: bill(billLine('gpt-6', '5')) };
    const at = (now: string) => compare(bills, {}, { now: new Date(now) })[0];
    expect(at('2026-11-04T23:59:59Z')).toMatchObject({ isPreliminary: true });
    expect(kindsOf(at('2026-11-04T23:59:59Z'))).toEqual(['preliminary']);
    expect(at('2026-11-05T00:00:00Z')).toMatchObject({ isPreliminary: false, explanations: [] });
    const stale = { [first]: { lines: [], refreshedAt: new Date('2026-11-01T20:00:00Z') } };
    expect(compare(stale, {})[0].isPreliminary).toBe(true);
  });

  test('within the tolerance needs no explanation', () => {
    const [day] = compare(
      { [first]: bill(billLine('gpt-6', '5'), billLine('other', '0.001')) },
      { served: [served(first, '5', { requestsWithoutCost: 1 })] },
    );
    expect(day.explanations).toEqual([]);
  });

  test('has explanations that a person can read', () => {
    const kinds = [
      'attempts_without_usage',
      'without_cost',
      'across_midnight',
      'not_mapped',
      'not_a_model',
      'list_price',
      'preliminary',
    ] as const;
    const sentences = kinds.map((kind) =>
      describeExplanation(
        presentExplanation({ kind, count: 1, amount: usd('0.25'), day: second, names: ['m'] }),
      ),
    );
    expect(sentences.slice(0, 3)).toEqual([
      '1 call ended without a usage report (cancelled, timed out or failed) and may be billed all the same: m.',
      'The cost of 1 call is unknown: the charge is an estimate, or the catalogue did not say what the provider asks: m.',
      '1 request ran across midnight (metered cost $0.25). Together with 2026-11-02 the difference is within the tolerance.',
    ]);
    const even = presentExplanation({
      kind: 'across_midnight',
      count: 0,
      amount: 0n,
      day: second,
      names: [],
    });
    expect(describeExplanation(even)).toBe(
      'Together with 2026-11-02 the difference is within the tolerance.',
    );
    for (const sentence of sentences) expect(sentence).toMatch(/^[A-Z0-9$].*\.$/);
  });
});

test('the models of a day always add up to the day, whatever the names are', () => {
  const name = fc.constantFrom('gpt-6', 'gpt-6-2026-01-01', 'x', '__proto__', 'web');
  const amount = fc.bigInt(-1_000n, 10n ** 15n);
  const cost = fc.bigInt(0n, 10n ** 15n);
  const lines = fc.array(fc.record({ name, isModel: fc.boolean(), amount }));
  const rows = fc.array(fc.record({ model: name, cost }));
  fc.assert(
    fc.property(lines, rows, rows, (billed, records, attempts) => {
      const [day] = compare(
        { [first]: bill(...billed.map((line) => billLine('', '0', line))) },
        {
          served: records.map((record) => served(first, '0', record)),
          uncharged: attempts.map((record) => uncharged(first, '0', record)),
        },
      );
      const sum = (of: 'billed' | 'metered' | 'difference') =>
        day.models.reduce((total, model) => total + model[of], 0n);
      expect(sum('billed')).toBe(day.billed ?? -1n);
      expect(sum('metered')).toBe(day.metered);
      expect(sum('difference')).toBe(day.difference ?? -1n);
      expect(day.isWithin).toBe(sizeOf(day.difference ?? 0n) <= day.tolerance);
    }),
  );
});

describe('the days that a gateway reads by itself', () => {
  const now = new Date('2026-11-16T03:00:00Z');

  test.each([
    ['at first, a week', null, '2026-11-09'],
    ['usually, those that may still change', '2026-11-14', '2026-11-12'],
    ['after a pause, those that are missing', '2026-11-01', '2026-11-02'],
    ['after a long one, a month', '2026-01-01', '2026-10-16'],
  ])('are, %s', (_, newest, from) => {
    expect(daysToRead(newest, now)).toEqual({ from, to: '2026-11-15' });
  });
});
