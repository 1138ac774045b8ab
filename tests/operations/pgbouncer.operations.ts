/**
 * A gateway behind pgbouncer in transaction mode.
 *
 * Needs `pgbouncer`: apt-get install pgbouncer, or brew install pgbouncer.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SQL, type Subprocess } from 'bun';
import { eventually } from '../support/eventually.ts';
import { temporaryFolder, tollgate } from '../support/gateway.ts';
import { deploy } from './support/deployment.ts';
import { type PostgresServer, startPostgres } from './support/postgres.ts';

let server: PostgresServer;
let bouncer: Subprocess;
let pooledUrl: string;

beforeAll(async () => {
  server = await startPostgres(18);
  await server.run('create database gateway');
  const port = server.port + 1;
  const folder = temporaryFolder();
  const settings = join(folder, 'pgbouncer.ini');
  writeFileSync(join(folder, 'users.txt'), '"tollgate" ""\n');
  writeFileSync(
    settings,
    `[databases]
* = host=127.0.0.1 port=${server.port} user=tollgate
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
auth_file = ${join(folder, 'users.txt')}
pool_mode = transaction
default_pool_size = 5
`,
  );
  // It refuses to run as root.
  const prefix =
    process.getuid?.() === 0 ? ['unshare', '--user', '--map-user=65534', '--map-group=65534', '--'] : [];
  const program =
    Bun.which('pgbouncer', { PATH: `${process.env.PATH}:/usr/sbin:/usr/local/sbin` }) ?? 'pgbouncer';
  bouncer = Bun.spawn([...prefix, program, settings], { stdout: 'ignore', stderr: 'ignore' });
  pooledUrl = `postgres://tollgate@127.0.0.1:${port}/gateway`;
  await eventually('pgbouncer answers', async () => {
    const sql = new SQL(pooledUrl, { max: 1, connectionTimeout: 1 });
    return await sql`select 1`
      .then(() => sql.close())
      .then(
        () => true,
        () => false,
      );
  });
}, 120_000);

afterAll(async () => {
  bouncer.kill();
  await bouncer.exited;
  server.stop();
});

test('refuses to start without an address for sessions, and says which variable to set', async () => {
  const refused = await tollgate(['serve'], { DATABASE_URL: pooledUrl, PORT: '0' });
  expect(refused.exitCode).toBe(1);
  expect(refused.stderr).toStartWith(
    'tollgate: DATABASE_URL leads to a pooler in transaction mode, such as pgbouncer. Set DATABASE_DIRECT_URL too',
  );
  const both = await tollgate(['migrate'], { DATABASE_URL: pooledUrl, DATABASE_DIRECT_URL: pooledUrl });
  expect(both.stderr).toStartWith('tollgate: DATABASE_DIRECT_URL leads to a pooler in transaction mode too.');
});

test('serves with DATABASE_DIRECT_URL, and a revoked key is rejected at once', async () => {
  const deployment = await deploy({ DATABASE_URL: pooledUrl, DATABASE_DIRECT_URL: server.url('gateway') });
  const { chat, get, environment, account } = deployment;
  const results = await Promise.all(
    Array.from({ length: 200 }, (_, place) =>
      chat(place % 2 === 0 ? {} : { 'idempotency-key': `key-${place % 20}` }),
    ),
  );
  expect(new Set(results.map(({ status }) => status))).toEqual(new Set([200]));
  const page = await get<{ data: unknown[] }>('/v1/generations?limit=50');
  expect(page.data).toHaveLength(50);
  expect((await get<{ data: unknown[] }>('/v1/usage')).data.length).toBeGreaterThan(0);
  const audit = await tollgate(['ledger', 'audit', '--full'], environment);
  expect(audit.exitCode).toBe(0);
  const [found] = JSON.parse(
    (await tollgate(['key', 'list', '--account', account, '--json'], environment)).stdout,
  );
  await tollgate(['key', 'revoke', found.id], environment);
  await eventually('the key is rejected', async () => (await chat()).status === 401);
  await deployment.close();
});
