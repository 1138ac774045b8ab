/** What the operator's pages compute themselves. */
import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { newUuid, uuidFrom } from '../../dashboard/pages/operator/accounts/account-dialogs.tsx';
import { amountProblem } from '../../dashboard/pages/operator/accounts/amount-field.tsx';
import { type CatalogModel, filterModels } from '../../dashboard/pages/operator/catalog/catalog-page.tsx';
import {
  formatMarginShare,
  knownAmounts,
  unknownCosts,
  withOthers,
} from '../../dashboard/pages/operator/margins/margin-figures.ts';
import { describeBooked } from '../../dashboard/pages/operator/movements/movement-dialog.tsx';
import { heartbeatAge } from '../../dashboard/pages/operator/nodes/nodes-page.tsx';
import {
  describeCircuit,
  describeProvider,
  explainSetback,
  failedShare,
} from '../../dashboard/pages/operator/providers/provider-state.ts';
import {
  describeDay,
  describeDays,
} from '../../dashboard/pages/operator/reconciliation/reconciliation-page.tsx';
import { describeCount, describeReported } from '../../dashboard/pages/operator/requests/operator-notes.tsx';
import { toneOfErrors } from '../../dashboard/pages/requests/figures.ts';
import type { ListedCircuit } from '../../src/console/operator-contract.ts';
import { isUuid } from '../../src/lib/ids.ts';
import { parseMoney } from '../../src/lib/money.ts';

test('what a provider reported beyond all bounds is shown next to what was charged', () => {
  const told = (input: number, output: number, counts: { name: string; count: number }[] | null = null) =>
    describeReported({
      usage: { input_tokens: 10, output_tokens: 5, total_tokens: 15, units: '15', unit: 'tokens' },
      reported_usage: { input_tokens: input, output_tokens: output, counts },
    });
  expect(told(10, 100_000_000)).toEqual([
    'The provider reported 100,000,000 output tokens, but at most 5 were requested. Charged for 5.',
  ]);
  expect(told(9_000, 5)).toEqual([
    'The provider reported 9,000 input tokens, but the request cannot have more than 10. Charged for 10.',
  ]);
  expect(told(9_000, 6)).toHaveLength(2);
  expect(told(10, 0)).toEqual(['The provider reported no output tokens, but it delivered text.']);
  const unbilled = { input_tokens: 1, output_tokens: 2, counts: null };
  expect(describeReported({ usage: null, reported_usage: unbilled })).toEqual([
    'The provider reported 1 input and 2 output tokens.',
  ]);
  expect(told(10, 5, [{ name: 'cached_tokens', count: 11 }])).toEqual([
    'The provider reported counts that contradict each other. The customer was charged by the lowest reading of them.',
  ]);
  // All counts were believed, but not what they were for.
  expect(told(10, 5)).toEqual([expect.stringContaining('written to a cache')]);
  expect([describeCount(0), describeCount(null)]).toEqual(['0', 'not a number']);
  expect(describeReported({ usage: null, reported_usage: null })).toEqual([]);
});

