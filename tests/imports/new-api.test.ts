/** What new-api's rows become. */
import { describe, expect, test } from 'bun:test';
import { planNewApi } from '../../src/imports/new-api.ts';
import type { NewApiChoices } from '../../src/imports/plan.ts';
import { describePlan } from '../../src/imports/report.ts';
import { Tables } from '../../src/imports/rows.ts';
import { hashKey } from '../../src/keys/key-format.ts';
import { formatMoneyShort } from '../../src/lib/money.ts';

const now = new Date('2026-11-17T12:00:00Z');
const here = {
  now,
  isInCatalog: (id: string) => id === 'small',
  isPriceGroup: (name: string) => name === 'vip',
};
const strict: NewApiChoices = {
  ...{ balance: 'remaining', allowUnknownModels: false, dropLimits: false, lifetimeAsMonthly: false },
  ...{ withoutPeople: false, quotaPerUsd: null, rate: '1', isBare: false, ignoreIpLimits: false },
};
const secret = 'Ab1'.repeat(16);
type Fields = Record<string, string | null>;
const user: Fields = {
  id: '1',
  username: 'ann',
  email: 'ann@example.com',
  role: '1',
  status: '1',
  quota: '1500000',
  group: 'default',
};
const token: Fields = {
  id: '1',
  user_id: '1',
  key: secret,
  name: 'Agent',
  status: '1',
  expired_time: '-1',
  unlimited_quota: '1',
};

function plan(lists: Record<string, Fields[]>, choices: Partial<NewApiChoices> = {}) {
  const tables = new Tables();
  for (const [table, rows] of Object.entries({ users: [user], tokens: [], options: [], ...lists })) {
    tables.found(table);
    for (const row of rows) tables.add(table, new Map(Object.entries(row)));
  }
  return planNewApi(tables, { ...strict, ...choices }, here);
}

function keyOf(more: Fields, choices: Partial<NewApiChoices> = {}) {
  const made = plan({ tokens: [{ ...token, ...more }] }, choices);
  return {
    key: made.accounts[0]?.keys[0],
    refused: made.dropped
      .filter(({ what }) => what === 'key')
      .map(({ reason }) => reason)
      .join(),
    details: made.dropped.map(({ reason }) => reason).join(),
  };
}

test('customers keep the key that they send', () => {
  const { key } = keyOf({});
  expect(key?.hash).toEqual(hashKey(`sk-${secret}`));
  expect(key).toMatchObject({
    hint: `sk-…${secret.slice(-4)}`,
    limits: [],
    revokedAt: null,
  });
  expect(keyOf({}, { isBare: true }).key).toMatchObject({
    hash: hashKey(secret),
    hint: `…${secret.slice(-4)}`,
  });
  expect(describePlan(plan({ tokens: [token] }))).not.toContain(secret);
});

test.each([
  ['enabled', { status: '1' }, null, null],
  ['disabled', { status: '2' }, now, null],
  ['expired', { status: '3', expired_time: '1700000000' }, null, new Date(1_700_000_000_000)],
  ['expired without a time', { status: '3' }, now, null],
  ['exhausted', { status: '4', unlimited_quota: '0', remain_quota: '0' }, now, null],
])('a token that is %s', (_, more, revokedAt, expiresAt) => {
  const { key } = keyOf(more);
  expect([key?.revokedAt, key?.settings.expiresAt] as unknown[]).toEqual([revokedAt, expiresAt]);
});

