/** What the pages about spending and requests make of the gateway's responses, without a browser. */
import { expect, test } from 'bun:test';
import fc from 'fast-check';
import {
  amountOf,
  compareMoneyDown,
  signOfMoney,
  subtractMoney,
  sumMoney,
  unitsOf,
} from '../../dashboard/kit/amounts.ts';
import { formatCountMarks, formatMoneyMarks, marksOf, namedDays } from '../../dashboard/kit/chart-scale.ts';
import { textOf as shownInLog } from '../../dashboard/pages/audit-log/change-view.tsx';
import { roundingOf } from '../../dashboard/pages/billing/rounding.ts';
import type { ListedModel } from '../../dashboard/pages/models/models.ts';
import { describeAttention } from '../../dashboard/pages/overview/describe-attention.ts';
import { firstRequest } from '../../dashboard/pages/overview/first-steps.tsx';
import { moreCodes, problemsIn, shareWords } from '../../dashboard/pages/overview/problems.tsx';
import { firstChatModel } from '../../dashboard/pages/overview/queries.ts';
import { timelineOf } from '../../dashboard/pages/requests/attempts.tsx';
import { describeMoney, explainError } from '../../dashboard/pages/requests/explain.ts';
import { requestIdIn } from '../../dashboard/pages/requests/find-request.tsx';
import { speedOf } from '../../dashboard/pages/requests/generation-content.tsx';
import { pinRows } from '../../dashboard/pages/requests/pinned-rows.ts';
import { describeSaved, shareOfInput } from '../../dashboard/pages/usage/cache-words.ts';
import { groupUsage, maxSeries, stackUsage, usageColours } from '../../dashboard/pages/usage/group-usage.ts';
import { addDays, daysBetween, rangeIn, rangeProblem } from '../../dashboard/pages/usage/range-picker.tsx';
import type { RequestProblem } from '../../src/console/request-contract.ts';
import { formatMoney as formatLedgerMoney } from '../../src/lib/money.ts';

const units = fc.bigInt({ min: -(10n ** 24n), max: 10n ** 24n });
const textOf = (amount: bigint) => formatLedgerMoney(amount);

test('amounts are added up to the last digit', () => {
  fc.assert(
    fc.property(fc.array(units), (amounts) => {
      expect(sumMoney(amounts.map(textOf))).toBe(textOf(amounts.reduce((sum, amount) => sum + amount, 0n)));
    }),
  );
  fc.assert(
    fc.property(units, units, (left, right) => {
      expect(subtractMoney(textOf(left), textOf(right))).toBe(textOf(left - right));
      expect(compareMoneyDown(textOf(left), textOf(right))).toBe(left > right ? -1 : left < right ? 1 : 0);
    }),
  );
  expect(sumMoney(['0.1', '0.2', '-5'])).toBe('-4.700000000000');
  expect([signOfMoney('-0.000000000001'), signOfMoney('0.00'), signOfMoney('3')]).toEqual([-1, 0, 1]);
  expect(() => sumMoney(['1e3'])).toThrow();
});

test('the marks of an axis are few, even and reach to the greatest value', () => {
  const greatest = fc.double({ min: 1e-12, max: 1e12, noNaN: true });
  fc.assert(
    fc.property(greatest, fc.boolean(), (value, isWhole) => {
      const marks = marksOf(value, isWhole);
      expect(marks[0]).toBe(0);
      expect(marks.length).toBeGreaterThanOrEqual(2);
      expect(marks.length).toBeLessThanOrEqual(5);
      expect(marks.at(-1) ?? 0).toBeGreaterThanOrEqual(value * (1 - 1e-6));
      expect(marks.at(-2) ?? 0).toBeLessThan(value);
      if (isWhole) for (const mark of marks) expect(Number.isInteger(mark)).toBe(true);
    }),
  );
  expect(marksOf(3.2, false)).toEqual([0, 1, 2, 3, 4]);
  expect(marksOf(0.3, false)).toEqual([0, 0.1, 0.2, 0.3]);
  expect(marksOf(0, true)).toEqual([0, 1]);
});

