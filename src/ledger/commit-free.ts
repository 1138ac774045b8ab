/** The locked path for rows that others may keep locked: what is locked is left out instead of waited for. */
import type { SQL } from 'bun';
import { type CommittedLocked, inTransaction, lockAndCommit, uuidArray } from './commit.ts';
import type { Operation } from './operations.ts';

/** `lockedRowOf` is the ID of a row that kept an operation from being committed; null for those that were committed. */
export type CommittedFree = Readonly<{
  lockedRowOf: (operation: Operation) => string | null;
  /** Null when all of them were locked. */
  committed: CommittedLocked | null;
}>;

/**
 * Commits the operations whose account and key nobody else has locked. The row `awaited` is waited for before anything is
 * locked, so nobody waits for this transaction meanwhile.
 */
export async function commitFree(
  connection: SQL,
  batch: readonly Operation[],
  awaited: string | null,
  isWanted: (operation: Operation) => boolean,
): Promise<CommittedFree> {
  return await inTransaction(connection, async () => {
    if (awaited !== null) {
      await connection`select 1 from accounts where id = ${awaited} for no key update`;
      await connection`select 1 from api_key_meters where key_id = ${awaited} for no key update`;
    }
    const locked = await lockFreeRows(connection, batch);
    const lockedRowOf = ({ generation: { accountId, keyId } }: Operation) => {
      if (locked.has(accountId)) return accountId;
      return locked.has(keyId) ? keyId : null;
    };
    const free = batch.filter((operation) => lockedRowOf(operation) === null);
    const committed = free.length === 0 ? null : await lockAndCommit(connection, free, false, isWanted);
    if (committed === null) await connection`rollback`;
    return { lockedRowOf, committed };
  });
}

/**
 * Accounts before keys, as everywhere: whoever has the account finds its keys free, unless somebody keeps just the key. What
 * is locked is skipped.
 */
async function lockFreeRows(connection: SQL, batch: readonly Operation[]): Promise<Set<string>> {
  const accountIds = uuidArray(batch.map(({ generation }) => generation.accountId));
  const lockedAccounts = await connection<{ id: string }[]>`
    with free as materialized (
      select id from accounts where id = any (${accountIds}::text::uuid[]) for no key update skip locked
    )
    select id from accounts where id = any (${accountIds}::text::uuid[]) and id not in (select id from free)`;
  const locked = new Set(lockedAccounts.map(({ id }) => id));
  const others = batch.filter(({ generation }) => !locked.has(generation.accountId));
  if (others.length === 0) return locked;
  const keyIds = uuidArray(others.map(({ generation }) => generation.keyId));
  const lockedKeys = await connection<{ id: string }[]>`
    with free as materialized (
      select key_id from api_key_meters where key_id = any (${keyIds}::text::uuid[]) for no key update skip locked
    )
    select key_id as id from api_key_meters
    where key_id = any (${keyIds}::text::uuid[]) and key_id not in (select key_id from free)`;
  for (const { id } of lockedKeys) locked.add(id);
  return locked;
}
