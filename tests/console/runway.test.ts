/** How long the money of an account lasts. */
import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { hoursLeft } from '../../src/console/runway.ts';
import { parseMoney } from '../../src/lib/money.ts';

const usd = (text: string) => parseMoney(text) ?? 0n;

test.each([
  ['nothing was spent', [], '5', null],
  ['only hours without requests', ['0', '0'], '5', null],
  ['one hour', ['2'], '5', 2.5],
  ['hours without requests do not count', ['2', '0', '0', '0'], '5', 2.5],
  ['the average of the hours that do', ['1', '3'], '5', 2.5],
  ['rounded down', ['3'], '5', 1.6],
  ['nothing is available', ['3'], '0', 0],
  ['more is held than there is', ['3'], '-1', 0],
] as const)('%s', (_, spent, available, hours) => {
  const sign = available.startsWith('-') ? -1n : 1n;
  expect(
    hoursLeft(
      spent.map((text) => usd(text)),
      sign * usd(available.replace('-', '')),
    ),
  ).toBe(hours);
});

test('it is never overstated, and idle hours change nothing', () => {
  const amount = fc.bigInt({ min: 0n, max: 10n ** 15n });
  fc.assert(
    fc.property(fc.array(amount, { maxLength: 168 }), amount, fc.nat(20), (spent, available, idle) => {
      const hours = hoursLeft(spent, available);
      expect(hoursLeft([...spent, ...Array.from({ length: idle }, () => 0n)], available)).toBe(hours);
      const used = spent.filter((one) => one > 0n);
      if (hours === null) {
        expect(used).toEqual([]);
        return;
      }
      const total = used.reduce((sum, one) => sum + one, 0n);
      const tenths = BigInt(Math.round(hours * 10));
      if (tenths < 2n ** 50n) expect(tenths * total <= available * BigInt(used.length) * 10n).toBe(true);
    }),
  );
});
