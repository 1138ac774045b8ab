/** Whole imports: from a file to a request with the customer's old key, through a real gateway. */
import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import OpenAI from 'openai';
import { suspendAccountAs } from '../../src/accounts/changes.ts';
import { ApiError } from '../../src/errors.ts';
import { applyPlan } from '../../src/imports/apply.ts';
import type { CreateLimit, NewLimit } from '../../src/imports/limits.ts';
import type { Plan } from '../../src/imports/plan.ts';
import { importKeyAs } from '../../src/keys/key-changes.ts';
import { hashKey } from '../../src/keys/key-format.ts';
import { findKeysByHash } from '../../src/keys/key-store.ts';
import { createLimitAs } from '../../src/limits/limit-store.ts';
import { type ChatFixture, type ErrorBody, openChatFixture } from '../support/chat-fixture.ts';
import { outcomeOf, runCommand } from '../support/commands.ts';
import { eventually } from '../support/eventually.ts';
import { temporaryFolder, tollgate } from '../support/gateway.ts';

let fixture: ChatFixture;
const folder = temporaryFolder();

beforeAll(async () => {
  fixture = await openChatFixture();
});

afterAll(() => fixture.close());

const file = (name: string, text: string | Uint8Array) => {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
};

const client = (apiKey: string) =>
  new OpenAI({ baseURL: `${fixture.gateway.origin}/v1`, apiKey, maxRetries: 0 });
const chat = async (key: string) =>
  await client(key).chat.completions.create({
    model: 'full',
    messages: [{ role: 'user', content: 'Hello' }],
  });

async function refusalOf(key: string): Promise<string> {
  const response = await fetch(`${fixture.gateway.origin}/v1/models`, {
    headers: { authorization: `Bearer ${key}` },
  });
  if (response.ok) return 'accepted';
  const { error } = (await response.json()) as ErrorBody;
  return `${response.status} ${error.code}: ${error.message}`;
}

const accepted = (key: string) =>
  eventually('the key is known', async () => (await refusalOf(key)) === 'accepted');

/** How many rows there are of everything that an import may write. */
async function counts() {
  const [row] = await fixture.database.sql`
    select (select count(*) from accounts)::int as accounts, (select count(*) from api_keys)::int as keys,
      (select count(*) from imported_keys)::int as imported, (select count(*) from users)::int as users,
      (select count(*) from memberships)::int as members, (select count(*) from ledger_entries)::int as entries,
      (select count(*) from audit_log)::int as changes`;
  return row as Record<string, number>;
}

type Report = {
  dry_run: boolean;
  made: Record<string, number>;
  dropped: { what: string }[];
  warnings: string[];
};

const teamKey = 'sk-litellm-team-key-0123456789';
const blockedKey = 'sk-litellm-blocked-key-0123456789';
const hex = (key: string) => hashKey(key).toString('hex');

const litellmDump = `--
-- PostgreSQL database dump
--

\\restrict x

SET standard_conforming_strings = on;

COPY public."LiteLLM_CredentialsTable" (credential_id, credential_values) FROM stdin;
1\t{"api_key": "sk-provider-canary"}
\\.

COPY public."LiteLLM_EndUserTable" (user_id, blocked, budget_id) FROM stdin;
\\.

COPY public."LiteLLM_TeamMembership" (user_id, team_id, spend, budget_id) FROM stdin;
\\.

COPY public."LiteLLM_TeamTable" (team_id, team_alias, members_with_roles, models, blocked, max_budget, spend) FROM stdin;
team-1\tResearch\t[{"role": "admin", "user_id": "u1"}]\t{}\tf\t5\t1.25
\\.

COPY public."LiteLLM_UserTable" (user_id, user_email, user_role, spend) FROM stdin;
u1\tann@example.com\tproxy_admin\t0
\\.

COPY public."LiteLLM_VerificationToken" (token, key_name, key_alias, spend, expires, models, team_id, blocked, max_budget, budget_duration, rpm_limit, metadata) FROM stdin;
${hex(teamKey)}\tsk-...6789\tAgent\t0.5\t\\N\t{full}\tteam-1\t\\N\t2.5\t30d\t60\t{}
${hex(blockedKey)}\tsk-...6789\tOld\t0\t\\N\t{}\tteam-1\tt\t\\N\t\\N\t\\N\t{}
${hex('sk-limited')}\tsk-...ited\tLimited\t0\t\\N\t{}\tteam-1\t\\N\t\\N\t\\N\t\\N\t{"model_rpm_limit": {"full": 1}}
\\.
`;

