/** A gateway with two worker processes under requests: both serve, one that dies is replaced, and a drain loses nothing. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import {
  type ChatFixture,
  chatCatalog,
  type ErrorBody,
  eventsOf,
  openChatFixture,
} from '../support/chat-fixture.ts';
import { type DatabaseRelay, startDatabaseRelay } from '../support/database-relay.ts';
import { eventually } from '../support/eventually.ts';
import { type Gateway, launchGateway } from '../support/gateway.ts';
import { heldModel, startHeldProvider } from '../support/held-provider.ts';
import { readSamples } from '../support/metrics.ts';
import { quickGateway } from '../support/quick-lease.ts';
import {
  askAnew,
  fetchAnew,
  freePorts,
  isRunning,
  logged,
  replaced,
  workerProcesses,
} from '../support/workers.ts';

const held = startHeldProvider('held');
const limit = 4;
const metricsPort = freePorts(2);

let fixture: ChatFixture;
let relay: DatabaseRelay;
let gateway: Gateway;
let key: string;

beforeAll(async () => {
  fixture = await openChatFixture(
    (url) => {
      const { providers, models } = heldModel(held, url);
      const named = (text: string, name: string) => text.replaceAll(/\bheld\b/g, name);
      return chatCatalog(url, {
        models: `${named(models, 'limited-to-4')}\n${named(models, 'unlimited')}`,
        providers: `${named(providers, 'limited-to-4').replace(' }', `, max_concurrency: ${limit} }`)}\n${named(providers, 'unlimited')}`,
      });
    },
    async (environment) => {
      relay = await startDatabaseRelay(environment.DATABASE_URL ?? '');
      const settings = { WORKERS: '2', METRICS_PORT: `${metricsPort}`, DATABASE_URL: relay.url };
      return await launchGateway({ ...environment, ...settings }, { command: quickGateway() }).listening;
    },
  );
  gateway = fixture.gateway;
  ({ key } = await fixture.customer('100', '--rpm', '100000'));
});

afterAll(async () => {
  held.release();
  await fixture.close();
  relay.close();
  await held.stop();
});

const ask = (model: string, content: string, stream = false) => askAnew(gateway, key, model, content, stream);

/** Streams that both workers have open, held after their first word. */
async function openStreams(): Promise<Response[]> {
  const streams = await Promise.all(Array.from({ length: 16 }, () => ask('unlimited', 'held', true)));
  await held.holds(streams.length);
  expect((await openByNode()).size).toBe(2);
  return streams;
}

/** How many open requests each node has. */
async function openByNode(): Promise<Map<string, number>> {
  const rows = await fixture.database.sql`
    select node_id, count(*)::int as count from open_generations group by node_id`;
  return new Map(rows.map(({ node_id, count }: { node_id: string; count: number }) => [node_id, count]));
}

test('a limit of a provider holds for both workers together, and both serve', async () => {
  // They learn of each other through their heartbeats, which the first rounds may precede.
  await eventually(
    'a round in which both have calls and all of them together are no more than the limit',
    async () => {
      const outcomes: string[] = [];
      const answers = Array.from({ length: 40 }, async () => {
        const response = await ask('limited-to-4', 'held');
        const isServed = response.status === 200;
        outcomes.push(isServed ? 'served' : ((await response.json()) as ErrorBody).error.code);
        if (isServed) await response.text();
      });
      await eventually(
        'all are turned away or held',
        () => held.count() + outcomes.length === answers.length,
      );
      const [count, nodes] = [held.count(), (await openByNode()).size];
      expect(new Set(outcomes)).toEqual(new Set(['all_providers_unavailable']));
      held.release();
      await Promise.all(answers);
      return count === limit && nodes === 2;
    },
  );
});

