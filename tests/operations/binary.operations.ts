/**
 * The single executable, built as by npm run build:binary and run in an empty folder. If the test runs as root, the
 * executable runs as a user who owns nothing.
 *
 * Needs `setpriv` as root: it comes with util-linux (apt-get install util-linux).
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { chmodSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { createEmptyDatabase, stopCluster, type TestDatabase } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import {
  type Environment,
  type Gateway,
  launchGateway,
  removeTemporaryFolders,
  temporaryFolder,
} from '../support/gateway.ts';

const root = join(import.meta.dir, '../..');
const asNobody =
  process.getuid?.() === 0 ? ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'] : [];
const buildDeadlineMs = 300_000;

let database: TestDatabase;
let relay: Server | null = null;
let program: string[];
let folder: string;
let environment: Environment;

beforeAll(async () => {
  const place = temporaryFolder();
  const executable = join(place, 'tollgate');
  const build = Bun.spawnSync([
    process.execPath,
    join(root, 'scripts/build-binary.ts'),
    '--outfile',
    executable,
  ]);
  if (build.exitCode !== 0) throw new Error(`${build.stderr}`);
  chmodSync(place, 0o755);
  program = [...asNobody, executable];
  folder = temporaryFolder();
  chmodSync(folder, 0o777);
  database = await createEmptyDatabase();
  const url = new URL(database.url);
  const socket = url.searchParams.get('path');
  if (socket !== null) {
    // The socket of the embedded server is in a folder that only its owner can enter.
    relay = await relayTo(socket);
    url.search = '';
    url.host = `127.0.0.1:${(relay.address() as { port: number }).port}`;
  }
  environment = { DATABASE_URL: url.href, TOLLGATE_ALLOW_UNSAFE: 'fsync', PATH: process.env.PATH ?? '' };
}, buildDeadlineMs);

afterAll(async () => {
  await database?.close();
  relay?.close();
  await stopCluster();
  removeTemporaryFolders();
});

function relayTo(socket: string): Promise<Server> {
  const server = createServer((client) => {
    const upstream = connect(socket);
    client.pipe(upstream).pipe(client);
    for (const end of [client, upstream])
      end.on('error', () => {
        client.destroy();
        upstream.destroy();
      });
  });
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve(server));
  });
}

async function run(words: readonly string[], given: Environment = environment, stdin = '') {
  const child = Bun.spawn([...program, ...words], {
    cwd: folder,
    env: { ...given },
    stdin: Buffer.from(stdin),
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

async function json<Output = { id: string }>(...words: string[]): Promise<Output> {
  const { exitCode, stdout, stderr } = await run([...words, '--json']);
  if (exitCode !== 0) throw new Error(stderr);
  return JSON.parse(stdout) as Output;
}

test('reports its version, and what is missing', async () => {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  expect((await run(['--version'])).stdout).toBe(`tollgate ${version}\n`);
  const { PATH = '' } = environment;
  expect(await run(['serve'], { PATH })).toMatchObject({
    exitCode: 1,
    stderr: expect.stringMatching(
      /^tollgate: DATABASE_URL is not set, and this executable does not include PostgreSQL/,
    ),
  });
  expect(await run(['serve'])).toMatchObject({
    exitCode: 1,
    stderr: expect.stringMatching(
      /catalog\.yaml does not exist\. .* To write the default one: tollgate catalog init\n$/,
    ),
  });
}, 60_000);

test('writes its catalogue once', async () => {
  expect((await run(['catalog', 'init'])).exitCode).toBe(0);
  expect(readFileSync(join(folder, 'catalog.yaml'))).toEqual(readFileSync(join(root, 'catalog.yaml')));
  expect(await run(['catalog', 'init'])).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('exists'),
  });
  expect((await run(['catalog', 'check'])).exitCode).toBe(0);
}, 60_000);

async function serve(): Promise<Gateway> {
  return await launchGateway(
    { ...environment, TOLLGATE_CATALOG: join(folder, 'catalog.yaml'), HOME: folder },
    { command: [...program, 'serve'], cwd: folder },
  ).listening;
}

test('serves the dashboard, the reference and a paid call, keeps its lease, and drains', async () => {
  const gateway = await serve();
  const get = (path: string) => fetch(`${gateway.origin}${path}`);
  expect(await (await get('/readyz')).json()).toMatchObject({ status: 'ready' });

  const page = await (await get('/sign-in')).text();
  const assets = [...page.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, path = '']) => path);
  expect(assets.length).toBeGreaterThan(3);
  for (const path of assets) expect((await get(path)).status).toBe(200);
  for (const path of ['/docs', '/docs/clients', '/docs.css', '/docs.js', '/openapi.json'])
    expect((await get(path)).status).toBe(200);

  // Bun reads this when a process starts, so the executable started itself again with it, under the same process ID.
  const settings = readFileSync(`/proc/${gateway.process.pid}/environ`, 'utf8').split('\0');
  if (process.platform === 'linux') expect(settings).toContain('BUN_CONFIG_MAX_HTTP_REQUESTS=65336');

  const account = await json('account', 'create', '--name', 'Acme', '--credit', '5');
  const { key } = await json<{ key: string }>('key', 'create', '--account', account.id);
  const chat = await fetch(`${gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'sandbox-chat', messages: [{ role: 'user', content: 'Hello' }] }),
  });
  expect(chat.status).toBe(200);
  expect(((await chat.json()) as { choices: unknown[] }).choices).toHaveLength(1);
  expect((await run(['ledger', 'audit', '--full'])).exitCode).toBe(0);

  const words = ['user', 'create', '--email', 'ann@example.com', '--admin', '--password-file', '-'];
  expect((await run(words, environment, 'correct horse\n')).exitCode).toBe(0);
  const signIn = await fetch(`${gateway.origin}/api/auth/sign-in/email`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: gateway.origin },
    body: JSON.stringify({ email: 'ann@example.com', password: 'correct horse' }),
  });
  expect(signIn.status).toBe(200);

  // The lease is renewed by a thread, which is a separate file inside the executable.
  await eventually('a renewed lease', async () => {
    const [node] =
      await database.sql`select heartbeat_at > started_at + interval '3 seconds' as is_renewed from nodes`;
    return node?.is_renewed === true;
  });
  expect(await gateway.stop()).toBe(0);
  const [node] = await database.sql`select stopped_at is not null as is_stopped from nodes`;
  expect(node.is_stopped).toBe(true);
}, 120_000);

test('leaves the folder it runs in alone, and takes no bunfig.toml from it', async () => {
  expect(readdirSync(folder)).toEqual(['catalog.yaml']);
  writeFileSync(join(folder, 'bunfig.toml'), 'preload = ["./nowhere.ts"]\n');
  expect((await run(['--version'])).exitCode).toBe(0);
}, 60_000);
