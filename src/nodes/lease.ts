/**
 * Shows other nodes that this one is alive, and closes what dead nodes left open: their holds are released and their
 * Generations fail. PostgreSQL's clock alone decides which nodes are dead. The heartbeat runs in a thread of its own; orphans
 * are closed on the main thread, on a separate connection.
 */
import { SQL } from 'bun';
import type { Ledger } from '../ledger/ledger.ts';
import type { Attempt, GenerationFacts, Settlement } from '../ledger/operations.ts';
import { type EndedGeneration, failure, settlementOf } from '../ledger/settlement.ts';
import type { Log } from '../lib/log.ts';
import { repeat } from '../lib/repeat.ts';
import { Rotation } from '../lib/rotation.ts';
import { newestMigration, softwareVersion } from '../lib/software-version.ts';
import { within } from '../lib/within.ts';
import { DatabaseClock } from './database-clock.ts';
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
  const { leaseMs, beatMs, patienceMs } = timings;
  const steadiness = new Steadiness(leaseMs, performance.now());
  const clock = new DatabaseClock(node.id, log);
  const hosts = new Rotation([connection, ...otherHosts]);
  let sql = new SQL(hosts.current);
  let renewedAtMs = performance.now();
  await sql`
    insert into nodes (id, name, version, newest_migration)
    values (${node.id}, ${node.name}, ${softwareVersion}, ${newestMigration})`;
  const heartbeat = await startHeartbeat(
    { hosts: hosts.all, node: { ...node, version: softwareVersion, newestMigration }, timings },
    {
      signOfLife: () => ({ nowMs: Date.now(), report: describe() }),
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
  const reaping = repeat(beatMs, async () => {
    try {
      await reap();
    } catch (error) {
      log.warn('orphans not closed yet', { nodeId: node.id, error });
      sql.close({ timeout: 0 }).catch(() => undefined);
      sql = new SQL(hosts.next());
    }
  });

  /** A report is informative only, so the lease must not be lost over it. */
  function describe(): string {
    try {
      return JSON.stringify(report());
    } catch (error) {
      log.warn('report failed', { nodeId: node.id, error });
      return 'null';
    }
  }

  async function reap(): Promise<void> {
    if (!steadiness.isSteady(performance.now())) return;
    const orphans = await within(patienceMs, findOrphans(sql, leaseMs / 1000));
    // If this process was suspended meanwhile, the nodes may have renewed their leases.
    if (orphans.length === 0 || !steadiness.isSteady(performance.now())) return;
    log.warn('closing what a dead node left open', { count: orphans.length });
    await Promise.all(orphans.map((orphan) => ledger.settleOnce(orphan)));
  }

  const ageMs = () => performance.now() - renewedAtMs;

  function problem(): string | null {
    const age = ageMs();
    return age > leaseMs ? `expired, last renewed ${Math.round(age / 1000)} s ago` : null;
  }

  return {
    clock,
    problem,
    ageMs,
    stop: async () => {
      reaping.stop();
      await heartbeat.stop();
      await sql`update nodes set stopped_at = now() where id = ${node.id}`;
      await sql`delete from nodes where heartbeat_at < now() - interval '7 days'`;
      await sql.close({ timeout: 1 });
    },
  };
}

type OrphanRow = Omit<GenerationFacts, 'idempotencyHash'> & Pick<EndedGeneration, 'provider' | 'attempts'>;

const maxOrphansAtOnce = 500;

/** The settlements that close the Generations of dead nodes. */
export async function findOrphans(sql: SQL, silenceSeconds: number): Promise<Settlement[]> {
  const rows = await sql<OrphanRow[]>`
    select open_generations.id, account_id as "accountId", key_id as "keyId", workload, model, provider, streaming,
           price_list_id as "priceListId", attempts, extract(epoch from created_at)::float8 * 1000 as "createdAtMs"
    from open_generations left join nodes on nodes.id = node_id
    where nodes.id is null or stopped_at is not null or heartbeat_at < now() - make_interval(secs => ${silenceSeconds})
    limit ${maxOrphansAtOnce}`;
  const nowMs = Date.now();
  return rows.map(({ provider, attempts, ...generation }) =>
    settlementOf(
      {
        generation: { ...generation, idempotencyHash: null },
        isHeld: false,
        provider,
        attempts: attempts.map((attempt) => interrupted(attempt, nowMs)),
      },
      failure('gateway_interrupted', 'interrupted'),
    ),
  );
}

function interrupted(attempt: Attempt, nowMs: number): Attempt {
  if (attempt.status !== 'in_progress') return attempt;
  return { ...attempt, status: 'failed', completedAtMs: nowMs, errorCode: 'gateway_interrupted' };
}
