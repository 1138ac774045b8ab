import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { periodOf } from '../../src/imports/litellm-limits.ts';
import { unitOf, usdOf } from '../../src/imports/new-api-units.ts';
import { amountOf, arrayOf, isSet, lineOf, listIn, timeIn } from '../../src/imports/values.ts';
import { formatMoneyShort, parseMoney } from '../../src/lib/money.ts';

test('an array of PostgreSQL is read as it was written', () => {
  const write = (item: string) => `"${item.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'grapheme' })), (items) => {
      expect(arrayOf(`{${items.map(write).join(',')}}`)).toEqual(items);
    }),
  );
  expect(arrayOf('{gpt-4o,openai/*,"a b",NULL}')).toEqual(['gpt-4o', 'openai/*', 'a b']);
  expect(['{', '{a', 'a}', '{{a}}', '{"a}'].map(arrayOf)).toEqual(Array(5).fill(null));
  expect([listIn(new Map([['a', '["x"]']]), 'a'), listIn(new Map([['a', ['x', 1]]]), 'a')]).toEqual([
    ['x'],
    ['x'],
  ]);
});

test('an amount is never more than its text says, and a double is the shortest decimal that stands for it', () => {
  fc.assert(
    fc.property(fc.double({ min: 0, max: 1e11, noNaN: true }), (value) => {
      const amount = amountOf(String(value)) ?? -1n;
      expect(Math.abs(Number(formatMoneyShort(amount)) - value)).toBeLessThanOrEqual(
        Math.max(1e-12, value * 1e-15),
      );
    }),
  );
  const texts = ['0.30000000000000004', '1e-05', '1.5e+3', '12.', '-0.5', '1e300'];
  expect(texts.map((text) => formatMoneyShort(amountOf(text) ?? 0n))).toEqual([
    ...['0.3', '0.00001', '1500', '12', '-0.5', '1000000000000'],
  ]);
  expect(['', 'NaN', 'Infinity', '1,5', '0x1', '1e9999'].map(amountOf)).toEqual(Array(6).fill(null));
});

test('quota becomes dollars exactly, and never more', () => {
  const unit = unitOf(true, null, { quotaPerUsd: null, rate: '1' });
  if ('problem' in unit) throw new Error(unit.problem);
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 2n ** 63n }), (quota) => {
      expect(usdOf(quota, unit) * 500_000n).toBe(quota * 10n ** 12n);
    }),
  );
  const nominal = unitOf(false, null, { quotaPerUsd: '1000', rate: '0.14' });
  expect('problem' in nominal ? null : formatMoneyShort(usdOf(7_000n, nominal))).toBe('0.98');
  expect(unitOf(false, null, { quotaPerUsd: null, rate: '1' })).toHaveProperty('problem');
  expect(unitOf(true, 'many', { quotaPerUsd: null, rate: '1' })).toHaveProperty('problem');
});

describe('a period', () => {
  const of = (duration: string | null) => {
    const found = periodOf({ amount: parseMoney('12') ?? 0n, duration });
    return found === null || found === 'lifetime'
      ? found
      : `${formatMoneyShort(found.amount)} a ${found.period}`;
  };

  test.each([
    [null, 'lifetime'],
    ['1d', '12 a day'],
    ['24h', '12 a day'],
    ['1h', '12 a day'],
    ['30s', '12 a day'],
    ['7d', '12 a week'],
    ['1w', '12 a week'],
    ['30d', '12 a month'],
    ['1mo', '12 a month'],
    ['3mo', '4 a month'],
    ['5h', null],
    ['48h', null],
    ['14d', null],
    ['soon', null],
  ])('%s → %s', (duration, expected) => {
    expect(of(duration)).toBe(expected);
  });
});

test('times without an offset are UTC', () => {
  const time = (text: string) => {
    const read = timeIn(new Map([['at', text]]), 'at');
    return read instanceof Date ? read.toISOString() : read;
  };
  expect(
    ['2026-12-01 10:00:00', '2026-12-01 10:00:00.123456+02', '2026-12-01T10:00:00Z', 'soon'].map(time),
  ).toEqual([
    ...['2026-12-01T10:00:00.000Z', '2026-12-01T08:00:00.123Z', '2026-12-01T10:00:00.000Z', 'unreadable'],
  ]);
});

test('what others named can be printed', () => {
  expect(lineOf('\u001b[31mred\u001b[0m\nnext\u202e')).toBe('[31mred [0m next');
  expect(lineOf('\n')).toBeNull();
  expect(['{}', '[]', 'null', '', '{"a":1}'].map((text) => isSet(new Map([['a', text]]), 'a'))).toEqual([
    ...[false, false, false, false, true],
  ]);
});