test.each([
  [
    [0, 0.1, 0.2],
    ['$0.00', '$0.10', '$0.20'],
  ],
  [
    [0, 0.025, 0.05],
    ['$0.000', '$0.025', '$0.050'],
  ],
  [
    [0, 1, 2],
    ['$0', '$1', '$2'],
  ],
  [
    [0, 2500, 5000],
    ['$0', '$2,500', '$5,000'],
  ],
  [
    [0, 12_500, 25_000],
    ['$0', '$12.5K', '$25.0K'],
  ],
  [
    [0, 2.5e-13, 5e-13],
    ['$0.00000000000000', '$0.00000000000025', '$0.00000000000050'],
  ],
])('the marks %p of an axis have as many digits after the point', (values, shown) => {
  expect(formatMoneyMarks(values)).toEqual(shown);
});

test('marks of counts are short', () => {
  expect(formatCountMarks([0, 500, 1000])).toEqual(['0', '500', '1K']);
  expect(formatCountMarks([0, 1250, 2500])).toEqual(['0', '1.3K', '2.5K']);
});

test('the last day of a chart always has its name', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 400 }), fc.integer({ min: 1, max: 12 }), (count, most) => {
      const named = namedDays(count, most);
      expect(named.at(-1)).toBe(count - 1);
      expect(named.length).toBeLessThanOrEqual(most);
    }),
  );
});

test('a range is what the address says, and otherwise the last 30 days', () => {
  const today = '2026-03-01';
  expect(rangeIn({}, today)).toEqual({ kind: '30', from: '2026-01-31', to: today });
  expect(rangeIn({ range: '7' }, today)).toEqual({ kind: '7', from: '2026-02-23', to: today });
  expect(rangeIn({ range: 'month' }, today)).toEqual({ kind: 'month', from: '2026-03-01', to: today });
  const custom = { range: 'custom', from: '2024-02-28', to: '2024-03-01' };
  expect(rangeIn(custom, today)).toEqual({ kind: 'custom', from: '2024-02-28', to: '2024-03-01' });
  expect(daysBetween('2024-02-28', '2024-03-01')).toEqual(['2024-02-28', '2024-02-29', '2024-03-01']);
  for (const [from, to] of [
    ['2026-02-30', '2026-03-01'],
    ['2026-03-02', '2026-03-01'],
    ['2024-01-01', '2026-01-01'],
    ['', '2026-01-01'],
    ['0002-01-01', '0002-01-02'],
  ] as const) {
    expect(rangeProblem(from, to)).toBeString();
    expect(rangeIn({ range: 'custom', from, to }, today).to).toBe(today);
  }
  // The years that the server accepts.
  expect(rangeProblem('2000-01-01', '2000-01-01')).toBeNull();
  expect(rangeProblem('2199-12-31', '2199-12-31')).toBeNull();
  expect(rangeProblem('1999-12-31', '1999-12-31')).toBeString();
  expect(rangeProblem('2200-01-01', '2200-01-01')).toBeString();
  expect(rangeProblem(addDays(today, -365), today)).toBeNull();
  expect(rangeProblem(addDays(today, -366), today)).toBeString();
});

const usageRow = fc.record({
  day: fc.constantFrom('2026-01-01', '2026-01-02', '2026-01-03'),
  model: fc.integer({ min: 0, max: 14 }).map((number) => `model-${number}`),
  key_id: fc.constantFrom('a', 'b'),
  key_name: fc.constant('Same name'),
  requests: fc.nat(1000),
  input_tokens: fc.nat(1_000_000),
  output_tokens: fc.nat(1_000_000),
  images: fc.nat(10),
  cost: fc.bigInt({ min: 0n, max: 10n ** 15n }).map(textOf),
  cache_read_tokens: fc.nat(1_000),
  cache_write_tokens: fc.nat(1_000),
  cache_saved: units.map(textOf),
});