describe('what would be looser is refused', () => {
  test.each([
    ['addresses', { allow_ips: '10.0.0.0/8\n' }, { ignoreIpLimits: true }, '--ignore-ip-limits'],
    [
      'a quota for life',
      { unlimited_quota: '0', remain_quota: '250000' },
      { lifetimeAsMonthly: true },
      '--lifetime-as-monthly',
    ],
    [
      'unknown models',
      { model_limits_enabled: '1', model_limits: 'small,big' },
      { allowUnknownModels: true },
      'big',
    ],
  ])('%s', (_, more, choice, words) => {
    expect(keyOf(more).key).toBeUndefined();
    expect(keyOf(more).refused).toContain(words);
    expect(keyOf(more, choice).key).toBeDefined();
  });

  test('a quota for life becomes what is left of it per month', () => {
    const { key } = keyOf({ unlimited_quota: '0', remain_quota: '250000' }, { lifetimeAsMonthly: true });
    expect(formatMoneyShort(key?.settings.monthlyLimit ?? 0n)).toBe('0.5');
  });

  test.each([
    ['a key of another form', { key: 'short' }, 'form'],
    ['a key with a comma', { key: `${secret.slice(1)},` }, 'form'],
    ['a quota that is no number', { unlimited_quota: '0', remain_quota: 'x' }, 'quota cannot be read'],
    ['an empty list of models', { model_limits_enabled: 't', model_limits: '' }, 'allows no model'],
    ['a user who is missing', { user_id: '9' }, 'user is not in the file'],
  ])('%s, always', (_, more, reason) => {
    const { key, refused } = keyOf(more, { lifetimeAsMonthly: true, allowUnknownModels: true });
    expect([key, refused.includes(reason)]).toEqual([undefined, true]);
  });

  test('a list of models counts only if it is on', () => {
    expect(keyOf({ model_limits_enabled: '0', model_limits: 'big' }).key?.settings.allowedModels).toBeNull();
    expect(
      keyOf({ model_limits_enabled: '1', model_limits: 'small, small' }).key?.settings.allowedModels,
    ).toEqual(['small']);
  });
});

test('users become accounts with their quota, once', () => {
  const users = [
    user,
    {
      ...user,
      id: '2',
      display_name: 'Bob',
      email: '',
      quota: '-5',
      status: '2',
      group: 'vip',
      role: '100',
      aff_quota: '500000',
    },
    { ...user, id: '3', deleted_at: '2026-01-01 00:00:00' },
  ];
  const options = [{ key: 'GroupRatio', value: '{"default":0.8,"vip":0.5}' }];
  const made = plan({ users, options, tokens: [token, { ...token, user_id: '3', key: 'x' }] });
  expect(
    made.accounts.map(({ target, name, isSuspended, members, priceGroup, credit }) => ({
      ...{ target, name, isSuspended, members, priceGroup },
      credit: credit === null ? null : [formatMoneyShort(credit.amount), credit.reference],
    })),
  ).toEqual([
    {
      ...{ target: { externalId: 'new-api:1' }, name: 'ann', isSuspended: false, priceGroup: null },
      members: [{ email: 'ann@example.com', role: 'owner' }],
      credit: ['3', 'new-api:user:1'],
    },
    {
      ...{
        target: { externalId: 'new-api:2' },
        name: 'Bob',
        isSuspended: true,
        priceGroup: 'vip',
        members: [],
        credit: null,
      },
    },
  ]);
  const reasons = made.dropped.map(({ reason }) => reason).join('\n');
  for (const words of [
    'pays 0.8 times',
    'begins at 0',
    'referral credit of 1 USD',
    'administrator',
    'no e-mail',
  ])
    expect(reasons).toContain(words);
  expect(made.totals).toContainEqual({
    ...{ what: 'credit (USD)', before: 'quota 1500000, 500000 per dollar: 3', after: '3' },
  });
});

test('without the table of settings, the unit has to be given', () => {
  const tables = new Tables();
  tables.add('users', new Map(Object.entries(user)));
  expect(planNewApi(tables, strict, here).obstacles[0]).toContain('--quota-per-usd');
  const [account] = planNewApi(tables, { ...strict, quotaPerUsd: '1000000', rate: '0.14' }, here).accounts;
  expect(formatMoneyShort(account?.credit?.amount ?? 0n)).toBe('0.21');
  expect(plan({}, { balance: 'none' }).accounts[0]?.credit).toBeNull();
  expect(plan({}, { balance: 7n }).accounts[0]?.credit?.amount).toBe(7n);
});

test('subscriptions are listed', () => {
  const subscription = {
    user_id: '1',
    amount_total: '1000000',
    amount_used: '250000',
    end_time: '4000000000',
    status: 'active',
  };
  const rows = [subscription, { ...subscription, amount_total: '0' }, { ...subscription, end_time: '1' }];
  const reasons = plan({ user_subscriptions: rows }).dropped.map(({ reason }) => reason);
  expect(reasons).toEqual(['a subscription, 1.5 USD left', 'a subscription, without a limit']);
});
