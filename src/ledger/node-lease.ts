/**
 * Says to the other nodes that this one lives, and takes over what dead ones left open: their holds are released, their
 * Generations closed as failed. Who is dead is decided by PostgreSQL's clock alone. The heartbeat runs in a thread of its
 * own; giving up on others stays in the main thread, with a connection of its own.
 */
import { SQL } from 'bun';
import type { Log } from '../lib/log.ts';
import { repeat } from '../lib/repeat.ts';
import { within } from '../lib/within.ts';
import { DatabaseClock } from './database-clock.ts';
import { type Node, startHeartbeat } from './heartbeat.ts';
import { type LeaseTimings, usualTimings } from './lease-timings.ts';
import type { Ledger } from './ledger.ts';
import { findOrphans } from './orphans.ts';
import { Steadiness } from './steadiness.ts';

export type NodeLease = Readonly<{ clock: DatabaseClock; stop: () => Promise<void> }>;

/** How long a node may be silent before it counts as dead. */
export const leaseSeconds = usualTimings.leaseMs / 1000;

type Terms = Readonly<{
  /** How to reach the database: another thread has to, and cannot be given a client. */
  connection: SQL.Options;
  ledger: Ledger;
  node: Node;
  log: Log;
  /** What the others are to know of this node. */
  report?: () => unknown;
  timings?: LeaseTimings;
}>;

export async function takeLease({
  connection,
  ledger,
  node,
  log,
  report = () => null,
  timings = usualTimings,
}: Terms): Promise<NodeLease> {
  const { leaseMs, beatMs, patienceMs } = timings;
  const steadiness = new Steadiness(leaseMs, performance.now());
  const clock = new DatabaseClock(node.id, log);
  let sql = new SQL(connection);
  await sql`insert into nodes (id, name) values (${node.id}, ${node.name})`;
  const heartbeat = await startHeartbeat(
    { connection, node, timings },
    {
      signOfLife: () => ({ nowMs: Date.now(), report: describe() }),
      onBeat: ({ askedAtMs, databaseMs, gapMs }) => {
        steadiness.beat(performance.now(), gapMs);
        clock.read({ askedAtMs, databaseMs, answeredAtMs: Date.now() });
      },
      onTrouble: () => steadiness.disturb(performance.now()),
    },
    log,
  );
  const reaping = repeat(beatMs, async () => {
    try {
      await reap();
    } catch (error) {
      log.warn('orphans not closed yet', { nodeId: node.id, error });
      sql.close({ timeout: 0 }).catch(() => undefined);
      sql = new SQL(connection);
    }
  });

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
    if (!steadiness.isSteady(performance.now())) return;
    const orphans = await within(patienceMs, findOrphans(sql, leaseMs / 1000));
    // What was found before this process stood still may be alive again.
    if (orphans.length === 0 || !steadiness.isSteady(performance.now())) return;
    log.warn('closing what a dead node left open', { count: orphans.length });
    await Promise.all(orphans.map((orphan) => ledger.settleOnce(orphan)));
  }

  return {
    clock,
    stop: async () => {
      reaping.stop();
      await heartbeat.stop();
      await sql`update nodes set stopped_at = now() where id = ${node.id}`;
      await sql`delete from nodes where heartbeat_at < now() - interval '7 days'`;
      await sql.close({ timeout: 1 });
    },
  };
}
