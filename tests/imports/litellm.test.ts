/** What LiteLLM's rows become: nothing that was limited may become less limited without a word. */
import { describe, expect, test } from 'bun:test';
import { readJsonExport } from '../../src/imports/json-export.ts';
import { planLitellm } from '../../src/imports/litellm.ts';
import { litellmFile } from '../../src/imports/litellm-file.ts';
import type { LitellmChoices, Plan } from '../../src/imports/plan.ts';
import { describePlan } from '../../src/imports/report.ts';
import { Tables } from '../../src/imports/rows.ts';
import { formatMoneyShort } from '../../src/lib/money.ts';

const now = new Date('2026-11-17T12:00:00Z');
const here = {
  now,
  isInCatalog: (id: string) => ['small', 'large'].includes(id),
  isPriceGroup: () => false,
};
const strict: LitellmChoices = {
  balance: 'none',
  allowUnknownModels: false,
  dropLimits: false,
  lifetimeAsMonthly: false,
  withoutPeople: false,
  byOrganization: false,
  accountId: null,
};
const token = (digit: string) => digit.repeat(64);
const ordinary = {
  token: token('a'),
  key_alias: 'Agent',
  key_name: 'sk-...wxyz',
  models: [],
  team_id: 'team-1',
};
const team = { team_id: 'team-1', team_alias: 'Research', team_memberships: [] };

function plan(lists: Record<string, unknown[]>, choices: Partial<LitellmChoices> = {}): Plan {
  const tables = new Tables();
  const complete = { keys: [], teams: [team], users: [], budgets: [], customers: [], ...lists };
  readJsonExport(JSON.stringify(complete), litellmFile.wanted, litellmFile.jsonNames ?? new Map(), tables);
  return planLitellm(tables, { ...strict, ...choices }, here);
}

const keyOf = (
  more: object,
  choices: Partial<LitellmChoices> = {},
  lists: Record<string, unknown[]> = {},
) => {
  const made = plan({ keys: [{ ...ordinary, ...more }], ...lists }, choices);
  const [key] = made.accounts.flatMap(({ keys }) => keys);
  const refused = made.dropped.filter(({ what }) => what === 'key').map(({ reason }) => reason);
  return { key, refused: refused.join(), details: made.dropped.map(({ reason }) => reason), made };
};

test('a key keeps its hash, name, hint, rates, models and expiry', () => {
  const { key } = keyOf({
    ...{ rpm_limit: 60, max_parallel_requests: 5 },
    ...{ models: ['small'], expires: '2027-01-31T00:00:00+00:00' },
  });
  expect(key).toMatchObject({
    hint: 'sk-…wxyz',
    revokedAt: null,
    limits: [],
    settings: {
      name: 'Agent',
      requestsPerMinute: 60,
      maxConcurrent: 5,
      monthlyLimit: null,
      allowedModels: ['small'],
      expiresAt: new Date('2027-01-31T00:00:00Z'),
    },
  });
  expect(key?.hash.toString('hex')).toBe(token('a'));
});

test('a token that is no hash is hashed, and never printed', () => {
  const { key, made } = keyOf({ token: 'my-own-secret-key', key_name: 'my-own-secret-key', key_alias: null });
  expect(key?.hash.toString('hex')).toBe(
    new Bun.CryptoHasher('sha256').update('my-own-secret-key').digest('hex'),
  );
  expect(JSON.stringify([describePlan(made), key?.hint, key?.settings.name])).not.toContain('secret');
});

