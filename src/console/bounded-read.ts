/** The dashboard's own reads, which must not keep connections from requests. */
import type { SQL, TransactionSQL } from 'bun';
import { shortSnapshot, shortTransaction } from '../lib/short-transaction.ts';

type Read<Result> = (transaction: TransactionSQL) => Promise<Result>;

/** Shorter than anyone waits for an answer (http/lookup.ts): a connection is free again before another takes its place. */
const statementTimeout = '3500ms';

/**
 * No statement here takes long. Plans are made for the values at hand: one for any values would read all of a range by its IDs,
 * whoever they belong to.
 */
export async function boundedRead<Result>(sql: SQL, read: Read<Result>): Promise<Result> {
  return await shortTransaction(sql, (transaction) => bounded(transaction, read));
}

/** The same, and all that is read is of one moment. */
export async function boundedSnapshot<Result>(sql: SQL, read: Read<Result>): Promise<Result> {
  return await shortSnapshot(sql, (transaction) => bounded(transaction, read));
}

/**
 * The same for lists whose order is that of an index. The planner would rather read a short range of all accounts by their IDs
 * and sort it, once for each piece of the list.
 */
export async function boundedList<Result>(sql: SQL, read: Read<Result>): Promise<Result> {
  return await boundedRead(sql, async (transaction) => {
    await transaction`select set_config('enable_sort', 'off', true)`;
    return await read(transaction);
  });
}

async function bounded<Result>(transaction: TransactionSQL, read: Read<Result>): Promise<Result> {
  await transaction`
    select set_config('statement_timeout', ${statementTimeout}, true),
           set_config('plan_cache_mode', 'force_custom_plan', true), set_config('jit', 'off', true)`;
  return await read(transaction);
}