describe('from LiteLLM', () => {
  const dump = file('litellm.sql', litellmDump);
  const words = ['import', 'litellm', dump, '--balance', 'remaining'];

  test('a dry run says what it would make, and writes nothing', async () => {
    fixture.canaries.add('sk-provider-canary');
    expect(await refusalOf(teamKey)).toContain('401 invalid_api_key: This is not a key of this gateway');
    const before = await counts();
    const { text } = await outcomeOf([...words, '--dry-run'], fixture.environment);
    for (const expected of [
      'Account Research (external ID team-1)',
      'credit: 3.75 USD',
      'owner: ann@example.com',
      'budget 5 for life, 3.75 of it left → balance: 3.75 USD added',
      'key Agent sk-…6789',
      'budget 2.5 per 30d → 2.5 USD a month',
      'requests per minute: 60 → 60 requests per minute',
      'key Limited sk-…ited: these have no counterpart: its model_rpm_limit',
      'This would make 1 accounts, 2 keys, 0 limits, 1 credits, 1 users. Nothing was written.',
    ])
      expect(text).toContain(expected);
    for (const secret of [hex(teamKey), teamKey, 'provider-canary']) expect(text).not.toContain(secret);
    expect(await counts()).toEqual(before);
    expect(await refusalOf(teamKey)).toContain('This is not a key of this gateway');
  });

  test('the customer goes on with the same key, and is charged', async () => {
    fixture.canaries.add(teamKey);
    const { made, dropped } = await runCommand<Report>(words, fixture.environment);
    expect(made).toMatchObject({ accounts: 1, keys: 2, credits: 1, people: 1 });
    expect(dropped.filter(({ what }) => what === 'key')).toHaveLength(1);
    await accepted(teamKey);
    const completion = await chat(teamKey);
    expect(completion.choices[0]?.message.content).toBe('You said: Hello');
    const [entry] = await fixture.database.sql`
      select kind, amount < 0 as is_paid, balance_after < 3.75 as is_less from ledger_entries
      join account_details using (account_id) where external_id = 'team-1' order by number desc limit 1`;
    expect(entry).toEqual({ kind: 'charge', is_paid: true, is_less: true });
    const models: string[] = [];
    for await (const { id } of client(teamKey).models.list()) models.push(id);
    expect(models).toEqual(['full']);
  });

  test('other keys of that form stay unknown, and so does one that was blocked', async () => {
    expect(await refusalOf('sk-litellm-nobody-0123456789')).toBe(await refusalOf(blockedKey));
    expect(await refusalOf(blockedKey)).toContain('401 invalid_api_key: The API key is missing');
    expect(await refusalOf(`svc_sk_${'0'.repeat(46)}`)).toContain('incomplete or mistyped');
    expect(await refusalOf('short')).toContain('This is not a key of this gateway');
  });

  test('a second run makes nothing', async () => {
    const before = await counts();
    const { made } = await runCommand<Report>(words, fixture.environment);
    expect(made).toMatchObject({
      accounts: 0,
      accounts_found: 1,
      keys: 0,
      keys_found: 2,
      credits: 0,
      credits_found: 1,
    });
    expect(await counts()).toEqual(before);
    const { text } = await outcomeOf([...words, '--dry-run'], fixture.environment);
    expect(text).toMatch(/These accounts were there before, .*: Research \([0-9a-f-]{36}\)\./);
    const other = await runCommand<Report>([...words.slice(0, -1), '7'], fixture.environment);
    expect(other.warnings.join()).toContain('was credited 3.75 USD by an earlier import');
    expect(await counts()).toEqual(before);
  });

  test('the log says who imported what', async () => {
    const changes = await fixture.database.sql<
      { action: string; door: string; name: string; source: string }[]
    >`
      select action, door, after ->> 'name' as name, after ->> 'imported_from' as source from audit_log
      join account_details using (account_id) where external_id = 'team-1' and action = 'create_key' order by id`;
    expect([...changes]).toEqual([
      { action: 'create_key', door: 'cli', name: 'Agent', source: 'litellm' },
      { action: 'create_key', door: 'cli', name: 'Old', source: 'litellm' },
    ]);
  });
});