describe('budgets', () => {
  test.each([
    ['a day', { max_budget: 3, budget_duration: '1d' }, { monthly: null, limits: ['spend_per_day 3'] }],
    ['a week', { max_budget: 3.5, budget_duration: '7d' }, { monthly: null, limits: ['spend_per_week 3.5'] }],
    ['a month', { max_budget: 3, budget_duration: '30d' }, { monthly: '3', limits: [] }],
    [
      'several at once, with tokens',
      {
        tpm_limit: 1_000,
        budget_limits: [
          { budget_duration: '1d', max_budget: 2 },
          { budget_duration: '1mo', max_budget: 20 },
          { budget_duration: '30d', max_budget: 10 },
        ],
      },
      { monthly: '10', limits: ['spend_per_day 2', 'tokens_per_minute 1000'] },
    ],
  ])('%s', (_, more, { monthly, limits }) => {
    const { key } = keyOf(more);
    const monthlyLimit = key?.settings.monthlyLimit ?? null;
    expect(monthlyLimit === null ? null : formatMoneyShort(monthlyLimit)).toBe(monthly);
    expect(key?.limits.map(({ kind, amount }) => `${kind} ${formatMoneyShort(amount)}`)).toEqual(limits);
  });

  test('of a shared row count if they are stricter, with their temporary increase', () => {
    const budgets = [
      {
        ...{ budget_id: 'b', max_budget: 1, budget_duration: '1d', rpm_limit: 5 },
        ...{ temp_budget_increase: 2, temp_budget_expiry: '2026-12-01T00:00:00Z' },
      },
    ];
    const { key } = keyOf(
      { budget_id: 'b', max_budget: 3, budget_duration: '1d', rpm_limit: 9 },
      {},
      { budgets },
    );
    expect(key?.limits).toEqual([
      {
        ...{ endUser: null, kind: 'spend_per_day', amount: 10n ** 12n },
        increase: { amount: 2n * 10n ** 12n, until: new Date('2026-12-01T00:00:00Z') },
      },
    ]);
    expect(key?.settings.requestsPerMinute).toBe(5);
    expect(keyOf({ budget_id: 'gone' }).refused).toContain('its budget, which the file does not have');
  });

  test('for life become monthly only if that is asked for', () => {
    const more = { max_budget: 10, spend: 2.5 };
    expect(keyOf(more).refused).toContain('--lifetime-as-monthly');
    const { key } = keyOf(more, { lifetimeAsMonthly: true });
    expect(formatMoneyShort(key?.settings.monthlyLimit ?? 0n)).toBe('7.5');
    const { key: spent } = keyOf({ ...more, spend: 11 }, { lifetimeAsMonthly: true });
    expect(spent?.settings.monthlyLimit).toBe(0n);
  });
});

describe('what would be looser is refused', () => {
  test.each([
    ['budgets per model', { model_max_budget: { small: { budget_limit: 1 } } }],
    ['tokens a day', { tpd_limit: 100 }],
    ['odd periods', { max_budget: 1, budget_duration: '14d' }],
    ['rates per model', { metadata: { model_rpm_limit: { small: 1 } } }],
    ['guardrails', { metadata: JSON.stringify({ guardrails: ['x'] }) }],
    ['routes', { allowed_routes: ['/chat/completions'] }],
    ['projects', { project_id: 'p' }],
    ['organisations that are missing', { organization_id: 'o' }],
  ])('%s, unless limits may be dropped', (_, more) => {
    const { key, refused } = keyOf(more);
    expect(key).toBeUndefined();
    expect(refused).toContain('--drop-limits');
    const loose = keyOf(more, { dropLimits: true });
    expect(loose.key).toBeDefined();
    expect(loose.details.length).toBeGreaterThan(0);
  });

  test.each([
    ['a key for management', { key_type: 'management' }, 'not for inference'],
    ['a key for its management routes', { allowed_routes: ['management_routes'] }, 'not for inference'],
    ['no requests at all', { rpm_limit: 0 }, 'allows no request'],
    ['no models at all', { models: ['no-default-models'] }, 'allows no model'],
    ['a budget that is no number', { max_budget: 'NaN' }, 'max_budget cannot be read'],
    ['an expiry that is no time', { expires: 'soon' }, 'expiry cannot be read'],
    ['a team that is missing', { team_id: 'gone' }, 'team is not in the file'],
    ['a user who is missing', { team_id: null, user_id: 'gone' }, 'user is not in the file'],
  ])('%s, always', (_, more, reason) => {
    const { key, refused } = keyOf(more, { dropLimits: true, allowUnknownModels: true });
    expect(key).toBeUndefined();
    expect(refused).toContain(reason);
  });

  test('members with a budget of their own, and files that do not tell', () => {
    const users = [{ user_id: 'u' }];
    const budget = { user_id: 'u', team_id: 'team-1', litellm_budget_table: { max_budget: 1 } };
    const limited = { ...team, team_memberships: [budget] };
    expect(keyOf({ user_id: 'u' }, {}, { users, teams: [limited] }).refused).toContain('budget of its owner');
    const silent = { team_id: 'team-1' };
    expect(keyOf({ user_id: 'u' }, {}, { users, teams: [silent] }).refused).toContain('limits of members');
    expect(keyOf({ user_id: 'u' }, {}, { users }).refused).toBe('');
  });

  test('limits of a team without a counterpart keep all of its keys out', () => {
    const teams = [{ ...team, tpd_limit: 5 }];
    const { key, refused } = keyOf({}, {}, { teams });
    expect([key, refused.includes('tokens a day')]).toEqual([undefined, true]);
  });
});

