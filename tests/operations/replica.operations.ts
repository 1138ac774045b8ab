/**
 * A primary and its replica: lists from the replica while it is close behind, and a failover between two hosts.
 *
 * Needs `npm`: install Node.js, with which it comes.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { readConfig } from '../../src/config.ts';
import { examine } from '../../src/doctor/examine.ts';
import type { Finding } from '../../src/doctor/finding.ts';
import { eventually } from '../support/eventually.ts';
import { programEnvironment } from '../support/gateway.ts';
import { type Deployment, deploy } from './support/deployment.ts';
import { type PostgresServer, startPostgres, startReplica } from './support/postgres.ts';

let primary: PostgresServer;
let replica: PostgresServer;
let deployment: Deployment;

beforeAll(async () => {
  primary = await startPostgres(18);
  await primary.run('create database gateway');
  replica = await startReplica(primary, 18);
  deployment = await deploy({
    // The replica comes first, so the gateway has to find the one that accepts writes.
    DATABASE_URL: `postgres://tollgate@127.0.0.1:${replica.port},127.0.0.1:${primary.port}/gateway`,
    DATABASE_READ_URL: replica.url('gateway'),
  });
}, 120_000);

afterAll(async () => {
  await deployment.close();
  replica.stop();
  try {
    primary.stop();
  } catch {
    // The failover has ended it.
  }
});

const newest = async () =>
  (await deployment.get<{ data: { id: string }[] }>('/v1/generations?limit=1')).data[0]?.id;

/** What the doctor reports about the replica. */
async function replicaFinding(): Promise<Finding | undefined> {
  const config = readConfig(programEnvironment({ PORT: '0', ...deployment.environment }));
  const findings = await examine(config, { isOffline: true });
  return findings.find(({ about }) => about === 'replica');
}

test('lists come from a replica that keeps up, a single Generation from the primary', async () => {
  await eventually('the replica is in use', () =>
    deployment.gateway.output().includes('lists and reports come from the replica'),
  );
  expect(await replicaFinding()).toMatchObject({ level: 'good' });
  const first = await deployment.chat();
  expect(first.status).toBe(200);
  await eventually('it is in the list', async () => (await newest()) === first.id);

  await replica.run('select pg_wal_replay_pause()');
  const second = await deployment.chat();
  // The replica cannot have it yet, so this shows which server was queried.
  expect(await newest()).toBe(first.id);
  expect((await deployment.get<{ id: string }>(`/v1/generations/${second.id}`)).id).toBe(second.id);
  await eventually('the primary is asked instead', async () => {
    await deployment.chat();
    return deployment.gateway.output().includes('the replica is away or too far behind');
  });
  expect(await replicaFinding()).toMatchObject({
    level: 'warning',
    text: expect.stringContaining('too far behind'),
  });
  const third = await deployment.chat();
  expect(await newest()).toBe(third.id);

  await replica.run('select pg_wal_replay_resume()');
  await eventually(
    'the replica is in use again',
    () => deployment.gateway.output().split('lists and reports come from the replica').length === 3,
  );
}, 120_000);

test('after a failover the gateway finds the new primary, and nothing that was charged is lost', async () => {
  const before = await deployment.chat();
  await eventually('the replica has it', async () => (await newest()) === before.id);
  primary.stop('immediate');
  replica.promote();
  const startedAt = performance.now();
  const after = await eventually('requests are served again', async () => {
    const response = await deployment.chat();
    return response.status === 200 ? response : null;
  });
  process.stdout.write(`served again ${Math.round(performance.now() - startedAt)} ms after the promotion\n`);
  expect((await deployment.get<{ id: string }>(`/v1/generations/${before.id}`)).id).toBe(before.id);
  await eventually('it is in the list', async () => (await newest()) === after.id);
  await eventually(
    'it is ready',
    async () => (await fetch(`${deployment.gateway.origin}/readyz`)).status === 200,
  );
  await eventually('nothing stays held', async () => {
    const { SQL } = await import('bun');
    const sql = new SQL(replica.url('gateway'), { max: 1 });
    const [row] = await sql`select sum(held)::float8 as held from accounts`;
    await sql.close();
    return row.held === 0;
  });
}, 120_000);
