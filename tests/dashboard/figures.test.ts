/** Amounts, times and figures as people read them, and what else the dashboard computes itself. */
import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { parseSearch, placeAfterSignIn, stringifySearch } from '../../dashboard/address.ts';
import {
  decimalsOf,
  formatAmount,
  formatBalance,
  formatMoney,
  formatMoneyExactly,
  formatSmallTotal,
  formatTotal,
  formatUsed,
  missingZeros,
  plainAmount,
} from '../../dashboard/kit/amounts.ts';
import {
  estimateHint,
  formatCount,
  formatCountShort,
  formatDay,
  formatDays,
  formatDistance,
  formatDuration,
  formatEstimate,
  formatShare,
  formatTime,
  formatUtc,
} from '../../dashboard/kit/format-figures.ts';
import { describeBrowser } from '../../dashboard/pages/account/sessions.tsx';
import { parseMoney, formatMoney as wireForm } from '../../src/lib/money.ts';
import { durationBoundsMs } from '../../src/rollups/buckets.ts';

const amounts = fc.bigInt({ min: -(10n ** 26n), max: 10n ** 26n });
const back = (shown: string) =>
  parseMoney(shown.replace('−', '-').replace('$', '').replaceAll(',', '')) ?? -1n;

describe('money', () => {
  test.each([
    ['0', '$0.00'],
    ['0.000000000000', '$0.00'],
    ['-0.000000000000', '$0.00'],
    ['12.345678', '$12.35'],
    ['12.344999999999', '$12.34'],
    ['9.999', '$10.00'],
    ['1', '$1.00'],
    ['0.5', '$0.50'],
    ['0.123456', '$0.1235'],
    ['0.000012345678', '$0.00001235'],
    ['0.000000000001', '$0.000000000001'],
    ['0.99996', '$1.00'],
    ['0.99994', '$0.9999'],
    ['1234567.891', '$1,234,567.89'],
    ['-3.2', '−$3.20'],
    ['-0.000123', '−$0.000123'],
  ])('%s is short %s', (text, shown) => {
    expect(formatMoney(text)).toBe(shown);
  });

  test('is never more than half a digit off when short, and keeps its sign', () => {
    fc.assert(
      fc.property(amounts, (units) => {
        const difference = back(formatMoney(wireForm(units))) - units;
        const magnitude = units < 0n ? -units : units;
        const most = magnitude >= 10n ** 12n ? 5n * 10n ** 9n : magnitude / 2_000n;
        expect(difference <= most && -difference <= most).toBe(true);
        expect(formatMoney(wireForm(units)).startsWith('−')).toBe(units < 0n);
      }),
    );
  });

  test.each([
    ['99.999985', '$99.99'],
    ['100', '$100.00'],
    ['0', '$0.00'],
    ['0.99999', '$0.99'],
    ['0.0144', '$0.01'],
    ['0.000000000001', '<$0.01'],
    ['-3.201', '−$3.21'],
    ['-0.001', '−<$0.01'],
  ])('of a balance of %s is shown %s', (text, shown) => {
    expect(formatBalance(text)).toBe(shown);
  });

  test.each([
    ['99.999985', '$100.00'],
    ['0', '$0.00'],
    ['0.0144', '$0.01'],
    ['0.015', '$0.02'],
    ['0.009999999999', '<$0.01'],
    ['-0.000000000001', '−<$0.01'],
    ['1234567.891', '$1,234,567.89'],
    ['-3.201', '−$3.20'],
  ])('of a total of %s is shown %s', (text, shown) => {
    expect(formatTotal(text)).toBe(shown);
  });

  test.each([
    ['0.004', '5', '<$0.01'],
    ['0.004', '0.03', '<$0.01'],
    ['0.0013', '0.002', '$0.0013'],
    ['0.0000012346', '0.000001', '$0.000001235'],
    ['3.2', '0.000001', '$3.20'],
  ])('of %s used of a limit of %s is shown %s', (used, limit, shown) => {
    expect(formatUsed(used, limit)).toBe(shown);
  });

  test.each([
    ['0', '$0.00'],
    ['0.000381', '$0.000381'],
    ['0.000001234567', '$0.000001235'],
    ['0.0123', '$0.01'],
    ['11.219', '$11.22'],
  ])('of a total of %s that may be of few requests is shown %s', (text, shown) => {
    expect(formatSmallTotal(text)).toBe(shown);
  });

  test('a balance and a total have cents, and are zero only if there is nothing', () => {
    fc.assert(
      fc.property(fc.oneof(amounts, fc.bigInt({ min: -(10n ** 11n), max: 10n ** 11n })), (units) => {
        for (const written of [formatBalance(wireForm(units)), formatTotal(wireForm(units))]) {
          expect(written).toMatch(/^−?<?\$[\d,]+\.\d\d$/);
          expect(/^−?\$0\.00$/.test(written)).toBe(units === 0n);
        }
      }),
    );
  });

  test('a balance is never shown as more than there is, nor a cent less; a total is half a cent off at most', () => {
    const cent = 10n ** 10n;
    fc.assert(
      fc.property(amounts, (units) => {
        fc.pre(units >= cent || units <= -cent || units === 0n);
        const less = units - back(formatBalance(wireForm(units)));
        expect(less >= 0n && less < cent).toBe(true);
        const off = units - back(formatTotal(wireForm(units)));
        expect(off <= cent / 2n && -off <= cent / 2n).toBe(true);
      }),
    );
  });

  test('is copied with all its digits, and nothing that a form or a sheet would refuse', () => {
    fc.assert(
      fc.property(amounts, (units) => {
        const copied = plainAmount(wireForm(units));
        expect(copied).toMatch(/^-?\d+\.\d{2,12}$/);
        expect(parseMoney(copied)).toBe(units);
      }),
    );
  });

  test('loses nothing when exact', () => {
    fc.assert(
      fc.property(amounts, (units) => {
        expect(back(formatMoneyExactly(wireForm(units)))).toBe(units);
      }),
    );
    expect(formatMoneyExactly('1234.500000000001')).toBe('$1,234.500000000001');
    expect(formatMoneyExactly('3')).toBe('$3.00');
  });

  test('of a column of exact ones has the same number of decimals in every row', () => {
    fc.assert(
      fc.property(fc.array(amounts), (column) => {
        const texts = column.map((units) => wireForm(units));
        const decimals = decimalsOf(texts, 'exact');
        for (const [at, text] of texts.entries()) {
          const written = formatAmount(text, 'exact');
          const shown = `${written}${missingZeros(written, decimals)}`;
          expect(shown.split('.')[1]).toHaveLength(decimals);
          expect(back(shown)).toBe(column[at] ?? 0n);
        }
      }),
    );
    expect(decimalsOf([], 'exact')).toBe(2);
    expect(missingZeros('$12.345678', 7)).toBe('0');
  });

  test.each(['', 'abc', '1e3', '1.', '.5', '1.0000000000001', 'NaN'])('%j is no amount', (text) => {
    expect(() => formatMoney(text)).toThrow(TypeError);
  });
});

