import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { divideHalfUp, formatMoney, formatMoneyShort, parseMoney } from '../src/lib/money.ts';

const amounts = fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n });

test('writing and reading an amount gives it back, in both forms', () => {
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
