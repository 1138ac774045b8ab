/** The dashboard's own reads, which must not keep connections from requests. */
import type { SQL, TransactionSQL } from 'bun';
import { shortSnapshot } from '../lib/short-transaction.ts';

/** Shorter than anyone waits for an answer (http/lookup.ts): a connection is free again before another takes its place. */
const statementTimeout = '3500ms';

/**
 * All that is read here is of one moment, and no statement takes long. Plans are made for the values at hand: one for any values would
 * read all of a range by its IDs, whoever they belong to.
 */
export async function boundedRead<Result>(
  sql: SQL,
  read: (transaction: TransactionSQL) => Promise<Result>,
): Promise<Result> {
  return await shortSnapshot(sql, async (transaction) => {
    await transaction`
      select set_config('statement_timeout', ${statementTimeout}, true),
             set_config('plan_cache_mode', 'force_custom_plan', true), set_config('jit', 'off', true)`;
    return await read(transaction);
  });
}
