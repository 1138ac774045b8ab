/** The reports of costs, read from a server that behaves like the documented ones. */
import { afterAll, beforeEach, describe, expect, test } from 'bun:test';
import { formatMoney } from '../../src/lib/money.ts';
import { type Bill, sumOf } from '../../src/reconciliation/bill.ts';
import { fetchBill, type ReportVendor } from '../../src/reconciliation/fetch-bill.ts';
import type { ReportQuery } from '../../src/reconciliation/report.ts';
import { defaultLimits } from '../../src/reconciliation/report-client.ts';
import { adminKey, type ServedLine, startCostReportServer } from '../support/cost-report-server.ts';

const day = (number: number) => `2026-11-0${number}`;
const line = (number: number, amount: string, more: Partial<ServedLine> = {}): ServedLine => ({
  day: day(number),
  model: 'vendor-1',
  meter: 'output_tokens',
  amount,
  ...more,
});
const table = [
  line(1, '1.5'),
  line(1, '0.000000000001', { meter: 'input_tokens', isNumber: true }),
  line(2, '12.345678901234567'),
  line(2, '0.1', { model: 'vendor-2', isNumber: true }),
  // The third day costs nothing.
  line(4, '7', { model: null, meter: 'web_search', costType: 'web_search' }),
  line(5, '20.25'),
];

const server = startCostReportServer();
afterAll(server.stop);
beforeEach(() => {
  server.lines.splice(0, server.lines.length, ...table);
  server.requests.length = 0;
  server.behave({});
});

const quick = { ...defaultLimits, pageMs: 2_000, firstPauseMs: 1 };
const noFilters = { projectIds: [], workspaceIds: [], apiKeyIds: [] };

function read(vendor: ReportVendor, query: Partial<ReportQuery> = {}, limits = quick): Promise<Bill> {
  const whole = { origin: server.url, key: adminKey, from: day(1), to: day(5), filters: noFilters, ...query };
  return fetchBill(vendor, whole, new AbortController().signal, limits);
}

const totals = ({ days }: Bill) =>
  Object.fromEntries([...days].map(([of, lines]) => [of, formatMoney(sumOf(lines))]));

const expected = {
  [day(1)]: '1.500000000001',
  [day(2)]: '12.445678901235',
  [day(3)]: '0.000000000000',
  [day(4)]: '7.000000000000',
  [day(5)]: '20.250000000000',
};

describe.each([
  ['openai', 'costs', true],
  ['anthropic', 'analytics', true],
  ['anthropic', 'cost_report', false],
] as const)('the report of %s (%s)', (vendor, source, hasAnalytics) => {
  test('is read page by page, in its own unit, with the days that cost nothing', async () => {
    server.behave({ hasAnalytics });
    const bill = await read(vendor);
    expect(bill.source).toBe(source);
    expect(totals(bill)).toEqual(expected);
    expect(bill.days.get(day(3))).toEqual([]);
    expect(bill.days.get(day(1))?.map(({ name, isModel, meter }) => ({ name, isModel, meter }))).toEqual([
      { name: 'vendor-1', isModel: true, meter: 'input_tokens' },
      { name: 'vendor-1', isModel: true, meter: 'output_tokens' },
    ]);
    expect(bill.days.get(day(4))).toMatchObject([{ name: 'web_search', isModel: false }]);
    expect(server.requests.filter(({ searchParams }) => searchParams.has('page')).length).toBeGreaterThan(1);
    // Neither key nor anything else that is secret is in an address.
    for (const { href } of server.requests) expect(href).not.toContain(adminKey);
  });

  test('is asked for again when the provider limits requests or fails for a moment', async () => {
    const busy = () => new Response(null, { status: 429, headers: { 'retry-after': '0' } });
    const broken = () => new Response(null, { status: 503 });
    server.behave({ hasAnalytics, first: hasAnalytics ? [busy, broken] : [] });
    expect(totals(await read(vendor))).toEqual(expected);
  });

  test.each([
    ['a normal key', { key: 'normal' }, 'It has to be an admin key'],
    ['a wrong key', { key: 'wrong' }, 'rejects the admin key (401)'],
  ])('is not shown to %s, and says so without repeating the key or the answer', async (_, query, words) => {
    server.behave({ hasAnalytics });
    const error = await read(vendor, query).then(String, String);
    expect(error).toContain(words);
    expect(error).not.toContain('secret detail');
    expect(error).not.toContain(query.key);
  });

  test('in another currency is refused', async () => {
    server.behave({ hasAnalytics, currency: 'EUR' });
    expect(await read(vendor).then(String, String)).toContain('not in USD');
  });

  test('whose pages lead in a circle is refused', async () => {
    server.behave({ hasAnalytics, isCircular: true });
    expect(await read(vendor).then(String, String)).toContain('lead in a circle');
  });
});

