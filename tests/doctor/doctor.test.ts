/** `tollgate doctor` against real servers: each problem is found and named, with what to do about it. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdirSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { SQL } from 'bun';
import { readConfig } from '../../src/config.ts';
import { judgeConnections } from '../../src/doctor/connections.ts';
import { judgeOffset } from '../../src/doctor/database.ts';
import { examine } from '../../src/doctor/examine.ts';
import { type Finding, good, problem, warning } from '../../src/doctor/finding.ts';
import { judgeDescriptors, judgeRoom } from '../../src/doctor/machine.ts';
import { judgeStatus } from '../../src/doctor/providers.ts';
import { formatReport } from '../../src/doctor/report.ts';
import { createDatabase, createEmptyDatabase, type TestDatabase } from '../support/cluster.ts';
import { startFakeStripe } from '../support/fake-stripe.ts';
import {
  type Environment,
  startGateway,
  temporaryFolder,
  tollgate,
  writeCatalog,
} from '../support/gateway.ts';
import { mailPassword, startMailServer } from '../support/mail-server.ts';

let database: TestDatabase;
let healthy: Environment;

const key = 'sk-canary-0123456789';

/** A provider's list of models: what it is asked, and the status it answers with. */
function startProvider(answer: (request: Request) => Response | Promise<Response>) {
  const asked: [path: string, credentials: string | null][] = [];
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: (request) => {
      const { headers } = request;
      asked.push([
        new URL(request.url).pathname,
        headers.get('authorization') ?? headers.get('x-api-key') ?? headers.get('x-goog-api-key'),
      ]);
      return answer(request);
    },
  });
  return { url: `http://127.0.0.1:${server.port}/v1`, asked, stop: () => server.stop(true) };
}

const providersOf = (entries: readonly string[]) => `
price_version: '1'
providers:
  ${entries.join('\n  ')}
models:
  full: { workload: chat, pricing: { billing_type: token, input: "1", output: "2" }, providers: [one] }
`;

beforeAll(async () => {
  database = await createDatabase();
  healthy = {
    DATABASE_URL: database.url,
    TOLLGATE_ALLOW_UNSAFE: 'fsync',
    TOLLGATE_DATA: temporaryFolder(),
    TOLLGATE_CATALOG: join(import.meta.dir, '../../catalog.yaml'),
    AUTH_SECRET: 'x'.repeat(32),
    PORT: '0',
  };
});

afterAll(() => database.close());

async function findings(changes: Environment = {}, isOffline = true): Promise<Finding[]> {
  return await examine(readConfig({ ...healthy, ...changes }), { isOffline, patienceMs: 1_000 });
}

async function about(what: string, changes: Environment, isOffline = true): Promise<Finding[]> {
  return (await findings(changes, isOffline)).filter((finding) => finding.about === what);
}

test('a gateway that works has no problem', async () => {
  const found = await findings();
  expect(found.filter(({ level }) => level === 'problem')).toEqual([]);
  for (const what of [
    'database',
    'connections',
    'schema',
    'clock',
    'descriptors',
    'data folder',
    'spool',
    'port',
  ])
    expect(found.find((finding) => finding.about === what)?.level).toBe('good');
  const warned = found.filter(({ level }) => level === 'warning');
  expect(warned.map(({ text }) => text)).toEqual([
    expect.stringContaining('fsync is off, as TOLLGATE_ALLOW_UNSAFE allows'),
    expect.stringContaining('openai (OPENAI_API_KEY)'),
  ]);
});

