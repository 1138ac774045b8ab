/** Expected holds are granted, whatever else is pending; and where little is left, none is expected. */
import { expect, spyOn, test } from 'bun:test';
import fc from 'fast-check';
import type { AdmittedKey } from '../../src/ledger/batch-rows.ts';
import { type AccountState, decideHold, deny, type KeyState } from '../../src/ledger/decide.ts';
import type { Hold, HoldResult } from '../../src/ledger/operations.ts';
import { isExpected, type Left, Outlook, type Pending, timesFree } from '../../src/ledger/outlook.ts';
import { minuteMs } from '../../src/lib/time-units.ts';

const nowMs = 1_800_000_000_000;
const money = fc.bigInt({ min: 1n, max: 1_000n });
const ranges = fc.tuple(money, money).map(([one, other]) => ({
  min: one < other ? one : other,
  max: one < other ? other : one,
}));

const states = fc
  .record({
    balance: fc.bigInt({ min: 1n, max: 20_000n }),
    held: money,
    keyHeld: money,
    monthSpent: money,
    monthlyLimit: fc.option(fc.bigInt({ min: 0n, max: 20_000n })),
    requestsPerMinute: fc.integer({ min: 1, max: 200 }),
    maxConcurrent: fc.integer({ min: 1, max: 100 }),
    openCount: fc.integer({ min: 0, max: 50 }),
    aheadMs: fc.integer({ min: -minuteMs, max: minuteMs }),
  })
  .map((given) => ({
    account: {
      balance: given.balance,
      held: given.held < given.balance ? given.held : given.balance,
      entryCount: 1n,
      isSuspended: false,
    } satisfies AccountState,
    key: {
      held: given.keyHeld,
      monthSpent: given.monthSpent,
      monthlyLimit: given.monthlyLimit,
      requestsPerMinute: given.requestsPerMinute,
      maxConcurrent: given.maxConcurrent,
      openCount: given.openCount,
      theoreticalArrivalMs: nowMs + given.aheadMs,
      isRevoked: false,
      isExpired: false,
    } satisfies KeyState,
  }));

type State = Readonly<{ account: AccountState; key: KeyState }>;

function leftOf({ account, key }: State): Left {
  const ofMonth = key.monthlyLimit === null ? null : key.monthlyLimit - key.monthSpent - key.held;
  return { ...key, free: account.balance - account.held, ofMonth };
}

const sumOf = (holds: readonly Readonly<{ max: bigint }>[]): Pending => ({
  count: holds.length,
  amount: holds.reduce((sum, { max }) => sum + max, 0n),
});

test('an expected hold is granted its maximum after all that is pending, even if others take as much', () => {
  let expectedCount = 0;
  fc.assert(
    fc.property(states, ranges, fc.array(ranges, { maxLength: 5 }), (seen, hold, pending) => {
      const all = sumOf(pending);
      if (!isExpected(leftOf(seen), { ofAccount: all, ofKey: all }, hold.max, nowMs)) return;
      expectedCount += 1;
      let state: State = seen;
      for (const one of pending) {
        const decision = decideHold(state.account, state.key, one, nowMs);
        expect(decision.result.outcome).toBe('held');
        state = decision;
      }
      // Others may take several times as much meanwhile: the maximum is granted while four times that is left.
      const taken = hold.max * (timesFree - 4n);
      state = {
        account: { ...state.account, held: state.account.held + taken },
        key: { ...state.key, held: state.key.held + taken },
      };
      const { result } = decideHold(state.account, state.key, hold, nowMs);
      expect(result).toMatchObject({ outcome: 'held', amount: hold.max });
    }),
    { numRuns: 20_000 },
  );
  expect(expectedCount).toBeGreaterThan(100);
});

test('several times the amount is free, and part of the limits is left', () => {
  fc.assert(
    fc.property(states, money, fc.array(ranges, { maxLength: 5 }), (seen, max, pending) => {
      const all = sumOf(pending);
      if (!isExpected(leftOf(seen), { ofAccount: all, ofKey: all }, max, nowMs)) return;
      const { account, key } = seen;
      expect(account.balance - account.held - all.amount).toBeGreaterThanOrEqual(max * timesFree);
      if (key.monthlyLimit !== null)
        expect(key.monthlyLimit - key.monthSpent - key.held - all.amount).toBeGreaterThanOrEqual(
          max * timesFree,
        );
      expect((key.openCount + all.count) / key.maxConcurrent).toBeLessThan(0.76 + 1 / key.maxConcurrent);
      const aheadMs = Math.max(0, key.theoreticalArrivalMs - nowMs);
      const usedMs = aheadMs + (all.count * minuteMs) / key.requestsPerMinute;
      expect(usedMs).toBeLessThanOrEqual(minuteMs * 0.75);
    }),
    { numRuns: 20_000 },
  );
});

