/** Each reason why a gateway should get no traffic, as /readyz reports it. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { SQL } from 'bun';
import { knownMigrations } from '../../src/database/migrate.ts';
import { generateKey } from '../../src/keys/key-format.ts';
import { createDatabase, type TestDatabase } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { type Gateway, launchGateway, writeCatalog } from '../support/gateway.ts';
import { quickGateway } from '../support/quick-lease.ts';

let database: TestDatabase;
let gateway: Gateway;

beforeAll(async () => {
  database = await createDatabase();
  gateway = await launchGateway({ DATABASE_URL: database.url }, { command: quickGateway() }).listening;
}, 60_000);

afterAll(async () => {
  await gateway.stop();
  await database.close();
});

async function readiness({ origin }: Gateway = gateway) {
  const response = await fetch(`${origin}/readyz`);
  const body = (await response.json()) as { status: string; reasons: string[] };
  return { http: response.status, ...body };
}

test('a database that accepts no writes', async () => {
  const name = new URL(database.url).pathname.slice(1);
  // The setting applies to new sessions, so all others are ended.
  const session = new SQL(database.url, { max: 1 });
  const setReadOnly = async (value: 'on' | 'off') => {
    await session.unsafe(`alter database ${name} set default_transaction_read_only = ${value}`);
    await session`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid()`;
  };
  expect(await readiness()).toMatchObject({ http: 200, status: 'ready', reasons: [] });
  await setReadOnly('on');
  await eventually('it is read-only', async () =>
    (await readiness()).reasons.includes('database: read-only'),
  );
  expect(await readiness()).toMatchObject({
    http: 503,
    status: 'not ready',
    database: 'read-only',
    schema: 'ok',
  });
  await setReadOnly('off');
  await session.close();
  await eventually('it is ready', async () => (await readiness()).http === 200);
});

test('a schema that this version cannot use, and one that it can', async () => {
  await database.sql`insert into schema_migrations (version, name, digest, compatible_with)
    values (9999, '9999_future.sql', '', 9999)`;
  expect(await readiness()).toMatchObject({
    http: 503,
    database: 'ok',
    schema: 'newer',
    reasons: ['schema: newer'],
  });
  const newest = knownMigrations.at(-1)?.version;
  await database.sql`update schema_migrations set compatible_with = ${newest} where version = 9999`;
  expect(await readiness()).toMatchObject({ http: 200, schema: 'ok' });
  await database.sql`delete from schema_migrations where version = 9999`;
});

test('a lease that could not be renewed', async () => {
  const blocker = await database.sql.reserve();
  await blocker`begin`;
  await blocker`select 1 from nodes for update`;
  await eventually('the lease expires', async () => {
    const { http, reasons } = await readiness();
    return http === 503 && reasons.some((reason) => reason.startsWith('lease: expired, last renewed '));
  });
  await blocker`rollback`;
  await blocker.release();
  await eventually('it is ready', async () => (await readiness()).http === 200);
});

test('no more connections than DATABASE_POOL plus five, opened when needed', async () => {
  const small = await launchGateway({ DATABASE_URL: database.url, DATABASE_POOL: '2' }).listening;
  const count = async () => {
    const [row] = await database.sql`
      select count(*)::int as count from pg_stat_activity
      where datname = current_database() and application_name = 'tollgate'`;
    return row.count as number;
  };
  const before = await count();
  await Promise.all(Array.from({ length: 30 }, () => fetch(`${small.origin}/readyz`)));
  await Promise.all(
    Array.from({ length: 30 }, () =>
      fetch(`${small.origin}/v1/models`, { headers: { authorization: `Bearer ${generateKey()}` } }),
    ),
  );
  const most = await count();
  await small.stop();
  // Those of the other gateway are there all the time.
  const others = await eventually('its connections are closed', async () => {
    const left = await count();
    return left < before ? { left } : null;
  });
  expect(most - others.left).toBeLessThanOrEqual(2 + 5);
});

// Other systems do not show them.
test.if(process.platform === 'linux')('descriptors that are nearly exhausted', async () => {
  const limit = readdirSync(`/proc/${gateway.process.pid}/fd`).length + 20;
  const scarce = await launchGateway(
    { DATABASE_URL: database.url },
    {
      command: [
        'sh',
        '-c',
        `ulimit -n ${limit}; exec "$0" serve`,
        join(import.meta.dir, '../../bin/tollgate'),
      ],
    },
  ).listening;
  expect((await readiness(scarce)).reasons).toEqual([
    expect.stringMatching(new RegExp(`^descriptors: \\d+ of ${limit} in use$`)),
  ]);
  await scarce.stop();
});

test('a catalogue without models', async () => {
  const empty = await launchGateway({
    DATABASE_URL: database.url,
    TOLLGATE_CATALOG: writeCatalog('price_version: "1"\nproviders: {}\nmodels: {}\n'),
  }).listening;
  expect(await readiness(empty)).toMatchObject({ http: 503, reasons: ['catalogue: no models'] });
  await empty.stop();
});
