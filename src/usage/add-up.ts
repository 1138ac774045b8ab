/**
 * Adds up the entries of accounts that have new ones. Readers count what is left themselves, so progress affects only what a
 * query costs, never its result.
 */
import type { SQL } from 'bun';

/** One transaction of these takes a fraction of a second. */
const maxEntriesAtOnce = 10_000;

export type AddingUp = Readonly<{
  /** One node does this at a time. */
  lock: number;
  findAccounts: (sql: SQL) => PromiseLike<{ id: string }[]>;
  /** The next entries of an account, up to `maxEntries`, and how many they were. */
  addUp: (sql: SQL, accountId: string, maxEntries: number) => PromiseLike<[{ count: number }]>;
}>;

/** A node that finds the lock taken stops. */
export async function addUpEntries(
  sql: SQL,
  { lock, findAccounts, addUp }: AddingUp,
  isStopped: () => boolean,
): Promise<void> {
  /** Null when another node has the lock. */
  const addUpSome = (accountId: string): Promise<number | null> =>
    sql.begin(async (transaction) => {
      const [{ is_mine: isMine }] = await transaction<[{ is_mine: boolean }]>`
        select pg_try_advisory_xact_lock(${lock}) as is_mine`;
      if (!isMine) return null;
      const [{ count }] = await addUp(transaction, accountId, maxEntriesAtOnce);
      return count;
    });
  for (const { id } of await findAccounts(sql)) {
    let count: number | null = maxEntriesAtOnce;
    while (count === maxEntriesAtOnce) {
      if (isStopped()) return;
      count = await addUpSome(id);
      if (count === null) return;
    }
  }
}