describe('figures', () => {
  test.each([
    [0, '0 ms'],
    [999.4, '999 ms'],
    [1_000, '1.00 s'],
    [2_345, '2.35 s'],
    [59_994, '59.99 s'],
    [59_996, '1 min 0 s'],
    [125_000, '2 min 5 s'],
    [3_600_000, '1 h 0 min'],
    [90_000_000, '1 d 1 h'],
  ])('%p ms are %s', (durationMs, shown) => {
    expect(formatDuration(durationMs)).toBe(shown);
  });

  test.each([
    [0, '0 ms'],
    [47, '< 50 ms'],
    [51, '≈ 51 ms'],
    [994, '≈ 990 ms'],
    [996, '≈ 1.0 s'],
    [5_050, '≈ 5.1 s'],
    [6_085, '≈ 6.1 s'],
    [15_480, '≈ 15 s'],
    [59_600, '≈ 1.0 min'],
    [299_000, '≈ 5.0 min'],
    [300_000, '> 5 min'],
  ])('%p ms as a percentile are %s', (durationMs, shown) => {
    expect(formatEstimate(durationMs)).toBe(shown);
  });

  test('a percentile is no farther off than its hint says, from the end of the first range on', () => {
    for (const [at, end] of durationBoundsMs.slice(1).entries())
      expect(end / (durationBoundsMs[at] ?? 0)).toBeLessThanOrEqual(Number(/[\d.]+/.exec(estimateHint)?.[0]));
  });

  test.each([
    [1, '100%'],
    [0, '0%'],
    [0.99999, '99.9%'],
    [0.00001, '0.1%'],
    [0.992, '99.2%'],
    [0.5, '50%'],
  ])('%p of all is %s', (share, shown) => {
    expect(formatShare(share)).toBe(shown);
  });

  test('counts', () => {
    expect([formatCount(1234567), formatCountShort(1234), formatCountShort(12)]).toEqual([
      '1,234,567',
      '1.2K',
      '12',
    ]);
  });

  test('times are the viewer’s, days belong to no zone', () => {
    const instant = new Date('2025-03-01T23:30:05Z');
    expect(formatTime(instant, 'moment', 'Europe/Berlin')).toBe('2 Mar 2025, 00:30');
    expect(formatTime(instant, 'exact', 'America/New_York')).toBe('1 Mar 2025, 18:30:05');
    expect(formatTime(instant, 'date', 'Asia/Tokyo')).toBe('2 Mar 2025');
    expect(formatUtc(instant)).toBe('2025-03-01 23:30:05 UTC');
    expect([formatDay('2025-03-01'), formatDay('2025-03-01', true)]).toEqual(['1 Mar', '1 Mar 2025']);
    const days = [
      ['2025-03-12', '2025-03-18'],
      ['2025-12-31', '2026-01-01'],
      ['2025-03-01', '2025-03-01'],
    ] as const;
    // How wide the spaces are depends on the runtime.
    expect(days.map(([from, to]) => formatDays(from, to).replaceAll(/\s*–\s*/g, '–'))).toEqual([
      '12–18 Mar 2025',
      '31 Dec 2025–1 Jan 2026',
      '1 Mar 2025',
    ]);
  });

  test.each([
    [-10_000, 'just now'],
    [10_000, 'in a moment'],
    [-300_000, '5 minutes ago'],
    [-7_200_000, '2 hours ago'],
    [-86_400_000, 'yesterday'],
    [259_200_000, 'in 3 days'],
    [-31 * 86_400_000, null],
  ])('%p ms from now is %s', (distanceMs, shown) => {
    const now = new Date('2025-03-01T12:00:00Z');
    expect(formatDistance(new Date(now.getTime() + distanceMs), now)).toBe(shown);
  });
});

