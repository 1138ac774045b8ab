/** Adds up the entries of each account by day, so that the statement of a month does not have to read all of them. */
import type { SQL } from 'bun';
import { type AddingUp, addUpEntries } from './add-up.ts';

export const statementLock = 7_012_018_049;

const statements: AddingUp = {
  lock: statementLock,
  findAccounts: (sql) => sql`
    select id from accounts left join statement_progress on account_id = id
    where entry_count > coalesce(entry_number, 0)`,
  addUp: (sql, accountId, maxEntries) => sql`
    select add_up_statement(${accountId}::uuid, ${maxEntries}::int)::int as count`,
};

export async function addUpStatements(sql: SQL, isStopped: () => boolean = () => false): Promise<void> {
  await addUpEntries(sql, statements, isStopped);
}
