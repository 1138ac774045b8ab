import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import {
  type AccountState,
  decideCount,
  decideHold,
  decideLate,
  decideRefund,
  decideSettlement,
  type Ended,
  type KeyState,
  type LateDecision,
} from '../../src/ledger/decide.ts';
import type { Settlement } from '../../src/ledger/operations.ts';
import { rateAt } from '../../src/lib/rate-limit.ts';

const account: AccountState = { balance: 100n, held: 0n, entryCount: 3n, isSuspended: false };
const key: KeyState = {
  held: 0n,
  monthSpent: 0n,
  monthlyLimit: null,
  requestsPerMinute: 6,
  maxConcurrent: 1_000_000,
  openCount: 0,
  theoreticalArrivalMs: 0,
  isRevoked: false,
  isExpired: false,
};
const nowMs = 1_000_000;

const codeOf = (accountState: AccountState, keyState: KeyState, amount: bigint) => {
  const { result } = decideHold(accountState, keyState, { min: amount, max: amount }, nowMs);
  return result.outcome === 'held' ? 'held' : result.code;
};

describe('a hold', () => {
  test.each([
    ['is placed when all is well', account, key, 100n, 'held'],
    ['needs the balance', account, key, 101n, 'insufficient_balance'],
    ['cannot use what others hold', { ...account, held: 1n }, key, 100n, 'insufficient_balance'],
    ['is denied to a revoked key', account, { ...key, isRevoked: true }, 1n, 'invalid_api_key'],
    ['is denied to a suspended account', { ...account, isSuspended: true }, key, 1n, 'invalid_api_key'],
    ['is denied to an expired key', account, { ...key, isExpired: true }, 1n, 'expired_api_key'],
    [
      'may reach the monthly limit',
      account,
      { ...key, monthlyLimit: 30n, monthSpent: 10n, held: 10n },
      10n,
      'held',
    ],
    [
      'may not pass the monthly limit',
      account,
      { ...key, monthlyLimit: 30n, monthSpent: 10n, held: 10n },
      11n,
      'monthly_spend_limit_exceeded',
    ],
    [
      'tells of the limit before the balance',
      { ...account, balance: 0n },
      { ...key, monthlyLimit: 0n },
      1n,
      'monthly_spend_limit_exceeded',
    ],
    ['waits its turn', account, { ...key, theoreticalArrivalMs: nowMs + 50_001 }, 1n, 'rate_limit_exceeded'],
    [
      'is in time when its turn has come',
      account,
      { ...key, theoreticalArrivalMs: nowMs + 50_000 },
      1n,
      'held',
    ],
  ] as [string, AccountState, KeyState, bigint, string][])(
    '%s',
    (_name, accountState, keyState, amount, expected) => {
      expect(codeOf(accountState, keyState, amount)).toBe(expected);
    },
  );

  test('says how long to wait and what is left of the minute', () => {
    let state = key;
    const remaining: number[] = [];
    for (;;) {
      const { key: next, result } = decideHold(account, state, { min: 0n, max: 0n }, nowMs);
      if (result.outcome === 'denied') {
        expect(result).toMatchObject({ code: 'rate_limit_exceeded', retryAfterMs: 10_000 });
        break;
      }
      remaining.push(result.rate.remaining);
      state = next;
    }
    expect(remaining).toEqual([5, 4, 3, 2, 1, 0]);
  });

  const noDetails = { retryAfterMs: null, shortage: null, concurrencyLimit: null, limit: null };
  const fullMinute = { limit: 6, remaining: 6, resetMs: 0 };

  test('that is granted takes money, a slot and its turn in the minute', () => {
    const before = { ...key, held: 5n, openCount: 2, theoreticalArrivalMs: nowMs + 20_000 };
    expect(decideHold({ ...account, held: 5n }, before, { min: 10n, max: 10n }, nowMs)).toEqual({
      account: { ...account, held: 15n },
      key: { ...before, held: 15n, openCount: 3, theoreticalArrivalMs: nowMs + 30_000 },
      limits: [],
      result: { outcome: 'held', amount: 10n, rate: { limit: 6, remaining: 3, resetMs: 30_000 } },
    });
  });

  test('is refused to a key with as many requests in flight as it may have, and changes nothing', () => {
    const full = { ...key, maxConcurrent: 2, openCount: 2 };
    expect(decideHold(account, full, { min: 1n, max: 1n }, nowMs)).toEqual({
      account,
      key: full,
      limits: [],
      result: {
        ...noDetails,
        outcome: 'denied',
        code: 'rate_limit_exceeded',
        rate: fullMinute,
        retryAfterMs: 100,
        concurrencyLimit: 2,
      },
    });
    const last = { ...full, openCount: 1 };
    expect(decideHold(account, last, { min: 1n, max: 1n }, nowMs).result.outcome).toBe('held');
  });

  test('for a key that is not in force is refused without a word about its rate', () => {
    for (const [own, ownMeter, code] of [
      [{ ...account, isSuspended: true }, key, 'invalid_api_key'],
      [account, { ...key, isExpired: true }, 'expired_api_key'],
    ] as const)
      expect(decideHold(own, ownMeter, { min: 0n, max: 0n }, nowMs).result).toEqual({
        ...noDetails,
        outcome: 'denied',
        code,
        rate: null,
      });
  });

  test('is in time to the microsecond that the database keeps, and no more', () => {
    const early = (ms: number) => ({ ...key, theoreticalArrivalMs: nowMs + 50_000 + ms });
    // Binary fractions, so that nothing is rounded.
    expect(codeOf(account, early(1 / 1024), 1n)).toBe('held');
    expect(codeOf(account, early(1 / 512), 1n)).toBe('rate_limit_exceeded');
    // A turn that has long come is not saved up for later.
    const idle = decideHold(account, { ...key, theoreticalArrivalMs: 0 }, { min: 0n, max: 0n }, nowMs);
    expect(idle.key.theoreticalArrivalMs).toBe(nowMs + 10_000);
  });
});

