/** The transactions of requests, commands and jobs. */
import type { SQL, TransactionSQL } from 'bun';

type Run<Result> = (transaction: TransactionSQL) => Promise<Result>;

/** As PostgreSQL writes it. Between two statements there is nothing to wait for. */
const maxIdle = '10s';

/** Should this process stand still, the database ends the transaction, so that nobody waits for what it has locked. */
export async function shortTransaction<Result>(sql: SQL, run: Run<Result>): Promise<Result> {
  return await sql.begin((transaction) => bounded(transaction, run));
}

/** The same for reading: all statements see the same moment. */
export async function shortSnapshot<Result>(sql: SQL, run: Run<Result>): Promise<Result> {
  return await sql.begin('isolation level repeatable read', (transaction) => bounded(transaction, run));
}

async function bounded<Result>(transaction: TransactionSQL, run: Run<Result>): Promise<Result> {
  await transaction`select set_config('idle_in_transaction_session_timeout', ${maxIdle}, true)`;
  return await run(transaction);
}