test('limits of keys, accounts and end users are stored, and apply to the next request', async () => {
  const key = 'sk-with-limits-0123456789';
  const common = { key_name: 'sk-...6789', team_id: 'limited', models: [] };
  const day = { max_budget: 0.0000001, budget_duration: '1d', tpm_limit: 1_000_000 };
  const week = { max_budget: 9, budget_duration: '7d', rpm_limit: 50 };
  const lists = {
    keys: [{ token: hex(key), key_alias: 'Limited', ...common, ...day }],
    teams: [{ team_id: 'limited', team_memberships: [], ...week }],
    customers: [{ user_id: 'eve', blocked: true }],
  };
  const words = ['import', 'litellm', file('limits.json', JSON.stringify(lists)), '--balance', '5'];
  await runCommand<Report>(words, fixture.environment);
  await runCommand<Report>(words, fixture.environment);
  const rows = await fixture.database.sql<{ text: string }[]>`
    select concat_ws(' ', scope, end_user, kind, amount::float8) as text
    from limits join account_details using (account_id) where external_id = 'limited' order by text`;
  expect(rows.map(({ text }) => text)).toEqual([
    'account requests_per_minute 50',
    'account spend_per_week 9',
    'end_user eve spend_per_day 0',
    'key spend_per_day 1e-07',
    'key tokens_per_minute 1000000',
  ]);
  await accepted(key);
  expect(await chat(key).then(() => 'served', String)).toContain('per day for this API key');
});