test('a request that costs nothing is counted in its minute, and refused as any other', () => {
  const counted = decideCount(account, key, nowMs);
  expect(counted).toEqual({
    key: { ...key, theoreticalArrivalMs: nowMs + 10_000 },
    result: { outcome: 'counted', rate: { limit: 6, remaining: 5, resetMs: 10_000 } },
  });
  const tooEarly = { ...key, theoreticalArrivalMs: nowMs + 60_000 };
  expect(decideCount(account, tooEarly, nowMs)).toEqual({
    key: tooEarly,
    result: {
      outcome: 'denied',
      code: 'rate_limit_exceeded',
      rate: { limit: 6, remaining: 0, resetMs: 60_000 },
      retryAfterMs: 10_000,
      shortage: null,
      concurrencyLimit: null,
      limit: null,
    },
  });
  expect(decideCount(account, { ...key, isRevoked: true }, nowMs).result).toMatchObject({
    code: 'invalid_api_key',
  });
});

test('the rate never shows less than nothing, nor more than the limit', () => {
  expect(rateAt(6, nowMs + 60_001, nowMs)).toEqual({ limit: 6, remaining: 0, resetMs: 60_001 });
  expect(rateAt(6, nowMs + 90_000, nowMs).remaining).toBe(0);
  expect(rateAt(6, nowMs - 90_000, nowMs)).toEqual({ limit: 6, remaining: 6, resetMs: 0 });
  // Rounding of milliseconds does not cost a request: 7 per minute are 8571.43 ms apart.
  expect(rateAt(7, nowMs + (3 * 60_000) / 7, nowMs).remaining).toBe(4);
  expect(rateAt(6, nowMs + 1_000, nowMs).remaining).toBe(5);
});

