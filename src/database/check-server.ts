/** What is required of a database before it is trusted with money. */
import { SQL } from 'bun';
import { type Config, durabilitySettings } from '../config.ts';
import { OperatorError } from '../lib/operator-error.ts';

const minServerVersion = 150_000;
const maxTries = 5;

type ServerFacts = { version: number; in_recovery: boolean } & Record<
  (typeof durabilitySettings)[number],
  string
>;

export async function checkServer(sql: SQL, config: Config): Promise<void> {
  const [facts] = await sql<[ServerFacts]>`
    select current_setting('server_version_num')::int as version,
           pg_is_in_recovery() as in_recovery,
           current_setting('fsync') as fsync,
           current_setting('full_page_writes') as full_page_writes,
           current_setting('synchronous_commit') as synchronous_commit`;
  if (facts.version < minServerVersion) {
    throw new OperatorError('The database is too old: Tollgate needs PostgreSQL 15 or later.');
  }
  if (facts.in_recovery)
    throw new OperatorError('The database is a read-only standby: DATABASE_URL must name the primary.');
  const unsafe = durabilitySettings.filter(
    (name) => facts[name] === 'off' && !config.allowedUnsafeSettings.has(name),
  );
  if (unsafe.length > 0) {
    throw new OperatorError(
      `The database runs with ${unsafe.join(' and ')} off, so a crash could lose committed charges. ` +
        `Turn it on, or accept the risk by name with TOLLGATE_ALLOW_UNSAFE=${unsafe.join(',')}.`,
    );
  }
}

/** A session that clients share in turn keeps neither their settings nor their prepared statements. */
export async function checkPooling(pooled: SQL.Options, direct: SQL.Options): Promise<void> {
  if (!(await isTransactionPooled(direct))) return;
  throw new OperatorError(
    direct === pooled
      ? 'DATABASE_URL leads to a pooler in transaction mode, such as pgbouncer. Set DATABASE_DIRECT_URL too, to an address of PostgreSQL itself or of a pooler in session mode: the ledger, the lease, LISTEN and migrations need sessions that last.'
      : 'DATABASE_DIRECT_URL leads to a pooler in transaction mode too. It must name PostgreSQL itself or a pooler in session mode.',
  );
}

/**
 * Whether a pooler gives one session of the server to several clients. Two clients that are connected at the same time
 * never share a server process, unless a pooler lends it to whichever sends a query. Under load it may lend them
 * different ones, so this is tried a few times.
 */
async function isTransactionPooled(options: SQL.Options): Promise<boolean> {
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
