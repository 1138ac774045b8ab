/**
 * Says to the other nodes that this one lives, and takes over what dead ones left open: their holds are released, their
 * Generations closed as failed. Only PostgreSQL's clock counts, so the nodes' own clocks may differ.
 */
import type { SQL } from 'bun';
import type { Log } from '../lib/log.ts';
import type { Ledger } from './ledger.ts';
import { findOrphans } from './orphans.ts';

export type NodeLease = Readonly<{ stop: () => Promise<void> }>;

const heartbeatMs = 2_000;
const leaseSeconds = 10;

export async function takeLease(
  sql: SQL,
  ledger: Ledger,
  node: { id: string; name: string },
  log: Log,
): Promise<NodeLease> {
  await sql`insert into nodes (id, name) values (${node.id}, ${node.name})`;
  let steadySinceMs = performance.now();
  let isBeating = false;
  const timer = setInterval(beat, heartbeatMs);

  function beat(): void {
    if (isBeating) return;
    isBeating = true;
    renewAndReap()
      .catch((error: unknown) => {
        steadySinceMs = performance.now();
        log.warn('heartbeat failed', { nodeId: node.id, error });
      })
      .finally(() => {
        isBeating = false;
      });
  }

  async function renewAndReap(): Promise<void> {
    await sql`
      insert into nodes (id, name) values (${node.id}, ${node.name})
      on conflict (id) do update set heartbeat_at = now()`;
    // After the database was away every lease looks expired. Whoever lives has renewed it by the time a whole lease has
    // passed without trouble; only then is silence a sign of death.
    if (performance.now() - steadySinceMs < leaseSeconds * 1000) return;
    const orphans = await findOrphans(sql, leaseSeconds);
    if (orphans.length === 0) return;
    log.warn('closing what a dead node left open', { count: orphans.length });
    await Promise.all(orphans.map((orphan) => ledger.settle(orphan)));
  }

  return {
    stop: async () => {
      clearInterval(timer);
      await sql`update nodes set stopped_at = now() where id = ${node.id}`;
    },
  };
}