describe('an account that exists', () => {
  const limitsOf = async (accountId: string) => {
    const rows = await fixture.database.sql<{ text: string }[]>`
      select concat_ws(' ', scope, end_user, kind, amount::float8) as text from limits
      where account_id = ${accountId} order by text`;
    return rows.map(({ text }) => text);
  };
  const withoutLastLine = (text: string) => text.split('\n').slice(0, -1);

  /** The dry run has to say what the real one then says. */
  async function importTwice(words: readonly string[]) {
    const dry = await outcomeOf([...words, '--dry-run'], fixture.environment);
    const real = await outcomeOf([...words], fixture.environment);
    expect(withoutLastLine(dry.text)).toEqual(withoutLastLine(real.text));
    expect(dry.warnings).toEqual(real.warnings ?? []);
    const lastLine = real.text.split('\n').at(-1) ?? '';
    expect(dry.text).toContain(lastLine.replace('Made ', 'This would make '));
    return { text: real.text, lastLine };
  }

  test('gets the limits that it does not have, and none becomes looser', async () => {
    const { id } = await runCommand<{ id: string }>(
      ['account', 'create', '--name', 'Here'],
      fixture.environment,
    );
    const set = (...words: string[]) =>
      runCommand<unknown>(['limit', 'set', ...words, '--account', id], fixture.environment);
    await set('spend-per-day', '20', '--end-user', 'joe');
    await set('spend-per-day', '2', '--end-user', 'kim');
    await set('spend-per-week', '3', '--each-end-user');
    const budget = (max: number, duration: string) => ({
      litellm_budget_table: { max_budget: max, budget_duration: duration },
    });
    const lists = {
      keys: [{ token: hex('sk-unowned-0123456789'), key_alias: 'Unowned', models: [] }],
      teams: [],
      customers: [
        { user_id: 'eve', blocked: true },
        { user_id: 'joe', ...budget(5, '1d') },
        { user_id: 'kim', ...budget(5, '1d') },
        { user_id: 'ann', ...budget(10, '7d') },
        { user_id: 'bob', ...budget(1, '7d') },
      ],
    };
    const path = file('existing.json', JSON.stringify(lists));
    const words = ['import', 'litellm', path, '--balance', 'none', '--account', id];
    const { text, lastLine } = await importTwice(words);
    expect(lastLine).toBe(
      'Made 0 accounts (1 were there before), 1 keys, 2 limits (2 were there before), 0 credits, 0 users.',
    );
    expect(text).toContain('  end user eve: 0 USD a day\n');
    expect(text).toContain(
      'end user joe: 20 USD a day is the limit here, which stays and is looser than 5 USD a day',
    );
    expect(text).toContain(
      'end user ann: 10 USD a week is not set: the limit of each end user here, 3 USD a week',
    );
    expect(text).not.toContain('end user kim');
    expect(await limitsOf(id)).toEqual([
      'each_end_user spend_per_week 3',
      'end_user bob spend_per_week 1',
      'end_user eve spend_per_day 0',
      'end_user joe spend_per_day 20',
      'end_user kim spend_per_day 2',
    ]);
    expect((await importTwice(words)).lastLine).toContain(' 0 keys (1 were there before), 0 limits (4 were');
  });

  test('that two owners share gets each limit once', async () => {
    const [account] = await fixture.database.sql<[{ id: string }]>`
      select account_id as id from account_details where external_id = 'team-1'`;
    const lists = {
      keys: [{ token: hex('sk-shared-0123456789'), key_alias: 'Shared', models: [] }],
      teams: [{ team_id: 'team-1', team_memberships: [] }],
      customers: [{ user_id: 'eve', blocked: true }],
    };
    const path = file('shared.json', JSON.stringify(lists));
    const words = ['import', 'litellm', path, '--balance', 'none', '--account', account.id];
    expect((await importTwice(words)).lastLine).toContain(' 1 keys, 1 limits (1 were there before)');
    expect(await limitsOf(account.id)).toEqual(['end_user eve spend_per_day 0']);
  });

  test('gets no new keys if it would be suspended', async () => {
    const key = (name: string) => ({
      ...{ token: hex(`sk-blocked-later-${name}`), key_alias: name, models: [], team_id: 'blocked-later' },
    });
    const team = { team_id: 'blocked-later', team_alias: 'Later', team_memberships: [] };
    const lists = { keys: [key('one')], teams: [team], customers: [] };
    const words = (name: string, content: object) => [
      ...['import', 'litellm', file(name, JSON.stringify(content)), '--balance', 'none'],
    ];
    await runCommand<Report>(words('before.json', lists), fixture.environment);
    const [account] = await fixture.database.sql<[{ id: string }]>`
      select account_id as id from account_details where external_id = 'blocked-later'`;
    const blocked = { ...team, blocked: true, max_budget: 9, budget_duration: '1d' };
    const after = words('after.json', { ...lists, keys: [key('one'), key('two')], teams: [blocked] });
    const { text, lastLine } = await importTwice(after);
    expect(text).toContain('Account Later (external ID blocked-later)\n');
    expect(text).toContain(
      'key two sk-…: its account Later would be suspended, but exists already and is not',
    );
    expect(text).toContain('replaced → 1\n');
    expect(lastLine).toContain(' 0 keys (1 were there before), 1 limits, ');
    expect(await limitsOf(account.id)).toEqual(['account spend_per_day 9']);
    await suspendAccountAs(fixture.database.sql, actor, account.id, true);
    const suspended = await importTwice(after);
    expect(suspended.text).toContain('Account Later (external ID blocked-later), suspended\n');
    expect(suspended.lastLine).toContain(' 1 keys (1 were there before), 0 limits (1 were there before)');
  });
});

