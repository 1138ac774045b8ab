/** The slots of a provider, divided among the accounts that ask for them. */
import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { fairShare, type Share, Slots } from '../../src/routing/slots.ts';

/** Accounts with their calls, driven step by step on a simulated clock. */
function drive(most: number) {
  const slots = new Slots();
  const calls = new Map<string, Share[]>();
  let nowMs = 0;
  const of = (account: string) => calls.get(account) ?? [];
  return {
    pass: (ms: number) => {
      nowMs += ms;
    },
    take: (account: string): boolean => {
      const share = slots.take(account, most, nowMs);
      if (share === null) slots.turnAway(account, nowMs);
      else calls.set(account, [...of(account), share]);
      return share !== null;
    },
    end: (account: string): boolean => {
      const share = of(account)[0];
      if (share === undefined) return false;
      calls.set(account, of(account).slice(1));
      slots.leave(share);
      return true;
    },
    count: (account: string) => of(account).length,
    total: () => [...calls.values()].reduce((sum, shares) => sum + shares.length, 0),
    hasSlotFor: (account: string) => slots.hasSlotFor(account, most, nowMs),
  };
}

const sizes = fc.integer({ min: 1, max: 20 });

test('an account alone gets every slot, also after it was turned away', () => {
  fc.assert(
    fc.property(sizes, fc.array(fc.boolean(), { maxLength: 100 }), (most, steps) => {
      const driver = drive(most);
      for (const isTake of steps) {
        const before = driver.count('a');
        if (isTake) expect(driver.take('a')).toBe(before < most);
        else driver.end('a');
        driver.pass(10);
      }
    }),
  );
});

test('a newcomer gets each slot that becomes free, up to its share, however often the other asks', () => {
  fc.assert(
    fc.property(fc.integer({ min: 2, max: 20 }), fc.integer({ min: 1, max: 5 }), (most, eagerness) => {
      const driver = drive(most);
      for (let count = 0; count < most; count += 1) driver.take('a');
      const share = fairShare(most, 2);
      for (let got = 0; got < share; got += 1) {
        // Told to come back, after a second.
        expect(driver.take('b')).toBe(false);
        driver.pass(1_000);
        driver.end('a');
        for (let count = 0; count < eagerness; count += 1) expect(driver.take('a')).toBe(false);
        expect(driver.take('b')).toBe(true);
      }
      expect(driver.count('b')).toBe(share);
    }),
  );
});

test('once nobody else asks, an account may have every slot again', () => {
  const driver = drive(4);
  for (let count = 0; count < 4; count += 1) driver.take('a');
  driver.take('b');
  driver.end('a');
  expect(driver.take('a')).toBe(false);
  expect(driver.hasSlotFor('a')).toBe(false);
  expect(driver.hasSlotFor('b')).toBe(true);
  driver.pass(5_001);
  expect(driver.take('a')).toBe(true);
});

test('only as many slots are kept as were refused', () => {
  const driver = drive(10);
  for (let count = 0; count < 10; count += 1) driver.take('a');
  driver.take('b');
  for (let count = 0; count < 3; count += 1) driver.end('a');
  expect([driver.take('a'), driver.take('a'), driver.take('a')]).toEqual([true, true, false]);
  expect(driver.take('b')).toBe(true);
});

test('with more accounts than slots each still gets one in its turn', () => {
  const driver = drive(2);
  driver.take('a');
  driver.take('a');
  const others = ['b', 'c', 'd', 'e'];
  for (const other of others) expect(driver.take(other)).toBe(false);
  driver.end('a');
  expect(driver.take('a')).toBe(false);
  expect(driver.take('b')).toBe(true);
  driver.end('a');
  expect(driver.take('b')).toBe(false);
  expect(driver.take('c')).toBe(true);
});

const step = fc.record({
  isTake: fc.boolean(),
  account: fc.constantFrom('a', 'b', 'c', 'd'),
  ms: fc.nat(2_000),
});

test('any mix: never more than there are, and no account below its share is refused a free slot', () => {
  fc.assert(
    fc.property(sizes, fc.array(step, { maxLength: 300 }), (most, steps) => {
      const driver = drive(most);
      for (const { isTake, account, ms } of steps) {
        driver.pass(ms);
        if (!isTake) {
          driver.end(account);
          continue;
        }
        const isFull = driver.total() >= most;
        const isBelowShare = driver.count(account) < fairShare(most, 4);
        const isTold = driver.hasSlotFor(account);
        const isTaken = driver.take(account);
        expect(isTaken).toBe(isTold);
        if (isFull) expect(isTaken).toBe(false);
        else if (isBelowShare) expect(isTaken).toBe(true);
        expect(driver.total()).toBeLessThanOrEqual(most);
      }
    }),
  );
});

test('accounts come and go without leaving anything behind', () => {
  const slots = new Slots();
  for (let count = 0; count < 100_000; count += 1) {
    const share = slots.take(`account ${count}`, 10, 0);
    if (share === null) throw new Error('There are slots.');
    slots.leave(share);
  }
  expect(slots.accountsKnown).toBeLessThanOrEqual(1_000);
});
