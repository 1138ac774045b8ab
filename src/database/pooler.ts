/** Recognizes a pooler such as pgbouncer in transaction mode, which gives one session of the server to several clients. */
import { SQL } from 'bun';

const maxTries = 5;

/**
 * Two clients that are connected at the same time never share a server process, unless a pooler lends it to whichever
 * has something to ask. Under load it may lend two different ones, so they are asked a few times.
 */
export async function isTransactionPooled(options: SQL.Options): Promise<boolean> {
  const clients = [0, 1].map(() => new SQL({ ...options, prepare: false, max: 1 }));
  try {
    for (let tries = 0; tries < maxTries; tries += 1) {
      const processes: number[] = [];
      for (const sql of clients) {
        const [row] = await sql<[{ pid: number }]>`select pg_backend_pid() as pid`;
        processes.push(row.pid);
      }
      if (processes[0] === processes[1]) return true;
    }
    return false;
  } finally {
    await Promise.all(clients.map((sql) => sql.close({ timeout: 1 })));
  }
}
