/** A broken client is replaced, and the hosts that a replacement may connect to. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { SQL } from 'bun';
import { Hosts } from '../../src/database/hosts.ts';
import { ReplaceableClient } from '../../src/database/replaceable-client.ts';
import { createDatabase, type TestDatabase } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.close());

let names = 0;

/** With a unique name, by which the server identifies its connections. */
function openClient(finishMs?: number) {
  names += 1;
  const name = `replaceable ${names}`;
  const client = new ReplaceableClient(
    () => new SQL(database.url, { max: 1, connection: { application_name: name } }),
    finishMs,
  );
  const activity = () =>
    database.sql<{ pid: number; query: string }[]>`
      select pid, query from pg_stat_activity where application_name = ${name}`;
  return { client, activity };
}

async function processOf(sql: SQL): Promise<number> {
  const [row] = await sql<[{ pid: number }]>`select pg_backend_pid() as pid`;
  return row.pid;
}

test('queries go to the client that is current, on another connection once it was replaced', async () => {
  const { client, activity } = openClient();
  const before = await processOf(client.sql);
  expect(await processOf(client.sql)).toBe(before);
  expect(client.replace()).toBe(true);
  const after = await processOf(client.sql);
  expect(after).not.toBe(before);
  expect(await processOf(client.current)).toBe(after);
  const connection = await client.sql.reserve();
  expect(await processOf(connection)).toBe(after);
  await connection.release();
  await eventually('the replaced one is closed', async () => (await activity()).length === 1);
  await client.close(1);
});

test('those who shared a broken client replace it once', async () => {
  const { client } = openClient();
  const broken = client.current;
  expect(client.isCurrent(broken)).toBe(true);
  expect(client.replace(broken)).toBe(true);
  expect(client.isCurrent(broken)).toBe(false);
  const replacement = client.current;
  expect(client.replace(broken)).toBe(false);
  expect(client.current).toBe(replacement);
  await client.close(1);
});

/** Something that runs on the client until it is finished, once the server has it. */
async function runOn({ client, activity }: ReturnType<typeof openClient>) {
  const { promise: finished, resolve } = Promise.withResolvers<string>();
  const lock = names;
  const blocker = await database.sql.reserve();
  await blocker`select pg_advisory_lock(${lock})`;
  client.sql`select pg_advisory_lock(${lock})`.then(
    () => resolve('finished'),
    () => resolve('cut off'),
  );
  await eventually('it is running', async () =>
    (await activity()).some(({ query }) => query.includes('pg_advisory_lock')),
  );
  return {
    outcome: finished,
    finish: async () => {
      await blocker`select pg_advisory_unlock(${lock})`;
      await blocker.release();
    },
  };
}

test('what runs on a client that is replaced is cut off', async () => {
  const opened = openClient();
  const running = await runOn(opened);
  opened.client.replace();
  expect(await running.outcome).toBe('cut off');
  await running.finish();
  await opened.client.close(1);
});

test('with time to finish, what runs on a client that is replaced finishes', async () => {
  const opened = openClient(60_000);
  const running = await runOn(opened);
  opened.client.replace();
  expect(await processOf(opened.client.sql)).toBeNumber();
  await running.finish();
  expect(await running.outcome).toBe('finished');
  await opened.client.close(1);
  await eventually('all are closed', async () => (await opened.activity()).length === 0);
});

test('with little time to finish, what goes on for longer is cut off', async () => {
  const opened = openClient(50);
  const running = await runOn(opened);
  opened.client.replace();
  expect(await running.outcome).toBe('cut off');
  await running.finish();
  await opened.client.close(1);
});

test('closing ends the clients that were replaced too, and nothing is opened afterwards', async () => {
  const opened = openClient(60_000);
  const running = await runOn(opened);
  opened.client.replace();
  const last = opened.client.current;
  await opened.client.close(1);
  expect(await running.outcome).toBe('cut off');
  expect(opened.client.isCurrent(last)).toBe(false);
  expect(opened.client.replace()).toBe(false);
  expect(opened.client.current).toBe(last);
  await running.finish();
  await eventually('all are closed', async () => (await opened.activity()).length === 0);
});

test('a replacement connects to the host that is current at that moment', async () => {
  const away = { url: 'postgres://nobody@127.0.0.1:1/nowhere', max: 1 };
  const hosts = new Hosts([away, { url: database.url, max: 1 }]);
  const client = new ReplaceableClient(() => new SQL(hosts.current));
  expect(await processOf(client.sql).catch(() => null)).toBeNull();
  expect(hosts.areSeveral).toBe(true);
  hosts.moveOn();
  client.replace();
  expect(await processOf(client.sql)).toBeNumber();
  expect(hosts.others).toEqual([away]);
  hosts.moveOn();
  expect(hosts.current).toEqual(away);
  expect(await hosts.findPrimary()).toBe(true);
  expect(hosts.current).not.toEqual(away);
  expect(await hosts.findPrimary()).toBe(false);
  await client.close(1);
});
