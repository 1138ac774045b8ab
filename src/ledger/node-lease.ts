/**
 * Says to the other nodes that this one lives, and takes over what dead ones left open: their holds are released, their
 * Generations closed as failed. Only PostgreSQL's clock counts, so the nodes' own clocks may differ.
 */
import type { SQL } from 'bun';
import type { Log } from '../lib/log.ts';
import { within } from '../lib/within.ts';
import type { Ledger } from './ledger.ts';
import { findOrphans } from './orphans.ts';

export type NodeLease = Readonly<{ stop: () => Promise<void> }>;

const beatMs = 2_000;
const patienceMs = 4_000;
/** How long a node may be silent before it counts as dead. */
export const leaseSeconds = 10;

/**
 * `openConnection` opens a client for the lease alone: a heartbeat must not wait for anyone else's queries. `report`
 * gives what the others are to know of this node.
 */
export async function takeLease(
  openConnection: () => SQL,
  ledger: Ledger,
  node: { id: string; name: string },
  log: Log,
  report: () => unknown = () => null,
): Promise<NodeLease> {
  let sql = openConnection();
  let told: string | null = null;
  let steadySinceMs = performance.now();
  await renew();
  const beating = repeat(beatMs, async () => {
    try {
      await within(patienceMs, renew());
    } catch (error) {
      steadySinceMs = performance.now();
      told = null;
      log.warn('heartbeat failed', { nodeId: node.id, error });
      // A connection that does not answer may never do so again.
      sql.close({ timeout: 0 }).catch(() => undefined);
      sql = openConnection();
    }
  });
  const reaping = repeat(beatMs, async () => {
    try {
      await reap();
    } catch (error) {
      log.warn('orphans not closed yet', { nodeId: node.id, error });
    }
  });

  async function renew(): Promise<void> {
    const news = describe();
    await sql`
      insert into nodes (id, name, report) values (${node.id}, ${node.name}, ${news}::text::jsonb)
      on conflict (id) do update
      set heartbeat_at = now(), report = case when ${news !== told}::boolean then excluded.report else nodes.report end`;
    told = news;
  }

  /** A lease must not be lost over what is only there to be looked at. */
  function describe(): string {
    try {
      return JSON.stringify(report());
    } catch (error) {
      log.warn('report not made', { nodeId: node.id, error });
      return 'null';
    }
  }

  async function reap(): Promise<void> {
    // After the database was away every lease looks expired. Whoever lives has renewed it by the time a whole lease has
    // passed without trouble; only then is silence a sign of death.
    if (performance.now() - steadySinceMs < leaseSeconds * 1000) return;
    const orphans = await findOrphans(sql, leaseSeconds);
    if (orphans.length === 0) return;
    log.warn('closing what a dead node left open', { count: orphans.length });
    await Promise.all(orphans.map((orphan) => ledger.settleOnce(orphan)));
  }

  return {
    stop: async () => {
      beating.stop();
      reaping.stop();
      await sql`update nodes set stopped_at = now() where id = ${node.id}`;
      await sql`delete from nodes where heartbeat_at < now() - interval '7 days'`;
      await sql.close({ timeout: 1 });
    },
  };
}

/** Runs again and again, a pause apart, never twice at once. */
function repeat(pauseMs: number, run: () => Promise<void>): { stop: () => void } {
  let isRunning = false;
  const timer = setInterval(() => {
    if (isRunning) return;
    isRunning = true;
    const ended = () => {
      isRunning = false;
    };
    run().then(ended, ended);
  }, pauseMs);
  return { stop: () => clearInterval(timer) };
}
