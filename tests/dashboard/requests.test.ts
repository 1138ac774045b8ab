/** What the explorer makes of its address and of the gateway's responses, without a browser. */
import { expect, test } from 'bun:test';
import fc from 'fast-check';
import {
  chartHeight,
  linePath,
  namedTimes,
  selectionOf,
  stackBoxes,
  stepAt,
  stepByKey,
} from '../../dashboard/kit/time-chart-geometry.ts';
import { searchOfOldList } from '../../dashboard/old-addresses.ts';
import {
  changeOf,
  countRequests,
  errorRateOf,
  formatChange,
  formatPoints,
  isMoreErrors,
  isSlower,
  toneOfErrors,
} from '../../dashboard/pages/requests/figures.ts';
import { describeFilter, filterKindsFor } from '../../dashboard/pages/requests/filters.ts';
import { explainRefusal, fixes } from '../../dashboard/pages/requests/refusal-fixes.ts';
import {
  timesOf,
  viewIn,
  withFilter,
  withoutFilter,
  withRange,
  withTimes,
} from '../../dashboard/pages/requests/view.ts';
import { apiErrorCodes, errorTable } from '../../src/errors.ts';

test('whatever in the address is not about the page is a filter, known or not', () => {
  const search = { account: 'a1', status: 'odd', nonsense: '1', range: '7d', request: 'req_1', model: '' };
  const view = viewIn(search, false);
  expect(view.filters).toEqual([
    { name: 'status', value: 'odd' },
    { name: 'nonsense', value: '1' },
  ]);
  expect(view).toMatchObject({ range: { kind: '7d' }, request: 'req_1', problem: null, page: 1 });
  expect(viewIn(search, true).filters[0]).toEqual({ name: 'account', value: 'a1' });
  expect(viewIn({}, false)).toMatchObject({ range: { kind: '24h' }, isLive: true, isUtc: false });
  expect(viewIn({ from: 'x' }, false).range).toEqual({ kind: 'custom', from: 'x', to: null });
  for (const odd of [{ range: '2y' }, { chart: 'pie' }, { tz: 'mars' }, { live: 'maybe' }])
    expect(viewIn(odd, false).problem).toContain(`${Object.keys(odd)[0]} must be one of`);
});

test('a range that ends now starts with a round time and stays open', () => {
  const nowMs = Date.UTC(2026, 2, 1, 12, 34, 56, 789);
  expect(timesOf(viewIn({ range: '15m' }, false).range, nowMs)).toEqual({ from: '2026-03-01T12:19:00Z' });
  expect(timesOf(viewIn({ range: '24h' }, false).range, nowMs)).toEqual({ from: '2026-02-28T12:30:00Z' });
  expect(timesOf(viewIn({ range: '30d' }, false).range, nowMs)).toEqual({ from: '2026-01-30T08:00:00Z' });
  expect(timesOf(viewIn({ from: 'a', to: 'b' }, false).range, nowMs)).toEqual({ from: 'a', to: 'b' });
});

test('a change of what is listed starts at the first page and closes the panel', () => {
  const search = { model: 'm', cursor: 'c', page: '3', since: 's', request: 'req_1', tz: 'utc' };
  expect(withFilter(search, { name: 'key', value: 'k' })).toEqual({ model: 'm', tz: 'utc', key: 'k' });
  expect(withoutFilter(search, 'model')).toEqual({ tz: 'utc' });
  expect(withRange({ ...search, from: 'a', to: 'b' }, '1h')).toEqual({ model: 'm', tz: 'utc', range: '1h' });
  expect(withTimes({ ...search, range: '1h' }, 0, 60_000)).toEqual({
    model: 'm',
    tz: 'utc',
    from: '1970-01-01T00:00:00Z',
    to: '1970-01-01T00:01:00Z',
  });
});

test('an old address keeps its filters, and nothing else', () => {
  const filters = { status: 'failed', model: 'm', key: 'k', end_user: 'u', tag: 'a=b', session: 's' };
  expect(searchOfOldList({ ...filters, cursor: 'c', page: '2' })).toEqual({ ...filters, range: '30d' });
});

