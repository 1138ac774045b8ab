/** Whoever starts a second gateway on one data folder by mistake should hear of the first. */
import { hostname } from 'node:os';
import type { SQL } from 'bun';
import type { Config } from '../config.ts';
import { leaseSeconds } from '../ledger/node-lease.ts';
import { isGateway } from '../lib/gateway-address.ts';
import { localOriginOf } from '../lib/ip-address.ts';
import type { Log } from '../lib/log.ts';

const answerMs = 1_000;

/** To be called before this gateway is a node itself. */
export async function reportOtherGateways(
  sql: SQL,
  { host, dataFolder }: Pick<Config, 'host' | 'dataFolder'>,
  log: Log,
): Promise<void> {
  const nodes = await sql<{ name: string }[]>`
    select name from nodes
    where stopped_at is null and heartbeat_at > now() - make_interval(secs => ${leaseSeconds}::int)`;
  const ports = new Set(nodes.map(({ name }) => portIn(name, hostname())));
  for (const port of ports) {
    // One that was killed a moment ago still looks alive in the database.
    const address = localOriginOf({ host, port });
    if (port > 0 && (await isGateway(address, answerMs)))
      log.warn(
        'another gateway already runs on this data folder, and both serve the same accounts: for one of its own, set TOLLGATE_DATA to another folder',
        { folder: dataFolder, address },
      );
  }
}

/** From the name of a node, such as host:8080 or host:8080 worker 1; 0 when it is on another machine. */
function portIn(name: string, host: string): number {
  return name.startsWith(`${host}:`) ? Number.parseInt(name.slice(host.length + 1), 10) : 0;
}
