/** What signals do to a whole gateway, its sandbox and its database: to one process, to a group, through npm. */
import { describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SQL } from 'bun';
import { signalCounter } from '../../src/operations/lifecycle.ts';
import { createDatabase, type TestDatabase } from '../support/cluster.ts';
import { runCommand } from '../support/commands.ts';
import { isServerThere, keyIn, preparedFolder, welcomed } from '../support/embedded.ts';
import { eventually } from '../support/eventually.ts';
import {
  type Gateway,
  launchGateway,
  startGateway,
  temporaryFolder,
  writeCatalog,
} from '../support/gateway.ts';

const program = join(import.meta.dir, '../../bin/tollgate');
const migrationLock = 7_012_018_002;

async function isSomeoneWaiting({ sql }: TestDatabase): Promise<boolean> {
  const waiting = await sql`
    select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
  return waiting.length > 0;
}

/** Whether a gateway has tried to lock the migrations. It tries repeatedly, without waiting in the database. */
async function isLockAskedFor({ sql }: TestDatabase): Promise<boolean> {
  const asking = await sql`
    select 1 from pg_stat_activity
    where datname = current_database() and query like '%pg_try_advisory_lock%' and pid <> pg_backend_pid()`;
  return asking.length > 0;
}

/** The descendants of a process whose command line contains the text. */
function childrenOf(processId: number, text: string): number[] {
  const { stdout } = Bun.spawnSync(['ps', '-A', '-o', 'pid=,ppid=,args=']);
  return stdout
    .toString()
    .split('\n')
    .map((line) => /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line))
    .filter((match) => Number(match?.[2]) === processId && match?.[3]?.includes(text))
    .map((match) => Number(match?.[1]));
}

function isRunning(processId: number): boolean {
  return Bun.spawnSync(['ps', '-p', `${processId}`]).exitCode === 0;
}

/** How many requests are open in the database of that folder. */
async function openCount(folder: string): Promise<number> {
  const path = join(folder, 'postgres/.s.PGSQL.5432');
  const sql = new SQL({ adapter: 'postgres', path, username: 'tollgate', database: 'postgres', max: 1 });
  const [row] = await sql`select count(*)::int as count from open_generations`;
  await sql.close();
  return row.count;
}

function chat(gateway: Gateway, key: string, content: string): Promise<Response> {
  return fetch(`${gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'sandbox-chat', messages: [{ role: 'user', content }] }),
  });
}

test('a signal that follows another within a second is a copy of it', () => {
  const count = signalCounter();
  expect([0, 5, 999, 1_000, 1_500, 2_000].map(count)).toEqual([1, null, null, 2, null, 3]);
});

describe('Ctrl-C', () => {
  test('to the whole group, twice: requests in progress are answered, and nothing is left running', async () => {
    const folder = await preparedFolder();
    const launched = launchGateway({ TOLLGATE_DATA: folder }, { detached: true });
    const gateway = await welcomed(await launched.listening);
    const [sandbox = 0, ...others] = childrenOf(gateway.process.pid, 'sandbox/main.ts');
    expect(others).toEqual([]);
    const answer = chat(gateway, keyIn(gateway), 'Hello [[delay 3000]]');
    await eventually('the request is under way', async () => (await openCount(folder)) === 1);
    process.kill(-gateway.process.pid, 'SIGINT');
    await eventually('the gateway drains', () => gateway.output().includes('"event":"draining"'));
    process.kill(-gateway.process.pid, 'SIGINT');
    expect((await answer).status).toBe(200);
    expect(await launched.ended()).toBe(0);
    expect(isServerThere(folder)).toBe(false);
    expect(isRunning(sandbox)).toBe(false);
  });

  test.skipIf(Bun.which('script') === null)('in a terminal, through npm start', async () => {
    const folder = await preparedFolder();
    const project = temporaryFolder();
    writeFileSync(
      join(project, 'package.json'),
      JSON.stringify({ scripts: { start: `exec "${program}" serve` } }),
    );
    const launched = launchGateway(
      { TOLLGATE_DATA: folder },
      { command: ['script', '-qec', 'exec npm start', '/dev/null'], cwd: project, stdin: 'pipe' },
    );
    await welcomed(await launched.listening);
    await launched.process.stdin?.write('\x03');
    await launched.process.stdin?.flush();
    expect(await launched.ended()).toBe(0);
    expect(Bun.stripANSI(launched.output())).toMatch(/\d\d:\d\d:\d\d stopped\r?\n/);
    expect(isServerThere(folder)).toBe(false);
  });
});