const noCaches = { cache_read_tokens: 0, cache_write_tokens: 0, cache_saved: '0' };

test('grouping and stacking lose nothing, and at most eight have their own colour', () => {
  const days = ['2026-01-01', '2026-01-02', '2026-01-03'];
  fc.assert(
    fc.property(
      fc.array(usageRow, { size: '+1' }),
      fc.constantFrom('model' as const, 'key' as const),
      (rows, by) => {
        const all = sumMoney(rows.map(({ cost }) => cost));
        for (const dimension of [by, 'day'] as const) {
          const groups = groupUsage(rows, dimension);
          expect(sumMoney(groups.map(({ cost }) => cost))).toBe(all);
          for (const name of ['cache_read_tokens', 'cache_write_tokens'] as const)
            expect(groups.reduce((sum, group) => sum + group[name], 0)).toBe(
              rows.reduce((sum, row) => sum + row[name], 0),
            );
          expect(sumMoney(groups.map(({ cache_saved: saved }) => saved))).toBe(
            sumMoney(rows.map(({ cache_saved: saved }) => saved)),
          );
          expect(new Set(groups.map(({ id }) => id)).size).toBe(groups.length);
        }
        const { series } = stackUsage(rows, days, by, 'requests');
        expect(series.length).toBeLessThanOrEqual(maxSeries + 1);
        const stacked = series.flatMap(({ values }) => [...values]).reduce((sum, value) => sum + value, 0);
        expect(stacked).toBe(rows.reduce((sum, { requests }) => sum + requests, 0));
        expect(new Set(series.map(({ colour }) => colour)).size).toBe(series.length);
      },
    ),
  );
});

test.each([
  ['1.5', 'saved', 'Saved by caches', '1.5', 'Compared with the full price of all input'],
  ['0.000000000000', 'saved', 'Saved by caches', '0.000000000000', 'All input cost its full price'],
  ['-0.000000000001', 'added', 'Added by caches', '0.000000000001', 'Writing cost more than reading saved'],
])('what caches did to the cost is worded by its sign: %s', (saved, verb, label, amount, hint) => {
  expect(describeSaved(saved)).toMatchObject({ verb, label, amount, hint });
});

test('a share of no input is no share', () => {
  expect(shareOfInput(0, 0)).toBeNull();
  expect(shareOfInput(3, 4)).toBe(0.75);
});

test('two keys of one name stay two keys', () => {
  const of = (keyId: string) => ({
    day: '2026-01-01',
    model: 'm',
    key_id: keyId,
    key_name: 'Same name',
    requests: 1,
    input_tokens: 0,
    output_tokens: 0,
    images: 0,
    cost: '1',
    ...noCaches,
  });
  expect(groupUsage([of('a'), of('b'), of('a')], 'key').map(({ id, cost }) => [id, cost])).toEqual([
    ['a', '2.000000000000'],
    ['b', '1.000000000000'],
  ]);
});

test('a model named "others" is not taken for the others', () => {
  const rows = Array.from({ length: 10 }, (_, at) => ({
    day: '2026-01-01',
    model: at === 0 ? 'others' : `model-${at}`,
    key_id: 'a',
    key_name: 'Key',
    requests: 100 - at,
    input_tokens: 0,
    output_tokens: 0,
    images: 0,
    cost: '0',
    ...noCaches,
  }));
  const { series, totals } = stackUsage(rows, ['2026-01-01'], 'model', 'requests');
  expect(series.map(({ label }) => label).at(0)).toBe('others');
  expect(series.map(({ label }) => label).at(-1)).toBe('2 others');
  expect(new Set(series.map(({ key }) => key)).size).toBe(9);
  expect(totals).toEqual(['955']);
  // The table next to the chart marks each group as the chart does.
  const colours = [...usageColours(rows, 'model', 'requests').values()];
  expect(colours).toHaveLength(10);
  expect([...new Set(colours)]).toEqual(series.map(({ colour }) => colour));
});

