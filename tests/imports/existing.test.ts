/** What an account that exists gets of a plan: nothing becomes looser without a word. */
import { expect, test } from 'bun:test';
import { type ExistingAccount, fitAccount } from '../../src/imports/existing.ts';
import type { PlannedAccount, PlannedLimit } from '../../src/imports/plan.ts';
import { spendLimit } from '../../src/imports/settings.ts';
import { newId } from '../../src/lib/ids.ts';
import type { Limit } from '../../src/limits/limit-store.ts';

const now = new Date('2026-11-17T12:00:00Z');
const usd = 10n ** 12n;
const increase = (amount: bigint, day: number) => ({
  amount: amount * usd,
  until: new Date(Date.UTC(2026, 10, day)),
});

const stored = (change: Partial<Limit>): Limit => ({
  ...{ id: newId(), accountId: newId(), scope: 'account', keyId: null, keyName: null, endUser: null },
  ...{ kind: 'spend_per_day', amount: 5n * usd, increase: null, setBy: 'operator' },
  ...{ used: 0n, held: 0n, countedSince: null, resetsAt: null, createdAt: now, updatedAt: now },
  ...change,
});

function fitted(planned: PlannedLimit, limits: readonly Limit[]) {
  const account: PlannedAccount = {
    ...{ target: { externalId: 'team' }, name: 'Team', isSuspended: false, priceGroup: null },
    ...{ members: [], limits: [planned], credit: null, keys: [], carried: [] },
  };
  const existing: ExistingAccount = { id: newId(), isSuspended: false, limits };
  const { account: left, refusal, limitsFound, dropped } = fitAccount(account, existing, now);
  return {
    made: left.limits.length,
    found: limitsFound,
    refusal,
    words: dropped.all.map(({ reason }) => reason).join(),
  };
}

const planned = spendLimit('spend_per_day', 5n * usd, null);

test.each([
  ['of the same amount', stored({}), planned, ''],
  ['that is stricter', stored({ amount: usd }), planned, ''],
  ['that is looser', stored({ amount: 6n * usd }), planned, 'looser than 5 USD a day'],
  ['with an increase', stored({ increase: increase(1n, 20) }), planned, 'looser'],
  ['with an increase that is over', stored({ increase: increase(1n, 10) }), planned, ''],
  ['without the increase', stored({}), { ...planned, increase: increase(1n, 20) }, ''],
])('a limit %s stays', (_, limit, wanted, words) => {
  const result = fitted(wanted, [limit]);
  expect(result).toMatchObject({ made: 0, found: 1, refusal: null });
  if (words === '') expect(result.words).toBe('');
  else expect(result.words).toContain(words);
});

test.each([
  ['of the owners', stored({ setBy: 'account' })],
  ['of another kind', stored({ kind: 'spend_per_week' })],
  ['of a key', stored({ scope: 'key', keyId: newId() })],
  ['of an end user', stored({ scope: 'end_user', endUser: 'joe' })],
  ['of each end user', stored({ scope: 'each_end_user' })],
])('a limit %s is another one', (_, limit) => {
  expect(fitted(planned, [limit])).toEqual({ made: 1, found: 0, refusal: null, words: '' });
});

test('the limit of one end user is not made where it would replace one of each that is as strict', () => {
  const ofJoe = { ...planned, endUser: 'joe' };
  const each = (dollars: bigint) => stored({ scope: 'each_end_user', amount: dollars * usd });
  expect(fitted(ofJoe, [each(6n)])).toEqual({ made: 1, found: 0, refusal: null, words: '' });
  expect(fitted(ofJoe, [each(5n)])).toMatchObject({
    made: 0,
    found: 0,
    words: expect.stringContaining('is not set'),
  });
});

test('an account that has no room for its limits gets no keys either', () => {
  const owners = Array.from({ length: 10_000 }, () => stored({ setBy: 'account' }));
  expect(fitted(planned, owners)).toMatchObject({
    made: 0,
    found: 0,
    refusal: 'its account Team has too many limits',
  });
  expect(fitted(planned, owners.slice(1))).toMatchObject({ made: 1, refusal: null });
});