describe('from new-api', () => {
  const bare = 'q7'.repeat(24);
  const path = join(folder, 'one-api.db');

  test('the SQLite file itself, through the program', async () => {
    fixture.canaries.add(bare);
    const database = new Database(path);
    database.run(
      'create table users (id integer primary key, username text, email text, role int, status int, quota int, "group" text, deleted_at datetime)',
    );
    database.run(
      'create table tokens (id integer primary key, user_id int, "key" char(48), name text, status int, expired_time bigint, remain_quota int, unlimited_quota numeric, model_limits_enabled numeric, model_limits text, allow_ips text, "group" text, deleted_at datetime)',
    );
    database.run('create table channels (id integer primary key, "key" text)');
    database.run('create table options ("key" text primary key, value text)');
    database.run("insert into users values (1, 'carl', 'carl@example.com', 1, 1, 1000000, 'default', null)");
    database.run(`insert into tokens values (1, 1, '${bare}', 'Laptop', 1, -1, 0, 1, 0, '', '', '', null)`);
    database.run("insert into channels values (1, 'sk-provider-canary')");
    database.close();
    const words = ['import', 'new-api', path, '--without-people'];
    const { exitCode, stdout, stderr } = await tollgate(words, fixture.environment);
    expect([exitCode, stderr]).toEqual([0, '']);
    expect(stdout).toContain('credit (USD): quota 1000000, 500000 per dollar: 2 → 2');
    expect(stdout).toContain('Made 1 accounts, 1 keys, 0 limits, 1 credits, 0 users.');
    expect(stdout).not.toContain(bare);
    await accepted(`sk-${bare}`);
    expect((await chat(`sk-${bare}`)).choices[0]?.message.content).toBe('You said: Hello');
    expect(await refusalOf(bare)).toContain('401 invalid_api_key');
    const [key] = await fixture.database.sql`select hint from api_keys where name = 'Laptop'`;
    expect(key).toEqual({ hint: 'sk-…q7q7' });
  });

  test.each([
    ['a file that is missing', join(folder, 'nothing.sql'), 'There is no file'],
    ['JSON', file('export.json', '{"keys": []}'), 'This is a JSON file'],
    ['a compressed file', file('dump.gz', new Uint8Array([0x1f, 0x8b])), 'is compressed'],
    ['UTF-16', file('utf-16.sql', new Uint8Array([0xff, 0xfe, 0x2d, 0])), 'is in UTF-16'],
    ['a custom dump', file('dump.pg', 'PGDMP...'), '--format=plain'],
    [
      'a damaged database',
      file('damaged.db', `SQLite format 3\0${'x'.repeat(200)}`),
      'cannot be read as a SQLite database',
    ],
    ['something else', file('else.txt', 'hello'), 'has no table tokens'],
  ])('%s is refused', async (_, name, message) => {
    const failure = await outcomeOf(['import', 'new-api', name], fixture.environment).catch(
      (error: unknown) => error,
    );
    expect(String(failure)).toContain(message);
  });
});

const actor = { door: 'cli', shellUser: 'test@host' } as const;

/** An account with two limits, a credit and two keys, each with a limit. */
function planOf(externalId: string): Plan {
  const limit = { endUser: null, kind: 'spend_per_day', amount: 10n ** 12n, increase: null } as const;
  const settings = {
    ...{ name: 'Limited', requestsPerMinute: 600, maxConcurrent: 200, monthlyLimit: null },
    ...{ allowedModels: null, expiresAt: null },
  };
  return {
    ...{ source: 'litellm', dropped: [], obstacles: [], totals: [] },
    accounts: [
      {
        ...{
          target: { externalId },
          name: 'Interrupted',
          isSuspended: false,
          priceGroup: null,
        },
        ...{ members: [], carried: [], limits: [limit, { ...limit, endUser: 'joe' }] },
        credit: { amount: 10n ** 12n, reference: externalId, memo: 'Balance' },
        keys: ['one', 'two'].map((name) => ({
          ...{
            hash: hashKey(`sk-${externalId}-${name}`),
            hint: 'sk-…',
            settings,
            limits: [limit],
            revokedAt: null,
            carried: [],
          },
        })),
      },
    ],
  };
}

