/** The PostgreSQL that comes with the checkout: created, adopted, shared, kept and stopped. */
import { describe, expect, test } from 'bun:test';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { SQL } from 'bun';
import { acquireEmbeddedServer } from '../../src/database/embedded.ts';
import { findLeftoverProcesses } from '../../src/database/leftover-processes.ts';
import { newId } from '../../src/lib/ids.ts';
import { createLog } from '../../src/lib/log.ts';
import { isServerThere, keyIn, modelIds, postmaster, preparedFolder, welcomed } from '../support/embedded.ts';
import { eventually } from '../support/eventually.ts';
import {
  type Environment,
  type Gateway,
  startGateway,
  temporaryFolder,
  tollgate,
  tollgateJson,
} from '../support/gateway.ts';
import { askAnew, freePorts, isRunning, logged, workerProcesses } from '../support/workers.ts';

const demoFile = (folder: string) => join(folder, 'demo.json');
const dataFolder = (...names: string[]) => join(temporaryFolder(), ...names);

/** The commands of the welcome message, in order. */
const commandsIn = (output: string) => output.match(/^ {2}curl .*$/gm) ?? [];

/** Runs a command as if pasted into a shell. */
async function pasted(exports: readonly string[], command: string): Promise<unknown> {
  const script = [...exports, `${command} --silent`].join('\n');
  const shell = Bun.spawn(['sh', '-c', script], {
    env: { PATH: process.env.PATH ?? '' },
    stdout: 'pipe',
    stderr: 'inherit',
  });
  return JSON.parse(await shell.stdout.text());
}

type Listed = { id: string; status: string; fallback: boolean };
type Shown = Listed & { attempts: { provider: string; status: string }[] };

async function generationsOf(gateway: Gateway, key: string): Promise<Shown[]> {
  const get = async <Body>(path: string) => {
    const response = await fetch(`${gateway.origin}${path}`, { headers: { authorization: `Bearer ${key}` } });
    return (await response.json()) as Body;
  };
  const { data } = await get<{ data: Listed[] }>('/v1/generations');
  return await Promise.all(data.map(({ id }) => get<Shown>(`/v1/generations/${id}`)));
}

