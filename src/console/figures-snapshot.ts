/**
 * Figures take several statements, some of them long, on a connection from the pool that everything else needs, too. So few are
 * read at once, and accounts take turns.
 */
import type { SQL, TransactionSQL } from 'bun';
import { ApiError } from '../errors.ts';
import { BoundedQueue, OverloadError } from '../lib/bounded-queue.ts';
import { boundedSnapshot } from './bounded-read.ts';

/** Sums of ten thousand accounts would be written to files otherwise. */
const workMemKb = 32 * 1024;
/** Of each node. */
export const maxSnapshots = 3;
const maxSnapshotsPerAccount = 2;
export const maxWaitingPerAccount = 20;
const maxWaiting = 100;
/** So that there is time left to count, of what a lookup may take. */
const maxWaitMs = 2_000;
const retryAfterSeconds = 1;

const queue = new BoundedQueue({
  maxRunning: maxSnapshots,
  maxRunningPerOrigin: maxSnapshotsPerAccount,
  maxWaiting,
  maxWaitingPerOrigin: maxWaitingPerAccount,
});

/** All that is read here is of one moment. The account is null for figures of all of them. Throws 503 server_overloaded. */
export async function inSnapshot<Result>(
  sql: SQL,
  accountId: string | null,
  run: (transaction: TransactionSQL) => Promise<Result>,
): Promise<Result> {
  const signal = AbortSignal.timeout(maxWaitMs);
  const read = () =>
    boundedSnapshot(sql, async (transaction) => {
      await transaction`
        select set_config('work_mem', greatest(pg_size_bytes(current_setting('work_mem')) / 1024, ${workMemKb})::text, true)`;
      return await run(transaction);
    });
  try {
    return await queue.run({ origin: accountId ?? 'everybody', signal }, read);
  } catch (cause) {
    if (cause instanceof OverloadError || cause === signal.reason)
      throw new ApiError('server_overloaded', { cause, retryAfterSeconds });
    throw cause;
  }
}
