/**
 * Adds up the entries of each account by day, so that the statement of a month does not have to read all of them. What has
 * not been added up yet is counted in the query, so progress affects only what a query costs, never its result.
 */
import type { SQL } from 'bun';

/** One transaction of these takes a fraction of a second. */
const maxEntriesAtOnce = 10_000;
export const statementLock = 7_012_018_049;

/** One node does this at a time. A node that finds the lock taken stops. */
export async function addUpStatements(sql: SQL, isStopped: () => boolean = () => false): Promise<void> {
  const accounts = await sql<{ id: string }[]>`
    select id from accounts left join statement_progress on account_id = id
    where entry_count > coalesce(entry_number, 0)`;
  for (const { id } of accounts) {
    let count = maxEntriesAtOnce;
    while (count === maxEntriesAtOnce) {
      if (isStopped()) return;
      const added = await addUpSome(sql, id);
      if (added === null) return;
      count = added;
    }
  }
}

/** How many entries were added up; null when another node has the lock. */
async function addUpSome(sql: SQL, accountId: string): Promise<number | null> {
  return await sql.begin(async (transaction) => {
    const [{ is_mine: isMine }] = await transaction<[{ is_mine: boolean }]>`
      select pg_try_advisory_xact_lock(${statementLock}) as is_mine`;
    if (!isMine) return null;
    const [{ count }] = await transaction<[{ count: number }]>`
      select add_up_statement(${accountId}::uuid, ${maxEntriesAtOnce}::int)::int as count`;
    return count;
  });
}