describe('models', () => {
  test.each([
    [['small'], ['small', 'large'], ['small']],
    [['all-team-models'], ['large'], ['large']],
    [[], ['large'], ['large']],
    [['all-proxy-models'], [], null],
  ])('%p of a key in a team with %p', (models, teamModels, allowed) => {
    const { key } = keyOf({ models }, {}, { teams: [{ ...team, models: teamModels }] });
    expect(key?.settings.allowedModels as unknown).toEqual(allowed);
  });

  test('that are unknown stay only if that is asked for', () => {
    expect(keyOf({ models: ['small', 'openai/*'] }).refused).toContain('openai/*');
    const { key, details } = keyOf({ models: ['small', 'openai/*'] }, { allowUnknownModels: true });
    expect(key?.settings.allowedModels).toEqual(['small', 'openai/*']);
    expect(details.join()).toContain('not in the catalogue yet: openai/*');
  });
});

test('a blocked key is revoked, and a replaced one ends when it would have', () => {
  expect(keyOf({ blocked: true }).key?.revokedAt).toEqual(now);
  const replaced = { token: token('b'), active_token_id: token('a'), revoke_at: '2026-11-20T00:00:00Z' };
  const over = { ...replaced, token: token('c'), revoke_at: '2026-11-01T00:00:00Z' };
  const { accounts } = plan({ keys: [ordinary], replaced_keys: [replaced, over] });
  expect(accounts[0]?.keys.map(({ hash, revokedAt }) => [hash.toString('hex')[0], revokedAt])).toEqual([
    ['a', null],
    ['b', new Date('2026-11-20T00:00:00Z')],
  ]);
});

test('teams, users and nobody become accounts, with their people, limits and balances', () => {
  const users = [
    { user_id: 'u1', user_email: 'Ann@example.com', user_role: 'proxy_admin', max_budget: 10, spend: 4 },
    { user_id: 'u2', user_email: 'bob@example.com' },
    { user_id: 'u3', user_email: null },
  ];
  const teams = [
    {
      ...team,
      ...{
        blocked: true,
        max_budget: 50,
        budget_duration: '1mo',
        rpm_limit: 100,
        tpm_limit: 5,
        max_parallel_requests: 7,
      },
      members_with_roles: [
        { role: 'user', user_id: 'u2' },
        { role: 'admin', user_id: 'u1' },
        { role: 'user', user_id: 'u3' },
      ],
    },
  ];
  const keys = [
    ordinary,
    { ...ordinary, token: token('b'), team_id: null, user_id: 'u1' },
    { ...ordinary, token: token('c'), team_id: null },
    { ...ordinary, token: token('d'), team_id: 'litellm-dashboard' },
  ];
  const made = plan({ keys, teams, users }, { balance: 'remaining' });
  expect(
    made.accounts.map(({ target, name, isSuspended, members, limits, credit, keys: own }) => ({
      ...{ target, name, isSuspended, members, keys: own.length },
      limits: limits.map(({ kind, amount }) => `${kind} ${formatMoneyShort(amount)}`),
      credit: credit === null ? null : [formatMoneyShort(credit.amount), credit.reference],
    })),
  ).toEqual([
    {
      ...{ target: { externalId: 'team-1' }, name: 'Research', isSuspended: true, keys: 1, credit: null },
      members: [
        { email: 'bob@example.com', role: 'member' },
        { email: 'ann@example.com', role: 'owner' },
      ],
      limits: [
        'spend_per_month 50',
        'requests_per_minute 100',
        'tokens_per_minute 5',
        'concurrent_requests 7',
      ],
    },
    {
      ...{
        target: { externalId: 'user:u1' },
        name: 'Ann@example.com',
        isSuspended: false,
        keys: 1,
        limits: [],
      },
      members: [{ email: 'ann@example.com', role: 'owner' }],
      credit: ['6', 'litellm:user:u1'],
    },
    {
      ...{ target: { externalId: 'litellm:nobody' }, name: 'Imported from LiteLLM', isSuspended: false },
      ...{ members: [], limits: [], credit: null, keys: 1 },
    },
  ]);
  expect(made.dropped.map(({ reason }) => reason).join()).toContain('no e-mail address: u3');
});