describe('a hold that may be smaller or larger', () => {
  const grantedOf = (balance: bigint, monthlyLimit: bigint | null, min: bigint, max: bigint) => {
    const range = { min, max };
    const { result } = decideHold({ ...account, balance, held: 20n }, { ...key, monthlyLimit }, range, nowMs);
    return result.outcome === 'held' ? result.amount : result.code;
  };

  test.each([
    ['is a quarter of what is free', 420n, null, 10n, 1_000n, 100n],
    ['is no less than the minimum', 60n, null, 30n, 1_000n, 30n],
    ['is no more than the maximum', 4_020n, null, 10n, 50n, 50n],
    ['is a quarter of what is left of the month, if that is less', 420n, 40n, 5n, 1_000n, 10n],
    ['is denied when even the minimum does not fit', 40n, null, 21n, 1_000n, 'insufficient_balance'],
    [
      'is denied when the month has no room for the minimum',
      420n,
      4n,
      5n,
      1_000n,
      'monthly_spend_limit_exceeded',
    ],
  ] as const)('%s', (_name, balance, monthlyLimit, min, max, granted) => {
    expect(grantedOf(balance, monthlyLimit, min, max)).toBe(granted);
  });

  test('says what is needed and what there is', () => {
    const { result } = decideHold(account, key, { min: 101n, max: 500n }, nowMs);
    expect(result).toMatchObject({ shortage: { needed: 101n, available: 100n } });
    const limited = { ...key, monthlyLimit: 30n, monthSpent: 40n };
    expect(decideHold(account, limited, { min: 1n, max: 1n }, nowMs).result).toMatchObject({
      shortage: { needed: 1n, available: 0n },
    });
  });

  test('says which of the two fell short, and what both leave to spend', () => {
    const shortageOf = (monthlyLimit: bigint, min: bigint) => {
      const limited = { ...key, monthlyLimit, monthSpent: 10n, held: 10n };
      const { result } = decideHold({ ...account, held: 10n }, limited, { min, max: min }, nowMs);
      return result.outcome === 'denied' ? [result.code, result.shortage] : null;
    };
    expect(shortageOf(50n, 40n)).toEqual([
      'monthly_spend_limit_exceeded',
      { needed: 40n, available: 30n, spendable: 30n },
    ]);
    expect(shortageOf(200n, 100n)).toEqual([
      'insufficient_balance',
      { needed: 100n, available: 90n, spendable: 90n },
    ]);
    // The balance is short of it, and the month would have had just enough.
    expect(shortageOf(120n, 100n)).toEqual([
      'insufficient_balance',
      { needed: 100n, available: 90n, spendable: 90n },
    ]);
    expect(shortageOf(10n, 1n)).toEqual([
      'monthly_spend_limit_exceeded',
      { needed: 1n, available: 0n, spendable: 0n },
    ]);
  });
});

describe('the request limit', () => {
  test('lets through exactly the limit at once, and at most the limit plus what time has earned', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 500 }),
        fc.array(fc.integer({ min: 0, max: 5_000 }), { maxLength: 300 }),
        (limit, gapsMs) => {
          let state: KeyState = { ...key, requestsPerMinute: limit };
          let atMs = nowMs;
          let admitted = 0;
          for (const gapMs of [...Array(limit + 5).fill(0), ...gapsMs]) {
            atMs += gapMs;
            const decision = decideHold(account, state, { min: 0n, max: 0n }, atMs);
            state = decision.key;
            if (decision.result.outcome === 'held') admitted += 1;
          }
          const earned = Math.floor(((atMs - nowMs) * limit) / 60_000 + 1e-6);
          expect(admitted).toBeGreaterThanOrEqual(limit);
          expect(admitted).toBeLessThanOrEqual(limit + earned);
        },
      ),
    );
  });
});

