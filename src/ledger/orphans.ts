import type { SQL } from 'bun';
import type { Attempt, Settlement } from './operations.ts';
import { failure, settlementOf } from './settlement.ts';

const mostAtOnce = 500;

type OrphanRow = {
  id: string;
  account_id: string;
  key_id: string;
  workload: string;
  model: string;
  provider: string;
  streaming: boolean;
  price_list_id: number;
  attempts: Attempt[];
  created_ms: number;
};

/** Generations whose node is gone, each with the settlement that closes it: released, failed, interrupted. */
export async function findOrphans(sql: SQL, leaseSeconds: number): Promise<Settlement[]> {
  const rows = await sql<OrphanRow[]>`
    select open_generations.id, account_id, key_id, workload, model, provider, streaming, price_list_id, attempts,
           extract(epoch from created_at)::float8 * 1000 as created_ms
    from open_generations left join nodes on nodes.id = node_id
    where nodes.id is null or stopped_at is not null or heartbeat_at < now() - make_interval(secs => ${leaseSeconds})
    limit ${mostAtOnce}`;
  const nowMs = Date.now();
  return rows.map((row) =>
    settlementOf(
      {
        generation: {
          id: row.id,
          accountId: row.account_id,
          keyId: row.key_id,
          workload: row.workload,
          model: row.model,
          streaming: row.streaming,
          priceListId: row.price_list_id,
          claimedName: null,
          createdAtMs: row.created_ms,
        },
        provider: row.provider,
        attempts: row.attempts.map((attempt) => interrupted(attempt, nowMs)),
      },
      failure('gateway_interrupted', 'interrupted'),
    ),
  );
}

function interrupted(attempt: Attempt, nowMs: number): Attempt {
  if (attempt.status !== 'in_progress') return attempt;
  return { ...attempt, status: 'failed', completedAtMs: nowMs, errorCode: 'gateway_interrupted' };
}
