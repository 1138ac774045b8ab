/** What the form of a key sends, and what it says before anything is sent. */
import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { nearLimitPercent, shareOfLimit, toneOfShare } from '../../dashboard/kit/amounts.ts';
import { pageOfList } from '../../dashboard/kit/pager.tsx';
import { matchesOf } from '../../dashboard/kit/picker.tsx';
import {
  changesOf,
  draftOf,
  emptyKeyForm,
  formOfKey,
  type KeyFormState,
  localTimeOf,
  problemsOf,
  timeOf,
} from '../../dashboard/pages/keys/key-form-state.ts';
import { describeTightLimit, selectKeys, shownStateOf } from '../../dashboard/pages/keys/key-list.ts';
import { nearLimitPercent as serverNearLimitPercent } from '../../src/console/attention.ts';
import type { Key } from '../../src/console/contract.ts';
import { parseKeyDraft } from '../../src/keys/key-body.ts';
import { formatMoney } from '../../src/lib/money.ts';

const now = new Date('2026-11-15T08:00:00.000Z');
const form = (part: Partial<KeyFormState> = {}): KeyFormState => ({ ...emptyKeyForm, name: 'Key', ...part });

const key: Key = {
  id: 'id',
  name: 'Key',
  hint: 'svc_sk_…abcd',
  state: 'active',
  requests_per_minute: 600,
  max_concurrent: 200,
  monthly_limit: '20.500000000000',
  allowed_models: ['one'],
  expires_at: '2027-01-31T12:00:00.000Z',
  revoked_at: null,
  created_at: '2026-01-01T00:00:00.000Z',
  last_used_at: null,
  month_spent: '0.000000000000',
  held: '0.000000000000',
  month_left: '20.500000000000',
  typical_hold: null,
};

describe('a form', () => {
  test('says what is wrong in each field', () => {
    expect(problemsOf(emptyKeyForm, form(), now)).toEqual({});
    const bad = form({
      name: ' ',
      requestsPerMinute: '0',
      maxConcurrent: '100001',
      monthlyLimit: '1,5',
      allowedModels: [],
      expiry: 'time',
      expiryTime: '2020-01-01T00:00',
    });
    expect(Object.keys(problemsOf(emptyKeyForm, bad, now)).toSorted()).toEqual([
      'allowed_models',
      'expires_at',
      'max_concurrent',
      'monthly_limit',
      'name',
      'requests_per_minute',
    ]);
    expect(problemsOf(emptyKeyForm, form({ expiry: 'time' }), now).expires_at).toBe(
      'Choose a date and time.',
    );
  });

  test('that has no problems is accepted by the server', () => {
    const texts = fc.constantFrom(
      '',
      '1',
      '0',
      '20.5',
      '-1',
      'x',
      '1e3',
      '1000000',
      '1000001',
      '100000',
      '100001',
      '0.0000000000001',
      ' 7 ',
    );
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme-ascii', maxLength: 250 }),
        texts,
        texts,
        texts,
        fc.constantFrom('never', '7', '30', '90', '365', 'time'),
        fc.constantFrom('', '2027-01-31T12:00', '2020-01-01T00:00'),
        (name, requestsPerMinute, maxConcurrent, monthlyLimit, expiry, expiryTime) => {
          const written = form({ name, requestsPerMinute, maxConcurrent, monthlyLimit, expiry, expiryTime });
          if (Object.keys(problemsOf(emptyKeyForm, written, now)).length > 0) return;
          expect(parseKeyDraft(draftOf(written, now), now).name).toBe(name.trim());
        },
      ),
    );
  });

  test('of a key, unchanged, changes nothing', () => {
    expect(changesOf(formOfKey(key), formOfKey(key), now)).toEqual({});
    expect(formOfKey(key).monthlyLimit).toBe('20.5');
    expect(formOfKey({ ...key, monthly_limit: '100.000000000000' }).monthlyLimit).toBe('100');
  });

  test('sends only what was changed, and null for a limit that was taken away', () => {
    const before = formOfKey(key);
    const after = {
      ...before,
      maxConcurrent: '7',
      monthlyLimit: '',
      allowedModels: null,
      expiry: 'never' as const,
    };
    expect(changesOf(before, after, now)).toEqual({
      max_concurrent: 7,
      monthly_limit: null,
      allowed_models: null,
      expires_at: null,
    });
    expect(changesOf(before, { ...before, expiry: '7' }, now)).toEqual({
      expires_at: '2026-11-22T08:00:00.000Z',
    });
  });

  test('of an expired key can change everything, except to another time in the past', () => {
    const before = formOfKey({ ...key, state: 'expired', expires_at: '2026-01-31T12:00:00.000Z' });
    const renamed = { ...before, name: 'Other' };
    expect(problemsOf(before, renamed, now)).toEqual({});
    expect(changesOf(before, renamed, now)).toEqual({ name: 'Other' });
    const past = { ...before, expiryTime: '2026-02-28T12:00' };
    expect(problemsOf(before, past, now)).toEqual({ expires_at: 'Choose a time in the future.' });
    expect(problemsOf(before, { ...before, expiryTime: '' }, now)).toEqual({
      expires_at: 'Choose a date and time.',
    });
  });

  test('a time is read as it is written, in the zone of the viewer', () => {
    const time = new Date(2027, 0, 31, 12, 5);
    expect(localTimeOf(time)).toBe('2027-01-31T12:05');
    expect(timeOf(localTimeOf(time))).toEqual(time);
    expect(timeOf('')).toBeNull();
    expect(timeOf('tomorrow')).toBeNull();
  });
});