test('filters are named in words, and an unknown one as it is', () => {
  const names = new Map([['id-1', 'Production']]);
  expect(describeFilter({ name: 'key', value: 'id-1' }, names)).toEqual({ label: 'Key', text: 'Production' });
  expect(describeFilter({ name: 'status', value: 'refused' }, names).text).toBe('Refused');
  expect(describeFilter({ name: 'status', value: 'odd' }, names).text).toBe('odd');
  expect(describeFilter({ name: 'odd', value: '1' }, names)).toEqual({ label: 'odd', text: '1' });
  expect(describeFilter({ name: 'min_cost', value: '0.05' }, names).text).toBe('at least $0.05');
  const isOffered = (isOperator: boolean) =>
    filterKindsFor(isOperator).some(({ name }) => name === 'account');
  expect([isOffered(true), isOffered(false)]).toEqual([true, false]);
});

test('the error rate includes refusals', () => {
  const figures = { completed: 22, failed: 0, cancelled: 0, refused: 48 };
  expect(countRequests(figures)).toBe(70);
  expect(errorRateOf(figures)).toBeCloseTo(48 / 70);
  expect(errorRateOf({ completed: 0, failed: 0, cancelled: 0, refused: 0 })).toBeNull();
});

test.each([
  [changeOf(112, 100), '+12%'],
  [changeOf(50, 100), '−50%'],
  [changeOf(100, 100), '±0%'],
  [changeOf(5_000, 1), 'more than 10×'],
  [changeOf(5, 0), null],
  [changeOf(null, 5), null],
])('a change of %p is written as %p', (change, text) => {
  expect(formatChange(change)).toBe(text);
});

test('the difference of two shares is in points', () => {
  expect([formatPoints(0.051, 0.03), formatPoints(0.03, 0.051), formatPoints(0.1, 0.1)]).toEqual([
    '+2.1 pts',
    '−2.1 pts',
    '±0 pts',
  ]);
  expect(formatPoints(null, 0.1)).toBeNull();
});

test('a share of errors is coloured from a hundredth on, as it is shown', () => {
  expect([null, 0, 0.0094, 0.0095, 1 - 0.99, 0.0494, 1 - 0.95, 1].map(toneOfErrors)).toEqual([
    ...['plain', 'plain', 'plain'],
    ...['warn', 'warn', 'warn'],
    ...['bad', 'bad'],
  ] as ReturnType<typeof toneOfErrors>[]);
});

test('a change is coloured only if it is large and for the worse', () => {
  expect([isMoreErrors(0.04, 0.03), isMoreErrors(0.031, 0.03), isMoreErrors(0.03, 0.9)]).toEqual([
    true,
    false,
    false,
  ]);
  expect([isMoreErrors(null, 0.03), isMoreErrors(0.5, null)]).toEqual([false, false]);
  const slower = (now: number | null, before: number | null) => isSlower(now, before, [20, 20]);
  expect([slower(125, 100), slower(124, 100), slower(10, 100)]).toEqual([true, false, false]);
  expect([slower(null, 100), slower(5, null), slower(5, 0)]).toEqual([false, false, false]);
  expect([isSlower(421, 100, [1, 900]), isSlower(421, 100, [900, 19])]).toEqual([false, false]);
});

/** Codes that a request to a model cannot be refused with: its key is not known, or they are of other endpoints. */
const otherCodes = new Set([
  'invalid_api_key',
  'expired_api_key',
  'invalid_cursor',
  'generation_not_found',
  'not_found',
  'websocket_not_supported',
  'model_list_failed',
  'usage_lookup_failed',
  'usage_cost_lookup_failed',
  'api_keys_lookup_failed',
  'generation_lookup_failed',
]);

test('every code that a refusal can have has its fix', () => {
  const codes = apiErrorCodes.filter((code) => errorTable[code].status !== null && !otherCodes.has(code));
  expect(codes.filter((code) => !fixes.has(code))).toEqual([]);
  expect([...fixes.keys()].filter((code) => !codes.some((known) => known === code))).toEqual([]);
});

const refusal = {
  error_code: 'insufficient_balance',
  message: 'The prepaid balance does not cover this request.',
  param: null,
  shortage: {
    of: 'balance' as const,
    needed: '0.032000000000',
    available: '0.014400000000',
    fitting_max_tokens: 1790,
  },
  retry_after_seconds: null,
};