describe('margins', () => {
  const share = (revenue: string, unpriced: string, margin: string) =>
    formatMarginShare({ revenue, unpriced_revenue: unpriced, margin });
  const figures = {
    requests: 3,
    revenue: '3.0',
    cost: '1.0',
    uncharged_attempts: 2,
    uncharged_cost: '0.5',
    margin: '0.5',
    unpriced_requests: 0,
    unpriced_revenue: '0.0',
    unknown_attempts: 0,
  };

  test('are a share of the revenue whose cost is known', () => {
    expect(share('3.0', '1.0', '0.5')).toBe('25.0%');
    expect(share('1.0', '0.0', '-2.5')).toBe('−250.0%');
    expect(share('1.0', '0.0', '-0.0004')).toBe('0.0%');
    expect(share('1.0', '1.0', '0.0')).toBeNull();
    expect(share('0.0', '0.0', '-1.0')).toBeNull();
  });

  test('name what is unknown, and nothing else', () => {
    expect(unknownCosts(figures)).toEqual([]);
    const [requests, attempts, ...others] = unknownCosts({
      ...figures,
      unpriced_requests: 1_200,
      unpriced_revenue: '1.5',
      unknown_attempts: 1,
    });
    expect(requests).toMatch(/^The cost of 1,200 requests is unknown: .* The revenue of \$1\.50 is not part/);
    expect(attempts).toStartWith('A provider may bill 1 attempt that no customer was charged for.');
    expect(others).toEqual([]);
  });

  test('claim no cost of which nothing is known', () => {
    expect(knownAmounts(figures)).toEqual({ cost: '1.0', uncharged: '0.5', margin: '0.5' });
    const unpriced = { ...figures, cost: '0.0', unpriced_requests: 3 };
    expect(knownAmounts(unpriced)).toEqual({ cost: null, uncharged: '0.5', margin: '0.5' });
    const unknown = { ...unpriced, uncharged_cost: '0.0', unknown_attempts: 2 };
    expect(knownAmounts(unknown)).toEqual({ cost: null, uncharged: null, margin: null });
    const none = { ...figures, requests: 0, uncharged_attempts: 0, uncharged_cost: '0.0' };
    expect(knownAmounts(none)).toEqual({ cost: '1.0', uncharged: '0.0', margin: '0.5' });
  });

  test('that have no row of their own come last', () => {
    const row = { ...figures, id: 'a', name: 'A' };
    expect(withOthers({ rows: [row], others: null })).toEqual([{ ...row, isOthers: false }]);
    const named = (groups: number) => withOthers({ rows: [row], others: { ...figures, groups } })[1];
    expect(named(1)).toMatchObject({ name: '1 other', isOthers: true });
    expect(named(1_000)).toMatchObject({ name: '1,000 others', id: '' });
  });
});

describe('an amount', () => {
  test.each(['20', '0.50', ' 7.000000000001 ', '1000000000000'])('can be %p', (text) => {
    expect(amountProblem(text)).toBeNull();
  });

  test.each(['', 'x', '-1', '+1', '1e3', '1,000', '.5', '5.', '0.0000000000001', '1 2'])(
    'cannot be %p',
    (text) => {
      expect(amountProblem(text)).toBe('Enter an amount such as 20 or 0.50.');
    },
  );

  test.each(['0', '0.00', '000.000000000000'])('must be more than %p', (text) => {
    expect(amountProblem(text)).toBe('Enter an amount above 0.');
  });

  test('without a problem is one that the gateway can read, and more than nothing', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[ 0-9.,-]{0,30}$/), (text) => {
        if (amountProblem(text) === null) expect((parseMoney(text.trim()) ?? 0n) > 0n).toBe(true);
      }),
    );
  });
});

describe('a new UUID', () => {
  test('is one of version 4, whatever the random bytes are', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 16, maxLength: 16 }), (random) => {
        const uuid = uuidFrom(random);
        expect(isUuid(uuid)).toBe(true);
        expect(uuid).toMatch(/^.{14}4.{4}[89ab]/);
      }),
    );
  });

  test('keeps the bytes that do not encode the version', () => {
    const bytes = Uint8Array.from({ length: 16 }, (_, at) => at * 16 + at);
    expect(uuidFrom(bytes)).toBe('00112233-4455-4677-8899-aabbccddeeff');
  });

  test('is another one each time', () => {
    expect(new Set(Array.from({ length: 100 }, newUuid)).size).toBe(100);
  });
});