describe('the share of a limit', () => {
  test('is all of it from the limit on, and never before', () => {
    const amount = fc.bigInt({ min: 0n, max: 10n ** 24n });
    fc.assert(
      fc.property(amount, amount, (spent, limit) => {
        const share = shareOfLimit(formatMoney(spent), formatMoney(limit));
        expect(share >= 1).toBe(spent >= limit || limit === 0n);
      }),
    );
  });

  test('warns before it is used up, where the overview does', () => {
    expect(nearLimitPercent).toBe(serverNearLimitPercent);
    expect([0, 0.79, 0.8, 1, 2].map(toneOfShare)).toEqual(['accent', 'accent', 'warn', 'bad', 'bad']);
    expect(shareOfLimit('0.000000000000', '0.000000000000')).toBe(1);
    expect(shareOfLimit('0.001500000000', '20.000000000000')).toBeCloseTo(0.000075, 9);
  });
});

describe('the list of keys', () => {
  const keys: readonly Key[] = [
    { ...key, id: '1', name: 'Robot 10', month_spent: '3.000000000000' },
    { ...key, id: '2', name: 'robot 9', created_at: '2026-02-01T00:00:00.000Z', month_spent: '10' },
    { ...key, id: '3', name: 'Aviary', hint: 'svc_sk_…f00d', last_used_at: '2026-03-01T00:00:00.000Z' },
    { ...key, id: '4', name: 'Zoo', state: 'revoked', last_used_at: '2026-04-01T00:00:00.000Z' },
  ];
  const all = { search: '', order: 'newest', hasRevoked: true } as const;
  const idsOf = (view: Partial<Parameters<typeof selectKeys>[1]>) =>
    selectKeys(keys, { ...all, ...view }).map(({ id }) => id);

  test('is sorted by what the reader looks for', () => {
    expect(idsOf({})[0]).toBe('2');
    expect(idsOf({ order: 'name' })).toEqual(['3', '2', '1', '4']);
    expect(idsOf({ order: 'spent' }).slice(0, 2)).toEqual(['2', '1']);
    expect(idsOf({ order: 'used' })).toEqual(['4', '3', '2', '1']);
  });

  test('is searched by words in the name and the hint', () => {
    expect(idsOf({ search: 'ROBOT' }).toSorted()).toEqual(['1', '2']);
    expect(idsOf({ search: ' 10 robot ' })).toEqual(['1']);
    expect(idsOf({ search: 'f00d' })).toEqual(['3']);
    expect(idsOf({ search: 'nobody' })).toEqual([]);
    expect(idsOf({ search: 'zoo', hasRevoked: false })).toEqual([]);
    expect(matchesOf([{ value: '1', label: 'Robot 10 (f00d)' }], 'f00 rob')).toHaveLength(1);
  });

  test('has each key on one page', () => {
    fc.assert(
      fc.property(fc.array(fc.nat()), fc.integer({ min: 1, max: 7 }), (list, size) => {
        const { pageCount } = pageOfList(list, 1, size);
        const pages = Array.from({ length: pageCount }, (_, at) => pageOfList(list, at + 1, size));
        expect(pages.flatMap(({ items }) => items)).toEqual(list);
        expect(pageOfList(list, 1_000, size)).toEqual(pages.at(-1) ?? pageOfList(list, 1, size));
        expect(pageOfList(list, 0, size).number).toBe(1);
      }),
    );
  });

  test.each([
    ['active', '16.3', '0', 'active'],
    ['active', '16.3', '0.2', 'near_limit'],
    ['active', '20.4', '0', 'near_limit'],
    ['replaced', '20.4', '0', 'replaced'],
    ['active', '20.5', '0', 'at_limit'],
    ['active', '20', '0.5', 'at_limit'],
    ['replaced', '21', '0', 'at_limit'],
    ['expired', '21', '0', 'expired'],
    ['revoked', '21', '0', 'revoked'],
  ] as const)('a key that is %s with %s spent and %s held is shown as %s', (state, spent, held, shown) => {
    expect(shownStateOf({ ...key, state, month_spent: spent, held })).toBe(shown);
    expect(shownStateOf({ ...key, state, month_spent: spent, held, monthly_limit: null })).toBe(state);
  });

  test.each([
    ['active', '0.03', '0.05', 'blocked'],
    ['replaced', '0.03', '0.05', 'blocked'],
    ['active', '0.05', '0.05', 'near_limit'],
    ['active', '0.149999999999', '0.05', 'near_limit'],
    ['active', '0.15', '0.05', 'active'],
    ['active', '0.03', null, 'active'],
    ['revoked', null, null, 'revoked'],
  ] as const)(
    'a key that is %s with %s left, whose requests hold %s, is shown as %s',
    (state, left, hold, shown) => {
      const limited = { ...key, state, month_spent: '4.5', month_left: left, typical_hold: hold };
      expect(shownStateOf(limited)).toBe(shown);
      expect(describeTightLimit(limited)?.tone).toBe(
        shown === 'blocked' ? 'bad' : shown === 'near_limit' ? 'warn' : undefined,
      );
    },
  );

  test('a key that is blocked says what is left and what a request holds', () => {
    const blocked = { ...key, month_spent: '4.5', month_left: '0.03', typical_hold: '0.05' };
    expect(describeTightLimit(blocked)).toEqual({
      tone: 'bad',
      label: 'Blocked',
      why: '$0.03 left, a typical request holds $0.05',
    });
    expect(describeTightLimit({ ...key, month_spent: '20.4' })).toMatchObject({
      label: 'Near limit',
      why: null,
    });
  });
});