describe('a settlement', () => {
  const held = { ...account, held: 60n };
  const heldKey = { ...key, held: 60n };

  test('charges the cost and releases the hold', () => {
    const decision = decideSettlement(held, heldKey, 60n, {
      cost: { input: 10n, output: 20n, total: 30n, cached: null },
      onInsufficientBalance: 'withhold',
    });
    expect(decision).toMatchObject({
      account: { balance: 70n, held: 0n, entryCount: 4n },
      key: { held: 0n, monthSpent: 30n },
      charge: { total: 30n },
      shortfall: 0n,
    });
  });

  test('may cost more than was held, out of what is free', () => {
    const decision = decideSettlement({ ...held, held: 80n }, heldKey, 60n, {
      cost: { input: 40n, output: 40n, total: 80n, cached: null },
      onInsufficientBalance: 'withhold',
    });
    expect(decision).toMatchObject({
      account: { balance: 20n, held: 20n },
      charge: { total: 80n },
      shortfall: 0n,
    });
  });

  test('charges nothing for a result that is withheld, and records the loss', () => {
    const decision = decideSettlement({ ...held, held: 80n }, heldKey, 60n, {
      cost: { input: 40n, output: 41n, total: 81n, cached: null },
      onInsufficientBalance: 'withhold',
    });
    expect(decision).toMatchObject({
      account: { balance: 100n, held: 20n, entryCount: 3n },
      key: { monthSpent: 0n },
      charge: null,
      shortfall: 81n,
    });
  });

  test('takes what is there for a result that was delivered, the input first', () => {
    const decision = decideSettlement({ ...held, held: 80n }, heldKey, 60n, {
      cost: { input: 50n, output: 51n, total: 101n, cached: null },
      onInsufficientBalance: 'write_off',
    });
    expect(decision).toMatchObject({
      account: { balance: 20n, held: 20n, entryCount: 4n },
      charge: { input: 50n, output: 30n, total: 80n, cached: null },
      shortfall: 21n,
    });
  });

  test('without a cost only releases the hold', () => {
    const decision = decideSettlement(held, heldKey, 60n, {
      cost: null,
      onInsufficientBalance: 'withhold',
    });
    expect(decision).toMatchObject({
      account: { balance: 100n, held: 0n, entryCount: 3n },
      charge: null,
      shortfall: 0n,
    });
  });

  test('a cost of zero is a charge of zero', () => {
    const decision = decideSettlement(held, heldKey, 60n, {
      cost: { input: 0n, output: 0n, total: 0n, cached: null },
      onInsufficientBalance: 'withhold',
    });
    expect(decision).toMatchObject({ account: { balance: 100n, entryCount: 4n }, charge: { total: 0n } });
  });

  test('frees the slot of its request, and never more slots than there were', () => {
    const released = { cost: null, onInsufficientBalance: 'withhold' } as const;
    const openAfter = (openCount: number) =>
      decideSettlement(held, { ...heldKey, openCount }, 60n, released).key.openCount;
    expect([openAfter(3), openAfter(1), openAfter(0)]).toEqual([2, 0, 0]);
  });

  test('pays for a part of the input when not even that is covered', () => {
    const decision = decideSettlement({ ...held, held: 80n }, heldKey, 60n, {
      cost: { input: 90n, output: 11n, total: 101n, cached: null },
      onInsufficientBalance: 'write_off',
    });
    expect(decision.charge).toEqual({ input: 80n, output: 0n, total: 80n, cached: null });
  });

  test('that is cut short has parts that add up, and pays for cached input first', () => {
    const cut = (available: bigint) =>
      decideSettlement({ ...held, balance: available, held: 60n }, heldKey, 60n, {
        cost: {
          input: 90n,
          output: 11n,
          total: 101n,
          cached: { read: 20n, write: 30n, writeLong: 10n, saved: 5n },
        },
        onInsufficientBalance: 'write_off',
      }).charge;
    expect(cut(101n)?.cached).toEqual({ read: 20n, write: 30n, writeLong: 10n, saved: 5n });
    expect(cut(95n)).toMatchObject({
      input: 90n,
      output: 5n,
      cached: { read: 20n, write: 30n, writeLong: 10n },
    });
    expect(cut(55n)).toMatchObject({
      input: 55n,
      output: 0n,
      cached: { read: 20n, write: 30n, writeLong: 5n },
    });
    expect(cut(15n)).toMatchObject({
      input: 15n,
      output: 0n,
      cached: { read: 15n, write: 0n, writeLong: 0n },
    });
    const amount = fc.bigInt({ min: 0n, max: 1_000n });
    fc.assert(
      fc.property(
        amount,
        amount,
        amount,
        amount,
        amount,
        amount,
        (fresh, read, write, writeLong, output, balance) => {
          const input = fresh + read + write + writeLong;
          const cost = {
            input,
            output,
            total: input + output,
            cached: { read, write, writeLong, saved: 0n },
          };
          const { charge, shortfall } = decideSettlement({ ...account, balance, held: 0n }, key, 0n, {
            cost,
            onInsufficientBalance: 'write_off',
          });
          if (charge?.cached == null) throw new Error('Its parts are lost.');
          expect(charge.total + shortfall).toBe(cost.total);
          expect(charge.input + charge.output).toBe(charge.total);
          const parts = charge.cached.read + charge.cached.write + charge.cached.writeLong;
          expect(parts <= charge.input).toBe(true);
          if (fresh === 0n) expect(parts).toBe(charge.input);
        },
      ),
    );
  });
});