test('a reader keeps the rows in their places while new ones arrive', () => {
  const row = (id: string, status: string) => ({ id, status });
  const shown = [row('req_5', 'in_progress'), row('req_4', 'completed'), row('req_3', 'completed')];
  const fetched = [row('req_7', 'in_progress'), row('req_6', 'completed'), row('req_5', 'completed')];
  const { rows, newCount } = pinRows(shown, fetched);
  expect(rows).toEqual([row('req_5', 'completed'), row('req_4', 'completed'), row('req_3', 'completed')]);
  expect(newCount).toBe(2);
  expect(pinRows(shown, [...shown, row('req_2', 'failed')]).newCount).toBe(0);
});

test('a request ID is found in whatever was pasted', () => {
  const id = 'req_0123456789abcdef0123456789abcdef';
  for (const text of [id, ` ${id} `, `x-service-request-id: ${id}`, `/requests/${id}?a`, id.toUpperCase()])
    expect(requestIdIn(text)).toBe(id);
  for (const text of ['', 'req_', `${id}0`, id.slice(0, -1), 'gen_0123'])
    expect(requestIdIn(text)).toBeNull();
});

test('attempts stand on one axis, and none leaves it', () => {
  const attempt = (index: number, startedMs: number, latencyMs: number | null) => ({
    index,
    provider: 'Main',
    status: latencyMs === null ? ('in_progress' as const) : ('failed' as const),
    started_at: new Date(startedMs).toISOString(),
    completed_at: latencyMs === null ? null : new Date(startedMs + latencyMs).toISOString(),
    latency_ms: latencyMs,
    upstream_status: null,
    error: null,
  });
  fc.assert(
    fc.property(
      fc.nat(100_000),
      fc.array(fc.tuple(fc.integer({ min: -50, max: 90_000 }), fc.nat(90_000))),
      (latencyMs, list) => {
        const begin = Date.UTC(2026, 0, 1);
        const attempts = list.map(([startMs, tookMs], at) => attempt(at, begin + startMs, tookMs));
        const { bars } = timelineOf({
          created_at: new Date(begin).toISOString(),
          latency_ms: latencyMs,
          attempts,
        });
        for (const { start, length } of bars) {
          expect(start).toBeGreaterThanOrEqual(0);
          expect(start + length).toBeLessThanOrEqual(1 + 1e-9);
        }
      },
    ),
  );
  const begin = Date.UTC(2026, 0, 1);
  const running = timelineOf({
    created_at: new Date(begin).toISOString(),
    latency_ms: 1_000,
    attempts: [attempt(0, begin + 100, 300), attempt(1, begin + 400, null)],
  });
  expect(running.bars.map(({ startedAfterMs, durationMs }) => [startedAfterMs, durationMs])).toEqual([
    [100, 300],
    [400, 600],
  ]);
});

test('what happened to the money is said for each way that a request can end', () => {
  const usual = { refunded: null, refunds: [], is_estimated: false };
  const label = (charged: string, writtenOff: string | null, reason: string | null) =>
    describeMoney({ ...usual, charged, written_off: writtenOff, write_off_reason: reason }).label;
  expect(describeMoney(null).label).toBe('Held');
  expect(label('0.01', null, null)).toBe('Charged');
  expect(label('0', null, null)).toBe('Not charged');
  expect(label('0', null, 'usage_missing')).toBe('Written off');
  expect(label('0.01', '0.02', 'insufficient_balance')).toBe('Partly charged');
  expect(label('0.01', '60', 'implausible_usage')).toBe('Charged');
  expect(label('0', null, 'implausible_usage')).toBe('Not charged');
  const partly = describeMoney({
    ...usual,
    charged: '0.010000000001',
    written_off: '0.02',
    write_off_reason: 'insufficient_balance',
  });
  expect(partly.text).toContain('$0.010000000001');
  expect(partly.text).toContain('$0.02');
});

