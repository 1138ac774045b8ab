/** A gateway that runs out of descriptors: its own trouble does not count against any provider. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { readdirSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { type Sandbox, startSandbox } from '../../sandbox/server.ts';
import { createDatabase, type TestDatabase } from '../support/cluster.ts';
import { runCommand } from '../support/commands.ts';
import { eventually } from '../support/eventually.ts';
import { type Gateway, launchGateway, temporaryFolder, writeCatalog } from '../support/gateway.ts';

const program = join(import.meta.dir, '../../bin/tollgate');
const descriptors = 160;

let usual: Sandbox;
/** Nobody is connected to this one yet. */
let fresh: Sandbox;
let database: TestDatabase;
let gateway: Gateway;
let key: string;

const model = (id: string, providers: string) =>
  `  ${id}: { workload: chat, pricing: { billing_type: token, input: "1", output: "2" }, providers: ${providers} }`;

/** One is reached by address and one by name: fetch fails differently for them. */
const catalog = () => `
price_version: "2026-11"
providers:
  usual:  { adapter: openai, api_key_env: MAIN_KEY, base_url: "${usual.url}/v1" }
  number: { adapter: openai, api_key_env: MAIN_KEY, base_url: "http://127.0.0.1:${fresh.port}/v1", circuit: { failures: 1, open_ms: 60000 } }
  name:   { adapter: openai, api_key_env: MAIN_KEY, base_url: "http://localhost:${fresh.port}/v1", circuit: { failures: 1, open_ms: 60000 } }
models:
${model('usual', '[usual]')}
${model('by-number', '[number]')}
${model('by-name', '[name]')}
${model('backed', '[{ provider: number, upstream_model: by-number }, usual]')}
`;

beforeAll(async () => {
  usual = startSandbox();
  fresh = startSandbox({ keepEntries: 10 });
  database = await createDatabase();
  const environment = {
    DATABASE_URL: database.url,
    TOLLGATE_DATA: temporaryFolder(),
    TOLLGATE_CATALOG: writeCatalog(catalog()),
    MAIN_KEY: 'provider-key',
  };
  const account = await runCommand<{ id: string }>(
    ['account', 'create', '--name', 'Test', '--credit', '10'],
    environment,
  );
  ({ key } = await runCommand<{ key: string }>(['key', 'create', '--account', account.id], environment));
  const command = ['sh', '-c', `ulimit -n ${descriptors}; exec "$0" serve`, program];
  gateway = await launchGateway(environment, { command }).listening;
}, 60_000);

afterAll(async () => {
  await gateway.stop();
  await database.close();
  await Promise.all([usual.stop(), fresh.stop()]);
});

async function outcomeOf(name: string): Promise<string> {
  const response = await fetch(`${gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: name, messages: [{ role: 'user', content: 'hello' }] }),
  });
  const { error } = (await response.json()) as { error?: { code: string } };
  const retryAfter = response.headers.get('retry-after');
  return `${response.status} ${error?.code ?? 'completed'}${retryAfter === null ? '' : ` after ${retryAfter}`}`;
}

/** How many descriptors the gateway has open. */
const inUse = () => readdirSync(`/proc/${gateway.process.pid}/fd`).length;

/** Connections to the gateway that never finish a request, until it has no descriptor left. */
async function crowd(): Promise<Socket[]> {
  const { hostname, port } = new URL(gateway.origin);
  const sockets = Array.from({ length: descriptors }, () => {
    const socket = connect({ host: hostname, port: Number(port) }).on('error', () => undefined);
    socket.write('GET /healthz HTTP/1.1\r\n');
    return socket;
  });
  await eventually('the last descriptor to be taken', () => inUse() >= descriptors);
  return sockets;
}

test('no descriptors left for the first connection of the ledger: 503 server_overloaded', async () => {
  // Answered from memory and over an existing connection: nothing has been held yet.
  const listed = await fetch(`${gateway.origin}/v1/models`, { headers: { authorization: `Bearer ${key}` } });
  await listed.json();
  const sockets = await crowd();
  expect(await outcomeOf('usual')).toBe('503 server_overloaded after 1');
  for (const socket of sockets) socket.destroy();
  await eventually('descriptors to be free again', () => inUse() <= descriptors / 2);
}, 60_000);

test('no descriptors left: 503 server_overloaded, named in the log, and not counted against any provider', async () => {
  // A request over an existing connection needs no new one.
  expect(await outcomeOf('usual')).toBe('200 completed');
  const sockets = await crowd();
  expect(await outcomeOf('by-number')).toBe('503 server_overloaded after 1');
  // For a host name, fetch says that the connection was refused.
  expect(await outcomeOf('by-name')).toBe('503 server_overloaded after 1');
  expect(await outcomeOf('backed')).toBe('200 completed');
  expect(fresh.entries).toHaveLength(0);
  for (const socket of sockets) socket.destroy();
  await eventually('descriptors to be free again', () => inUse() <= descriptors / 2);
  // One failure would have opened their circuits for a minute.
  for (const name of ['by-number', 'by-name']) expect(await outcomeOf(name)).toBe('200 completed');
  expect(fresh.entries).toHaveLength(2);
  // The lines arrive some time after the responses.
  const told = () => [...gateway.output().matchAll(/this machine is out of resources.*"code":"(\w+)"/g)];
  await eventually('the log', () => told().length >= 3);
  expect(told().map(([, code]) => code)).toEqual(['EMFILE', 'EMFILE', 'EMFILE']);
  const lost = await database.sql`select reason from write_offs`;
  expect(lost.length).toBe(0);
}, 60_000);
