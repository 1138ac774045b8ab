/** The ledger of an account, as far as the caller's membership goes. */
import type { SQL } from 'bun';
import { ApiError } from '../../errors.ts';
import type { Caller } from '../access.ts';
import type { LedgerEntry } from '../contract.ts';

/** Amounts are decimal texts with 12 digits, as they were stored. */
export type Entry = Readonly<{
  number: bigint;
  kind: LedgerEntry['kind'];
  amount: string;
  isEstimated: boolean;
  balanceAfter: string;
  memo: string | null;
  generationId: string | null;
  /** Of the Generation that was charged or refunded; null without one, and when it is no longer kept. */
  model: string | null;
  createdAt: Date;
}>;

export type LedgerPart = Readonly<{ balance: string; held: string; entries: readonly Entry[] }>;

type EntryRow = {
  number: bigint;
  kind: LedgerEntry['kind'];
  amount: string;
  is_estimated: boolean;
  balance_after: string;
  memo: string | null;
  generation_id: string | null;
  model: string | null;
  created_at: Date;
};
/** An account without entries is one row all the same. */
type FoundRow = ({ number: null } | EntryRow) & { balance: string; held: string };

/** The newest `rowCount` entries before a number, and the balance, of one snapshot. */
export async function findLedgerPart(
  sql: SQL,
  { userId, accountId }: Caller,
  before: bigint,
  rowCount: number,
): Promise<LedgerPart> {
  const rows = await sql<FoundRow[]>`
    select balance, held, entry.number, entry.kind, entry.amount, entry.is_estimated, entry.balance_after,
           entry.memo, entry.generation_id, entry.created_at,
           (select model from generations where generations.id = entry.generation_id) as model
    from memberships join accounts on accounts.id = memberships.account_id
    left join lateral (
      select * from ledger_entries where ledger_entries.account_id = accounts.id and number < ${before}
      order by number desc limit ${rowCount}
    ) as entry on true
    where user_id = ${userId} and memberships.account_id = ${accountId}
    order by entry.number desc`;
  const [first] = rows;
  if (first === undefined) throw new ApiError('account_not_found');
  return {
    balance: first.balance,
    held: first.held,
    entries: rows.filter((row) => row.number !== null).map(toEntry),
  };
}

function toEntry(row: EntryRow): Entry {
  return {
    number: row.number,
    kind: row.kind,
    amount: row.amount,
    isEstimated: row.is_estimated,
    balanceAfter: row.balance_after,
    memo: row.memo,
    generationId: row.generation_id,
    model: row.model,
    createdAt: row.created_at,
  };
}