test('a run that was interrupted can be repeated: a key never exists without its limits', async () => {
  const { sql } = fixture.database;
  const plan = planOf('interrupted');
  const made: NewLimit[] = [];
  const failing: CreateLimit = async (transaction, by, one) => {
    made.push(one);
    if (made.length === 4) throw new Error('The machine is gone.');
    await createLimitAs(transaction, by, one);
  };
  const failureOf = (run: Promise<unknown>) => run.then(String, String);
  expect(await failureOf(applyPlan(sql, actor, plan, null))).toContain('cannot store the limits');
  expect(await failureOf(applyPlan(sql, actor, plan, failing))).toContain('The machine is gone.');
  expect(made.map(({ scope, endUser }) => `${scope} ${endUser}`)).toEqual([
    ...['account null', 'end_user joe', 'key null', 'key null'],
  ]);
  const keys = () =>
    sql`select 1 from api_keys join account_details using (account_id) where external_id = 'interrupted'`;
  expect(await keys()).toHaveLength(1);
  expect(await applyPlan(sql, actor, plan, failing)).toMatchObject({
    ...{ accounts: 0, accountsFound: 1, keys: 1, keysFound: 1, credits: 0, creditsFound: 1 },
    ...{ limits: 1, limitsFound: 2 },
  });
  expect(await keys()).toHaveLength(2);
  expect(made).toHaveLength(5);
});

test('an existing account gets limits before keys, and one that someone else sets at the same moment stays', async () => {
  const { sql } = fixture.database;
  const withoutLimits = planOf('overtaken').accounts.map((account) => ({ ...account, limits: [], keys: [] }));
  await applyPlan(sql, actor, { ...planOf('overtaken'), accounts: withoutLimits }, createLimitAs);
  const refusing: CreateLimit = async () => {
    throw new ApiError('too_many_limits');
  };
  const refused = applyPlan(sql, actor, planOf('overtaken'), refusing);
  expect(await refused.then(String, String)).toStartWith('OperatorError: ');
  // The limits come first.
  expect(await findKeysByHash(sql, [hashKey('sk-overtaken-one')])).toEqual([null]);
  let isFirst = true;
  const late: CreateLimit = async (transaction, by, limit) => {
    if (isFirst) await sql.begin((other) => createLimitAs(other, by, limit));
    isFirst = false;
    return await createLimitAs(transaction, by, limit);
  };
  expect(await applyPlan(sql, actor, planOf('overtaken'), late)).toMatchObject({ limits: 3, limitsFound: 1 });
});

test('should the command stand still, the database ends its transaction', async () => {
  const { sql } = fixture.database;
  const seen = new Set<string>();
  const looking: CreateLimit = async (transaction) => {
    const [row] = await transaction<[{ idle: string }]>`
      select current_setting('idle_in_transaction_session_timeout') as idle`;
    seen.add(row.idle);
  };
  await applyPlan(sql, actor, planOf('bounded'), looking);
  expect([...seen]).toEqual(['10s']);
});

test('two runs at the same time make everything once', async () => {
  const { sql } = fixture.database;
  const run = () => applyPlan(sql, actor, planOf('simultaneous'), createLimitAs);
  const runs = await Promise.all([run(), run(), run()]);
  const sum = (name: 'accounts' | 'keys' | 'keysFound' | 'limits' | 'limitsFound' | 'credits') =>
    runs.reduce((total, made) => total + made[name], 0);
  expect([sum('accounts'), sum('keys'), sum('keysFound'), sum('credits')]).toEqual([1, 2, 4, 1]);
  expect([sum('limits'), sum('limitsFound')]).toEqual([4, 4]);
  const [account] = await sql<{ id: string }[]>`
    select account_id as id from account_details where external_id = 'simultaneous'`;
  const [key] = planOf('simultaneous').accounts[0]?.keys ?? [];
  if (account === undefined || key === undefined) throw new Error('There is no key.');
  const again = sql.begin((transaction) =>
    importKeyAs(transaction, actor, account.id, key.settings, { ...key, source: 'litellm' }),
  );
  expect(await again).toBeNull();
});
