/**
 * Upgrades under traffic, from the last release and from 0.1, as docs/deployment.md describes them, one of a large database,
 * and a forced one. The earlier versions come from the history of the repository, so a shallow clone is not enough.
 *
 * Needs `git`: it comes with the clone, or apt-get install git.
 * Needs `tar`: apt-get install tar.
 * Needs `npm`: install Node.js, with which it comes. Versions are installed into ~/.cache/tollgate-operations.
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { SQL } from 'bun';
import { knownMigrations } from '../../src/database/migrate.ts';
import { eventually } from '../support/eventually.ts';
import {
  type Environment,
  type Gateway,
  launchGateway,
  programEnvironment,
  removeTemporaryFolders,
  stopLeftGateways,
  temporaryFolder,
} from '../support/gateway.ts';
import { watchLocks } from './support/lock-watch.ts';
import { insertOldGenerations } from './support/old-generations.ts';
import { type PostgresServer, startPostgres } from './support/postgres.ts';
import { installRelease } from './support/release.ts';
import {
  costOfCachedRequest,
  costOfRequest,
  startReading,
  startTraffic,
  type Traffic,
} from './support/traffic.ts';

const current = join(import.meta.dir, '../..');
/**
 * The version before tokens were counted by meter, the last release, and a version from before the first one. Each is the
 * last commit before the next migration. The second line changes with each release.
 */
const beforeMeters = { commit: '29669511ca1d03a9d09568451d8e073f060dc96b', newest: 22 };
const lastRelease = { commit: '24c4ca169012a1a0e40952b14aa5ba7b28a23438', newest: 15 };
const firstVersion = { commit: '9ed50c84d4854e77427a49aa1669246afe1d4145', newest: 7 };
const migrationsAfter = (newest: number) =>
  knownMigrations.filter(({ version }) => version > newest).map(({ name }) => name);
const clientCount = 16;
const credit = 100;

let server: PostgresServer;
let databaseCount = 0;
let environment: Environment;
let sql: SQL;

beforeAll(async () => {
  server = await startPostgres(18, ['fsync = on']);
}, 120_000);

afterAll(() => {
  server.stop();
  removeTemporaryFolders();
});

beforeEach(async () => {
  databaseCount += 1;
  const name = `upgrade_${databaseCount}`;
  await server.run(`create database ${name}`);
  environment = { DATABASE_URL: server.url(name), AUTH_SECRET: 'x'.repeat(44) };
  sql = new SQL(server.url(name), { max: 1 });
});

afterEach(async () => {
  await stopLeftGateways();
  await sql.close();
});

const commandOf = (folder: string, ...words: string[]) => [join(folder, 'bin/tollgate'), ...words];
/** Each gateway has a data folder and the catalogue of its version. */
const settingsOf = (folder: string): Environment => ({
  ...environment,
  TOLLGATE_CATALOG: join(folder, 'catalog.yaml'),
  TOLLGATE_DATA: temporaryFolder(),
});

async function serve(folder: string): Promise<Gateway> {
  const gateway = await launchGateway(settingsOf(folder), { command: commandOf(folder, 'serve') }).listening;
  await eventually('it is ready', async () => (await fetch(`${gateway.origin}/readyz`)).status === 200);
  return gateway;
}