describe('on the embedded database', () => {
  test('the first start creates a demo whose curl line works; the next ones keep it, whatever was killed before', async () => {
    const folder = dataFolder('data');
    const start = async () => await welcomed(await startGateway({ TOLLGATE_DATA: folder }));
    const first = await start();
    const key = keyIn(first);
    expect(await modelIds(first, key)).toEqual(['sandbox-chat', 'sandbox-image', 'sandbox-video']);
    expect(first.output()).toContain(`Tollgate is running.\n\nDashboard: ${first.origin}\n`);
    const commands = commandsIn(first.output());
    expect(commands).toHaveLength(4);
    const exports = first.output().match(/^ {2}export OPENAI_\w+=.*$/gm) ?? [];
    const bodies = await Promise.all(commands.map((command) => pasted(exports, command)));
    expect(bodies).toMatchObject([
      { choices: [{ message: { content: 'You said: Hello' } }] },
      { choices: [{ message: { tool_calls: [{ function: { name: 'get_weather' } }] } }] },
      { error: { code: 'provider_unavailable' } },
      { choices: [{ message: { content: 'You said: Fail over.' } }] },
    ]);
    // The first one needs nothing else.
    expect(await pasted([], commands[0] ?? '')).toMatchObject({ object: 'chat.completion' });
    const generations = await generationsOf(first, key);
    const taken = generations.filter(({ status, fallback }) => status === 'completed' && fallback);
    expect(taken.map(({ attempts }) => attempts)).toMatchObject([
      [
        { provider: 'Sandbox', status: 'failed' },
        { provider: 'Sandbox backup', status: 'succeeded' },
      ],
    ]);
    expect(statSync(demoFile(folder)).mode & 0o777).toBe(0o600);
    expect(await first.stop()).toBe(0);
    expect(isServerThere(folder)).toBe(false);

    const killed = await start();
    expect(keyIn(killed)).toBe(key);
    expect(await modelIds(killed, key)).toHaveLength(3);
    const server = postmaster(folder);
    await killed.stop('SIGKILL');
    expect(postmaster(folder)).toBe(server);

    // The server that was left running is adopted, and then killed as well.
    const adopter = await start();
    expect(postmaster(folder)).toBe(server);
    expect(keyIn(adopter)).toBe(key);
    process.kill(server, 'SIGKILL');
    await adopter.stop('SIGKILL');

    const last = await start();
    expect(keyIn(last)).toBe(key);
    expect(await modelIds(last, key)).toHaveLength(3);
    expect(await last.stop('SIGINT')).toBe(0);
    expect(isServerThere(folder)).toBe(false);
  }, 120_000);

  test('a port in use is reported before a database is made', async () => {
    const taken = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response() });
    for (const workers of ['1', '2']) {
      const folder = dataFolder('data');
      const { exitCode, stdout, stderr } = await tollgate(['serve'], {
        PORT: `${taken.port}`,
        WORKERS: workers,
        TOLLGATE_DATA: folder,
      });
      expect([exitCode, stdout]).toEqual([1, '']);
      expect(stderr).toBe(
        `tollgate: Port ${taken.port} on 127.0.0.1 is in use. Set PORT to a free port, for example PORT=8081.\n`,
      );
      expect(existsSync(folder)).toBe(false);
    }
    await taken.stop(true);
  });

  test('a server that was left running is stopped by the process that adopted it', async () => {
    const folder = await preparedFolder();
    const left = await acquireEmbeddedServer(folder);
    const server = postmaster(folder);
    const gateway = await startGateway({ TOLLGATE_DATA: folder });
    // One that is still needed stays.
    await left.release();
    expect(postmaster(folder)).toBe(server);
    await gateway.stop();
    expect(isServerThere(folder)).toBe(false);
  });

  test('two gateways share one folder, and the last to leave stops the server', async () => {
    const folder = dataFolder('data');
    const [one, other] = await Promise.all([
      startGateway({ TOLLGATE_DATA: folder }),
      startGateway({ TOLLGATE_DATA: folder }),
    ]);
    await Promise.all([welcomed(one), welcomed(other)]);
    expect(keyIn(other)).toBe(keyIn(one));
    await one.stop();
    expect(isServerThere(folder)).toBe(true);
    expect(await modelIds(other, keyIn(other))).toHaveLength(3);
    await other.stop();
    expect(isServerThere(folder)).toBe(false);
  });

  test('a second start says where the first gateway runs: as the reason not to start, or on another port', async () => {
    const folder = await preparedFolder();
    const port = freePorts(1);
    const first = await welcomed(await startGateway({ TOLLGATE_DATA: folder, PORT: `${port}` }));
    const again = await tollgate(['serve'], { TOLLGATE_DATA: folder, PORT: `${port}` });
    expect([again.exitCode, again.stdout]).toEqual([1, '']);
    expect(again.stderr).toStartWith(`tollgate: A gateway already runs at ${first.origin}. `);
    const beside = await welcomed(await startGateway({ TOLLGATE_DATA: folder }));
    expect(
      logged(beside, beside.output().match(/another gateway already runs[^"]*/)?.[0] ?? ''),
    ).toMatchObject([{ level: 'warn', folder, address: first.origin }]);
    await Promise.all([first.stop(), beside.stop()]);
    expect(isServerThere(folder)).toBe(false);
  });

  test('several workers have one demo and one sandbox, and the server ends after them', async () => {
    const folder = await preparedFolder();
    const gateway = await welcomed(await startGateway({ TOLLGATE_DATA: folder, WORKERS: '2' }));
    const [model = ''] = (await modelIds(gateway, keyIn(gateway))).filter((id) => id.startsWith('sandbox'));
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => askAnew(gateway, keyIn(gateway), model, 'hello')),
    );
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    const workers = workerProcesses(gateway);
    expect(await gateway.stop()).toBe(0);
    expect(workers.filter(isRunning)).toEqual([]);
    expect(isServerThere(folder)).toBe(false);
    expect(gateway.output().match(/.*"level":"(?:warn|error)".*/g)).toBeNull();
  }, 120_000);

  test('the command line works with and without a running gateway, and leaves nothing running', async () => {
    const environment = { TOLLGATE_DATA: await preparedFolder() };
    await tollgateJson(['account', 'create', '--name', 'Before'], environment);
    expect(isServerThere(environment.TOLLGATE_DATA)).toBe(false);
    const gateway = await startGateway(environment);
    await tollgateJson(['account', 'create', '--name', 'During'], environment);
    expect((await fetch(`${gateway.origin}/readyz`)).status).toBe(200);
    // There is no demo in a database that has accounts already.
    await eventually('the address is printed', () => gateway.output().includes('Dashboard: '));
    expect(keyIn(gateway)).toBe('');
    expect(existsSync(demoFile(environment.TOLLGATE_DATA))).toBe(false);
    await gateway.stop();
    const accounts = await tollgateJson<{ name: string }[]>(['account', 'list'], environment);
    expect(accounts.map((account) => account.name)).toEqual(['Before', 'During']);
    expect(isServerThere(environment.TOLLGATE_DATA)).toBe(false);
  });

  test('a folder too deep for a socket, with a space and a quote in its name, works', async () => {
    const folder = dataFolder(`it's deep ${'x'.repeat(100)}`);
    mkdirSync(folder, { recursive: true });
    // The socket is reached through a link in the temporary folder; this one goes away with the test.
    const environment = { TOLLGATE_DATA: folder, TMPDIR: dataFolder() };
    const gateway = await welcomed(await startGateway(environment));
    expect(await tollgateJson<unknown[]>(['account', 'list'], environment)).toHaveLength(1);
    expect(await modelIds(gateway, keyIn(gateway))).toHaveLength(3);
    await gateway.stop();
  });
});

