/**
 * Shows other nodes that this one is alive, and closes what dead nodes left open. The heartbeat runs in its own thread;
 * the rest is done on the main thread, on another connection.
 */
import { SQL } from 'bun';
import { Hosts } from '../database/hosts.ts';
import { ReplaceableClient } from '../database/replaceable-client.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Log } from '../lib/log.ts';
import { repeat } from '../lib/repeat.ts';
import { newestMigration, softwareVersion } from '../lib/software-version.ts';
import { DatabaseClock } from './database-clock.ts';
import { closeOrphans } from './dead-nodes.ts';
import { defaultTimings, type LeaseTimings, type Node, startHeartbeat } from './heartbeat.ts';
import { Steadiness } from './steadiness.ts';

type NodeLease = Readonly<{
  clock: DatabaseClock;
  /** In words; null while the lease is in force. */
  problem: () => string | null;
  /** Since the lease was last renewed. */
  ageMs: () => number;
  stop: () => Promise<void>;
}>;

export const leaseSeconds = defaultTimings.leaseMs / 1000;

type LeaseOptions = Readonly<{
  /** Options instead of a client, because the heartbeat thread has to connect too. */
  connection: SQL.Options;
  /** Where the database may be after a failover. */
  otherHosts?: readonly SQL.Options[];
  ledger: Ledger;
  node: Node;
  log: Log;
  /** What other nodes may know about this one. */
  report?: () => unknown;
  /** Gets what all live nodes reported as their `calls`, and the place of this one among them. */
  onCalls?: (calls: readonly unknown[], place: number) => void;
  timings?: LeaseTimings;
}>;

export async function takeLease({
  connection,
  otherHosts = [],
  ledger,
  node,
  log,
  report = () => null,
  onCalls = () => undefined,
  timings = defaultTimings,
}: LeaseOptions): Promise<NodeLease> {
  const steadiness = new Steadiness(timings.leaseMs, performance.now());
  const clock = new DatabaseClock(node.id, log);
  const hosts = new Hosts([connection, ...otherHosts]);
  const client = new ReplaceableClient(() => new SQL(hosts.current));
  let renewedAtMs = performance.now();
  const ageMs = () => performance.now() - renewedAtMs;
  await client.sql`
    insert into nodes (id, name, version, newest_migration)
    values (${node.id}, ${node.name}, ${softwareVersion}, ${newestMigration})`;
  const heartbeat = await startHeartbeat(
    { hosts: hosts.all, node: { ...node, version: softwareVersion, newestMigration }, timings },
    {
      signOfLife: () => ({ nowMs: Date.now(), report: serializeReport(report, node, log) }),
      onBeat: ({ askedAtMs, databaseMs, gapMs, calls, place }) => {
        renewedAtMs = performance.now();
        steadiness.beat(renewedAtMs, gapMs);
        clock.read({ askedAtMs, databaseMs, answeredAtMs: Date.now() });
        if (place >= 0) onCalls(calls, place);
      },
      onTrouble: () => steadiness.disturb(performance.now()),
    },
    log,
  );
  const closing = repeat(timings.beatMs, async () => {
    try {
      await closeOrphans(client.current, node.id, ledger, steadiness, timings, log);
    } catch (error) {
      log.warn('orphans not closed yet', { nodeId: node.id, error });
      hosts.moveOn();
      client.replace();
    }
  });
  return {
    clock,
    problem: () => problemOf(ageMs(), timings),
    ageMs,
    stop: async () => {
      closing.stop();
      await heartbeat.stop();
      await client.sql`update nodes set stopped_at = now() where id = ${node.id}`;
      await client.sql`delete from nodes where heartbeat_at < now() - interval '7 days'`;
      await client.close(1);
    },
  };
}

/** A report is informative only, so the lease must not be lost over it. */
function serializeReport(report: () => unknown, node: Node, log: Log): string {
  try {
    return JSON.stringify(report());
  } catch (error) {
    log.warn('report failed', { nodeId: node.id, error });
    return 'null';
  }
}

function problemOf(ageMs: number, { leaseMs }: LeaseTimings): string | null {
  return ageMs > leaseMs ? `expired, last renewed ${Math.round(ageMs / 1000)} s ago` : null;
}
