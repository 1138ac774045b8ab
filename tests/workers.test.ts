/** A gateway with two worker processes: both serve, one that dies is replaced, and a drain loses nothing. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import {
  type ChatFixture,
  chatCatalog,
  type ErrorBody,
  eventsOf,
  openChatFixture,
} from './support/chat-fixture.ts';
import { eventually } from './support/eventually.ts';
import { type Gateway, launchGateway } from './support/gateway.ts';
import { heldModel, startHeldProvider } from './support/held-provider.ts';
import { quickGateway } from './support/quick-lease.ts';

const held = startHeldProvider('held');
const limit = 4;

let fixture: ChatFixture;
let gateway: Gateway;
let key: string;

beforeAll(async () => {
  fixture = await openChatFixture(
    (url) => {
      const { providers, models } = heldModel(held, url);
      return chatCatalog(url, {
        models,
        providers: providers.replace(' }', `, max_concurrency: ${limit} }`),
      });
    },
    async (environment) =>
      await launchGateway({ ...environment, WORKERS: '2' }, { command: quickGateway() }).listening,
  );
  gateway = fixture.gateway;
  ({ key } = await fixture.customer('100', '--rpm', '100000'));
});

afterAll(async () => {
  held.release();
  await fixture.close();
  await held.stop();
});

type Node = Readonly<{ id: string; name: string }>;

async function liveNodes(): Promise<Node[]> {
  return await fixture.database.sql`
    select id, name from nodes where stopped_at is null and heartbeat_at > now() - interval '2 s' order by name`;
}

/** Each on a connection of its own, so that the system chooses a worker for each. */
function ask(model: string, content: string, stream = false, of = gateway): Promise<Response> {
  return fetch(`${of.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', connection: 'close' },
    body: JSON.stringify({ model, stream, messages: [{ role: 'user', content }] }),
    keepalive: false,
  });
}

function workerProcesses(parentOf = gateway): number[] {
  const { stdout } = Bun.spawnSync(['ps', '-A', '-o', 'pid=,ppid=']);
  return stdout
    .toString()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
    .filter(([, parent]) => parent === parentOf.process.pid)
    .map(([id]) => id ?? 0);
}

/** How many open requests each node has. */
async function openByNode(): Promise<Map<string, number>> {
  const rows = await fixture.database.sql`
    select node_id, count(*)::int as count from open_generations group by node_id`;
  return new Map(rows.map(({ node_id, count }: { node_id: string; count: number }) => [node_id, count]));
}

test('a limit of a provider holds for both workers together, and both serve', async () => {
  await eventually('both are there', async () => (await liveNodes()).length === 2);
  // They learn of each other with their heartbeats.
  await eventually('they divide the slots', async () => {
    const [row] = await fixture.database.sql`
      select min(heartbeat_at - started_at) > interval '500 ms' as is_known from nodes where stopped_at is null`;
    return row.is_known;
  });
  const answers = Array.from({ length: 40 }, () => ask('held', 'held'));
  const refused = Promise.all(
    answers.map(async (answer) => {
      const response = await answer;
      if (response.status !== 200) return ((await response.json()) as ErrorBody).error.code;
      await response.text();
      return 'served';
    }),
  );
  await held.holds(limit);
  const nodes = await openByNode();
  expect(nodes.size).toBe(2);
  // Everyone else has been answered before any of these is.
  await eventually('only these are open', async () => {
    const counts = [...(await openByNode()).values()];
    return counts.reduce((sum, count) => sum + count, 0) === limit;
  });
  expect(held.count()).toBe(limit);
  held.release();
  const outcomes = await refused;
  expect(outcomes.filter((outcome) => outcome === 'served')).toHaveLength(limit);
  expect(new Set(outcomes)).toEqual(new Set(['served', 'all_providers_unavailable']));
});

test('a worker that is killed is replaced, and only its own requests are lost', async () => {
  const before = workerProcesses();
  expect(before).toHaveLength(2);
  const streams = await Promise.all(
    Array.from({ length: 12 }, () => ask('full', '[[long 40]] [[chunk-delay 100]]', true)),
  );
  const byNode = await openByNode();
  expect(byNode.size).toBe(2);
  const [victim = 0] = before;
  process.kill(victim, 'SIGKILL');
  const texts = await Promise.allSettled(streams.map((stream) => stream.text()));
  const survived = texts.filter(
    (text) => text.status === 'fulfilled' && eventsOf(text.value).at(-1) === '[DONE]',
  );
  expect([...byNode.values()]).toContain(survived.length);
  await eventually('there are two again', () => workerProcesses().length === 2);
  expect(workerProcesses()).not.toContain(victim);
  await eventually('both hold their lease', async () => (await liveNodes()).length === 2);
  const answers = await Promise.all(Array.from({ length: 20 }, () => ask('full', 'hello')));
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  // What the dead worker left open is closed by the other one.
  await eventually('nothing is open', async () => (await openByNode()).size === 0);
});

test('SIGHUP reaches both, and SIGTERM lets the requests of both end', async () => {
  gateway.process.kill('SIGHUP');
  await eventually(
    'both have read the catalogue again',
    () => gateway.output().match(/"event":"catalogue reloaded"/g)?.length === 2,
  );
  const streams = await Promise.all(
    Array.from({ length: 12 }, () => ask('full', '[[long 20]] [[chunk-delay 100]]', true)),
  );
  expect((await openByNode()).size).toBe(2);
  const workers = workerProcesses();
  const stopped = gateway.stop();
  const texts = await Promise.all(streams.map((stream) => stream.text()));
  for (const text of texts) {
    expect(text).not.toContain('"error"');
    expect(eventsOf(text).at(-1)).toBe('[DONE]');
  }
  expect(await stopped).toBe(0);
  expect(JSON.parse(gateway.output().trim().split('\n').at(-1) ?? '').event).toBe('stopped');
  for (const id of workers) expect(Bun.spawnSync(['ps', '-p', `${id}`]).exitCode).not.toBe(0);
});

test('workers whose parent is killed stop by themselves', async () => {
  const launched = launchGateway({ ...fixture.environment, WORKERS: '2' });
  const orphaned = await launched.listening;
  const workers = workerProcesses(orphaned);
  expect(workers).toHaveLength(2);
  orphaned.process.kill('SIGKILL');
  for (const id of workers)
    await eventually('it is gone', () => Bun.spawnSync(['ps', '-p', `${id}`]).exitCode !== 0);
});

test('a second signal ends what all of them have open', async () => {
  const settings = { WORKERS: '2', DRAIN_DELAY_SECONDS: '500' };
  const patient = await launchGateway({ ...fixture.environment, ...settings }).listening;
  const streams = await Promise.all(
    Array.from({ length: 8 }, () => ask('full', '[[long 900]] [[chunk-delay 100]]', true, patient)),
  );
  const stopped = patient.stop();
  await eventually('it drains', () => patient.output().includes('"event":"draining"'));
  // One that follows at once is taken for the copy that npm forwards.
  await Bun.sleep(1_100);
  patient.process.kill('SIGTERM');
  for (const stream of streams) expect(eventsOf(await stream.text()).at(-2)).toContain('streaming_error');
  expect(await stopped).toBe(0);
});