test('the program prints a report, or JSON, and exits 1 for a problem only', async () => {
  const fine = await tollgate(['doctor', '--offline'], healthy);
  expect(fine.exitCode).toBe(0);
  expect(fine.stdout).toMatch(/^✓ database {7}PostgreSQL \d+\.\d+, database "test_/m);
  expect(fine.stdout).toEndWith('\n0 problems, 2 warnings.\n');
  const broken = await tollgate(['doctor', '--offline', '--json'], {
    ...healthy,
    TOLLGATE_CATALOG: '/nowhere',
  });
  expect(broken.exitCode).toBe(1);
  const { works, findings: found } = JSON.parse(broken.stdout) as { works: boolean; findings: Finding[] };
  expect(works).toBe(false);
  // A problem ends with what to do; the advice to correct the file would not help.
  expect(found.filter(({ level }) => level === 'problem')).toEqual([
    problem(
      'catalogue',
      expect.stringMatching(/^The catalogue \/nowhere does not exist\. .*catalog init$/),
      null,
    ),
  ]);
});

test('the report is aligned, with what to do below', () => {
  expect(formatReport([good('a', 'fine'), warning('bb', 'so\nso', 'look'), problem('c', 'bad', null)])).toBe(
    '✓ a   fine\n! bb  so\n      so\n      → look\n✗ c   bad\n\n1 problem, 1 warning.',
  );
  expect(formatReport([good('a', 'fine')])).toEndWith('\n\nEverything is in order.');
});

test('a secret that is too short is a problem among the others', async () => {
  const { exitCode, stdout } = await tollgate(['doctor', '--offline'], { ...healthy, AUTH_SECRET: 'short' });
  expect(exitCode).toBe(1);
  expect(stdout).toMatch(
    /^✗ secret +AUTH_SECRET must have at least 32 characters\. Generate one with: openssl/m,
  );
  expect(stdout).toMatch(/^✓ schema /m);
  expect(stdout.match(/^. secret /gm)).toHaveLength(1);
  // Other mistakes are reported as by every command.
  const other = await tollgate(['doctor', '--offline'], { ...healthy, AUTH_SECRET: 'short', PORT: 'x' });
  expect([other.exitCode, other.stdout]).toEqual([1, '']);
  expect(other.stderr).toStartWith('tollgate: PORT must be a whole number');
});

describe('the database', () => {
  test('that cannot be reached is a problem, and the rest is still looked at', async () => {
    const found = await findings({ DATABASE_URL: 'postgres://a:hunter2@127.0.0.1:1/x' });
    const [first] = found.filter((finding) => finding.about === 'database');
    expect(first).toMatchObject({ level: 'problem', text: expect.stringContaining('cannot be reached') });
    expect(JSON.stringify(found)).not.toContain('hunter2');
    expect(found.some((finding) => finding.about === 'catalogue')).toBe(true);
  });

  test('that is empty, newer, read-only or somebody else’s is distinguished', async () => {
    const empty = await createEmptyDatabase();
    const own = await createDatabase();
    try {
      const changes = { DATABASE_URL: own.url };
      expect(await about('schema', { DATABASE_URL: empty.url })).toMatchObject([
        { level: 'warning', text: 'The database is empty.' },
      ]);
      await own.sql`insert into schema_migrations (version, name, digest) values (9999, 'x', 'x')`;
      expect(await about('schema', changes)).toMatchObject([
        { level: 'problem', text: expect.stringContaining('newer than this version') },
      ]);
      const [{ name }] = await own.sql`select current_database() as name`;
      await own.sql.unsafe(`alter database ${name} set default_transaction_read_only = on`);
      expect(await about('database', changes)).toContainEqual(
        expect.objectContaining({ level: 'problem', text: 'Transactions are read-only.' }),
      );
      const guest = `guest_${name}`;
      const admin = new SQL(database.url, { max: 1 });
      await admin.unsafe(`create role ${guest} login`);
      const url = new URL(own.url);
      url.username = guest;
      expect(await about('database', { DATABASE_URL: url.href })).toContainEqual(
        expect.objectContaining({ level: 'problem', text: expect.stringContaining(`not to "${guest}"`) }),
      );
      await admin.unsafe(`drop role ${guest}`);
      await admin.close();
    } finally {
      await empty.close();
      await own.close();
    }
  });

  test('has connections, of which those of this command do not count', async () => {
    const url = new URL(database.url);
    const guest = `guest${url.pathname.slice(1)}`;
    await database.sql.unsafe(`create role ${guest} login connection limit 40`);
    url.username = guest;
    // Only this test has connections of that user.
    const others = Array.from({ length: 33 }, () => new SQL(url.href, { max: 1 }));
    for (const other of others) await other`select 1`;
    expect(await about('connections', { DATABASE_URL: url.href })).toMatchObject([
      { level: 'warning', text: `33 of 40 for user "${guest}" are in use.` },
    ]);
    await Promise.all(others.map((other) => other.close()));
    await database.sql.unsafe(`drop role ${guest}`);
  });

  test.each([
    [{}, ['4 of 100 are in use']],
    [{ server_count: 90 }, ['90 of 100 are in use.']],
    [{ server_max: 14 }, ['14 are allowed; a gateway uses up to 15.']],
    [{ user_max: 10 }, ['10 are allowed for user "u"; a gateway uses up to 15.']],
    [{ user_max: 20, user_count: 19 }, ['19 of 20 for user "u" are in use.']],
    [{ database_max: 20, database_count: 20 }, ['20 of 20 for database "d" are in use.']],
    [{ user_max: 1, database_max: 1, is_superuser: true }, ['4 of 100 are in use']],
  ])('has limits for connections: %j', (changes, texts) => {
    const facts = {
      ...{ user: 'u', name: 'd', is_superuser: false },
      ...{
        server_count: 4,
        server_max: 100,
        user_count: 3,
        user_max: -1,
        database_count: 2,
        database_max: -1,
      },
    };
    const found = judgeConnections({ ...facts, ...changes }, 15);
    expect(found.map(({ text }) => text)).toEqual(texts);
    // The advice is about the limit that is reached.
    const [{ remedy } = { remedy: null }] = found;
    if (remedy !== null)
      expect(remedy).toContain(
        'user_max' in changes
          ? 'alter role "u"'
          : 'database_max' in changes
            ? 'alter database "d"'
            : 'max_connections',
      );
  });

  test('has a replica, or what DATABASE_READ_URL names is none', async () => {
    const away = { DATABASE_READ_URL: 'postgres://a:hunter2@127.0.0.1:1/x' };
    const found = await about('replica', away);
    expect(found).toMatchObject([{ level: 'warning', text: expect.stringContaining('cannot be reached') }]);
    expect(JSON.stringify(found)).not.toContain('hunter2');
    expect(await about('replica', { DATABASE_READ_URL: database.url })).toMatchObject([
      { level: 'warning', text: expect.stringContaining('accepts writes') },
    ]);
    expect(await about('replica', {})).toEqual([]);
  });

  test('has a clock that ours is compared with', () => {
    const at = (offsetMs: number) =>
      judgeOffset({ askedAtMs: 0, answeredAtMs: 10, databaseMs: 5 - offsetMs });
    expect([at(0), at(-1_500), at(90_000)].map(({ level }) => level)).toEqual(['good', 'warning', 'problem']);
    expect(at(90_000).text).toBe('This machine is 90.0 s ahead of the database.');
    expect(at(-1_500).text).toBe('This machine is 1.5 s behind the database.');
  });
});

test('gateways with another secret are noticed by the doctor and by the one that starts', async () => {
  const own = await createDatabase();
  const environment = { DATABASE_URL: own.url };
  const first = await startGateway({ ...environment, AUTH_SECRET: 'y'.repeat(32) });
  const secrets = async (changes: Environment) =>
    (await about('secret', { ...environment, ...changes })).map(({ text }) => text);
  expect(await secrets({ AUTH_SECRET: 'y'.repeat(32) })).toEqual(['AUTH_SECRET is set']);
  expect(await secrets({})).toEqual([
    expect.stringContaining('One running gateway has a different secret'),
    'AUTH_SECRET is set',
  ]);
  expect(await secrets({ AUTH_SECRET: '' })).toContainEqual(
    expect.stringContaining('One running gateway has'),
  );
  expect(first.output()).not.toContain('another AUTH_SECRET');

  const second = await startGateway({ ...environment, WORKERS: '2' });
  for (const warned of ['running gateways have another AUTH_SECRET', 'AUTH_SECRET is not set'])
    expect([warned, second.output().split(warned).length - 1]).toEqual([warned, 1]);
  expect(second.output()).not.toContain('y'.repeat(32));
  // The generated secret is in the database now.
  expect(await secrets({ AUTH_SECRET: '' })).toContainEqual(
    expect.stringContaining('One running gateway has'),
  );
  await Promise.all([first.stop(), second.stop()]);
  expect(await secrets({})).toEqual(['AUTH_SECRET is set']);
  await own.close();
});

describe('providers', () => {
  test('are asked for their models with their key, in each format, and never quoted', async () => {
    const fine = startProvider(() => Response.json({ data: [] }));
    const strict = startProvider(() => Response.json({ error: `unknown key ${key}` }, { status: 401 }));
    const silent = startProvider(() => new Promise<Response>(() => undefined));
    const entry = (id: string, adapter: string, url: string) =>
      `${id}: { name: ${id}, adapter: ${adapter}, base_url: '${url}', api_key_env: DOCTOR_KEY }`;
    const catalog = writeCatalog(
      providersOf([
        entry('one', 'openai', fine.url),
        entry('two', 'anthropic', fine.url),
        entry('three', 'google', fine.url),
        entry('strict', 'openai', strict.url),
        entry('silent', 'openai', silent.url),
        entry('gone', 'openai', 'http://127.0.0.1:1/v1'),
        `bare: { name: bare, adapter: openai, base_url: '${fine.url}' }`,
        `unset: { name: unset, adapter: openai, base_url: '${fine.url}', api_key_env: DOCTOR_OTHER }`,
      ]),
    );
    const changes = { TOLLGATE_CATALOG: catalog, DOCTOR_KEY: key };
    const found = await findings(changes, false);
    const levels = found
      .filter((finding) => finding.about.startsWith('provider'))
      .map(({ about: what, level }) => [what, level]);
    expect(levels).toEqual([
      ['provider keys', 'warning'],
      ['provider one', 'good'],
      ['provider two', 'good'],
      ['provider three', 'good'],
      ['provider strict', 'problem'],
      ['provider silent', 'problem'],
      ['provider gone', 'problem'],
      ['provider bare', 'good'],
    ]);
    expect(found.find((finding) => finding.about === 'provider silent')?.text).toContain('within 1 s');
    expect(JSON.stringify(found)).not.toContain(key);
    expect(fine.asked.toSorted()).toEqual([
      ['/v1/models', null],
      ['/v1/models', `Bearer ${key}`],
      ['/v1/models', key],
      ['/v1/models', key],
    ]);
    const before = fine.asked.length;
    await findings(changes);
    expect(fine.asked).toHaveLength(before);
    for (const server of [fine, strict, silent]) await server.stop();
  });

  test.each([
    [
      'OPENAI_API_KEY',
      'svc_sk_canary',
      'OPENAI_API_KEY is a key of this gateway (svc_sk_…), not one of one.',
      'unset OPENAI_API_KEY',
    ],
    [
      'DOCTOR_KEY',
      'sk-…',
      'DOCTOR_KEY contains a character that no key has ("…"): it looks like a placeholder.',
      'Put the key',
    ],
  ])('never get a key that cannot be theirs: %s=%s', async (name, unfit, text, remedy) => {
    const provider = startProvider(() => Response.json({ data: [] }));
    const catalog = writeCatalog(
      providersOf([
        `one: { name: one, adapter: openai, base_url: '${provider.url}', api_key_env: ${name} }`,
        'two: { name: two, adapter: sandbox }',
      ]),
    );
    const found = await findings({ TOLLGATE_CATALOG: catalog, [name]: unfit }, false);
    expect(found.filter((finding) => finding.about.startsWith('provider'))).toEqual([
      problem('provider one', text, expect.stringContaining(remedy)),
    ]);
    expect(provider.asked).toEqual([]);
    await provider.stop();
  });

  test.each([
    [200, 'good'],
    [302, 'warning'],
    [400, 'problem'],
    [402, 'problem'],
    [403, 'problem'],
    [404, 'warning'],
    [429, 'warning'],
    [503, 'warning'],
  ] as const)('that answer %d are judged %s', (status, level) => {
    expect(judgeStatus('provider x', status, 1, 'X_KEY').level).toBe(level);
  });

  test('of the demo: two models have an endpoint, and the keys that are not set take one short line', async () => {
    const found = await findings();
    const textOf = (what: string) => found.find((finding) => finding.about === what)?.text;
    expect(textOf('catalogue')).toStartWith('2 of 75 models can be called');
    expect(textOf('provider keys')).toBe(
      'Not set for openai (OPENAI_API_KEY), anthropic (ANTHROPIC_API_KEY) and 8 more.',
    );
  });

  test('that charge more than a model costs are a warning, which names ten at most', async () => {
    const models = Array.from(
      { length: 12 },
      (_, index) =>
        `  m${index}: { workload: chat, pricing: { billing_type: token, input: "1", output: "1" }, providers: [{ provider: one, cost: { input: "2", output: "1" } }] }\n`,
    );
    const catalog = writeCatalog(providersOf(['one: { name: one, adapter: sandbox }']) + models.join(''));
    const [finding] = await about('prices', { TOLLGATE_CATALOG: catalog });
    expect(finding).toMatchObject({ level: 'warning', remedy: expect.stringContaining('the catalogue') });
    const lines = finding?.text.split('\n') ?? [];
    expect(lines[0]).toBe('m0 can be sold below its cost at one: input is sold at 1 USD and costs 2 USD.');
    expect([lines.length, lines.at(-1)]).toEqual([11, 'and 2 more']);
    expect(await about('prices', {})).toEqual([]);
  });

  test('without any callable model are a problem, and so is a key file that is not there', async () => {
    const catalog = writeCatalog(
      providersOf([
        "one: { name: one, adapter: openai, base_url: 'http://127.0.0.1:1', api_key_env: DOCTOR_KEY }",
      ]),
    );
    expect(await about('catalogue', { TOLLGATE_CATALOG: catalog })).toMatchObject([
      { level: 'problem', text: expect.stringContaining('0 of 1 models') },
    ]);
    const unreadable = { TOLLGATE_CATALOG: catalog, DOCTOR_KEY_FILE: '/nowhere/key' };
    expect(await about('provider one', unreadable)).toMatchObject([
      { level: 'problem', text: expect.stringContaining('DOCTOR_KEY_FILE names') },
    ]);
  });
});

test('payments: the key is accepted or not, and never shown', async () => {
  const stripe = startFakeStripe();
  const without = { TOLLGATE_CATALOG: writeCatalog(providersOf(['one: { name: One, adapter: sandbox }'])) };
  const changes = {
    ...without,
    PAYMENTS: 'stripe',
    PUBLIC_URL: 'https://gateway.example.com',
    STRIPE_SECRET_KEY: stripe.secretKey,
    STRIPE_WEBHOOK_SECRET: stripe.webhookSecret,
    STRIPE_API_URL: stripe.url,
  };
  expect(await about('payments', without, false)).toEqual([]);
  expect(await about('payments', changes)).toEqual([]);
  expect(await about('payments', changes, false)).toMatchObject([{ level: 'warning' }]);
  const wrong = await about('payments', { ...changes, STRIPE_SECRET_KEY: 'sk_test_wrongwrong' }, false);
  expect(wrong).toMatchObject([{ level: 'problem' }]);
  expect(JSON.stringify(wrong)).not.toContain('wrongwrong');
  await stripe.stop();
});

test('mail: connected and signed in, and none sent', async () => {
  const server = startMailServer();
  const changes = {
    SMTP_URL: server.url,
    MAIL_FROM: 'a@example.com',
    PUBLIC_URL: 'https://gateway.example.com',
    TOLLGATE_CATALOG: writeCatalog(providersOf(['one: { name: One, adapter: sandbox }'])),
  };
  expect(await about('mail', changes, false)).toMatchObject([{ level: 'good' }]);
  const wrong = new URL(server.url);
  wrong.password = 'wrong';
  expect(await about('mail', { ...changes, SMTP_URL: wrong.href }, false)).toMatchObject([
    { level: 'problem', text: expect.stringContaining('rejects the login') },
  ]);
  const gone = await about('mail', { ...changes, SMTP_URL: 'smtp://u:p@127.0.0.1:1' }, false);
  expect(gone).toMatchObject([{ level: 'problem' }]);
  expect(JSON.stringify(gone)).not.toContain(mailPassword);
  expect(server.mails).toEqual([]);
  server.stop();
});

test('sign-up: what welcome credit may cost in a day, and whether an address is needed for it', async () => {
  expect(await about('sign-up', {})).toEqual([]);
  const changes = { WELCOME_GRANT: '2.5', WELCOME_GRANTS_PER_DAY: '40' };
  expect(await about('sign-up', changes)).toMatchObject([{ level: 'warning' }]);
  const open = { ...changes, SIGN_UP: 'open' };
  const cost = { text: expect.stringContaining('at most 100 USD') };
  expect(await about('sign-up', open)).toMatchObject([{ level: 'warning', ...cost }]);
  const mail = {
    SMTP_URL: 'smtp://127.0.0.1:1',
    MAIL_FROM: 'a@example.com',
    PUBLIC_URL: 'https://a.example.com',
  };
  expect(await about('sign-up', { ...open, ...mail })).toMatchObject([{ level: 'good', ...cost }]);
  expect(await about('sign-up', { SIGN_UP: 'open' })).toMatchObject([{ level: 'good' }]);
});

describe('this machine', () => {
  test('has a spool whose contents are counted and stay', async () => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, 'spool'));
    const file = join(folder, 'spool', '999999999.x.jsonl');
    writeFileSync(file, '\n{"not":"a settlement"}\n');
    expect(await about('spool', { TOLLGATE_DATA: folder })).toMatchObject([
      { level: 'warning', text: expect.stringContaining('1 lines') },
    ]);
    expect(await Bun.file(file).exists()).toBe(true);
  });

  test('has a data folder, or can create it', async () => {
    const missing = join(temporaryFolder(), 'a', 'b');
    expect(await about('data folder', { TOLLGATE_DATA: missing })).toMatchObject([{ level: 'good' }]);
    expect(await Bun.file(missing).exists()).toBe(false);
    const file = join(temporaryFolder(), 'file');
    writeFileSync(file, '');
    expect(await about('data folder', { TOLLGATE_DATA: file })).toMatchObject([{ level: 'problem' }]);
  });

  test('has room for the spool', () => {
    const megabyte = 1024 * 1024;
    expect(
      [0, 4 * megabyte - 1, 4 * megabyte, 64 * megabyte, null].map((free) => judgeRoom(free, 'x').level),
    ).toEqual(['problem', 'problem', 'warning', 'good', 'good']);
    expect(judgeRoom(10.9 * megabyte, 'x').text).toBe('x, 10 MB free');
  });

  test('has a data folder in which not only empty files can be created', async () => {
    const program = join(import.meta.dir, '../../bin/tollgate');
    const command = ['sh', '-c', 'ulimit -f 0; exec "$0" doctor --offline --json', program];
    const { stdout, exited } = Bun.spawn(command, { env: { ...process.env, ...healthy } });
    const { findings: found } = (await new Response(stdout).json()) as { findings: Finding[] };
    expect(found.find((finding) => finding.about === 'data folder')).toMatchObject({
      level: 'problem',
      text: expect.stringContaining('cannot be written (EFBIG)'),
      remedy: expect.stringContaining('Free some space'),
    });
    expect(await exited).toBe(1);
  });

  test('has a port that is free, a gateway’s, or another program’s', async () => {
    const taken = startProvider((request) =>
      request.url.endsWith('/healthz') ? new Response('hello') : new Response(null, { status: 404 }),
    );
    const { port } = new URL(taken.url);
    expect(await about('port', { PORT: port })).toMatchObject([
      { level: 'problem', text: expect.stringContaining('another program') },
    ]);
    await taken.stop();
    expect(await about('port', { PORT: port })).toMatchObject([{ level: 'good' }]);
    const gateway = startProvider(() => Response.json({}, { headers: { 'x-service-request-id': 'req_1' } }));
    const { port: ofGateway } = new URL(gateway.url);
    expect(await about('port', { PORT: ofGateway })).toMatchObject([
      { level: 'problem', text: `${ofGateway} on 127.0.0.1 is in use by a gateway with another database.` },
    ]);
    await database.sql`
      insert into nodes (id, name) values (gen_random_uuid(), ${`${hostname()}:${ofGateway} worker 2`})`;
    expect(await about('port', { PORT: ofGateway })).toMatchObject([
      { level: 'good', text: expect.stringContaining('a running gateway') },
    ]);
    // The gateway was started with another PORT, which this command does not know.
    const other = startProvider(() => new Response('hello'));
    const { port: ofOther } = new URL(other.url);
    expect(await about('port', { PORT: ofOther })).toMatchObject([
      {
        level: 'good',
        text: `${ofGateway} on 127.0.0.1 is in use by a running gateway, and ${ofOther} by another program`,
      },
    ]);
    await gateway.stop();
    expect(await about('port', { PORT: ofOther })).toMatchObject([{ level: 'problem' }]);
    await database.sql`delete from nodes`;
    await other.stop();
  });

  test('has file descriptors for its streams', () => {
    expect([100, 1_024, 65_536].map((limit) => judgeDescriptors(limit, '').level)).toEqual([
      'problem',
      'warning',
      'good',
    ]);
  });
});
