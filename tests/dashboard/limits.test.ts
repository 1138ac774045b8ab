/** What the form of a limit sends, what it says before, and limits in words. */
import { describe, expect, test } from 'bun:test';
import {
  changeOf,
  draftOf,
  emptyLimitForm,
  formOfLimit,
  type LimitFormState,
  problemsOf,
  withScope,
} from '../../dashboard/pages/limits/limit-form.ts';
import {
  amountNow,
  formatAmount,
  kindsFor,
  nameOf,
  sharesOf,
} from '../../dashboard/pages/limits/limit-words.ts';
import type { Limit } from '../../src/console/contract.ts';
import { parseBody } from '../../src/json/problem.ts';
import { limitKinds } from '../../src/ledger/operations.ts';
import { limitDraftOf, limitDraftSchema } from '../../src/limits/limit-body.ts';
import { kindsOfKeys } from '../../src/limits/limit-store.ts';

const now = new Date('2026-11-15T08:00:00.000Z');
const form = (part: Partial<LimitFormState> = {}): LimitFormState => ({
  ...emptyLimitForm,
  amount: '10',
  ...part,
});
const limit: Limit = {
  id: 'id',
  account_id: 'account',
  scope: 'account',
  key_id: null,
  key_name: null,
  end_user: null,
  kind: 'spend_per_day',
  set_by: 'account',
  amount: '10',
  increase: null,
  used: '6',
  held: '3',
  counted_since: null,
  resets_at: '2026-11-16T00:00:00.000Z',
  created_at: '2026-11-01T00:00:00.000Z',
  updated_at: '2026-11-01T00:00:00.000Z',
};

describe('a form', () => {
  test('says what is wrong in each field', () => {
    expect(problemsOf(form(), now)).toEqual({});
    const bad = { amount: '1,5', hasIncrease: true, increase: '0', until: '2020-01-01T00:00' };
    expect(Object.keys(problemsOf(form({ ...bad, scope: 'key' }), now)).toSorted()).toEqual([
      'amount',
      'increase.amount',
      'increase.until',
      'key_id',
    ]);
    expect(Object.keys(problemsOf(form({ scope: 'end_user', endUser: ' ' }), now))).toEqual(['end_user']);
    expect(Object.keys(problemsOf(form({ kind: 'tokens_per_minute', amount: '0' }), now))).toEqual([
      'amount',
    ]);
    expect(problemsOf(form({ amount: '0' }), now)).toEqual({});
  });

  test('sends what the server takes, for every scope and kind', () => {
    const more = { hasIncrease: true, increase: '5', until: '2099-01-01T00:00' };
    for (const scope of ['account', 'key', 'end_user', 'each_end_user'] as const)
      for (const kind of kindsFor(scope)) {
        const keyId = '01890a5d-ac96-774b-bcce-b302099a8057';
        const draft = draftOf(form({ ...more, scope, kind, keyId, endUser: ' ann ' }));
        const taken = limitDraftOf(parseBody(limitDraftSchema, draft), {
          accountId: 'account',
          setBy: 'account',
          now,
        });
        expect(taken).toMatchObject({ scope, kind, endUser: scope === 'end_user' ? 'ann' : null });
      }
    expect(kindsFor('account').toSorted()).toEqual([...limitKinds].toSorted());
    expect(kindsFor('key').toSorted()).toEqual([...kindsOfKeys].toSorted());
    expect(withScope(form({ kind: 'spend_per_month' }), 'key').kind).toBe('spend_per_day');
  });

  test('sends only what was changed', () => {
    const before = formOfLimit(limit);
    expect(changeOf(before, before)).toEqual({});
    expect(changeOf(before, { ...before, amount: '20 ' })).toEqual({ amount: '20' });
    const increased = { ...before, hasIncrease: true, increase: '5', until: '2099-01-01T00:00' };
    expect(changeOf(before, increased)).toEqual({
      increase: { amount: '5', until: new Date('2099-01-01T00:00').toISOString() },
    });
    expect(changeOf(increased, { ...increased, hasIncrease: false })).toEqual({ increase: null });
  });
});

test('a limit in words, and how much of it is used', () => {
  expect(nameOf(limit)).toBe('Spend per day, this account');
  expect(nameOf({ ...limit, scope: 'key', key_name: 'CI' })).toBe('Spend per day, key CI');
  expect(nameOf({ ...limit, scope: 'end_user', end_user: 'ann' })).toBe('Spend per day, end user ann');
  expect(nameOf({ ...limit, scope: 'each_end_user' })).toBe('Spend per day, each end user');
  expect([formatAmount('spend_per_day', '10'), formatAmount('tokens_per_minute', '50000')]).toEqual([
    '$10.00',
    '50,000',
  ]);
  expect(sharesOf(limit)).toMatchObject({ share: 0.9, certainShare: 0.6 });
  const increased = { ...limit, increase: { amount: '5', until: '2099-01-01T00:00:00.000Z' } };
  expect(amountNow(increased)).toBe('15.000000000000');
  expect(sharesOf(increased)).toMatchObject({ share: 0.6, certainShare: 0.4 });
  expect(sharesOf({ ...limit, used: null, held: null })).toBe(null);
});
