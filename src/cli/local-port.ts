import type { SQL } from 'bun';
import { leaseSeconds } from '../ledger/node-lease.ts';

/** The port of the one gateway that lives on this machine, as it names itself to the others; null when that is not clear. */
export async function findLocalPort(sql: SQL, host: string): Promise<number | null> {
  const rows = await sql<{ name: string }[]>`
    select name from nodes
    where stopped_at is null and heartbeat_at > now() - make_interval(secs => ${leaseSeconds}::int)`;
  const ports = rows
    .filter(({ name }) => name.startsWith(`${host}:`))
    .map(({ name }) => Number(name.slice(host.length + 1)));
  const [port = 0] = ports;
  return ports.length === 1 && port > 0 ? port : null;
}