test('an account per organisation takes the keys of its teams, unless a team has limits of its own', () => {
  const organizations = [
    {
      organization_id: 'o',
      organization_alias: 'Org',
      litellm_budget_table: { max_budget: 9, budget_duration: '1d' },
    },
  ];
  const teams = [
    { ...team, organization_id: 'o' },
    { ...team, team_id: 'team-2', organization_id: 'o', rpm_limit: 5 },
  ];
  const keys = [ordinary, { ...ordinary, token: token('b'), team_id: 'team-2' }];
  const made = plan({ keys, teams, organizations }, { byOrganization: true });
  expect(made.accounts.map(({ name, keys: own, limits }) => [name, own.length, limits.length])).toEqual([
    ['Org', 1, 1],
  ]);
  expect(made.dropped[0]?.reason).toContain('the limits of its team');
  expect(plan({ keys: [ordinary], teams, organizations }).dropped[0]?.reason).toContain(
    'budget of its organization',
  );
});

test('end users keep their limits in every account, and a file without them is an obstacle', () => {
  const customers = [
    { user_id: 'eve', blocked: true },
    { user_id: 'joe', litellm_budget_table: { max_budget: 1, budget_duration: '1d' } },
    { user_id: 'sue' },
  ];
  const { accounts } = plan({ keys: [ordinary], customers });
  expect(
    accounts[0]?.limits.map(({ endUser, kind, amount }) => [endUser, kind, formatMoneyShort(amount)]),
  ).toEqual([
    ['eve', 'spend_per_day', '0'],
    ['joe', 'spend_per_day', '1'],
  ]);
  const odd = [{ user_id: 'joe', litellm_budget_table: { max_budget: 1 } }];
  expect(plan({ customers: odd }).obstacles[0]).toContain('for life');
  expect(plan({ customers: odd }, { dropLimits: true }).obstacles).toEqual([]);
  const tables = new Tables();
  readJsonExport('{"keys": []}', litellmFile.wanted, litellmFile.jsonNames ?? new Map(), tables);
  expect(planLitellm(tables, strict, here).obstacles[0]).toContain('LiteLLM_EndUserTable');
});

test('a team whose ID might be that of another owner is an obstacle', () => {
  const users = [{ user_id: 'alice' }];
  const ofAlice = { ...ordinary, token: token('b'), team_id: null, user_id: 'alice' };
  const obstaclesOf = (id: string, choices: Partial<LitellmChoices> = {}, more = {}) =>
    plan(
      {
        ...{ keys: [{ ...ordinary, team_id: id }, ofAlice], users },
        teams: [{ ...team, team_id: id, ...more }],
        organizations: [{ organization_id: 'x' }],
      },
      choices,
    ).obstacles;
  for (const id of ['user:alice', 'organization:x', 'litellm:nobody', 'new-api:1'])
    expect(obstaclesOf(id)).toEqual([
      expect.stringContaining(`team ${id}: its account could be that of another`),
    ]);
  expect(obstaclesOf('users')).toEqual([]);
  // Then the team becomes no account.
  expect(obstaclesOf('user:alice', { byOrganization: true }, { organization_id: 'x' })).toEqual([]);
});

test('nothing that others named can control the terminal', () => {
  const evil = 'x\u001b[2J\u202e\ny';
  const lists = {
    keys: [
      { ...ordinary, key_alias: evil, models: [evil], max_budget: 1, budget_duration: evil },
      { ...ordinary, token: token('b'), key_alias: evil, key_name: evil, user_id: evil },
      { ...ordinary, token: token('c'), team_id: 'x\u202e', models: ['x\u202e'] },
      { ...ordinary, token: token('d'), key_alias: null, key_name: 'sk-...\u001b[2J' },
      { ...ordinary, token: token('e'), key_alias: null, key_name: 'sk-...\u009b2JK', tpd_limit: 1 },
    ],
    teams: [
      { ...team, team_alias: evil, members_with_roles: [{ role: 'admin', user_id: evil }] },
      { ...team, team_id: 'x\u202e', max_budget: 1, budget_duration: evil },
      { ...team, team_id: 'user:\u202e', team_alias: null },
    ],
    customers: [{ user_id: evil, blocked: true }],
  };
  const loose = { dropLimits: true, allowUnknownModels: true, lifetimeAsMonthly: true };
  for (const choices of [{}, loose]) {
    const made = plan(lists, choices);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there.
    expect(describePlan(made)).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
    expect(JSON.stringify(made.accounts.map(({ keys }) => keys.map(({ hint }) => hint)))).not.toContain('2J');
  }
});
