/** pgbouncer in transaction mode, in front of a server. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Subprocess } from 'bun';
import { answers } from '../../../chaos/world/database.ts';
import { eventually } from '../../support/eventually.ts';
import { temporaryFolder } from '../../support/gateway.ts';
import type { PostgresServer } from './postgres.ts';

export type Pgbouncer = Readonly<{
  url: (database: string) => string;
  /** Resolves when it passes queries on. */
  start: () => Promise<void>;
  /** Kills it without notice to its clients. */
  kill: () => Promise<void>;
}>;

export async function startPgbouncer(server: PostgresServer, port: number): Promise<Pgbouncer> {
  const folder = temporaryFolder();
  const settings = join(folder, 'pgbouncer.ini');
  writeFileSync(join(folder, 'users.txt'), '"tollgate" ""\n');
  writeFileSync(
    settings,
    `[databases]
* = host=127.0.0.1 port=${server.port} user=tollgate
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
auth_file = ${join(folder, 'users.txt')}
pool_mode = transaction
default_pool_size = 5
`,
  );
  // It refuses to run as root.
  const prefix =
    process.getuid?.() === 0 ? ['unshare', '--user', '--map-user=65534', '--map-group=65534', '--'] : [];
  const program =
    Bun.which('pgbouncer') ?? Bun.which('pgbouncer', { PATH: '/usr/sbin:/usr/local/sbin' }) ?? 'pgbouncer';
  const url = (database: string) => `postgres://tollgate@127.0.0.1:${port}/${database}`;
  let child: Subprocess | null = null;
  const bouncer: Pgbouncer = {
    url,
    start: async () => {
      child = Bun.spawn([...prefix, program, settings], { stdout: 'ignore', stderr: 'ignore' });
      await eventually('pgbouncer answers', () => answers(url('postgres')));
    },
    kill: async () => {
      child?.kill('SIGKILL');
      await child?.exited;
    },
  };
  await bouncer.start();
  return bouncer;
}
