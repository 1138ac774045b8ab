/**
 * npm run chaos -- --rolling SECONDS: three gateways behind a plain TCP balancer without retries are restarted one by one,
 * under load. No request may be lost, nor any stream that was open when its gateway got SIGTERM.
 */
import { parseArgs } from 'node:util';
import { createAccountWithKey } from '../world/account.ts';
import { type Balancer, startBalancer } from '../world/balancer.ts';
import { plainModel } from '../world/catalog.ts';
import type { GatewayNode } from '../world/gateway-node.ts';
import { until } from '../world/until.ts';
import type { World, WorldOptions } from '../world/world.ts';
import { KeptConnection } from './kept-connection.ts';
import { runTrial } from './trial.ts';

const gateways = 3;
const streamsPerRestart = 6;
const chunkMs = 250;
const maxPauseMs = 100;

type Form = Readonly<{ streamSeconds: number; delaySeconds: number; checkEveryMs: number; clients: number }>;

/** What the clients saw. */
type Tally = { requests: number; streams: number; lost: string[] };

async function restartAll(world: World, key: string, form: Form, tally: Tally): Promise<void> {
  const balancer = await startBalancer(
    world.nodes.map(({ port }) => port),
    form.checkEveryMs,
  );
  let isOver = false;
  const clients = Array.from({ length: form.clients }, (_, index) =>
    sendOnAndOn(balancer.origin, key, index, tally, () => isOver),
  );
  const streams: Promise<void>[] = [];
  try {
    for (const node of world.nodes) {
      await allReady(balancer);
      for (let index = 0; index < streamsPerRestart; index += 1)
        streams.push(streamFor(balancer.origin, key, form.streamSeconds, tally));
      await hasStreams(world, streamsPerRestart);
      await restart(node, tally);
    }
    await allReady(balancer);
    await Promise.all(streams);
  } finally {
    isOver = true;
    await Promise.allSettled([...clients, ...streams]);
    await balancer.stop();
  }
}

async function restart(node: GatewayNode, tally: Tally): Promise<void> {
  const startedAt = performance.now();
  const exitCode = await node.restart();
  console.log(
    `gateway ${node.index + 1} restarted in ${((performance.now() - startedAt) / 1000).toFixed(1)} s`,
  );
  if (exitCode !== 0) tally.lost.push(`gateway ${node.index + 1} ended with code ${exitCode}`);
}

async function allReady(balancer: Balancer): Promise<void> {
  await until('every gateway is ready', () => balancer.readyCount() === gateways);
}

/** Other requests are much shorter than these streams, so anything still open after a moment is one of them. */
async function hasStreams(world: World, count: number): Promise<void> {
  const sql = world.database.open(1);
  try {
    await until('the streams are open', async () => {
      const [row] = await sql<{ count: bigint }[]>`
        select count(*) as count from open_generations where streaming and created_at < now() - interval '300 ms'`;
      return Number(row?.count) >= count;
    });
  } finally {
    await sql.close({ timeout: 1 });
  }
}

async function sendOnAndOn(
  origin: string,
  key: string,
  index: number,
  tally: Tally,
  isOver: () => boolean,
): Promise<void> {
  const connection = new KeptConnection(origin);
  for (let count = 0; !isOver(); count += 1) {
    const token = `c${index}-${count}`;
    tally.requests += 1;
    await send(connection, key, `[[say ${token}]]`, count % 3 === 0, token, tally);
    await Bun.sleep(Math.random() * maxPauseMs);
  }
  connection.close();
}

async function streamFor(origin: string, key: string, seconds: number, tally: Tally): Promise<void> {
  const connection = new KeptConnection(origin);
  const words = Math.round((seconds * 1000) / chunkMs);
  tally.streams += 1;
  await send(connection, key, `[[long ${words}]] [[chunk-delay ${chunkMs}]]`, true, '[DONE]', tally);
  connection.close();
}

async function send(
  connection: KeptConnection,
  key: string,
  content: string,
  isStream: boolean,
  expected: string,
  tally: Tally,
): Promise<void> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const body = { model: plainModel, stream: isStream, messages: [{ role: 'user', content }] };
  try {
    const reply = await connection.post('/v1/chat/completions', headers, JSON.stringify(body));
    const isWhole = reply.status === 200 && reply.body.includes(expected) && !reply.body.includes('"error"');
    if (!isWhole || (isStream && !reply.body.includes('[DONE]')))
      tally.lost.push(`${content}: ${reply.status} ${reply.body.slice(-300)}`);
  } catch (error) {
    connection.close();
    tally.lost.push(`${content}: ${error instanceof Error ? error.message : error}`);
  }
}

async function openKey(world: World): Promise<string> {
  const sql = world.database.open(1);
  try {
    return (await createAccountWithKey(sql, 'Rolling', '1000')).key;
  } finally {
    await sql.close({ timeout: 1 });
  }
}

export async function runRolling(words: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...words],
    options: {
      'stream-seconds': { type: 'string', default: '60' },
      delay: { type: 'string', default: '5' },
      check: { type: 'string', default: '1000' },
      clients: { type: 'string', default: '12' },
      prepared: { type: 'string' },
    },
  });
  const form: Form = {
    streamSeconds: Number(values['stream-seconds']),
    delaySeconds: Number(values.delay),
    checkEveryMs: Number(values.check),
    clients: Number(values.clients),
  };
  const tally: Tally = { requests: 0, streams: 0, lost: [] };
  const options: WorldOptions = {
    preparedFolder: values.prepared,
    nodeCount: gateways,
    settings: { DRAIN_DELAY_SECONDS: `${form.delaySeconds}`, DRAIN_SECONDS: '600' },
  };
  return await runTrial(options, async (world) => {
    await restartAll(world, await openKey(world), form, tally);
    const { requests, streams, lost } = tally;
    return {
      wrong: lost.slice(0, 10),
      summary: `rolling restart of ${gateways} gateways behind a TCP balancer without retries: ${lost.length} of ${requests} requests and ${streams} streams of ${form.streamSeconds} s lost`,
    };
  });
}