describe('the demo', () => {
  test('survives a kill -9 while it is being created', async () => {
    const environment = { TOLLGATE_DATA: await preparedFolder() };
    const server = await acquireEmbeddedServer(environment.TOLLGATE_DATA);
    const sql = new SQL({ adapter: 'postgres', ...server.connection, max: 2 });
    const blocker = await sql.reserve();
    await blocker`begin`;
    await blocker`lock table api_keys in access exclusive mode`;
    const killed = await startGateway(environment);
    await eventually('the demo is being made', async () => {
      const waiting = await sql`select 1 from pg_stat_activity where wait_event_type = 'Lock'`;
      return waiting.length > 0;
    });
    await killed.stop('SIGKILL');
    await blocker`rollback`;
    await blocker.release();
    const gateway = await welcomed(await startGateway(environment));
    expect(await modelIds(gateway, keyIn(gateway))).toHaveLength(3);
    expect(await tollgateJson<unknown[]>(['account', 'list'], environment)).toHaveLength(1);
    await gateway.stop();
    await sql.close();
    await server.release();
  });

  test('is made again when its key is not in the database, and not shown when the key was revoked', async () => {
    const environment = { TOLLGATE_DATA: await preparedFolder() };
    const file = demoFile(environment.TOLLGATE_DATA);
    writeFileSync(file, JSON.stringify({ account: newId(), key: 'svc_sk_lost' }));
    const first = await welcomed(await startGateway(environment));
    expect(await modelIds(first, keyIn(first))).toHaveLength(3);
    const { account } = JSON.parse(readFileSync(file, 'utf8')) as { account: string };
    const [key] = await tollgateJson<{ id: string }[]>(['key', 'list', '--account', account], environment);
    await tollgateJson(['key', 'revoke', key?.id ?? ''], environment);
    await first.stop();
    const second = await startGateway(environment);
    await eventually('the address is printed', () => second.output().includes('Dashboard: '));
    expect(keyIn(second)).toBe('');
    await second.stop();
  });
});

