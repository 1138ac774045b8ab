import { expect, test } from 'bun:test';
import fc from 'fast-check';
import {
  divideHalfUp,
  formatDollars,
  formatMoney,
  formatMoneyShort,
  largestAmount,
  moneyFromDatabase,
  parseMoney,
} from '../../src/lib/money.ts';

const amounts = fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n });

test('an amount that is written and read stays the same, in both forms', () => {
  fc.assert(
    fc.property(amounts, (money) => {
      expect(parseMoney(formatMoney(money))).toBe(money);
      expect(parseMoney(formatMoneyShort(money))).toBe(money);
    }),
  );
});

test('the wire form always has 12 fractional digits', () => {
  fc.assert(fc.property(amounts, (money) => /^-?\d+\.\d{12}$/.test(formatMoney(money))));
});

test.each([
  ['0.15', '0.15'],
  ['0.60', '0.6'],
  ['20', '20'],
  ['100.000', '100'],
  ['0', '0'],
  ['0.000000000001', '0.000000000001'],
  ['-1.5', '-1.5'],
])('%s is shown as %s', (written, shown) => {
  expect(formatMoneyShort(parseMoney(written) ?? -1n)).toBe(shown);
});

test.each([
  '',
  '.',
  '1.',
  '.5',
  '1e3',
  '+1',
  ' 1',
  '1 ',
  '0x1',
  '1,5',
  '0.0000000000001',
  'NaN',
  '--1',
  '1'.repeat(21),
])('%p is not an amount', (text) => {
  expect(parseMoney(text)).toBeNull();
});

test('rounding is half up, and off by at most half a unit', () => {
  expect(divideHalfUp(5n, 10n)).toBe(1n);
  expect(divideHalfUp(4n, 10n)).toBe(0n);
  fc.assert(
    fc.property(
      fc.bigInt({ min: 0n, max: 10n ** 30n }),
      fc.bigInt({ min: 1n, max: 10n ** 12n }),
      (numerator, denominator) => {
        const twiceTheError = 2n * (divideHalfUp(numerator, denominator) * denominator - numerator);
        return twiceTheError > -denominator && twiceTheError <= denominator;
      },
    ),
  );
});

test('what the database prints is read to the unit, and nothing else is taken for money', () => {
  fc.assert(fc.property(amounts, (money) => expect(moneyFromDatabase(formatMoney(money))).toBe(money)));
  // The column has room for 26 digits before the point, which is more than anyone may type.
  expect(moneyFromDatabase(`-${'9'.repeat(26)}.${'9'.repeat(12)}`)).toBe(-(10n ** 38n) + 1n);
  expect(moneyFromDatabase('20')).toBe(20n * 10n ** 12n);
  expect(moneyFromDatabase('-0.5')).toBe(-5n * 10n ** 11n);
  expect(moneyFromDatabase('12345678901234')).toBe(12_345_678_901_234n * 10n ** 12n);
  expect(() => moneyFromDatabase('NaN')).toThrow(TypeError);
});

test('a trillion dollars is the largest amount', () => {
  expect(formatMoney(largestAmount)).toBe('1000000000000.000000000000');
});

test.each([
  ['0.3075', '$0.3075', '$0.3075'],
  ['0.307500000001', '$0.3076', '$0.3075'],
  ['0.307599999999', '$0.3076', '$0.3075'],
  ['12', '$12.0000', '$12.0000'],
  ['0', '$0.000000', '$0.000000'],
  ['0.01', '$0.0100', '$0.0100'],
  ['0.009999999999', '$0.010000', '$0.009999'],
  ['0.000001', '$0.000001', '$0.000001'],
  ['0.000000000001', '$0.000001', '$0.000000'],
])('%s is %s rounded up and %s rounded down', (written, up, down) => {
  const money = parseMoney(written) ?? -1n;
  expect([formatDollars(money, 'up'), formatDollars(money, 'down')]).toEqual([up, down]);
});

test.each([
  ['1'.repeat(20), 11_111_111_111_111_111_111n * 10n ** 12n],
  ['0.123456789012', 123_456_789_012n],
  ['-3', -3n * 10n ** 12n],
  ['1.5', 15n * 10n ** 11n],
])('%s is read to the unit', (text, units) => {
  expect(parseMoney(text)).toBe(units);
});