test('refunds are shown with their amounts, and why', () => {
  const charged = { charged: '0.010000000001', is_estimated: false, written_off: null } as const;
  const undelivered = { amount: '0.010000000001', reason: null, at: '2026-11-01T00:00:00.000Z' };
  expect(
    describeMoney({
      ...charged,
      refunded: '0.010000000001',
      refunds: [undelivered],
      write_off_reason: 'interrupted',
    }),
  ).toEqual({
    label: 'Refunded',
    tone: 'plain',
    text: '$0.010000000001 was charged. $0.010000000001 was refunded, because the response could not be delivered.',
  });
  const partly = describeMoney({
    ...charged,
    refunded: '0.004000000000',
    refunds: [{ ...undelivered, amount: '0.004000000000', reason: 'Wrong language' }],
    write_off_reason: null,
  });
  expect(partly.label).toBe('Partly refunded');
  expect(partly.text).toBe('$0.010000000001 was charged. $0.004 was refunded: Wrong language');
});

test('a speed is shown only for a stream with enough tokens to measure it', () => {
  const usage = { unit: 'tokens', units: '29', input_tokens: 9, output_tokens: 20, total_tokens: 29 };
  const streamed = { streaming: true, usage, tokens_per_second: 12.5 };
  expect(speedOf(streamed)).toBe(12.5);
  expect(speedOf({ ...streamed, streaming: false })).toBeNull();
  expect(speedOf({ ...streamed, usage: { ...usage, output_tokens: 19 } })).toBeNull();
  expect(speedOf({ ...streamed, usage: null })).toBeNull();
});

test('an estimated charge is explained, whether or not the balance covered it', () => {
  const estimated = { charged: '0.01', refunded: null, refunds: [], is_estimated: true };
  const whole = describeMoney({ ...estimated, written_off: null, write_off_reason: 'usage_missing' });
  expect(whole.label).toBe('Charged');
  expect(whole.text).toContain('estimated by counting words');
  expect(whole.text).not.toContain('written off');
  const short = describeMoney({
    ...estimated,
    written_off: '0.02',
    write_off_reason: 'insufficient_balance',
  });
  expect(short.label).toBe('Partly charged');
  expect(short.text).toContain('estimated by counting words');
});

test('an error without its own explanation is shown with the gateway’s message', () => {
  expect(explainError('provider_timeout', 'x').what).not.toBe('x');
  expect(explainError('brand_new_code', 'Something new.').what).toBe('Something new.');
});

test('what needs attention links to where it can be fixed', () => {
  const limit = { key_id: 'k', name: 'CI', spent: '9', limit: '10' };
  expect(describeAttention({ kind: 'key_near_limit', ...limit })).toMatchObject({
    tone: 'warn',
    link: { to: '/keys' },
  });
  expect(describeAttention({ kind: 'key_at_limit', ...limit })).toMatchObject({ tone: 'bad' });
  const low = describeAttention({
    kind: 'balance_low',
    balance: '2.5',
    runs_out_at: '2099-06-01T12:00:00.000Z',
  });
  expect(low.text).toContain('Lasts until about Mon 1 Jun 2099.');
  expect(low.link.to).toBe('/billing');
});

test('the first request survives the shell whatever the model is called', () => {
  const [{ code: command } = { code: '' }] = firstRequest('https://gate.example.com', "o'model");
  expect(command).toContain('curl https://gate.example.com/v1/chat/completions');
  // Between the quoted ends of a here-document nothing has a meaning for the shell.
  expect(command).toContain("<<'JSON'\n");
  expect(command).toContain('"o\'model"');
  expect(command).toContain('Bearer YOUR_KEY');
});