describe('a settlement of what has ended already', () => {
  const ended: Ended = {
    isLost: false,
    errorCode: null,
    isDeadLetter: false,
    isClaimed: true,
    charged: null,
    isThisMonth: true,
  };
  const charged = { ...ended, charged: 5n };
  const interrupted = { ...ended, errorCode: 'gateway_interrupted' };
  const lost = { ...ended, isLost: true };
  const good = { onAlreadyCharged: 'stands', errorCode: null, isHeld: true } as const;
  const withheld = { ...good, onAlreadyCharged: 'refund', errorCode: 'billing_consistency_error' } as const;
  const replayable = { ...withheld, onAlreadyCharged: 'refund_unless_stored' } as const;
  const givenUp = { ...good, errorCode: 'gateway_interrupted', isHeld: false } as const;

  test.each([
    ['gives back a charge that nobody got anything for', charged, withheld, 'refund'],
    ['gives back a charge of zero', { ...ended, charged: 0n }, withheld, 'refund'],
    ['has nothing to give back', ended, withheld, 'settled'],
    ['lets a charge stand', charged, good, 'settled'],
    ['lets a charge stand whose response was stored', charged, replayable, 'settled'],
    ['gives back a charge whose claim was released', { ...charged, isClaimed: false }, replayable, 'refund'],
    ['never gives back what was delivered', { ...charged, isClaimed: false }, good, 'settled'],
    ['settles what was given up too early', interrupted, good, 'reopen'],
    ['settles what was set aside', { ...ended, isDeadLetter: true }, good, 'reopen'],
    ['knows no better than another node', interrupted, givenUp, 'interrupted'],
    ['comes too late for a claim', { ...interrupted, isClaimed: false }, good, 'interrupted'],
    ['of a set-aside one, too', { ...ended, isDeadLetter: true, isClaimed: false }, good, 'interrupted'],
    ['was short', { ...ended, errorCode: 'insufficient_balance' }, good, 'short'],
    ['failed otherwise', { ...ended, errorCode: 'provider_timeout' }, good, 'settled'],
    ['is recorded although its hold was lost', lost, good, 'record'],
    ['is recorded although its hold was lost and its response withheld', lost, withheld, 'record'],
    ['says nothing about a hold that may never have been', lost, { ...good, isHeld: false }, 'interrupted'],
    ['comes too late for a claim after a crash', { ...lost, isClaimed: false }, good, 'interrupted'],
  ] as [string, Ended, Pick<Settlement, 'onAlreadyCharged' | 'errorCode' | 'isHeld'>, LateDecision][])(
    '%s',
    (_name, state, late, decision) => {
      expect(decideLate(state, late)).toBe(decision);
    },
  );

  test('returns the charge to the balance and, if it is still the same month, to the month', () => {
    const spent = { ...key, monthSpent: 8n };
    expect(decideRefund(account, spent, charged)).toEqual({
      account: { ...account, balance: 105n, entryCount: 4n },
      key: { ...spent, monthSpent: 3n },
    });
    expect(decideRefund(account, spent, { ...charged, isThisMonth: false }).key).toBe(spent);
    expect(decideRefund(account, spent, ended)).toEqual({
      account: { ...account, entryCount: 4n },
      key: spent,
    });
  });
});

