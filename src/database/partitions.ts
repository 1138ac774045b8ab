/** Creates the monthly partitions of Generations and of the ledger well ahead of time. */
import type { SQL } from 'bun';
import type { Log } from '../lib/log.ts';

const aheadDays = 365;
const everyMs = 24 * 60 * 60 * 1000;
const partitionLock = 7_012_018_004;

/** Creates what is missing, including last month for a node whose clock is slow. Several nodes may run it at once. */
export async function createPartitions(sql: SQL): Promise<void> {
  await sql`select pg_advisory_xact_lock(${partitionLock})`;
  await sql`select create_partitions(current_date - 31, current_date + ${aheadDays}::int)`;
}

/** For a gateway that runs for months: migrating created those of the first year. */
export function keepPartitionsAhead(sql: SQL, log: Log): () => void {
  const timer = setInterval(() => {
    sql
      .begin(async (transaction) => {
        // Attaching a partition locks the default one for a moment, and requests must not wait for that. There are
        // months to try again.
        await transaction`set local lock_timeout = '200ms'`;
        await createPartitions(transaction);
      })
      .catch((error: unknown) => log.warn('partitions not created yet', { error }));
  }, everyMs);
  return () => clearInterval(timer);
}