describe('a provider', () => {
  const circuit = (state: ListedCircuit['state'], until: string | null): ListedCircuit => ({
    node: 'one',
    model: 'm',
    state,
    consecutive_failures: 1,
    until,
    failing_since: null,
    accounts_shut: 0,
    setback: null,
  });
  const later = '2026-01-01T00:00:00.000Z';

  test('is as bad as the worst of its circuits', () => {
    const closed = { ...circuit('closed', null), consecutive_failures: 0 };
    const of = (...circuits: ListedCircuit[]) =>
      describeProvider({
        circuits,
        last_hour: { attempts: 100, failed: 0 },
        last_24_hours: { attempts: 100, failed: 0 },
      });
    expect(of()).toEqual({ tone: 'good', label: 'Serving' });
    expect(of(closed)).toEqual({ tone: 'plain', label: 'Serving' });
    expect(of(closed, circuit('closed', null))).toEqual({ tone: 'warn', label: 'Failing' });
    expect(of(closed, circuit('closed', later)).label).toBe('Paused');
    expect(of(circuit('half_open', null), closed)).toEqual({ tone: 'warn', label: 'Half open' });
    expect(of(circuit('half_open', null), circuit('open', later)).label).toBe('Circuit open');
  });

  test('with a circuit that has not closed since it opened is no better for the time that has passed', () => {
    const waiting = { ...circuit('half_open', null), failing_since: later };
    const idle = { attempts: 0, failed: 0 };
    expect(describeProvider({ circuits: [waiting], last_hour: idle, last_24_hours: idle })).toEqual({
      tone: 'bad',
      label: 'Half open, no success since',
    });
  });

  type Counts = readonly [attempts: number, failed: number];
  const state = ([attempts, failed]: Counts, [ofDay, failedOfDay]: Counts = [attempts, failed]) =>
    describeProvider({
      circuits: [],
      last_hour: { attempts, failed },
      last_24_hours: { attempts: ofDay, failed: failedOfDay },
    });

  test('is as it was in the last hour, and not praised beside failures, or before it was called', () => {
    expect(state([0, 0])).toEqual({ tone: 'plain', label: 'Not called yet' });
    expect(state([0, 0], [100, 50])).toEqual({ tone: 'plain', label: 'Idle' });
    expect(state([100, 0])).toEqual({ tone: 'good', label: 'Serving' });
    expect(state([100, 0], [1000, 260])).toEqual({ tone: 'plain', label: 'Serving' });
    expect(state([1000, 1])).toEqual({ tone: 'plain', label: 'Serving' });
    expect(state([100, 1]).tone).toBe('warn');
    expect(state([1000, 49]).tone).toBe('warn');
    expect(state([100, 5])).toEqual({ tone: 'bad', label: '5% failed' });
  });

  test('is never good if something failed', () => {
    const counts = fc
      .tuple(fc.nat(1000), fc.nat(1000))
      .map(([failed, more]): Counts => [failed + more, failed]);
    fc.assert(
      fc.property(counts, counts, ([attempts, failed], [others, othersFailed]) => {
        const { tone } = state([attempts, failed], [attempts + others, failed + othersFailed]);
        const share = attempts === 0 ? 0 : failed / attempts;
        expect(tone === 'bad').toBe(toneOfErrors(share) === 'bad');
        if (tone === 'good') expect([failed, attempts > 0]).toEqual([0, true]);
      }),
    );
  });

  test('has circuits, each in a state', () => {
    const quiet = { ...circuit('closed', null), consecutive_failures: 0 };
    expect(describeCircuit(quiet)).toEqual({ tone: 'plain', label: 'Circuit closed' });
    expect(describeCircuit(circuit('closed', later)).label).toBe('Paused');
    expect(describeCircuit(circuit('open', later)).tone).toBe('bad');
    const shut = (accounts: number) => ({ ...circuit('closed', null), accounts_shut: accounts });
    expect(describeCircuit(shut(1))).toEqual({ tone: 'warn', label: 'Circuit open for 1 account' });
    expect(describeCircuit(shut(2)).label).toBe('Circuit open for 2 accounts');
  });

  test.each([
    ['key', 401, 'Key rejected', 'rejected the key of this gateway (401)'],
    ['key', 403, 'Key rejected', 'denied access (403)'],
    ['key', null, 'Key rejected', 'rejected the key of this gateway.'],
    ['credit', 402, 'No credit', 'requires payment (402)'],
    ['model', 410, 'Unknown model', 'does not know the model (410)'],
  ] as const)(
    'whose operator has to act (%s, %p) says so before anything else',
    (kind, status, label, words) => {
      const setback = { kind, upstream_status: status, at: later };
      expect(describeCircuit({ ...circuit('open', later), setback })).toEqual({ tone: 'bad', label });
      expect(explainSetback(setback)).toContain(words);
    },
  );

  test('fails a share of its attempts, where there are any', () => {
    expect(failedShare({ attempts: 0, failed: 0 })).toBeNull();
    expect(failedShare({ attempts: 4, failed: 1 })).toBe(0.25);
  });
});