const amount = fc.bigInt({ min: 0n, max: 200n });
const step = fc.oneof(
  fc.record({ kind: fc.constant('hold' as const), min: amount, more: amount }),
  fc.record({
    kind: fc.constant('settle' as const),
    pick: fc.nat(50),
    input: amount,
    output: amount,
    onInsufficientBalance: fc.constantFrom('withhold' as const, 'write_off' as const),
  }),
  fc.record({ kind: fc.constant('release' as const), pick: fc.nat(50) }),
);

test('over any sequence nothing is created, lost, overspent or left held', () => {
  fc.assert(
    fc.property(
      fc.bigInt({ min: 0n, max: 1_000n }),
      fc.option(fc.bigInt({ min: 0n, max: 800n })),
      fc.array(step, { maxLength: 60 }),
      (balance, monthlyLimit, steps) => {
        let accountState: AccountState = { ...account, balance, entryCount: 0n };
        let keyState: KeyState = { ...key, monthlyLimit, requestsPerMinute: 1_000_000 };
        const open: bigint[] = [];
        let charged = 0n;
        let charges = 0n;
        for (const action of steps) {
          if (action.kind === 'hold') {
            const { min, more } = action;
            const decision = decideHold(accountState, keyState, { min, max: min + more }, nowMs);
            if (decision.result.outcome === 'held') {
              const { amount: granted } = decision.result;
              expect(granted).toBeGreaterThanOrEqual(min);
              expect(granted).toBeLessThanOrEqual(min + more);
              open.push(granted);
              // A charge may exceed its hold, and so the limit. After that, only what costs nothing is granted.
              if (monthlyLimit !== null && granted > 0n)
                expect(decision.key.monthSpent + decision.key.held).toBeLessThanOrEqual(monthlyLimit);
            } else expect(decision.account).toBe(accountState);
            accountState = decision.account;
            keyState = decision.key;
          } else if (open.length > 0) {
            const [hold = 0n] = open.splice(action.pick % open.length, 1);
            const cost =
              action.kind === 'release'
                ? null
                : {
                    input: action.input,
                    output: action.output,
                    total: action.input + action.output,
                    cached: null,
                  };
            const onInsufficientBalance =
              action.kind === 'release' ? 'withhold' : action.onInsufficientBalance;
            const decision = decideSettlement(accountState, keyState, hold, {
              cost,
              onInsufficientBalance,
            });
            const total = decision.charge?.total ?? 0n;
            expect(total + decision.shortfall).toBe(cost?.total ?? 0n);
            if (decision.charge) expect(decision.charge.input + decision.charge.output).toBe(total);
            if (cost && cost.total <= hold) expect(total).toBe(cost.total);
            charged += total;
            charges += decision.charge ? 1n : 0n;
            accountState = decision.account;
            keyState = decision.key;
          }
          const held = open.reduce((sum, hold) => sum + hold, 0n);
          expect(accountState.held).toBe(held);
          expect(keyState.held).toBe(held);
          expect(accountState.balance).toBe(balance - charged);
          expect(accountState.balance).toBeGreaterThanOrEqual(held);
          expect(keyState.monthSpent).toBe(charged);
          expect(accountState.entryCount).toBe(charges);
          expect(keyState.openCount).toBe(open.length);
        }
      },
    ),
  );
});
