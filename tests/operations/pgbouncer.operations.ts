/**
 * A gateway behind pgbouncer in transaction mode.
 *
 * Needs `pgbouncer`: apt-get install pgbouncer, or brew install pgbouncer.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { eventually } from '../support/eventually.ts';
import { tollgate } from '../support/gateway.ts';
import { deploy } from './support/deployment.ts';
import { type Pgbouncer, startPgbouncer } from './support/pgbouncer.ts';
import { type PostgresServer, startPostgres } from './support/postgres.ts';

let server: PostgresServer;
let bouncer: Pgbouncer;
let pooledUrl: string;

beforeAll(async () => {
  server = await startPostgres(18);
  await server.run('create database gateway');
  bouncer = await startPgbouncer(server, server.port + 1);
  pooledUrl = bouncer.url('gateway');
}, 120_000);

afterAll(async () => {
  await bouncer.kill();
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