test('the first request has the new key in every language, and calls the cheapest model that the key may', () => {
  for (const { code } of firstRequest('https://gate.example.com', 'm', 'svc_sk_new')) {
    expect(code).toContain('svc_sk_new');
    expect(code).not.toContain('OPENAI_API_KEY');
    expect(code).not.toContain('import os');
  }
  const model = (id: string, price: number | null, workload = 'chat') =>
    ({ id, workload, pricing: { input: price, output: price } }) as ListedModel;
  const models = [model('grand', 9), model('picture', null, 'image'), model('small', 1), model('fair', 3)];
  expect(firstChatModel(models, null)?.id).toBe('small');
  expect(firstChatModel(models, ['grand', 'fair', 'picture'])?.id).toBe('fair');
  expect(firstChatModel(models, ['picture'])).toBeUndefined();
  expect(firstChatModel([...models, model('sandbox-chat', 5)], null)?.id).toBe('sandbox-chat');
});

test('problems are what failed or was refused, each with its fix', () => {
  const problem = (code: string, counts: Partial<RequestProblem>): RequestProblem => ({
    code,
    failed: 0,
    refused: 0,
    key: null,
    model: null,
    param: null,
    last_at: null,
    ...counts,
  });
  const problems = problemsIn({
    data: [
      problem('insufficient_balance', { refused: 48, failed: 1 }),
      problem('usage_missing', { failed: 2 }),
    ],
  });
  expect(problems).toMatchObject([
    { code: 'insufficient_balance', requests: 49, todo: 'Add credit.', place: 'billing' },
    { code: 'usage_missing', requests: 2, place: null },
  ]);
});

test.each([
  [10, 10, 'only'],
  [5, 10, 'mostly'],
  [4, 10, null],
  [0, 10, null],
] as const)('%p of %p requests are %p of that key', (ofKey, all, words) => {
  expect(shareWords(ofKey, all)).toBe(words);
});

test('a statement in cents adds up, and whole cents need no rounding', () => {
  expect(roundingOf('45.579823580000', ['132', '-28.007043770000'], '149.572779810000')).toBe(
    '0.010000000000',
  );
  expect(roundingOf('0', ['50', '-1.250123'], '48.749877')).toBe('-0.010000000000');
  const units = fc.bigInt({ min: -(10n ** 16n), max: 10n ** 16n });
  fc.assert(
    fc.property(units, fc.array(units, { maxLength: 6 }), (opening, lines) => {
      const closing = lines.reduce((sum, line) => sum + line, opening);
      const rounding = unitsOf(roundingOf(amountOf(opening), lines.map(amountOf), amountOf(closing)));
      const cent = 10n ** 10n;
      expect(rounding % cent).toBe(0n);
      // Each of the lines and balances is off by a cent at most.
      expect(
        rounding <= cent * BigInt(lines.length + 2) && -rounding <= cent * BigInt(lines.length + 2),
      ).toBe(true);
      const inCents = (amount: bigint) => amountOf(amount * cent);
      const whole = lines.map((line) => line / cent);
      const end = whole.reduce((sum, line) => sum + line, opening / cent);
      expect(unitsOf(roundingOf(inCents(opening / cent), whole.map(inCents), inCents(end)))).toBe(0n);
    }),
  );
});

test.each([
  [9, 'And 1 other error code'],
  [11, 'And 3 other error codes'],
  [20, 'And 12 or more other error codes'],
])('of %p error codes, those that are not shown: %s', (all, words) => {
  expect(moreCodes(all)).toBe(words);
});

test.each([
  ['monthly_cap', '100.000000000000', '$100.00'],
  ['amount', '0.002395125000', '$0.002395125'],
  ['is_on', true, 'yes'],
  ['is_on', false, 'no'],
  ['kind', 'spend_per_month', 'spend per month'],
  ['types', ['balance.low', 'top_up.failed'], 'balance.low, top_up.failed'],
  ['from', '2026-11-06', '6 Nov 2026'],
  ['target', null, 'none'],
])('the audit log shows the %s %p as %s', (name, value, words) => {
  expect(shownInLog(name, value)).toBe(words);
});