test('each worker has its metrics on its own port', async () => {
  const counts = async () =>
    await Promise.all(
      [metricsPort, metricsPort + 1].map(async (port) => {
        const samples = readSamples(await (await fetch(`http://127.0.0.1:${port}/metrics`)).text());
        return samples
          .filter(({ name, labels }) => name === 'tollgate_requests_total' && labels.route === '/v1/models')
          .reduce((sum, { value }) => sum + value, 0);
      }),
    );
  const before = await counts();
  expect(before).toEqual([0, 0]);
  const headers = { authorization: `Bearer ${key}` };
  await Promise.all(
    Array.from({ length: 20 }, async () =>
      (await fetchAnew(`${gateway.origin}/v1/models`, { headers })).text(),
    ),
  );
  const [first = 0, second = 0] = await eventually('all are counted', async () => {
    const found = await counts();
    return found.reduce((sum, count) => sum + count, 0) === 20 && found;
  });
  expect(Math.min(first, second)).toBeGreaterThan(0);
});

test('a worker that is killed is replaced, and only its own requests are lost', async () => {
  const before = workerProcesses(gateway);
  expect(before).toHaveLength(2);
  const streams = await openStreams();
  const byNode = await openByNode();
  const [victim = 0] = before;
  process.kill(victim, 'SIGKILL');
  await eventually('it is gone', () => !isRunning(victim));
  held.release();
  const texts = await Promise.allSettled(streams.map((stream) => stream.text()));
  const survived = texts.filter(
    (text) => text.status === 'fulfilled' && eventsOf(text.value).at(-1) === '[DONE]',
  );
  expect([...byNode.values()]).toContain(survived.length);
  await replaced(gateway, 1);
  expect(workerProcesses(gateway)).toHaveLength(2);
  expect(logged(gateway, 'a worker ended')).toMatchObject([{ status: 137, worker: expect.any(Number) }]);
  // What the dead worker left open is closed by the other one.
  await eventually('nothing is open', async () => (await openByNode()).size === 0);
});

test('what a killed worker could not store is settled by the one that replaces it, once', async () => {
  const stream = await ask('unlimited', 'held', true);
  await held.holds(1);
  const [open] = await fixture.database.sql`select id from open_generations`;
  relay.become('close');
  held.release();
  const folder = join(fixture.environment.TOLLGATE_DATA ?? '', 'spool');
  const filesIn = () => readdirSync(folder).filter((name) => name.endsWith('.jsonl'));
  const name = await eventually('the settlement is in the spool', () => {
    try {
      return filesIn()[0];
    } catch {
      return null;
    }
  });
  const victim = Number.parseInt(`${name}`, 10);
  expect(workerProcesses(gateway)).toContain(victim);
  process.kill(victim, 'SIGKILL');
  await eventually('it is gone', () => !isRunning(victim));
  await stream.text().catch(() => undefined);
  relay.become('pass');
  await eventually('the spool is empty', () => filesIn().length === 0);
  const [row] = await fixture.database.sql`
    select status, (select count(*)::int from ledger_entries where generation_id = ${open.id} and kind = 'charge') as charges
    from generations where id = ${open.id}`;
  expect(row).toEqual({ status: 'completed', charges: 1 });
  await replaced(gateway, 2);
  expect(logged(gateway, 'settled what an earlier process left behind')).toMatchObject([{ count: 1 }]);
});

test('SIGHUP reaches both, and SIGTERM lets the requests of both end', async () => {
  gateway.process.kill('SIGHUP');
  await eventually(
    'both have read the catalogue again',
    () => logged(gateway, 'catalogue reloaded').length === 2,
  );
  const streams = await openStreams();
  const workers = workerProcesses(gateway);
  const stopped = gateway.stop();
  await eventually('it drains', () => logged(gateway, 'draining').length > 0);
  held.release();
  for (const text of await Promise.all(streams.map((stream) => stream.text()))) {
    expect(text).not.toContain('"error"');
    expect(eventsOf(text).at(-1)).toBe('[DONE]');
  }
  expect(await stopped).toBe(0);
  expect(JSON.parse(gateway.output().trim().split('\n').at(-1) ?? '').event).toBe('stopped');
  expect(workers.filter(isRunning)).toEqual([]);
});
