/**
 * Replaces connections that will never answer again, and follows the database to another host after a failover. A broken
 * network closes no connection, so without this a query would wait until the operating system gives up, a quarter of an
 * hour later.
 */
import type { Log } from '../lib/log.ts';
import { repeat } from '../lib/repeat.ts';
import { LateError, within } from '../lib/within.ts';
import { acceptsWrites, type Hosts } from './hosts.ts';
import type { Listener } from './listener.ts';
import type { ReplaceableClient } from './replaceable-client.ts';

const everyMs = 1_000;
const patienceMs = 4_000;
/** Old connections get a minute to finish, so there are never more than twice as many as configured. */
const replaceEveryMs = 60_000;

type Connections = Readonly<{
  pooled: Hosts;
  direct: Hosts;
  pool: ReplaceableClient;
  listener: Listener;
  log?: Log | undefined;
}>;

export function keepConnected({ pooled, direct, pool, listener, log }: Connections): { stop: () => void } {
  let replacedAtMs = Number.NEGATIVE_INFINITY;
  const pinging = repeat(everyMs, async () => {
    try {
      await within(patienceMs, pool.sql`select 1`);
    } catch (error) {
      if (!(error instanceof LateError) || performance.now() < replacedAtMs + replaceEveryMs) return;
      replacedAtMs = performance.now();
      log?.warn('the database does not respond, opening new connections', { error });
      pool.replace();
      listener.replace();
    }
  });
  const followed = [...new Set([pooled, direct])].filter((hosts) => hosts.areSeveral);
  const following = repeat(everyMs, async () => {
    for (const hosts of followed) await follow(hosts);
  });

  async function follow(hosts: Hosts): Promise<void> {
    const isPrimary = await acceptsWrites(hosts.current).catch(() => false);
    // For a while there may be no host that accepts writes. The next look is a second away.
    if (isPrimary || !(await hosts.findPrimary().catch(() => false))) return;
    log?.warn('the database is on another host now');
    if (hosts === pooled) pool.replace();
    if (hosts === direct) listener.replace();
  }

  return {
    stop: () => {
      pinging.stop();
      following.stop();
    },
  };
}
