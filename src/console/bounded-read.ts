import type { SQL, TransactionSQL } from 'bun';
import { shortSnapshot } from '../lib/short-transaction.ts';

/** Whoever asked has given up by then (http/lookup.ts), and others need the connection. */
const statementTimeout = '5s';

/** All that is read here is of one moment, and no statement takes longer than anyone waits for it. */
export async function boundedRead<Result>(
  sql: SQL,
  read: (transaction: TransactionSQL) => Promise<Result>,
): Promise<Result> {
  return await shortSnapshot(sql, async (transaction) => {
    await transaction`select set_config('statement_timeout', ${statementTimeout}, true)`;
    return await read(transaction);
  });
}
