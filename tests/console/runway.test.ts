/** How long the money of an account lasts. */
import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { runwayOf, type Use } from '../../src/console/runway.ts';
import { type Money, parseMoney } from '../../src/lib/money.ts';

const hourMs = 3_600_000;
const thisHour = Date.UTC(2026, 10, 17, 12);
const now = thisHour + 20 * 60_000;

const usd = (text: string): Money =>
  (text.startsWith('-') ? -1n : 1n) * (parseMoney(text.replace('-', '')) ?? 0n);
/** Of which the first began so many hours before the one that has begun. */
const spending = (hours: number, spent: string, firstAgo: number): Use => ({
  hours,
  spent: usd(spent),
  firstHourMs: thisHour - firstAgo * hourMs,
});
const of = (use: Use | null, available: string, hold: string | null = null) =>
  runwayOf(use, { available: usd(available), typicalHold: hold === null ? null : usd(hold) }, now);

test.each([
  ['one hour', spending(1, '2', 100), '5', 2.5],
  ['the average of the hours used', spending(2, '4', 100), '5', 2.5],
  ['rounded down', spending(1, '3', 100), '5', 1.6],
  ['nothing is available', spending(1, '3', 100), '0', 0],
  ['more is held than there is', spending(1, '3', 100), '-1', 0],
] as const)('hours of use: %s', (_, use, available, hours) => {
  expect(of(use, available)).toMatchObject({ hours_left: hours, hours_used: use.hours });
});

test('nothing is known without use', () => {
  expect(of(null, '5', '9')).toEqual({ hours_left: null, hours_used: 0, runs_out_at: null });
});

test.each([
  ['all hours of a week count', spending(10, '168', 167), '2', null, '2026-11-17T14:20:00.000Z'],
  ['from the first that was used', spending(10, '48', 47), '48', null, '2026-11-19T12:20:00.000Z'],
  ['those of at least a day', spending(1, '24', 0), '24', null, '2026-11-18T12:20:00.000Z'],
  ['rounded down to minutes', spending(1, '24', 23), '0.0335', '0.01', '2026-11-17T12:22:00.000Z'],
  ['a request still fits', spending(1, '24', 23), '1', '1', '2026-11-17T13:20:00.000Z'],
  ['a request no longer fits', spending(1, '24', 23), '0.99', '1', '2026-11-17T12:20:00.000Z'],
  ['nothing is left', spending(1, '24', 23), '0', null, '2026-11-17T12:20:00.000Z'],
  ['a year', spending(1, '24', 23), '8760', null, '2027-11-17T12:20:00.000Z'],
  ['more than a year', spending(1, '24', 23), '8761', null, null],
] as const)('when it runs out: %s', (_, use, available, hold, at) => {
  expect(of(use, available, hold).runs_out_at).toBe(at);
});

const amount = fc.bigInt({ min: 1n, max: 10n ** 15n });
const anyUse = fc
  .record({
    spent: amount,
    ago: fc.integer({ min: 0, max: 167 }),
    share: fc.double({ min: 0, max: 1, noNaN: true }),
  })
  .map(
    ({ spent, ago, share }): Use => ({
      hours: 1 + Math.floor(share * ago),
      spent,
      firstHourMs: thisHour - ago * hourMs,
    }),
  );

test('neither figure is ever overstated', () => {
  fc.assert(
    fc.property(anyUse, amount, (use, available) => {
      const { hours_left: hours, runs_out_at: at } = runwayOf(use, { available, typicalHold: null }, now);
      const tenths = BigInt(Math.round((hours ?? 0) * 10));
      if (tenths < 2n ** 50n) expect(tenths * use.spent <= available * BigInt(use.hours) * 10n).toBe(true);
      const window = BigInt(Math.max(24 * hourMs, thisHour + hourMs - use.firstHourMs));
      if (at !== null) expect(BigInt(Date.parse(at) - now) * use.spent <= available * window).toBe(true);
      else expect(available * window > use.spent * BigInt(365 * 24 * hourMs)).toBe(true);
    }),
  );
});

test('more money lasts no shorter, and no time ends before it was said', () => {
  const endOf = (use: Use, available: Money, typicalHold: Money | null) =>
    runwayOf(use, { available, typicalHold }, now).runs_out_at ?? '9';
  fc.assert(
    fc.property(anyUse, amount, amount, fc.option(amount), (use, available, more, hold) => {
      const end = endOf(use, available, hold);
      expect(endOf(use, available + more, hold) >= end).toBe(true);
      expect(end >= new Date(now).toISOString()).toBe(true);
      // The clock never runs slower than the hours of use.
      const { hours_left: hours } = runwayOf(use, { available, typicalHold: null }, now);
      const lasting = endOf(use, available, null);
      if (lasting !== '9')
        expect(Date.parse(lasting)).toBeGreaterThanOrEqual(now + (hours ?? 0) * hourMs - 60_000);
    }),
  );
});
