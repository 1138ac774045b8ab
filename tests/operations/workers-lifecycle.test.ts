/** The parent of worker processes: what it does for them, and how all of them end. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readConfig, workerEnvironment } from '../../src/config.ts';
import { type ChatFixture, eventsOf, openChatFixture } from '../support/chat-fixture.ts';
import { createEmptyDatabase } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { startGateway, tollgate } from '../support/gateway.ts';
import {
  askAnew,
  fetchAnew,
  freePorts,
  isRunning,
  logged,
  replaced,
  workerProcesses,
} from '../support/workers.ts';

let fixture: ChatFixture;
let key: string;

beforeAll(async () => {
  fixture = await openChatFixture(
    undefined,
    // Long enough to be drained by a second signal only.
    (environment) => startGateway({ ...environment, WORKERS: '2', DRAIN_DELAY_SECONDS: '20' }),
  );
  ({ key } = await fixture.customer('100', '--rpm', '100000'));
});

afterAll(() => fixture.close());

test('each worker reports its own readiness, and a second signal ends what all of them have open', async () => {
  const { gateway } = fixture;
  const workers = workerProcesses(gateway);
  expect(workers).toHaveLength(2);
  const readiness = async () => {
    const answers = await Promise.all(
      Array.from({ length: 16 }, () => fetchAnew(`${gateway.origin}/readyz`)),
    );
    return new Set(answers.map(({ status }) => status));
  };
  expect(await readiness()).toEqual(new Set([200]));
  process.kill(workers[0] ?? 0, 'SIGTERM');
  await eventually('one is ready and one is not', async () => (await readiness()).size === 2);
  const streams = await Promise.all(
    Array.from({ length: 8 }, () => askAnew(gateway, key, 'full', '[[long 900]] [[chunk-delay 100]]', true)),
  );
  const stopped = gateway.stop();
  await eventually('none is ready', async () => {
    const found = await readiness();
    return found.size === 1 && found.has(503);
  });
  // A signal that follows at once is taken for the copy that npm forwards.
  await Bun.sleep(1_100);
  gateway.process.kill('SIGTERM');
  for (const stream of streams) expect(eventsOf(await stream.text()).at(-2)).toContain('streaming_error');
  expect(await stopped).toBe(0);
  expect(workers.filter(isRunning)).toEqual([]);
});

test('only the parent migrates; a worker that cannot use the schema is started again and again, and all stop when the parent is killed', async () => {
  const database = await createEmptyDatabase();
  const gateway = await startGateway({ DATABASE_URL: database.url, WORKERS: '2' });
  expect(logged(gateway, 'database migrated')).toHaveLength(1);
  const workers = workerProcesses(gateway);
  const [row] = await database.sql`
    select count(*)::int as count from pg_stat_activity where application_name = 'tollgate' and datname = current_database()`;
  // Fifteen for each worker, and two for the parent.
  expect(row.count).toBeLessThanOrEqual(32);
  await database.sql`insert into schema_migrations (version, name, digest) values (9999, '9999_future.sql', '')`;
  process.kill(workers[0] ?? 0, 'SIGKILL');
  await eventually('it has ended three times', () => logged(gateway, 'a worker ended').length >= 3);
  expect(gateway.output().includes('tollgate: The database is newer than this version')).toBe(true);
  expect(isRunning(workers[1] ?? 0)).toBe(true);
  await database.sql`delete from schema_migrations where version = 9999`;
  await replaced(gateway, 1);
  const all = workerProcesses(gateway);
  expect(all).toHaveLength(2);
  gateway.process.kill('SIGKILL');
  await eventually('they are gone', () => !all.some(isRunning));
  await database.close();
}, 120_000);

test('a parent that was killed can be started again at once, on the same ports, while its workers end what is open', async () => {
  const port = freePorts(3);
  const environment = {
    ...fixture.environment,
    WORKERS: '2',
    PORT: `${port}`,
    METRICS_PORT: `${port + 1}`,
    DRAIN_DELAY_SECONDS: '600',
    DRAIN_SECONDS: '600',
  };
  const killed = await startGateway(environment);
  const workers = workerProcesses(killed);
  const streams = await Promise.all(
    Array.from({ length: 4 }, () => askAnew(killed, key, 'full', '[[long 30]] [[chunk-delay 100]]', true)),
  );
  killed.process.kill('SIGKILL');
  const again = await startGateway(environment);
  expect((await fetchAnew(`${again.origin}/healthz`)).status).toBe(200);
  for (const stream of streams) expect(eventsOf(await stream.text()).at(-1)).toBe('[DONE]');
  await eventually('the first workers are gone', () => !workers.some(isRunning));
  const nextWorkers = workerProcesses(again);
  await again.stop('SIGKILL');
  await eventually('all are gone', () => !nextWorkers.some(isRunning));
});

describe('a parent whose first worker does not start', () => {
  test('ends too, after printing the reason', async () => {
    const taken = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data: () => undefined } });
    const { exitCode, stderr } = await tollgate(['serve'], {
      ...fixture.environment,
      PORT: '0',
      WORKERS: '2',
      METRICS_PORT: `${taken.port}`,
    });
    taken.stop(true);
    expect(stderr).toBe(
      `tollgate: METRICS_PORT ${taken.port} cannot be opened.\ntollgate: A worker did not start; it printed why.\n`,
    );
    expect(exitCode).toBe(1);
  });
});

test('a worker drains as its parent would, and has its own number and metrics port', () => {
  const settings = { WORKERS: '3', METRICS_PORT: '9464', DATABASE_URL: 'postgres://localhost/x' };
  const parent = { ...readConfig(settings), drain: { delaySeconds: 0, seconds: 77 } };
  expect(parent.metrics.port).toBe(9464);
  const worker = readConfig(workerEnvironment(parent, 3, 8081, settings));
  expect(worker).toMatchObject({ worker: 3, port: 8081, drain: parent.drain, metrics: { port: 9466 } });
});
