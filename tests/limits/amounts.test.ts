/** Amounts of limits, as they are read and shown. */
import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { limitKinds } from '../../src/ledger/operations.ts';
import { formatMoneyShort, largestAmount } from '../../src/lib/money.ts';
import { leastAmount, leastIncrease, parseAmount } from '../../src/limits/limit-body.ts';
import type { Limit } from '../../src/limits/limit-store.ts';
import { presentAppliedLimit, presentLimit } from '../../src/limits/present.ts';

const one = 10n ** 12n;
const counted = limitKinds.filter((kind) => !kind.startsWith('spend'));
const now = new Date('2026-11-17T12:00:00.000Z');

describe('an amount', () => {
  test('of money is read as it is shown, exactly, and never from a number', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: largestAmount }), (money) => {
        expect(parseAmount(formatMoneyShort(money), 'spend_per_day', 0n)).toBe(money);
      }),
    );
    expect(parseAmount(10, 'spend_per_day', 0n)).toBe(null);
    expect(parseAmount(formatMoneyShort(largestAmount + 1n), 'spend_per_day', 0n)).toBe(null);
  });

  test('of requests or tokens is a whole number from 1 to a trillion, as a text or a number', () => {
    const kinds = fc.constantFrom(...counted);
    fc.assert(
      fc.property(kinds, fc.integer({ min: 1, max: 1e12 }), (kind, count) => {
        for (const given of [count, `${count}`])
          expect(parseAmount(given, kind, leastAmount(kind))).toBe(BigInt(count) * one);
      }),
    );
    for (const text of ['0', '-1', '1.5', '1e3', '', ' 1', '1000000000001', '١'])
      expect(parseAmount(text, 'tokens_per_minute', leastAmount('tokens_per_minute'))).toBe(null);
  });

  test('may be nothing for spend, but an increase may not', () => {
    for (const kind of limitKinds) {
      expect(parseAmount('0', kind, leastAmount(kind))).toBe(counted.includes(kind) ? null : 0n);
      expect(parseAmount('0', kind, leastIncrease(kind))).toBe(null);
    }
  });
});

const limit: Limit = {
  id: 'id',
  accountId: 'account',
  scope: 'account',
  keyId: null,
  keyName: null,
  endUser: null,
  kind: 'spend_per_day',
  amount: 10n * one,
  increase: null,
  setBy: 'operator',
  used: 0n,
  held: 0n,
  countedSince: null,
  resetsAt: null,
  createdAt: now,
  updatedAt: now,
};

test('what remains is what is neither used nor held, with an increase until it ends, and never less than nothing', () => {
  const money = fc.bigInt({ min: 0n, max: 100n * one });
  fc.assert(
    fc.property(money, money, money, money, fc.boolean(), (amount, more, used, held, isOver) => {
      const until = new Date(now.getTime() + (isOver ? 0 : 1));
      const shown = presentAppliedLimit(
        { ...limit, amount, increase: { amount: more, until }, used, held },
        now,
      );
      const left = amount + (isOver ? 0n : more) - used - held;
      expect(shown.remaining).toBe(formatMoneyShort(left > 0n ? left : 0n));
      expect(shown.increase === null).toBe(isOver);
    }),
  );
});

test('the name of an end user is shown, and what each has used is not', () => {
  const ofEach = presentLimit({ ...limit, scope: 'each_end_user', used: null, held: null }, now);
  expect([ofEach.used, ofEach.held]).toEqual([null, null]);
  expect(presentLimit({ ...limit, scope: 'end_user', endUser: 'ann' }, now).end_user).toBe('ann');
});