test('a sandbox that dies is started again, on the same port', async () => {
  const folder = await preparedFolder();
  const gateway = await welcomed(await startGateway({ TOLLGATE_DATA: folder }));
  const key = keyIn(gateway);
  const sandboxes = () => childrenOf(gateway.process.pid, 'sandbox/main.ts');
  const [first = 0] = sandboxes();
  process.kill(first, 'SIGKILL');
  await eventually('another sandbox runs', () => sandboxes().some((id) => id !== first));
  await eventually('it answers', async () => (await chat(gateway, key, 'Hello')).status === 200);
  const [second = 0] = sandboxes();
  expect(await gateway.stop()).toBe(0);
  expect(isRunning(second)).toBe(false);
});

describe('while the gateway starts', () => {
  async function startBlocked(database: TestDatabase) {
    const blocker = await database.sql.reserve();
    await blocker`select pg_advisory_lock(${migrationLock})`;
    const launched = launchGateway({ DATABASE_URL: database.url });
    await eventually('the gateway asks for the lock', () => isLockAskedFor(database));
    const unblock = async () => {
      await blocker`select pg_advisory_unlock(${migrationLock})`;
      await blocker.release();
    };
    return { launched, unblock };
  }

  test('SIGHUP does not end it', async () => {
    const database = await createDatabase();
    const { launched, unblock } = await startBlocked(database);
    launched.process.kill('SIGHUP');
    await Bun.sleep(100);
    await unblock();
    const gateway = await launched.listening;
    expect((await fetch(`${gateway.origin}/readyz`)).status).toBe(200);
    expect(await gateway.stop()).toBe(0);
    await database.close();
  });

  test('SIGTERM ends it cleanly, whatever it waits for', async () => {
    const database = await createDatabase();
    const { launched, unblock } = await startBlocked(database);
    launched.process.kill('SIGTERM');
    expect(await launched.ended()).toBe(0);
    expect(launched.output()).toContain('stopping before the start is over');
    await unblock();
    await database.close();
  });
});

describe('SIGHUP', () => {
  const catalog = (version: string) =>
    `price_version: "${version}"\nproviders: { p: { adapter: openai, base_url: "http://127.0.0.1:9/v1", api_key_env: P_KEY } }\nmodels: {}\n`;

  test('reloads the catalogue, with changed secrets, even if the file did not change', async () => {
    const database = await createDatabase();
    const secret = join(temporaryFolder(), 'secret');
    writeFileSync(secret, 'first');
    const gateway = await startGateway({
      DATABASE_URL: database.url,
      TOLLGATE_CATALOG: writeCatalog(catalog('1')),
      P_KEY_FILE: secret,
    });
    // The file is checked once more soon after the start; nothing has changed yet.
    await Bun.sleep(300);
    expect(gateway.output()).not.toContain('catalogue reloaded');
    gateway.process.kill('SIGHUP');
    await eventually('the catalogue is reloaded', () => gateway.output().includes('catalogue reloaded'));
    writeFileSync(secret, '');
    gateway.process.kill('SIGHUP');
    await eventually('the catalogue is refused', () =>
      gateway.output().includes('catalogue rejected, the old one stays in use'),
    );
    expect(gateway.output()).toContain('P_KEY_FILE names');
    expect((await fetch(`${gateway.origin}/healthz`)).status).toBe(200);
    expect(await gateway.stop()).toBe(0);
    await database.close();
  });
});

test('SIGTERM: not ready, no new connections, requests in progress get their response', async () => {
  const database = await createDatabase();
  const environment = { DATABASE_URL: database.url };
  const account = await runCommand<{ id: string }>(['account', 'create', '--name', 'A'], environment);
  const { key } = await runCommand<{ key: string }>(['key', 'create', '--account', account.id], environment);
  const gateway = await startGateway(environment);
  const blocker = await database.sql.reserve();
  await blocker`begin`;
  await blocker`lock table api_keys in access exclusive mode`;
  const answer = fetch(`${gateway.origin}/v1/models`, { headers: { authorization: `Bearer ${key}` } });
  await eventually('someone waits for the lock', () => isSomeoneWaiting(database));
  gateway.process.kill('SIGTERM');
  await eventually('the gateway drains', () => gateway.output().includes('"event":"draining"'));
  const refused = await fetch(`${gateway.origin}/healthz`, { keepalive: false }).then(
    () => false,
    () => true,
  );
  expect(refused).toBe(true);
  expect(gateway.process.exitCode).toBeNull();
  await blocker`rollback`;
  await blocker.release();
  expect((await answer).status).toBe(200);
  expect(await gateway.process.exited).toBe(0);
  await database.close();
});