test('stopping the server does not wait for another one that another process starts instead', async () => {
  const folder = await preparedFolder();
  const first = await acquireEmbeddedServer(folder);
  const stopped = postmaster(folder);
  const released = first.release();
  // The watch over the server is held up until another server runs instead.
  let watching: number | null = null;
  while (watching === null && isServerThere(folder)) {
    watching = processOf(`stop\0-D\0${folder}`);
    await Bun.sleep(1);
  }
  await eventually('it has stopped', () => !isServerThere(folder));
  if (watching !== null) signal(watching, 'SIGSTOP');
  const next = await acquireEmbeddedServer(folder);
  if (watching !== null) signal(watching, 'SIGCONT');
  await released;
  expect(postmaster(folder)).not.toBe(stopped);
  await next.release();
  expect(isServerThere(folder)).toBe(false);
});

/** A process by a part of its command line. Linux only: elsewhere there is none. */
function processOf(words: string): number | null {
  if (!existsSync('/proc/self')) return null;
  for (const id of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      if (readFileSync(`/proc/${id}/cmdline`, 'utf8').includes(words)) return Number(id);
    } catch {
      // It has just ended.
    }
  }
  return null;
}

function signal(processId: number, name: NodeJS.Signals): void {
  try {
    process.kill(processId, name);
  } catch {
    // It has ended by itself.
  }
}

describe('a server that is lost under a gateway', () => {
  async function ready(gateway: Gateway): Promise<void> {
    const isReady = async () => (await fetch(`${gateway.origin}/readyz`)).status === 200;
    await eventually('it is ready', isReady);
  }

  async function terminatePresence(folder: string): Promise<void> {
    const path = join(folder, 'postgres/.s.PGSQL.5432');
    const sql = new SQL({ adapter: 'postgres', path, username: 'tollgate', database: 'postgres', max: 1 });
    const ended = await sql`
      select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'tollgate-presence'`;
    expect(ended).toHaveLength(1);
    await sql.close();
  }

  test('a terminated presence is renewed, a killed server is restarted, and both end with the gateway', async () => {
    const environment = { TOLLGATE_DATA: await preparedFolder() };
    const folder = environment.TOLLGATE_DATA;
    const gateway = await welcomed(await startGateway(environment));
    const server = postmaster(folder);
    await terminatePresence(folder);
    // A command that leaves does not stop the server.
    await tollgateJson(['account', 'list'], environment);
    expect(postmaster(folder)).toBe(server);
    expect(await modelIds(gateway, keyIn(gateway))).toHaveLength(3);

    process.kill(server, 'SIGKILL');
    await eventually('another server is there', () => isServerThere(folder) && postmaster(folder) !== server);
    await ready(gateway);
    expect(await modelIds(gateway, keyIn(gateway))).toHaveLength(3);
    expect(await gateway.stop()).toBe(0);
    expect(isServerThere(folder)).toBe(false);
  });

  test.skipIf(process.platform !== 'linux')(
    'a process that the killed server left behind, and that keeps the next one from starting, is ended; others are not',
    async () => {
      const folder = await preparedFolder();
      const lines: string[] = [];
      const server = await acquireEmbeddedServer(
        folder,
        createLog('info', (line) => lines.push(line)),
      );
      const cluster = join(folder, 'postgres');
      const bystander = Bun.spawn(['sleep', '60'], { cwd: cluster, stdio: ['ignore', 'ignore', 'ignore'] });
      const sql = new SQL({ adapter: 'postgres', ...server.connection, max: 1 });
      const [{ left }] = await sql<[{ left: number }]>`select pg_backend_pid() as left`;
      expect(findLeftoverProcesses(cluster)).toEqual([]);
      process.kill(left, 'SIGSTOP');
      const killed = postmaster(folder);
      process.kill(killed, 'SIGKILL');
      await eventually(
        'another server is there',
        () => isServerThere(folder) && postmaster(folder) !== killed,
      );
      // Not even as a zombie.
      expect(existsSync(`/proc/${left}/exe`)).toBe(false);
      expect(bystander.exitCode).toBeNull();
      const ended = lines.filter((line) => line.includes('ended a process that a killed database server'));
      expect(ended.map((line) => JSON.parse(line))).toMatchObject([{ level: 'warn', processId: left }]);
      bystander.kill();
      await sql.close({ timeout: 0 });
      await server.release();
      expect(isServerThere(folder)).toBe(false);
    },
    60_000,
  );

  test('a gateway told to stop while its server is away stops, and leaves none running', async () => {
    const folder = await preparedFolder();
    const gateway = await welcomed(await startGateway({ TOLLGATE_DATA: folder }));
    const server = postmaster(folder);
    process.kill(server, 'SIGKILL');
    expect(await gateway.stop()).toBe(0);
    // Whether or not it had time to start another: if the file still exists, it is the dead server's.
    if (isServerThere(folder)) expect(postmaster(folder)).toBe(server);
  });
});

