/** Starting the whole program on a given database, and everything that can be wrong with its settings. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { dirname, join } from 'node:path';
import { readConfig } from '../../src/config.ts';
import { OperatorError } from '../../src/lib/operator-error.ts';
import { createDatabase, createEmptyDatabase, type TestDatabase } from '../support/cluster.ts';
import { startDatabaseRelay } from '../support/database-relay.ts';
import { eventually } from '../support/eventually.ts';
import {
  type Gateway,
  launchGateway,
  programEnvironment,
  shippedCatalog,
  startGateway,
  temporaryFolder,
  tollgate,
  writeCatalog,
} from '../support/gateway.ts';
import { freePorts } from '../support/workers.ts';

describe('on a given database', () => {
  test('several nodes at once migrate an empty database, and no demo is created', async () => {
    const database = await createEmptyDatabase();
    const gateways = await Promise.all(
      Array.from({ length: 3 }, () => startGateway({ DATABASE_URL: database.url })),
    );
    for (const gateway of gateways) expect(gateway.output()).not.toMatch(/svc_sk_|Password|demo@/);
    const [made] = await database.sql`
      select (select count(*)::int from accounts) as accounts, (select count(*)::int from users) as users`;
    expect(made).toEqual({ accounts: 0, users: 0 });
    expect(await Promise.all(gateways.map((gateway) => gateway.stop()))).toEqual([0, 0, 0]);
    await database.close();
  });

  test('a database that is still starting is waited for, and so is one that went away', async () => {
    const database = await createDatabase();
    const port = freePorts(1);
    const launched = launchGateway({
      DATABASE_URL: `postgres://${new URL(database.url).username}@127.0.0.1:${port}${new URL(database.url).pathname}`,
    });
    await eventually('it has not reached the database', () => launched.output().includes('trying again'));
    const relay = await startDatabaseRelay(database.url, port);
    const gateway = await launched.listening;
    expect(gateway.output().match(/the database cannot be reached yet, trying again/g)).toHaveLength(1);
    relay.become('close');
    await eventually('it has lost the database', () => gateway.output().includes('subscribing again'));
    relay.become('pass');
    await eventually('it is ready', async () => (await fetch(`${gateway.origin}/readyz`)).status === 200);
    expect(await gateway.stop()).toBe(0);
    // Every line of the log is JSON, even while the driver cannot reach the database.
    for (const line of gateway.output().trim().split('\n')) expect(line).toStartWith('{"at":"');
    relay.close();
    await database.close();
  });

  test('price lists are kept, once for each different content', async () => {
    const database = await createDatabase();
    const catalog = (price: string) =>
      `price_version: "1"\nproviders: { p: { name: P, adapter: openai, base_url: "http://127.0.0.1:9/v1" } }\nmodels: { m: { workload: chat, created: 2025-01-01, pricing: { billing_type: token, input: "${price}", output: "1" }, providers: [p] } }\n`;
    const file = writeCatalog(catalog('1'));
    const environment = { DATABASE_URL: database.url, TOLLGATE_CATALOG: file };
    const first = await startGateway(environment);
    writeCatalog(catalog('2'), dirname(file));
    await eventually('the other prices are in use', () => first.output().includes('catalogue reloaded'));
    await first.stop();
    writeCatalog(catalog('1'), dirname(file));
    await (await startGateway(environment)).stop();
    const lists =
      await database.sql`select version, content -> 'models' -> 0 -> 'pricing' ->> 'input' as input from price_lists order by id`;
    expect([...lists]).toEqual([
      { version: '1', input: '1' },
      { version: '1', input: '2' },
    ]);
    await database.close();
  });
});

async function refusal(environment: Record<string, string>): Promise<string> {
  const { exitCode, stdout, stderr } = await tollgate(['serve'], { PORT: '0', ...environment });
  expect(exitCode).toBe(1);
  expect(stderr).toStartWith('tollgate: ');
  expect(stderr.trim().split('\n')).toHaveLength(1);
  expect(stderr + stdout).not.toMatch(/^\s+at /m);
  return stderr.trim().slice('tollgate: '.length);
}

describe('a gateway that runs', () => {
  let database: TestDatabase;
  let gateway: Gateway;

  beforeAll(async () => {
    database = await createDatabase();
    gateway = await startGateway({ DATABASE_URL: database.url });
  }, 60_000);

  afterAll(async () => {
    await gateway.stop();
  });

  test('readiness sends a slow database one query at a time', async () => {
    const blocker = await database.sql.reserve();
    await blocker`begin`;
    await blocker`lock table schema_migrations in access exclusive mode`;
    const answers = Array.from({ length: 20 }, () => fetch(`${gateway.origin}/readyz`));
    const waiting = async () => {
      const [row] = await database.sql`
        select count(*)::int as count from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`;
      return row.count as number;
    };
    await eventually('the database is asked', async () => (await waiting()) > 0);
    // The lock is held until all have been answered, so every query has been sent before it is released.
    expect(new Set((await Promise.all(answers)).map(({ status }) => status))).toEqual(new Set([503]));
    expect(await waiting()).toBe(1);
    await blocker`rollback`;
    await blocker.release();
    expect((await fetch(`${gateway.origin}/readyz`)).status).toBe(200);
  });

  test('keeps running when its log is no longer read, and stops cleanly', async () => {
    const child = Bun.spawn([join(import.meta.dir, '../../bin/tollgate'), 'serve'], {
      cwd: temporaryFolder(),
      env: programEnvironment({ PORT: '0', DATABASE_URL: database.url, LOG_LEVEL: 'debug' }),
      stdout: 'pipe',
      stderr: 'pipe',
    });
    let printed = '';
    const decoder = new TextDecoder();
    for await (const bytes of child.stdout) {
      printed += decoder.decode(bytes, { stream: true });
      // Leaving the loop closes the pipe.
      if (printed.includes('"listening"')) break;
    }
    const origin = /"address":"([^"]+)"/.exec(printed)?.[1];
    // Its line in the log cannot be written.
    expect((await fetch(`${origin}/v1/models`)).status).toBe(401);
    child.kill();
    expect([await child.exited, await child.stderr.text()]).toEqual([0, '']);
  });

  test('a gateway names a port that is in use', async () => {
    const port = new URL(gateway.origin).port;
    expect(await refusal({ DATABASE_URL: database.url, PORT: port })).toBe(
      `A gateway already runs at http://127.0.0.1:${port}. To use that one, open the address; to start it again, stop it first. For another one beside it, set PORT to a free port, for example PORT=${Number(port) + 1}.`,
    );
  });

  test('and a port for metrics that is in use', async () => {
    const port = new URL(gateway.origin).port;
    expect(await refusal({ DATABASE_URL: database.url, METRICS_PORT: port })).toBe(
      `METRICS_PORT ${port} cannot be opened.`,
    );
  });

  test('readiness follows the database, health does not', async () => {
    const status = async (path: string) => (await fetch(`${gateway.origin}${path}`)).status;
    expect(await status('/readyz')).toBe(200);
    // A gateway of a newer version has migrated the database under this one.
    await database.sql`insert into schema_migrations (version, name, digest) values (9999, '9999_future.sql', '')`;
    expect(await status('/readyz')).toBe(503);
    await database.sql`delete from schema_migrations where version = 9999`;
    expect(await status('/readyz')).toBe(200);
    await database.close();
    expect(await status('/readyz')).toBe(503);
    expect(await status('/healthz')).toBe(200);
  });
});

describe('what cannot start says why in one sentence and exits 1', () => {
  test.each([
    [{ PORT: 'http' }, 'PORT must be a whole number from 0 to 65535, but is "http".'],
    [{ PORT: '70000' }, 'PORT must be a whole number from 0 to 65535, but is "70000".'],
    [{ LOG_LEVEL: 'loud' }, 'LOG_LEVEL must be one of debug, info, warn, error, but is "loud".'],
    [
      { PUBLIC_URL: 'gateway.example.com' },
      'PUBLIC_URL must be an address such as https://gateway.example.com, but is "gateway.example.com".',
    ],
    [
      { DATABASE_URL: 'mysql://u:hunter2@h/d' },
      'DATABASE_URL must have the form postgres://user:password@host:5432/database, with a slash in the password as %2F.',
    ],
    [
      { DATABASE_URL: 'postgres://u:hunter2@h1:5432,/d' },
      'DATABASE_URL must have the form postgres://user:password@host:5432/database, with a slash in the password as %2F.',
    ],
    [
      { DATABASE_URL: 'postgres://u:hunter2@h/d?sslmode=on' },
      'sslmode in DATABASE_URL must be one of disable, prefer, require, verify-ca, verify-full.',
    ],
    [{ DATABASE_DIRECT_URL: 'postgres://u@h/d' }, 'DATABASE_DIRECT_URL is set without DATABASE_URL.'],
    [
      { DATABASE_URL: 'postgres://u@h/d', DATABASE_READ_URL: 'postgres://u@h1,h2/d' },
      'DATABASE_READ_URL must name one host; DATABASE_URL may name several.',
    ],
    [{ DATABASE_POOL: '0' }, 'DATABASE_POOL must be a whole number from 1 to 1000, but is "0".'],
    [{ MIGRATE: 'no' }, 'MIGRATE must be one of on, off, but is "no".'],
    [{ DATABASE_URL_FILE: '/nowhere' }, 'DATABASE_URL_FILE names "/nowhere", which cannot be read.'],
    [{ DATABASE_URL_FILE: '/dev/null' }, 'DATABASE_URL_FILE names "/dev/null", which is empty.'],
    [
      { DATABASE_URL: 'postgres://u@h/d', DATABASE_URL_FILE: '/dev/null' },
      'DATABASE_URL and DATABASE_URL_FILE are both set: keep one of them.',
    ],
    [
      { TOLLGATE_ALLOW_UNSAFE: 'everything' },
      'TOLLGATE_ALLOW_UNSAFE must be one of fsync, full_page_writes, synchronous_commit, but is "everything".',
    ],
    [{ WORKERS: 'many' }, 'WORKERS must be auto or a whole number from 1 to 256, but is "many".'],
    [{ WORKERS: '0' }, 'WORKERS must be a whole number from 1 to 256, but is "0".'],
    [
      { WORKERS: '2', METRICS_TOKEN: 'x'.repeat(16) },
      'METRICS_TOKEN works with a single worker only, but WORKERS makes 2: each scrape would reach another one. Set METRICS_PORT instead, and scrape one port per worker, from METRICS_PORT on.',
    ],
    [
      { WORKERS: '2', METRICS_PORT: '65535' },
      'METRICS_PORT must be a whole number from 1 to 65534, but is "65535".',
    ],
    [{ DRAIN_SECONDS: 'long' }, 'DRAIN_SECONDS must be a whole number from 0 to 86400, but is "long".'],
    [
      { DRAIN_DELAY_SECONDS: '-1' },
      'DRAIN_DELAY_SECONDS must be a whole number from 0 to 86400, but is "-1".',
    ],
    [
      { DRAIN_DELAY_SECONDS: '30', DRAIN_SECONDS: '20' },
      'DRAIN_SECONDS includes DRAIN_DELAY_SECONDS, so it must be at least 30, but is 20.',
    ],
    [{ SIGN_UP: 'yes' }, 'SIGN_UP must be one of open, closed, but is "yes".'],
    ...['0', '-5', 'five', '1001', '1e2'].map((text) => [
      { WELCOME_GRANT: text },
      `WELCOME_GRANT must be an amount in USD up to 1000, such as 5, but is "${text}".`,
    ]),
    [
      { WELCOME_GRANT: '5', WELCOME_GRANTS_PER_DAY: '0' },
      'WELCOME_GRANTS_PER_DAY must be a whole number from 1 to 10000, but is "0".',
    ],
    [
      { TRUSTED_PROXIES: '10.0.0.0/8, proxy' },
      'TRUSTED_PROXIES must be addresses or networks such as 10.0.0.0/8, separated by commas, but has "proxy".',
    ],
    [
      { SMTP_URL: 'https://user:hunter2@mail.example.com' },
      'SMTP_URL must have the form smtp://user:password@host:587 or smtps://….',
    ],
    [{ SMTP_URL_FILE: '/dev/null' }, 'SMTP_URL_FILE names "/dev/null", which is empty.'],
    [
      { SMTP_URL: 'smtp://mail.example.com', PUBLIC_URL: 'https://gateway.example.com' },
      'With SMTP_URL set, MAIL_FROM must be the sender of mails, such as Tollgate <noreply@example.com>.',
    ],
    [
      { SMTP_URL: 'smtp://mail.example.com', MAIL_FROM: 'Tollgate' },
      'With SMTP_URL set, MAIL_FROM must be the sender of mails, such as Tollgate <noreply@example.com>.',
    ],
    [
      { SMTP_URL: 'smtp://mail.example.com', MAIL_FROM: 'noreply@example.com' },
      'With SMTP_URL set, PUBLIC_URL must be set too: links in mails lead there.',
    ],
  ] as [Record<string, string>, string][])('%j', (environment, message) => {
    expect(() => readConfig(environment)).toThrow(new OperatorError(message));
  });

  test('a setting, by the program itself', async () => {
    expect(await refusal({ LOG_LEVEL: 'loud' })).toBe(
      'LOG_LEVEL must be one of debug, info, warn, error, but is "loud".',
    );
  });

  test('an unreachable database, without its password', async () => {
    const launched = launchGateway(
      { DATABASE_URL: 'postgres://user:hunter2@127.0.0.1:1/none' },
      { command: [process.execPath, join(import.meta.dir, '../support/impatient-gateway.ts')] },
    );
    expect(await launched.ended()).toBe(1);
    expect(launched.output()).toBe(
      'tollgate: The database at 127.0.0.1:1 cannot be reached: nothing listens there. Check DATABASE_URL and that PostgreSQL is running.\n',
    );
  });

  test('a database that does not exist', async () => {
    const database = await createDatabase();
    const launched = launchGateway({ DATABASE_URL: database.url.replace(/test_\w+/, 'missing') });
    expect(await launched.ended()).toBe(1);
    // Waiting would not help.
    expect(launched.output()).toMatch(
      /^tollgate: PostgreSQL at \S+ refuses the connection: database "missing" does not exist\. Check DATABASE_URL\.\n$/,
    );
    await database.close();
  });

  test('a database with other tables, or where nothing may be created', async () => {
    const database = await createEmptyDatabase();
    await database.sql`create table accounts (id integer)`;
    expect(await refusal({ DATABASE_URL: database.url })).toContain('relation "accounts" already exists');
    await database.sql`drop table accounts`;
    await database.sql`create role guest login`;
    expect(await refusal({ DATABASE_URL: database.url.replace('tollgate@', 'guest@') })).toBe(
      'The database user lacks a privilege: permission denied for schema public. It must own the database and what is in it: ALTER DATABASE name OWNER TO user; ALTER SCHEMA public OWNER TO user; and if another user has migrated it before, REASSIGN OWNED BY that_user TO user.',
    );
    await database.sql`alter role guest connection limit 0`;
    expect(await refusal({ DATABASE_URL: database.url.replace('tollgate@', 'guest@') })).toBe(
      'The database has no connection left (too many connections for role "guest"). A gateway uses up to DATABASE_POOL connections and six more: lower DATABASE_POOL, raise the limit of the user (ALTER ROLE name CONNECTION LIMIT number), or put pgbouncer in front and set DATABASE_DIRECT_URL.',
    );
    await database.sql`alter role guest connection limit -1`;
    const [{ name }] = await database.sql<[{ name: string }]>`select current_database() as name`;
    await database.sql.unsafe(`alter database ${name} connection limit 0`);
    expect(await refusal({ DATABASE_URL: database.url.replace('tollgate@', 'guest@') })).toContain(
      'raise the limit of the database (ALTER DATABASE name CONNECTION LIMIT number)',
    );
    await database.sql`drop role guest`;
    await database.close();
  });

  test('a provider key that is given twice', async () => {
    const database = await createDatabase();
    const message = await refusal({
      DATABASE_URL: database.url,
      TOLLGATE_CATALOG: shippedCatalog,
      OPENAI_API_KEY: 'one',
      OPENAI_API_KEY_FILE: '/dev/null',
    });
    expect(message).toBe('OPENAI_API_KEY and OPENAI_API_KEY_FILE are both set: keep one of them.');
    await database.close();
  });

  test('a missing and a broken catalogue', async () => {
    const database = await createDatabase();
    expect(await refusal({ DATABASE_URL: database.url, TOLLGATE_CATALOG: '/nowhere/catalog.yaml' })).toBe(
      'The catalogue /nowhere/catalog.yaml does not exist. TOLLGATE_CATALOG names the file to use. To write the default one: tollgate catalog init',
    );
    expect(
      await refusal({
        DATABASE_URL: database.url,
        TOLLGATE_CATALOG: writeCatalog('price_version: "1"\nproviders: {}\nmodels: {}\nextra: 1\n'),
      }),
    ).toContain('catalog.yaml:4');
    await database.close();
  });

  test('an address that is not this machine’s', async () => {
    const database = await createDatabase();
    expect(await refusal({ DATABASE_URL: database.url, HOST: '192.0.2.1' })).toContain('Check HOST and PORT');
    await database.close();
  });

  test('a database that may lose commits, unless that is allowed by name', async () => {
    const database = await createDatabase();
    const name = /test_\w+/.exec(database.url)?.[0];
    await database.sql.unsafe(`alter database ${name} set synchronous_commit = off`);
    expect(await refusal({ DATABASE_URL: database.url })).toContain('synchronous_commit off');
    expect(await refusal({ DATABASE_URL: database.url, TOLLGATE_ALLOW_UNSAFE: 'fsync' })).toContain(
      'TOLLGATE_ALLOW_UNSAFE=synchronous_commit',
    );
    const gateway = await startGateway({
      DATABASE_URL: database.url,
      TOLLGATE_ALLOW_UNSAFE: 'fsync,synchronous_commit',
    });
    expect(await gateway.stop()).toBe(0);
    await database.close();
  });

  test('a database newer than the code, or made by other migrations', async () => {
    const database = await createDatabase();
    await database.sql`insert into schema_migrations (version, name, digest) values (9999, '9999_future.sql', '')`;
    expect(await refusal({ DATABASE_URL: database.url })).toContain(
      'The database is newer than this version of Tollgate: it has migration 9999',
    );
    await database.sql`delete from schema_migrations where version = 9999`;
    await database.sql`update schema_migrations set digest = 'other' where version = 1`;
    expect(await refusal({ DATABASE_URL: database.url })).toContain('Migration 0001_initial.sql differs');
    await database.close();
  });
});
