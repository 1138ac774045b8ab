/**
 * Closes what dead nodes left open: their holds are released and their Generations fail. PostgreSQL's clock alone decides
 * which nodes are dead. This runs on the main thread, on its own connection.
 */
import type { SQL } from 'bun';
import type { Ledger } from '../ledger/ledger.ts';
import type { Attempt, GenerationFacts, Settlement } from '../ledger/operations.ts';
import { failure, parseAttempts, parseLimits, settlementOf, unknownUsage } from '../ledger/settlement.ts';
import type { Log } from '../lib/log.ts';
import { within } from '../lib/within.ts';
import type { LeaseTimings } from './heartbeat.ts';
import type { Steadiness } from './steadiness.ts';

/** Nothing is closed while this node must not judge others. */
export async function closeOrphans(
  sql: SQL,
  nodeId: string,
  ledger: Pick<Ledger, 'settleOnce'>,
  steadiness: Steadiness,
  { leaseMs, patienceMs }: LeaseTimings,
  log: Log,
): Promise<void> {
  if (!steadiness.isSteady(performance.now())) return;
  const orphans = await within(patienceMs, findOrphans(sql, nodeId, leaseMs / 1000));
  // If this process was suspended meanwhile, the nodes may have renewed their leases.
  if (orphans.length === 0 || !steadiness.isSteady(performance.now())) return;
  log.warn('closing what a dead node left open', { count: orphans.length });
  await Promise.all(orphans.map((orphan) => ledger.settleOnce(orphan)));
}

type OrphanRow = Omit<GenerationFacts, 'idempotencyHash' | 'limits'> &
  Readonly<{ provider: string; attempts: unknown; limits: unknown }>;

const maxOrphansAtOnce = 500;

/** The settlements that close the Generations of dead nodes. A node that asks is alive, even if its lease has expired. */
export async function findOrphans(sql: SQL, nodeId: string, silenceSeconds: number): Promise<Settlement[]> {
  const rows = await sql<OrphanRow[]>`
    select open_generations.id, account_id as "accountId", key_id as "keyId", workload, api, model, provider, streaming,
           price_list_id as "priceListId", attempts, limits, extract(epoch from created_at)::float8 * 1000 as "createdAtMs"
    from open_generations left join nodes on nodes.id = node_id
    where node_id <> ${nodeId} and (nodes.id is null or stopped_at is not null
      or heartbeat_at < now() - make_interval(secs => ${silenceSeconds}))
    limit ${maxOrphansAtOnce}`;
  const nowMs = Date.now();
  return rows.map(({ provider, attempts, limits, ...generation }) =>
    settlementOf(
      {
        generation: { ...generation, idempotencyHash: null, limits: parseLimits(limits) },
        isHeld: false,
        provider,
        attempts: parseAttempts(attempts).map((attempt) => interrupted(attempt, nowMs)),
      },
      failure('gateway_interrupted', 'interrupted'),
    ),
  );
}

/** Whether the provider was called before the node died, and did the work, nobody knows. */
function interrupted(attempt: Attempt, nowMs: number): Attempt {
  if (attempt.status !== 'in_progress') return attempt;
  return {
    ...attempt,
    status: 'failed',
    completedAtMs: nowMs,
    errorCode: 'gateway_interrupted',
    uncharged: unknownUsage,
  };
}