async function run(folder: string, ...words: string[]) {
  const child = Bun.spawn(commandOf(folder, ...words), {
    cwd: temporaryFolder(),
    env: programEnvironment(settingsOf(folder)),
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [stdout, stderr, exitCode] = await Promise.all([
    child.stdout.text(),
    child.stderr.text(),
    child.exited,
  ]);
  return { exitCode, stdout, stderr };
}

async function json<Output>(folder: string, ...words: string[]): Promise<Output> {
  const { stdout, stderr } = await run(folder, ...words, '--json');
  if (stdout === '') throw new Error(stderr);
  return JSON.parse(stdout) as Output;
}

/** A customer, made by the version that serves. */
async function createKey(folder: string): Promise<string> {
  const account = await json<{ id: string }>(
    folder,
    'account',
    'create',
    '--name',
    'A',
    '--credit',
    `${credit}`,
  );
  const { key } = await json<{ key: string }>(
    folder,
    'key',
    'create',
    '--account',
    account.id,
    '--rpm',
    '100000',
  );
  return key;
}

const someTraffic = async (traffic: Traffic) => {
  const before = traffic.completedCount();
  await eventually('requests are served', () => traffic.completedCount() >= before + 50);
};

/** Every request that a client saw complete was charged once, at the price of the version that served it, and nothing else. */
async function expectExact(traffic: Traffic): Promise<void> {
  expect(traffic.failures()).toEqual({});
  await eventually('nothing is held', async () => {
    const [{ held }] = await sql`select sum(held)::float8 as held from accounts`;
    return held === 0;
  });
  const [{ spent, charges, cached }] = await sql`
    select (${credit}::numeric - balance)::float8 as spent,
           (select count(*)::int from ledger_entries where kind = 'charge' and account_id = accounts.id) as charges,
           (select count(*)::int from usage_records where cache_read_tokens = 4 and account_id = accounts.id) as cached
    from accounts where name = 'A'`;
  expect(charges).toBe(traffic.completedCount());
  expect(cached).toBeGreaterThan(0);
  expect(spent).toBeCloseTo((charges - cached) * costOfRequest + cached * costOfCachedRequest, 9);
  expect(await json<{ holds: boolean }>(current, 'ledger', 'audit', '--full')).toMatchObject({ holds: true });
}

describe('from the last release', () => {
  test('gateways are replaced one by one, and nobody notices', async () => {
    const old = installRelease(lastRelease.commit);
    const gateways = [await serve(old), await serve(old)];
    let serving = gateways.map(({ origin }) => origin);
    const key = await createKey(old);
    const traffic = startTraffic(key, clientCount, () => serving);
    const reading = startReading(key, 2, () => serving);
    await someTraffic(traffic);
    expect(await json<unknown>(current, 'migrate')).toEqual({ applied: migrationsAfter(lastRelease.newest) });
    await someTraffic(traffic);
    for (const gateway of gateways) {
      const next = await serve(current);
      serving = [...serving.filter((origin) => origin !== gateway.origin), next.origin];
      expect(await gateway.stop()).toBe(0);
      await someTraffic(traffic);
    }
    await reading.stop();
    await traffic.stop();
    expect(reading.failures()).toEqual({});
    await expectExact(traffic);
    process.stdout.write(`from 0.2.0: ${traffic.completedCount()} requests, none failed\n`);
  });
});

describe('from the version before, with a million Generations', () => {
  test('is migrated under traffic, and both versions serve next to each other', async () => {
    const old = installRelease(beforeMeters.commit);
    const gateways = [await serve(old), await serve(old)];
    await insertOldGenerations(sql, 1_000_000);
    let serving = gateways.map(({ origin }) => origin);
    const key = await createKey(old);
    const traffic = startTraffic(key, clientCount, () => serving);
    const reading = startReading(key, 2, () => serving);
    await someTraffic(traffic);
    const slowestBefore = [traffic.slowestMs(), reading.slowestMs()];
    const locks = watchLocks(environment.DATABASE_URL ?? '');
    const startedAt = performance.now();
    expect(await json<unknown>(current, 'migrate')).toEqual({
      applied: migrationsAfter(beforeMeters.newest),
    });
    const seconds = (performance.now() - startedAt) / 1_000;
    const { held, waited } = await locks.stop();
    const slowest = [traffic.slowestMs(), reading.slowestMs()];
    await someTraffic(traffic);
    const next = await serve(current);
    serving = [...serving, next.origin];
    await someTraffic(traffic);
    const [first] = gateways;
    serving = serving.filter((origin) => origin !== first?.origin);
    expect(await first?.stop()).toBe(0);
    await someTraffic(traffic);
    await reading.stop();
    await traffic.stop();
    expect(reading.failures()).toEqual({});
    await expectExact(traffic);
    const [{ plain, cached }] = await sql`
        select count(*) filter (where cache_read_tokens is null)::int as plain,
               count(*) filter (where cache_read_tokens = 4)::int as cached
        from usage_records join accounts on accounts.id = account_id where name = 'A'`;
    expect(plain + cached).toBe(traffic.completedCount());
    expect([plain > 0, cached > 0]).toEqual([true, true]);
    const round = (values: number[]) => values.map((ms) => `${ms.toFixed(0)} ms`).join(' and ');
    process.stdout.write(
      `a million Generations: migrated in ${seconds.toFixed(1)} s with the start of the program, ` +
        `${traffic.completedCount()} requests (${cached} cached) and ${reading.completedCount()} readings, none failed\n` +
        `longest lock: ${held.name} for ${held.ms.toFixed(0)} ms; longest wait for one: ${waited.name || 'none'} for ${waited.ms.toFixed(0)} ms\n` +
        `slowest request and reading: ${round(slowestBefore)} before, ${round(slowest)} meanwhile\n`,
    );
  }, 900_000);
});

describe('from 0.1', () => {
  test('migrations wait until its gateways have stopped, and nobody notices the attempt', async () => {
    const old = installRelease(firstVersion.commit);
    const gateways = [await serve(old), await serve(old)];
    let serving = gateways.map(({ origin }) => origin);
    const traffic = startTraffic(await createKey(old), clientCount, () => serving);
    await someTraffic(traffic);
    for (const command of ['migrate', 'serve']) {
      const { exitCode, stderr } = await run(current, command);
      expect(exitCode).toBe(1);
      expect(stderr).toContain('Nothing was migrated');
      expect(stderr.match(/newest migration 0007/g)).toHaveLength(gateways.length);
      for (const name of migrationsAfter(firstVersion.newest)) expect(stderr).toContain(name);
      await someTraffic(traffic);
    }
    serving = [];
    for (const gateway of gateways) expect(await gateway.stop()).toBe(0);
    expect(await json<unknown>(current, 'migrate')).toEqual({
      applied: migrationsAfter(firstVersion.newest),
    });
    serving = [(await serve(current)).origin, (await serve(current)).origin];
    await someTraffic(traffic);
    await traffic.stop();
    await expectExact(traffic);
    process.stdout.write(`from 0.1: ${traffic.completedCount()} requests, none failed\n`);
  });

  test('a gateway that was killed is waited for', async () => {
    const old = installRelease(firstVersion.commit);
    const gateway = await serve(old);
    await gateway.stop('SIGKILL');
    expect(await json<unknown>(current, 'migrate')).toEqual({
      applied: migrationsAfter(firstVersion.newest),
    });
  });

  test('what a forced migration breaks can be repaired', async () => {
    const old = installRelease(firstVersion.commit);
    const gateways = [await serve(old), await serve(old)];
    const serving = gateways.map(({ origin }) => origin);
    const traffic = startTraffic(await createKey(old), clientCount, () => serving);
    await someTraffic(traffic);
    await eventually('streams are open', () => traffic.openCount() >= clientCount / 2);
    const { applied } = await json<{ applied: string[] }>(current, 'migrate', '--force');
    expect(applied).toEqual(migrationsAfter(firstVersion.newest));
    await eventually('its requests fail', () => Object.keys(traffic.failures()).length > 0);
    await traffic.stop();
    process.stdout.write(
      `forced: ${traffic.completedCount()} completed, failed: ${JSON.stringify(traffic.failures())}\n`,
    );
    for (const gateway of gateways) await gateway.stop('SIGKILL');
    await serve(current);
    await eventually('what they left open is closed', async () => {
      const [{ count }] = await sql`select count(*)::int as count from open_generations`;
      return count === 0;
    });
    // 0008 counts what is open. Requests of the old code that were waiting for its locks stay counted: there are some in
    // nearly every run.
    const audit = await run(current, 'ledger', 'audit', '--full');
    const isBroken = audit.exitCode !== 0;
    expect(audit.stdout.includes('Run: tollgate ledger repair')).toBe(isBroken);
    expect((await run(current, 'ledger', 'archive')).exitCode).toBe(audit.exitCode);
    const { repairs } = await json<{ repairs: { counter: string }[] }>(current, 'ledger', 'repair');
    expect(repairs.map(({ counter }) => counter)).toEqual(isBroken ? ['open_count'] : []);
    process.stdout.write(`repaired: ${JSON.stringify(repairs)}\n`);
    expect((await run(current, 'ledger', 'audit', '--full')).exitCode).toBe(0);
    expect((await run(current, 'ledger', 'archive')).exitCode).toBe(0);
  });
});