const key: Omit<AdmittedKey, 'keyId'> = {
  accountId: 'a',
  free: '0.000000001000',
  left: null,
  requestsPerMinute: 1_000,
  maxConcurrent: 100,
  openCount: 0,
  theoreticalArrivalMs: nowMs - 1_000,
};

function holdOf(max: bigint, accountId = 'a', keyId = 'k'): Hold {
  const generation = {
    id: 'g',
    accountId,
    keyId,
    workload: 'chat',
    model: 'm',
    streaming: false,
    priceListId: 1,
    idempotencyHash: null,
    createdAtMs: nowMs,
  };
  return { kind: 'hold', generation, nodeId: 'n', provider: 'p', min: 1n, max, attempts: [] };
}

function outlookOf(): Outlook {
  const outlook = new Outlook();
  const keys = ['k', 'l'].map((keyId) => ({ keyId, ...key }));
  outlook.saw({ keys, nowMs });
  return outlook;
}

const held: HoldResult = {
  outcome: 'held',
  amount: 1n,
  rate: { limit: 1, remaining: 1, resetMs: 0 },
};

test('what is left of a month is not exceeded', () => {
  const outlook = new Outlook();
  outlook.saw({ keys: [{ keyId: 'k', ...key, left: '0.000000000400' }], nowMs });
  expect(outlook.expected(holdOf(50n))).toBe(50n);
  expect(outlook.expected(holdOf(51n))).toBeNull();
});

test('only what was seen is expected', () => {
  const outlook = outlookOf();
  expect(outlook.expected(holdOf(100n))).toBe(100n);
  expect(outlook.expected(holdOf(126n))).toBeNull();
  expect(outlook.expected(holdOf(100n, 'a', 'unknown'))).toBeNull();
  expect(outlook.expected(holdOf(100n, 'unknown', 'k'))).toBeNull();
});

test('a hold without an answer counts, for its account and its key', async () => {
  const outlook = outlookOf();
  const { promise, resolve } = Promise.withResolvers<HoldResult>();
  const followed = outlook.follow(holdOf(400n), promise);
  expect(outlook.expected(holdOf(75n))).toBe(75n);
  expect(outlook.expected(holdOf(76n))).toBeNull();
  expect(outlook.expected(holdOf(76n, 'a', 'l'))).toBeNull();
  resolve(held);
  expect(await followed).toBe(held);
  expect(outlook.expected(holdOf(125n))).toBe(125n);
});

test('nothing is expected after a denial, however old, until a hold is granted again', async () => {
  const outlook = outlookOf();
  await outlook.follow(holdOf(1n), Promise.resolve(deny('monthly_spend_limit_exceeded', null)));
  const now = spyOn(performance, 'now').mockReturnValue(performance.now() + 3_600_000);
  try {
    expect(outlook.expected(holdOf(1n))).toBeNull();
    outlook.saw({ keys: [{ keyId: 'k', ...key }], nowMs });
    expect(outlook.expected(holdOf(1n))).toBe(1n);
  } finally {
    now.mockRestore();
  }
});

test('after a denial or a failure nothing is expected for the account or the key for a while', async () => {
  const other = holdOf(1n, 'a', 'l');
  const denials = [
    { code: 'rate_limit_exceeded' as const, otherKey: 1n },
    { code: 'insufficient_balance' as const, otherKey: null },
  ];
  for (const { code, otherKey } of denials) {
    const outlook = outlookOf();
    await outlook.follow(holdOf(1n), Promise.resolve(deny(code, null)));
    expect(outlook.expected(holdOf(1n))).toBeNull();
    expect(outlook.expected(other)).toBe(otherKey);
  }
  const failed = outlookOf();
  await failed.follow(holdOf(1n), Promise.reject(new Error('away'))).catch(() => undefined);
  expect([failed.expected(holdOf(1n)), failed.expected(other)]).toEqual([null, null]);
  const surprised = outlookOf();
  surprised.surprised(holdOf(1n));
  expect([surprised.expected(holdOf(1n)), surprised.expected(other)]).toEqual([null, null]);
});