describe('a data folder that cannot be used is named in one sentence', () => {
  async function refusal(folder: string): Promise<string> {
    const { exitCode, stdout, stderr } = await tollgate(['serve'], { PORT: '0', TOLLGATE_DATA: folder });
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr.trim().split('\n')).toHaveLength(1);
    return stderr;
  }

  test('a file', async () => {
    const file = join(dataFolder(), 'file');
    writeFileSync(file, '');
    expect(await refusal(file)).toContain(`TOLLGATE_DATA names ${file}, which cannot be used (EEXIST`);
  });

  test('a place where nothing can be created', async () => {
    expect(await refusal('/proc/x')).toContain('TOLLGATE_DATA names /proc/x, which cannot be used (ENOENT');
  });

  test('a folder whose postgres is something else', async () => {
    const folder = dataFolder();
    mkdirSync(join(folder, 'postgres'));
    writeFileSync(join(folder, 'postgres/notes.txt'), '');
    expect(await refusal(folder)).toContain('postgres is not a PostgreSQL cluster');
    expect(readdirSync(folder)).toEqual(['postgres']);
  });

  test('a lock file that names a process which is not the server', async () => {
    const folder = await preparedFolder();
    const lockFile = join(folder, 'postgres/postmaster.pid');
    writeFileSync(lockFile, `${process.pid}\n${join(folder, 'postgres')}\n1700000000\n5432\n.\n\n\nready\n`);
    const sentence = await refusal(folder);
    expect(sentence).toContain(`${lockFile} says that process ${process.pid} serves this folder`);
    expect(existsSync(lockFile)).toBe(true);
  });
});

test('an empty postgres folder is filled, and what a killed start left half made is removed', async () => {
  const folder = dataFolder();
  const [old, young] = [join(folder, `postgres.${newId()}`), join(folder, `postgres.${newId()}`)];
  for (const path of [join(folder, 'postgres'), old, young]) mkdirSync(path);
  utimesSync(old, 0, 0);
  const server = await acquireEmbeddedServer(folder);
  await server.release();
  expect(readdirSync(folder).toSorted()).toEqual(['postgres', basename(young)]);
});

describe.skipIf(process.getuid?.() !== 0)('as root', () => {
  test('the server runs as nobody where user namespaces are forbidden, and the folder changes hands both ways', async () => {
    const folder = dataFolder('data');
    const tools = dataFolder('tools');
    mkdirSync(tools, { recursive: true });
    await Bun.write(join(tools, 'unshare'), '#!/bin/sh\nexit 1\n');
    chmodSync(join(tools, 'unshare'), 0o755);
    const withoutNamespaces = { TOLLGATE_DATA: folder, PATH: `${tools}:${process.env.PATH}` };
    const gateway = await welcomed(await startGateway(withoutNamespaces));
    await gateway.stop();
    expect(statSync(join(folder, 'postgres')).uid).toBe(65_534);
    const names = async (environment: Environment) =>
      (await tollgateJson<{ name: string }[]>(['account', 'list'], environment)).map(({ name }) => name);
    expect(await names({ TOLLGATE_DATA: folder })).toEqual(['Demo']);
    expect(statSync(join(folder, 'postgres')).uid).toBe(0);
    expect(await names(withoutNamespaces)).toEqual(['Demo']);
    expect(statSync(join(folder, 'postgres')).uid).toBe(65_534);
  });
});
