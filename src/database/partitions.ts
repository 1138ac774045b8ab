/** Keeps the monthly partitions of Generations made well ahead of time, so that a row never finds none. */
import type { SQL } from 'bun';
import type { Log } from '../lib/log.ts';

const aheadDays = 365;
const everyMs = 24 * 60 * 60 * 1000;
const partitionLock = 7_012_018_004;

/** Makes what is missing, last month included, for a node whose clock is slow; several nodes may do so at once. */
export async function createPartitions(sql: SQL): Promise<void> {
  await sql`select pg_advisory_xact_lock(${partitionLock})`;
  await sql`select create_partitions(current_date - 31, current_date + ${aheadDays}::int)`;
}

/** For a gateway that runs for months: migrating made those of the first year. */
export function keepPartitionsAhead(sql: SQL, log: Log): () => void {
  const timer = setInterval(() => {
    sql
      .begin(async (transaction) => {
        // Attaching a month needs the default partition alone for a moment, and requests must not wait for that. There is
        // a year's time to try again.
        await transaction`set local lock_timeout = '200ms'`;
        await createPartitions(transaction);
      })
      .catch((error: unknown) => log.warn('partitions not made yet', { error }));
  }, everyMs);
  return () => clearInterval(timer);
}