test('a refusal says what was needed, what was there and the one thing to do', () => {
  expect(explainRefusal(refusal)).toMatchObject({
    figures: 'Hold $0.032, available $0.0144',
    todo: 'Add credit or lower max_tokens to 1,790.',
    place: 'billing',
  });
  const shortage = { ...refusal.shortage, fitting_max_tokens: null };
  expect(explainRefusal({ ...refusal, shortage }).todo).toBe('Add credit.');
  const rate = { ...refusal, error_code: 'rate_limit_exceeded', retry_after_seconds: 20 };
  expect(
    explainRefusal({ ...rate, shortage: { ...shortage, of: 'limit', needed: '1', available: '0' } }),
  ).toMatchObject({
    figures: 'Needed 1, available 0',
    todo: 'Send fewer at a time, or raise the limit. It could be sent again after 20 s.',
  });
  const parameter = { ...refusal, error_code: 'invalid_parameter', param: 'temperature', shortage: null };
  expect(explainRefusal(parameter)).toMatchObject({ figures: null, place: 'docs' });
  expect(explainRefusal(parameter).what).toBe('A parameter had the wrong type, range or shape: temperature.');
  expect(explainRefusal({ ...parameter, error_code: 'new_code' }).what).toContain(refusal.message);
});

const value = fc.option(fc.double({ min: 0, max: 1e6, noNaN: true }), { freq: 4 });

test('the pieces of a bar stand on each other, within the chart', () => {
  const list = fc.array(value, { minLength: 3, maxLength: 3 });
  fc.assert(
    fc.property(list, list, (lower, upper) => {
      const series = [
        { key: 'lower', values: lower },
        { key: 'upper', values: upper },
      ];
      const top = Math.max(1, ...lower.map((one, at) => (one ?? 0) + (upper[at] ?? 0)));
      const boxes = stackBoxes(series, top);
      for (const at of [0, 1, 2]) {
        const bar = boxes.filter((box) => box.at === at);
        const sum = (lower[at] ?? 0) + (upper[at] ?? 0);
        expect(bar.reduce((height, box) => height + box.height, 0)).toBeCloseTo((sum / top) * chartHeight, 6);
        for (const box of bar) expect(box.top).toBeGreaterThanOrEqual(-1e-6);
        const [first, second] = bar;
        if (second !== undefined) expect(second.top + second.height).toBeCloseTo(first?.top ?? 0, 6);
      }
    }),
  );
  expect(stackBoxes([{ key: 'a', values: [1, 0] }], 1_000, 2)).toEqual([
    { key: 'a', at: 0, top: 98, height: 2 },
  ]);
});

test('a line has gaps where nothing is known', () => {
  expect(linePath([0, 10, null, 5, null], 10)).toBe('M0.5 100L1.5 0M3 50H4');
  expect(linePath([null, null], 10)).toBe('');
});

test('a point of the chart is one of its steps, also beyond the edges', () => {
  expect([stepAt(-5, 100, 10), stepAt(0, 100, 10), stepAt(55, 100, 10), stepAt(400, 100, 10)]).toEqual([
    0, 0, 5, 9,
  ]);
  expect(selectionOf(7, 3)).toEqual({ first: 3, last: 7 });
  expect([stepByKey('ArrowLeft', 0, 5), stepByKey('ArrowRight', 1, 5), stepByKey('End', 1, 5)]).toEqual([
    0, 2, 4,
  ]);
  expect(stepByKey('a', 1, 5)).toBeNull();
});

test('the times below the axis are few and round on the clock on the wall', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(1, 5, 15, 60, 360, 1_440),
      fc.integer({ min: 1, max: 100 }),
      fc.constantFrom(0, 60, -330, 345),
      (stepMinutes, count, offsetMinutes) => {
        const stepMs = stepMinutes * 60_000;
        const startMs = Date.UTC(2026, 0, 1) + 7 * stepMs;
        const times = Array.from({ length: count }, (_, at) => startMs + at * stepMs);
        const named = namedTimes({ times, stepMs, offsetMs: () => offsetMinutes * 60_000, maxNames: 8 });
        expect(named.length).toBeLessThanOrEqual(9);
        for (const { at, ms } of named) {
          expect(ms).toBeCloseTo(startMs + at * stepMs, 0);
          expect((ms + offsetMinutes * 60_000) % 60_000).toBe(0);
        }
      },
    ),
  );
});