describe('addresses', () => {
  const origin = 'https://gateway.example.com';

  test.each([
    ['/keys?x=1#y', '/keys?x=1#y'],
    ['/', '/'],
    ['//evil.example/x', '/'],
    ['/\\evil.example', '/'],
    ['/.//evil.example', '/'],
    ['/%2e/\\evil.example', '/'],
    ['/keys/..//evil.example/x', '/'],
    ['/\t/evil.example', '/'],
    ['https://evil.example', '/'],
    ['https://gateway.example.com/keys', '/'],
    ['javascript:alert(1)', '/'],
    ['keys', '/'],
    ['/sign-in?next=/keys', '/'],
    ['', '/'],
    [undefined, '/'],
    [7, '/'],
  ])('after the sign-in %p leads to %s', (next, place) => {
    expect(placeAfterSignIn(next, origin)).toBe(place);
  });

  const crooked = fc
    .array(fc.constantFrom('/', '\\', '.', '..', '%2e', '\t', '?', '#', '@', ':', 'keys', 'evil.example'))
    .map((parts) => parts.join(''));

  test('no text leads away after the sign-in', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary' }), crooked), (rest) => {
        for (const next of [rest, `/${rest}`, `//${rest}`]) {
          const place = placeAfterSignIn(next, origin);
          expect(place).toMatch(/^\/(?![/\\])/);
          expect(new URL(place, origin).origin).toBe(origin);
        }
      }),
    );
  });

  test('what is searched stays the text that it was', () => {
    const names = fc.stringMatching(/^[a-z_]{1,8}$/);
    fc.assert(
      fc.property(fc.dictionary(names, fc.string({ minLength: 1, unit: 'grapheme' })), (search) => {
        expect(parseSearch(stringifySearch(search))).toEqual({ ...search });
      }),
    );
    expect(stringifySearch({ a: '', b: undefined, c: '007', d: 'true' })).toBe('?c=007&d=true');
    expect(parseSearch('?c=007&d=true')).toEqual({ c: '007', d: 'true' });
    expect(stringifySearch({})).toBe('');
  });
});

test.each([
  [
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 Chrome/141.0 Safari/537.36',
    'Chrome on macOS',
  ],
  [
    'Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/141.0 Safari/537.36 Edg/141.0',
    'Edge on Windows',
  ],
  ['Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Safari/604.1', 'Safari on iOS'],
  ['Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0', 'Firefox on Linux'],
  ['curl/8.1', 'curl'],
  ['', 'Unknown browser'],
  [null, 'Unknown browser'],
])('%p is %s', (userAgent, shown) => {
  expect(describeBrowser(userAgent)).toBe(shown);
});