describe('a heartbeat', () => {
  const now = new Date('2026-01-01T12:00:00Z');
  const ago = (ageMs: number) => heartbeatAge(new Date(now.getTime() - ageMs), now);

  test('is shown in seconds as long as they matter', () => {
    expect(ago(0)).toBe('0 s ago');
    expect(ago(2_400)).toBe('2 s ago');
    expect(ago(59_400)).toBe('59 s ago');
    expect(ago(60_000)).toBe('1 minute ago');
    expect(ago(3 * 3_600_000)).toBe('3 hours ago');
  });

  test('never comes from the future', () => {
    expect(ago(-5_000)).toBe('0 s ago');
  });
});

describe('models of the catalogue', () => {
  const model = (id: string, isCallable: boolean, provider: string): CatalogModel => ({
    id,
    name: id.toUpperCase(),
    workload: 'chat',
    is_enabled: true,
    is_callable: isCallable,
    reason: isCallable ? null : 'It has no price.',
    providers: [{ id: provider, is_configured: true }],
  });
  const models = [model('swift', true, 'north'), model('slow', false, 'south')];
  const idsOf = (...how: [words: string, shown: 'all' | 'callable' | 'not-callable']) =>
    filterModels(models, ...how).map(({ id }) => id);

  test('are found by ID, name and provider, in any case', () => {
    expect(idsOf('', 'all')).toEqual(['swift', 'slow']);
    expect(idsOf(' SWI ', 'all')).toEqual(['swift']);
    expect(idsOf('South', 'all')).toEqual(['slow']);
    expect(idsOf('east', 'all')).toEqual([]);
  });

  test('are those that can be called, or those that cannot', () => {
    expect(idsOf('', 'callable')).toEqual(['swift']);
    expect(idsOf('', 'not-callable')).toEqual(['slow']);
  });
});

describe('a bill', () => {
  const day = (isWithin: boolean | null, isPreliminary = false) => ({
    is_within: isWithin,
    is_preliminary: isPreliminary,
  });

  test('is green within the tolerance, and red only once the provider can no longer correct it', () => {
    expect(describeDay(day(true))).toEqual({ tone: 'good', label: 'Within' });
    expect(describeDay(day(true, true)).tone).toBe('good');
    expect(describeDay(day(false, true))).toEqual({ tone: 'plain', label: 'Preliminary' });
    expect(describeDay(day(false))).toEqual({ tone: 'bad', label: 'Differs' });
    expect(describeDay(day(null))).toEqual({ tone: 'plain', label: 'No bill' });
    expect(describeDay(day(null, true)).label).toBe('No bill yet');
  });

  test('of a provider is as bad as its worst final day', () => {
    expect(describeDays([])).toEqual({ tone: 'plain', label: 'Nothing compared' });
    expect(describeDays([day(false, true)])).toEqual({ tone: 'plain', label: 'Preliminary' });
    expect(describeDays([day(true), day(true, true)])).toEqual({
      tone: 'good',
      label: 'Within the tolerance',
    });
    expect(describeDays([day(true), day(false, true)])).toEqual({
      tone: 'good',
      label: 'Final days within the tolerance',
    });
    expect(describeDays([day(true), day(null)]).label).toBe('1 day without a bill');
    expect(describeDays([day(true), day(null), day(false), day(false)]).label).toBe('2 days differ');
  });
});

test('a movement that was booked before is not said to be booked again', () => {
  const booked = {
    account_id: '',
    entry_number: 3,
    amount: '-2.500000000000',
    balance: '10.000000000000',
    held: '0.000000000000',
    is_repeated: false,
  };
  expect(describeBooked(booked)).toBe('Booked: −$2.50. The balance is $10.00.');
  expect(describeBooked({ ...booked, is_repeated: true })).toBe(
    '−$2.50 was booked before. Nothing was booked again. The balance is $10.00.',
  );
});
