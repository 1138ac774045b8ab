import { afterAll, beforeAll, expect, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { UsageError } from '../../src/cli/arguments.ts';
import { isWellFormedKey } from '../../src/keys/key-format.ts';
import { OperatorError } from '../../src/lib/operator-error.ts';
import { createDatabase, createEmptyDatabase, type TestDatabase } from '../support/cluster.ts';
import { outcomeOf, runCommand } from '../support/commands.ts';
import { shippedCatalog, temporaryFolder, tollgate, tollgateJson, writeCatalog } from '../support/gateway.ts';
import { impossible, settleAs } from '../support/rare-settlements.ts';

let database: TestDatabase;
let environment: Record<string, string>;

beforeAll(async () => {
  database = await createDatabase();
  environment = { DATABASE_URL: database.url };
});

afterAll(() => database.close());

const json = <Output = Record<string, unknown>>(...words: string[]) =>
  tollgateJson<Output>(words, environment);
/** What a test needs but is not about is created in this process, which takes a tenth of the time. */
const prepare = <Output = Record<string, unknown>>(...words: string[]) =>
  runCommand<Output>(words, environment);
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;

test('account create, credit and list', async () => {
  const created = await json<{ id: string; name: string; balance: string }>(
    'account',
    'create',
    '--name',
    'Acme',
    '--credit',
    '20.000000000001',
  );
  expect(created).toEqual({ id: expect.stringMatching(uuid), name: 'Acme', balance: '20.000000000001' });
  expect(await json('account', 'credit', created.id, '0.5', '--memo', 'Refund')).toEqual({
    entry: 2,
    id: created.id,
    balance: '20.500000000001',
  });
  const accounts = await json<{ id: string }[]>('account', 'list');
  expect(accounts.find((account) => account.id === created.id)).toMatchObject({
    name: 'Acme',
    balance: '20.500000000001',
    held: '0.000000000000',
    suspended: false,
  });
  const entries =
    await database.sql`select number, kind, amount, balance_after, memo from ledger_entries where account_id = ${created.id} order by number`;
  expect([...entries]).toEqual([
    {
      number: 1n,
      kind: 'credit',
      amount: '20.000000000001',
      balance_after: '20.000000000001',
      memo: 'Opening credit',
    },
    {
      number: 2n,
      kind: 'credit',
      amount: '0.500000000000',
      balance_after: '20.500000000001',
      memo: 'Refund',
    },
  ]);
});

test('credits at the same time all count', async () => {
  const { id } = await prepare<{ id: string }>('account', 'create', '--name', 'Busy');
  await Promise.all(Array.from({ length: 8 }, () => prepare('account', 'credit', id, '1.25')));
  const accounts = await prepare<{ id: string; balance: string }[]>('account', 'list');
  expect(accounts.find((account) => account.id === id)?.balance).toBe('10.000000000000');
  expect((await tollgate(['ledger', 'audit'], environment)).exitCode).toBe(0);
});

test('key create, list and revoke', async () => {
  const { id: account } = await prepare<{ id: string }>('account', 'create', '--name', 'Keys');
  const plain = await json<{ id: string; name: string; key: string }>('key', 'create', '--account', account);
  expect(plain).toEqual({ id: expect.any(String), name: 'API key', key: expect.any(String) });
  expect(isWellFormedKey(plain.key)).toBe(true);
  const full = await json<{ id: string }>(
    'key',
    'create',
    '--account',
    account,
    '--name',
    'CI',
    '--rpm',
    '5',
    '--max-concurrent',
    '7',
    '--monthly-limit',
    '1.5',
    '--allow',
    'a,b',
    '--expires',
    '2099-12-31',
  );
  const keys = await json<{ id: string; revoked_at: string | null }[]>('key', 'list', '--account', account);
  expect(keys[0]).toMatchObject({
    id: plain.id,
    name: 'API key',
    rpm: 600,
    max_concurrent: 200,
    monthly_limit: null,
    allow: null,
    expires_at: null,
    revoked_at: null,
  });
  expect(keys[1]).toMatchObject({
    id: full.id,
    name: 'CI',
    rpm: 5,
    max_concurrent: 7,
    monthly_limit: '1.500000000000',
    allow: ['a', 'b'],
    expires_at: '2099-12-31T00:00:00.000Z',
  });
  expect(await json('key', 'revoke', plain.id)).toEqual({ id: plain.id, revoked: true });
  expect(await prepare('key', 'revoke', plain.id)).toEqual({ id: plain.id, revoked: true });
  expect(
    (await prepare<{ revoked_at: string | null }[]>('key', 'list', '--account', account))[0]?.revoked_at,
  ).not.toBeNull();
});

test('a key for models that the catalogue does not have is created, with a warning that names them', async () => {
  const { id: account } = await prepare<{ id: string }>('account', 'create', '--name', 'Allowing');
  const withModels = { ...environment, TOLLGATE_CATALOG: shippedCatalog };
  const allowing = (models: string, more: Record<string, string> = {}) =>
    tollgate(['key', 'create', '--account', account, '--allow', models], { ...withModels, ...more });
  const [known, unknown, unread] = await Promise.all([
    allowing('sandbox-chat'),
    allowing('sandbox-chat,sandbox-chta,llama'),
    allowing('sandbox-chat', { TOLLGATE_CATALOG: '/nowhere/catalog.yaml' }),
  ]);
  expect([known, unknown, unread].map(({ exitCode }) => exitCode)).toEqual([0, 0, 0]);
  expect(known.stderr).toBe('');
  expect(unknown.stderr).toBe(
    'tollgate: warning: The catalogue has no model sandbox-chta. Did you mean sandbox-chat?\n' +
      'tollgate: warning: The catalogue has no model llama.\n',
  );
  expect(unread.stderr).toContain('tollgate: warning: Could not check whether these models exist: ');
  const [first] = await prepare<{ id: string }[]>('key', 'list', '--account', account);
  const changed = await tollgate(['key', 'update', first?.id ?? '', '--allow', 'sandbox-imag'], withModels);
  expect([changed.exitCode, changed.stderr]).toEqual([
    0,
    'tollgate: warning: The catalogue has no model sandbox-imag. Did you mean sandbox-image?\n',
  ]);
});

test('key update changes what is given and nothing else', async () => {
  const { id: account } = await prepare<{ id: string }>('account', 'create', '--name', 'Changing');
  const { id } = await prepare<{ id: string }>('key', 'create', '--account', account, '--name', 'CI');
  const [made] = await prepare<Record<string, unknown>[]>('key', 'list', '--account', account);
  let expected: Record<string, unknown> = { ...made };
  for (const [words, part] of [
    [['--max-concurrent', '100000'], { max_concurrent: 100_000 }],
    [['--rpm', '7'], { rpm: 7 }],
    [['--monthly-limit', '0.5'], { monthly_limit: '0.500000000000' }],
    [['--allow', 'a, b'], { allow: ['a', 'b'] }],
    [['--expires', '2099-01-31'], { expires_at: '2099-01-31T00:00:00.000Z' }],
    [
      ['--monthly-limit', 'none', '--allow', 'all', '--expires', 'never'],
      { monthly_limit: null, allow: null, expires_at: null },
    ],
  ] as [string[], Record<string, unknown>][]) {
    expected = { ...expected, ...part };
    expect(await prepare('key', 'update', id, ...words)).toEqual(expected);
  }
  expect(await prepare<unknown[]>('key', 'list', '--account', account)).toEqual([expected]);
  const { stdout } = await tollgate(['key', 'update', id, '--rpm', '8'], environment);
  expect(stdout).toStartWith(`Key ${id} was changed.\n`);
  expect(stdout).toMatch(new RegExp(`^${id} +CI +\\S+ +8 +100000 `, 'm'));

  await prepare('key', 'revoke', id);
  expect(await tollgate(['key', 'update', id, '--rpm', '9'], environment)).toEqual({
    exitCode: 1,
    stdout: '',
    stderr: `tollgate: Key ${id} is revoked and cannot be changed. Create a new one: tollgate key create\n`,
  });
  expect((await prepare<{ rpm: number }[]>('key', 'list', '--account', account))[0]?.rpm).toBe(8);
});

test('the key itself is nowhere in the database', async () => {
  const { id: account } = await prepare<{ id: string }>('account', 'create', '--name', 'Secret');
  const { key } = await prepare<{ key: string }>('key', 'create', '--account', account);
  const rows = await database.sql`select api_keys::text as row from api_keys`;
  expect(rows.length).toBeGreaterThan(0);
  expect(rows.some(({ row }: { row: string }) => row.includes(key.slice(7, 40)))).toBe(false);
});

test('user create makes a sign-in whose password is hashed', async () => {
  const { id: account } = await prepare<{ id: string }>('account', 'create', '--name', 'People');
  const user = await json<{ id: string; email: string; admin: boolean; account: string }>(
    'user',
    'create',
    '--email',
    'Ann@Example.com',
    '--password',
    'correct horse',
    '--admin',
    '--account',
    account,
  );
  expect(user).toEqual({ id: expect.stringMatching(uuid), email: 'ann@example.com', admin: true, account });
  const [row] = await database.sql`
    select is_operator, password, role from users join user_credentials on user_id = users.id join memberships on memberships.user_id = users.id where users.id = ${user.id}`;
  expect(row).toMatchObject({ is_operator: true, role: 'owner' });
  expect(row.password).toStartWith('$argon2id$');
  expect(await Bun.password.verify('correct horse', row.password)).toBe(true);
});

test('user create --role, user list and user reset-link', async () => {
  const { id: account } = await prepare<{ id: string }>('account', 'create', '--name', 'Team');
  const words = ['user', 'create', '--email', 'mia@example.com', '--password', 'long enough'];
  const { id } = await json<{ id: string }>(...words, '--account', account, '--role', 'member');
  const users = await json<{ email: string }[]>('user', 'list');
  expect(users.find(({ email }) => email === 'mia@example.com')).toEqual({
    id,
    email: 'mia@example.com',
    admin: false,
    accounts: [{ id: account, role: 'member' }],
    created_at: expect.any(String),
  } as object as { email: string });
  const table = await tollgate(['user', 'list'], environment);
  expect(table.stdout).toMatch(new RegExp(`^${id} +mia@example\\.com +no +${account} \\(member\\)$`, 'm'));

  const printed = await tollgate(['user', 'reset-link', 'mia@example.com'], {
    ...environment,
    HOST: '::',
    PORT: '81',
  });
  const [, token = ''] =
    /^http:\/\/127\.0\.0\.1:81\/reset-password#token=([\w-]{43})\n/.exec(printed.stdout) ?? [];
  expect(token).not.toBe('');
  // A gateway that lives on this machine knows better where it listens.
  await database.sql`
    insert into nodes (id, name) values (gen_random_uuid(), ${`${hostname()}:8123`}), (gen_random_uuid(), 'elsewhere:9999')`;
  const again = await tollgate(['user', 'reset-link', 'mia@example.com'], environment);
  expect(again.stdout).toStartWith('http://127.0.0.1:8123/reset-password#token=');
  expect(again.stderr).toBe(
    'tollgate: warning: PUBLIC_URL is not set here: replace http://127.0.0.1:8123 with the address of your dashboard.\n',
  );
  const { url } = await runCommand<{ url: string }>(['user', 'reset-link', 'mia@example.com'], {
    ...environment,
    PUBLIC_URL: 'https://gateway.example.com',
  });
  expect(url).toStartWith('https://gateway.example.com/reset-password#token=');
  await database.sql`delete from verifications where created_at > (select min(created_at) from verifications)`;
  await database.sql`delete from nodes`;
  const [kept] = await database.sql`
    select identifier, value, expires_at > now() + interval '59 minutes' as is_young from verifications`;
  expect(kept).toEqual({
    identifier: new Bun.CryptoHasher('sha256').update(token).digest('base64url'),
    value: id,
    is_young: true,
  });
});

test('ledger audit names the invariant that is broken and exits 1', async () => {
  const own = await createDatabase();
  const settings = { DATABASE_URL: own.url };
  const { id } = await runCommand<{ id: string }>(
    ['account', 'create', '--name', 'Tampered', '--credit', '5'],
    settings,
  );
  expect(await tollgateJson<{ holds: boolean }>(['ledger', 'audit'], settings)).toMatchObject({
    holds: true,
  });
  await own.sql`update accounts set balance = balance + 0.000000000001 where id = ${id}`;
  const { exitCode, stdout } = await tollgate(['ledger', 'audit', '--json'], settings);
  await own.close();
  expect(exitCode).toBe(1);
  const { invariants } = JSON.parse(stdout) as { invariants: { invariant: string; violations: number }[] };
  expect(invariants.filter(({ violations }) => violations > 0).map(({ invariant }) => invariant)).toEqual([
    'the entries of each account sum to its balance',
    'the last entry of each account carries its balance and its number of entries',
  ]);
});

test('what the database refused to settle is listed by the audit and can be tried again', async () => {
  const own = await createDatabase();
  const settings = { DATABASE_URL: own.url, TOLLGATE_DATA: temporaryFolder() };
  const run = <Output>(...words: string[]) => tollgateJson<Output>(words, settings);
  const { id: account } = await runCommand<{ id: string }>(
    ['account', 'create', '--name', 'Refused', '--credit', '5'],
    settings,
  );
  const { id: keyId } = await runCommand<{ id: string }>(['key', 'create', '--account', account], settings);
  const nothing = await tollgate(['ledger', 'retry'], settings);
  expect(nothing).toEqual({ exitCode: 0, stdout: 'No settlements are set aside.\n', stderr: '' });

  const requestId = await settleAs(own, { accountId: account, keyId }, impossible);
  const letter = {
    request_id: requestId,
    account_id: account,
    amount: '0.250000000000',
    refusal_code: '22003',
    refusal_about: expect.any(String) as string,
    created_at: expect.any(String) as string,
  };
  expect(await run('ledger', 'audit')).toMatchObject({ holds: true, dead_letters: [letter] });
  const audit = await tollgate(['ledger', 'audit'], settings);
  expect(audit.exitCode).toBe(0);
  expect(audit.stdout).toContain('The ledger is sound.\n\n1 settlement was rejected by the database');
  expect(audit.stdout).toMatch(new RegExp(`${requestId} +${account} +0\\.25 +22003 `));
  expect(audit.stdout).toEndWith('Retry them with: tollgate ledger retry\n');

  expect(await tollgate(['ledger', 'retry'], settings)).toEqual({
    exitCode: 1,
    stdout: '0 settled, 1 rejected again. tollgate ledger audit shows why.\n',
    stderr: '',
  });
  await own.sql`update dead_letters set settlement = jsonb_set(settlement, '{attempts}', '[]')`;
  expect(await run<object>('ledger', 'retry')).toEqual({ settled: 1, refused: 0 });
  expect(await run('ledger', 'audit')).toMatchObject({ holds: true, dead_letters: [] });
  const [{ balance }] = await runCommand<[{ balance: string }]>(['account', 'list'], settings);
  await own.close();
  expect(balance).toBe('4.750000000000');
});

test('the ledger cannot be rewritten', async () => {
  const { id } = await prepare<{ id: string }>('account', 'create', '--name', 'Fixed', '--credit', '1');
  expect(
    async () => await database.sql`update ledger_entries set amount = 2 where account_id = ${id}`,
  ).toThrow('append-only');
  expect(async () => await database.sql`delete from ledger_entries where account_id = ${id}`).toThrow(
    'append-only',
  );
});

test('catalog check', async () => {
  expect(await tollgateJson(['catalog', 'check'], {})).toMatchObject({ ok: true, models: 75 });
  const cheap = writeCatalog(`price_version: "1"
providers: { google: { adapter: google, base_url: https://generativelanguage.googleapis.com/v1beta } }
models:
  cheap: { workload: chat, pricing: { billing_type: token, input: "1", output: "1" }, providers: [{ provider: google, cost: { input: "2", output: "1" } }] }
`);
  const warned = await tollgate(['catalog', 'check', cheap], {});
  expect(warned).toMatchObject({
    exitCode: 0,
    stdout:
      'The catalogue is valid: 1 models, 1 providers, price version 1.\n' +
      'Warning: cheap can be sold below its cost at google: input is sold at 1 USD and costs 2 USD.\n' +
      'cheap has no cache_read: such tokens are charged as input. Its vendor has cache prices.\n',
  });
  expect(await tollgateJson(['catalog', 'check', cheap], {})).toMatchObject({
    ok: true,
    warnings: [expect.stringContaining('below its cost')],
    notes: [expect.stringContaining('charged as input')],
  });
  const bad = await tollgate(['catalog', 'check', writeCatalog('price_version: 7\nprice_version: 8\n')], {});
  expect(bad.exitCode).toBe(1);
  expect(bad.stdout).toContain('catalog.yaml:2');
  for (const [words, environment] of [
    [['catalog', 'check', '/nowhere/catalog.yaml'], {}],
    [['catalog', 'check'], { TOLLGATE_CATALOG: '/nowhere/catalog.yaml' }],
  ] as const) {
    const missing = await tollgate(words, environment);
    expect(missing.exitCode).toBe(1);
    expect(missing.stdout).toContain('The catalogue /nowhere/catalog.yaml does not exist. TOLLGATE_CATALOG');
  }
});

test('catalog init writes the default one, or says what is in the way', async () => {
  const folder = temporaryFolder();
  const file = join(folder, 'catalog.yaml');
  expect(await runCommand(['catalog', 'init', file], {})).toEqual({ file });
  const refusal = (path: string) =>
    runCommand(['catalog', 'init', path], {}).catch((error: Error) => error.message);
  expect(await refusal(file)).toBe(`${file} already exists and was not changed.`);
  expect(await refusal(join(folder, 'new folder/catalog.yaml'))).toBe(
    `The folder ${folder}/new folder does not exist. Create it first: mkdir -p "${folder}/new folder"`,
  );
  expect(await refusal(join(file, 'catalog.yaml'))).toContain('a part of its path is not a folder (ENOTDIR)');
});

test('a command does not migrate the database of DATABASE_URL', async () => {
  const empty = await createEmptyDatabase();
  const { exitCode, stderr } = await tollgate(['account', 'list'], { DATABASE_URL: empty.url });
  expect(exitCode).toBe(1);
  expect(stderr).toBe('tollgate: The database is empty. Run: tollgate migrate\n');
  expect([...(await empty.sql`select to_regclass('schema_migrations') as there`)]).toEqual([{ there: null }]);
  await empty.close();
});

test('where there is no database, a command creates none and says where one could be', async () => {
  const folder = join(temporaryFolder(), 'data');
  const nowhere = { TOLLGATE_DATA: folder };
  const message = `There is no database here: DATABASE_URL is not set, and ${folder} has none. Set DATABASE_URL, or run this in the folder in which the gateway was started.`;
  expect(await tollgate(['account', 'create', '--name', 'Lost', '--credit', '5'], nowhere)).toEqual({
    exitCode: 1,
    stdout: '',
    stderr: `tollgate: ${message}\n`,
  });
  for (const words of [['migrate'], ['backup', join(temporaryFolder(), 'backup.gz')]])
    expect(await runCommand(words, nowhere).catch((error: Error) => error.message)).toBe(message);
  expect(existsSync(folder)).toBe(false);
});

test('empty lists say so', async () => {
  const empty = await createDatabase();
  const textOf = async (...words: string[]) => (await outcomeOf(words, { DATABASE_URL: empty.url })).text;
  expect(await textOf('account', 'list')).toBe('No accounts yet.');
  expect(await textOf('user', 'list')).toBe('No users yet.');
  const { id } = await runCommand<{ id: string }>(['account', 'create', '--name', 'New'], {
    DATABASE_URL: empty.url,
  });
  expect(await textOf('key', 'list', '--account', id)).toBe('No keys yet.');
  await empty.close();
});

test('--version', async () => {
  expect(await tollgate(['--version'], {})).toMatchObject({ exitCode: 0, stdout: 'tollgate 0.2.0\n' });
});

test.each([
  [['account', 'create'], 2, '--name is required.'],
  [['account', 'create', '--name', ''], 2, '--name must have 1 to 200 characters'],
  [['account', 'create', '--name', 'x', '--credit', '1e3'], 2, '--credit must be an amount in USD'],
  [['account', 'create', '--name', 'x', '--credit', '-5'], 2, '--credit must not be negative, but is "-5".'],
  [['account', 'create', '--name', 'x', '--credit=-5'], 2, '--credit must be an amount in USD'],
  [['account', 'create', '--name', 'x', '--credit', '1000000000001'], 2, 'no more than 1000000000000'],
  [['account', 'create', '--name', 'x', '--credit', '9'.repeat(40)], 2, 'no more than 1000000000000'],
  [['account', 'create', '--name', 'a\u001b[31mb'], 2, '--name must not contain control characters'],
  [['account', 'credit', '01890a5d-ac96-774b-bcce-b302099a8057', '-5'], 2, 'An amount must not be negative'],
  [['account', 'create', '--name', 'x', '--colour', 'red'], 2, "Unknown option '--colour'"],
  [['account', 'credit', '01890a5d-ac96-774b-bcce-b302099a8057'], 2, 'USD is missing'],
  [['account', 'credit', '01890a5d-ac96-774b-bcce-b302099a8057', '0'], 2, 'USD must be more than zero'],
  [['account', 'credit', 'acme', '1'], 2, 'ACCOUNT must be an ID'],
  [['key', 'list', '--account', 'Acme'], 2, 'but is "Acme". tollgate account list shows the IDs.'],
  [['key', 'revoke', 'CI'], 2, 'but is "CI". tollgate key list --account ACCOUNT shows the IDs.'],
  [
    ['key', 'revoke', 'svc_sk_secret'],
    2,
    'Error: ID must be the ID of the key, not the key itself. tollgate key list --account ACCOUNT shows the IDs.',
  ],
  [['account', 'credit', '01890a5d-ac96-774b-bcce-b302099a8057', '1'], 1, 'There is no account 01890a5d'],
  [['account', 'list', 'all'], 2, 'Unexpected argument "all"'],
  [['key', 'create', '--account', '01890a5d-ac96-774b-bcce-b302099a8057'], 1, 'There is no account 01890a5d'],
  [
    ['key', 'create', '--account', '01890a5d-ac96-774b-bcce-b302099a8057', '--rpm', '0'],
    2,
    '--rpm must be a whole number',
  ],
  [
    ['key', 'create', '--account', '01890a5d-ac96-774b-bcce-b302099a8057', '--expires', 'tomorrow'],
    2,
    '--expires must be a date or time',
  ],
  [
    ['key', 'create', '--account', '01890a5d-ac96-774b-bcce-b302099a8057', '--expires', '2027-02-31'],
    2,
    '--expires must be a date or time',
  ],
  [
    ['key', 'create', '--account', '01890a5d-ac96-774b-bcce-b302099a8057', '--expires', '2020-01-01'],
    2,
    '--expires must be in the future',
  ],
  [
    ['token', 'create', '--name', 'Endless', '--scopes', 'read', '--expires', '2099-01-01'],
    2,
    '--expires must be within a year',
  ],
  [
    ['key', 'update', '01890a5d-ac96-774b-bcce-b302099a8057', '--expires', '2020-01-01'],
    2,
    '--expires must be in the future',
  ],
  [['key', 'list', '--account', '01890a5d-ac96-774b-bcce-b302099a8057'], 1, 'There is no account 01890a5d'],
  [
    ['key', 'create', '--account', '01890a5d-ac96-774b-bcce-b302099a8057', '--allow', 'a,,b'],
    2,
    '--allow must be a comma-separated list of model IDs',
  ],
  [
    ['key', 'create', '--account', '01890a5d-ac96-774b-bcce-b302099a8057', '--max-concurrent', '100001'],
    2,
    '--max-concurrent must be a whole number from 1 to 100000',
  ],
  [['key', 'update'], 2, 'ID is missing'],
  [['key', 'update', '01890a5d-ac96-774b-bcce-b302099a8057'], 2, 'Nothing to change: give --rpm'],
  [
    ['key', 'update', '01890a5d-ac96-774b-bcce-b302099a8057', '--max-concurrent', '0'],
    2,
    '--max-concurrent must be a whole number from 1 to 100000',
  ],
  [
    ['key', 'update', '01890a5d-ac96-774b-bcce-b302099a8057', '--monthly-limit', 'all'],
    2,
    '--monthly-limit must be an amount in USD',
  ],
  [['key', 'update', '01890a5d-ac96-774b-bcce-b302099a8057', '--rpm', '5'], 1, 'There is no key 01890a5d'],
  [['key', 'revoke', '01890a5d-ac96-774b-bcce-b302099a8057'], 1, 'There is no key 01890a5d'],
  [['user', 'create', '--email', 'ann', '--password', 'long enough'], 2, '--email must be an e-mail address'],
  [
    ['user', 'create', '--email', 'a@b.example', '--password', 'short', '--admin'],
    2,
    '--password must have 8 to 128 characters',
  ],
  [
    ['user', 'create', '--email', 'a@b.example', '--password', 'x'.repeat(129), '--admin'],
    2,
    '--password must have 8 to 128 characters',
  ],
  [
    ['user', 'create', '--email', 'a@b.example', '--password', 'long enough'],
    2,
    'A user needs --account ID, --admin, or both',
  ],
  [
    ['user', 'create', '--email', 'a@b.example', '--password', 'long enough', '--admin', '--role', 'boss'],
    2,
    '--role must be owner or member, but is "boss".',
  ],
  [
    ['user', 'create', '--email', 'a@b', '--password', 'long enough', '--admin'],
    2,
    '--email must be an e-mail',
  ],
  [['user', 'reset-link'], 2, 'EMAIL is missing'],
  [['user', 'reset-link', 'nobody@example.com'], 1, 'There is no user nobody@example.com.'],
] as [string[], number, string][])(
  'tollgate %j is refused as with exit code %d',
  async (words, exitCode, message) => {
    const error: unknown = await prepare(...words).then(
      () => null,
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(exitCode === 2 ? UsageError : OperatorError);
    expect(`${error}`).toContain(message);
    expect(`${error}`.split('\n')).toHaveLength(1);
  },
);

test.each([
  [['account', 'create'], 2, 'tollgate: --name is required. See: tollgate account create --help'],
  [['account', 'create', '--name', 'x', '--colour', 'red'], 2, "Unknown option '--colour'"],
  [['account', 'credit', '01890a5d-ac96-774b-bcce-b302099a8057', '1'], 1, 'There is no account 01890a5d'],
  [['acount', 'list'], 2, 'There is no command "acount list". See: tollgate --help'],
  [['account', 'delete'], 2, 'There is no command "account delete"'],
] as [string[], number, string][])(
  'tollgate %j is refused with exit code %d',
  async (words, exitCode, message) => {
    const result = await tollgate(words, environment);
    expect(result.exitCode).toBe(exitCode);
    expect(result.stderr).toContain(message);
    expect(result.stderr.trim().split('\n')).toHaveLength(1);
    expect(result.stdout).toBe('');
  },
);

test('an address can sign up once', async () => {
  const words = ['user', 'create', '--email', 'bob@example.com', '--password', 'long enough', '--admin'];
  expect((await tollgate(words, environment)).exitCode).toBe(0);
  expect(await tollgate(words, environment)).toMatchObject({
    exitCode: 1,
    stderr: expect.stringMatching(/\ntollgate: A user with the address bob@example\.com already exists\.\n$/),
  });
});

test.each([[['--help']], [[]], [['help']], [['account']], [['key', 'create', '--help']]] as [string[]][])(
  'tollgate %j shows how to use it',
  async (words) => {
    const { exitCode, stdout } = await tollgate(words, {});
    expect(exitCode).toBe(0);
    expect(stdout).toStartWith('Usage:');
    expect(stdout).toContain('tollgate');
  },
);