describe('a report', () => {
  const text = (body: string) => () => new Response(body);
  const bucket = (fields: string) =>
    `{"data": [{"start_time": 1793836800, "results": [${fields}]}], "has_more": false}`;

  test.each([
    ['no JSON', text('<html>'), 'it is not JSON'],
    ['something else', text('{}'), 'no list "data"'],
    ['a list', text('[]'), 'no list "data"'],
    ['too deep', text('['.repeat(100)), 'it holds too much'],
    ['not text', () => new Response(new Uint8Array([0xff, 0xfe])), 'too large, or not text'],
    ['no amount', text(bucket('{"amount": {"value": "much", "currency": "usd"}}')), 'not an amount'],
    ['infinite', text(bucket('{"amount": {"value": 1e999, "currency": "usd"}}')), 'not an amount'],
    ['a result of nothing', text(bucket('null')), 'not an object'],
    ['days of another zone', text('{"data": [{"start_time": 1793836801, "results": []}]}'), 'midnight UTC'],
    ['more, but not where', text('{"data": [], "has_more": true, "next_page": null}'), 'not where'],
    ['an amount of another form', text(bucket('{"amount": "5"}')), 'not an amount'],
    [
      'an endless place',
      text(`{"data": [], "has_more": true, "next_page": "${'x'.repeat(5_000)}"}`),
      'not where',
    ],
    ['elsewhere', () => Response.redirect('http://127.0.0.1:1/'), 'status 302'],
    ['a long pause', () => new Response(null, { status: 429, headers: { 'retry-after': '3600' } }), '429'],
  ])('with %s is refused in plain words', async (_, first, words) => {
    server.behave({ first: [first] });
    expect(await read('openai').then(String, String)).toContain(words);
  });

  test('that stays busy, silent or away is given up', async () => {
    const once = { ...quick, maxRetries: 1, pageMs: 100 };
    const busy = () => new Response(null, { status: 429 });
    server.behave({ first: [busy, busy, busy] });
    expect(await read('openai', {}, once).then(String, String)).toContain('429');
    const { promise: silence, resolve: end } = Promise.withResolvers<void>();
    const silent = () => silence.then(() => new Response());
    server.behave({ first: [silent, silent] });
    expect(await read('openai', {}, once).then(String, String)).toContain('did not answer in time');
    end();
    const away = { origin: 'http://127.0.0.1:1' };
    expect(await read('openai', away, once).then(String, String)).toContain('cannot be reached');
  });

  test('that is larger or longer than any real one is refused', async () => {
    expect(await read('openai', {}, { ...quick, maxPageBytes: 100 }).then(String, String)).toContain(
      'too large',
    );
    expect(await read('openai', {}, { ...quick, maxPages: 2 }).then(String, String)).toContain('too long');
    expect(await read('openai', {}, { ...quick, maxLines: 2 }).then(String, String)).toContain('too long');
  });

  test('without a bucket for a day leaves that day out: it was not read', async () => {
    server.behave({ withoutBucket: [day(5)] });
    expect([...(await read('openai')).days.keys()]).toEqual([1, 2, 3, 4].map(day));
  });

  test('is complete only up to its own time: an empty day after it was not read', async () => {
    server.lines.splice(0, server.lines.length, line(1, '1'), line(4, '0.5'));
    server.behave({ refreshedAt: '2026-11-04T12:00:00Z' });
    const bill = await read('anthropic');
    expect([...bill.days.keys()]).toEqual([1, 2, 3, 4].map(day));
    expect(bill.refreshedAt?.toISOString()).toBe('2026-11-04T12:00:00.000Z');
  });

  test('counts a result without an amount as zero, and says so', async () => {
    server.lines.push(line(3, ''));
    const bill = await read('openai');
    expect(totals(bill)).toEqual(expected);
    expect(bill.notes).toEqual([
      '2026-11-03: "vendor-1, output_tokens" has no amount, which counts as zero.',
    ]);
  });

  test('has the price before discounts, where the provider states it', async () => {
    server.lines.splice(0, server.lines.length, line(1, '8', { listAmount: '10' }));
    expect((await read('anthropic')).days.get(day(1))).toMatchObject([
      { amount: 8_000_000_000_000n, listAmount: 10_000_000_000_000n },
    ]);
  });

  test('takes the place of the newer one where the key may not read that', async () => {
    server.behave({ hasAnalytics: false, refusal: 403 });
    const bill = await read('anthropic');
    expect(bill.source).toBe('cost_report');
    expect(totals(bill)).toEqual(expected);
  });

  test('is asked for what belongs to this gateway', async () => {
    await read('openai', {
      filters: { ...noFilters, projectIds: ['proj_1', 'proj_2'], apiKeyIds: ['key_1'] },
    });
    expect(server.requests[0]?.searchParams.getAll('project_ids[]')).toEqual(['proj_1', 'proj_2']);
    expect(server.requests[0]?.searchParams.getAll('api_key_ids[]')).toEqual(['key_1']);
    server.requests.length = 0;
    await read('anthropic', { filters: { ...noFilters, workspaceIds: ['w'], apiKeyIds: ['k'] } });
    expect(server.requests[0]?.searchParams.getAll('workspace_ids[]')).toEqual(['w']);
    expect(server.requests[0]?.searchParams.getAll('group_by[]')).toEqual([
      'model',
      'cost_type',
      'token_type',
    ]);
    server.behave({ hasAnalytics: false });
    const filters = { ...noFilters, apiKeyIds: ['k'] };
    expect(await read('anthropic', { filters }).then(String, String)).toContain('use workspace_ids');
  });

  test('of more days than the provider allows is asked for in parts', async () => {
    server.behave({ refreshedAt: '2026-11-06T01:20:00Z' });
    const bill = await read('anthropic', { from: '2026-09-01' });
    const starts = server.requests
      .filter(({ searchParams }) => !searchParams.has('page'))
      .map(({ searchParams }) => searchParams.get('starting_at')?.slice(0, 10));
    expect(starts).toEqual(['2026-09-01', '2026-10-02', '2026-11-02']);
    expect(bill.days.size).toBe(66);
    expect(totals(bill)).toMatchObject(expected);
  });

  test('is left alone once the gateway stops', async () => {
    const stopped = AbortSignal.abort();
    const query = { origin: server.url, key: adminKey, from: day(1), to: day(5), filters: noFilters };
    expect(await fetchBill('openai', query, stopped, quick).then(String, String)).toContain(
      'the gateway stopped',
    );
  });
});
