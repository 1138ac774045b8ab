/** The entries of an account, for those who run the gateway. Customers get theirs from the console, without the actor. */
import type { SQL } from 'bun';
import { type Money, moneyFromDatabase } from '../lib/money.ts';
import { referenceOf } from './reference.ts';

/** What has expired or was voided of a grant leaves with an entry of its own. */
export const entryKinds = ['credit', 'charge', 'refund', 'correction', 'expiry', 'void'] as const;
export type EntryKind = (typeof entryKinds)[number];

export type Entry = Readonly<{
  number: bigint;
  kind: EntryKind;
  amount: Money;
  balanceAfter: Money;
  isEstimated: boolean;
  memo: string | null;
  /** As it was given. Null for what the gateway books by itself. */
  reference: string | null;
  /** Who made it, as `operator:ID`, `shell:user@host` or `token:ID`. */
  actor: string | null;
  generationId: string | null;
  concernsEntry: bigint | null;
  concernsGenerationId: string | null;
  createdAt: Date;
}>;

type EntryRow = Omit<Entry, 'amount' | 'balanceAfter'> & Readonly<{ amount: string; balanceAfter: string }>;

/** No entry has a greater number. */
export const newestEntry = 2n ** 63n - 1n;

/** The newest before a number. Archived ones are not among them. */
export async function findEntries(
  sql: SQL,
  accountId: string,
  before: bigint,
  rowCount: number,
): Promise<Entry[]> {
  const rows = await sql<EntryRow[]>`
    select number, kind, amount, balance_after as "balanceAfter", is_estimated as "isEstimated", memo,
           coalesce(reference_text, reference::text) as reference, actor, generation_id as "generationId",
           concerns_entry as "concernsEntry", concerns_generation_id as "concernsGenerationId",
           created_at as "createdAt"
    from ledger_entries where account_id = ${accountId} and number < ${before}
    order by number desc limit ${rowCount}`;
  return rows.map((row) => ({
    ...row,
    number: BigInt(row.number),
    concernsEntry: row.concernsEntry === null ? null : BigInt(row.concernsEntry),
    amount: moneyFromDatabase(row.amount),
    balanceAfter: moneyFromDatabase(row.balanceAfter),
  }));
}

/** The number of the entry that has this reference; null when there is none. */
export async function findEntryNumber(
  sql: SQL,
  accountId: string,
  reference: string,
): Promise<bigint | null> {
  const [row] = await sql<{ number: bigint }[]>`
    select number from ledger_entries
    where account_id = ${accountId} and reference = ${referenceOf(reference).id}::uuid`;
  return row === undefined ? null : BigInt(row.number);
}
