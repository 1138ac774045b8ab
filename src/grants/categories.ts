/** Whether the money of an account is told apart, and what of each category expires next. */
import type { SQL } from 'bun';
import type { GrantCategory } from '../ledger/movements.ts';
import { type Money, moneyFromDatabase } from '../lib/money.ts';

/** Of an account that has only had plain credits, nothing is told apart. */
export async function isToldApart(sql: SQL, accountId: string): Promise<boolean> {
  const [row] = await sql`select 1 from accounts where id = ${accountId} and grants_due_at is not null`;
  return row !== undefined;
}

export type Expiry = Readonly<{ amount: Money; at: Date }>;

/** What leaves next of each category that has something to leave, unless it is spent before. As of when the balances were found. */
export async function findNextExpiries(
  sql: SQL,
  accountId: string,
): Promise<ReadonlyMap<GrantCategory, Expiry>> {
  const rows = await sql<{ category: GrantCategory; amount: string; at: Date }[]>`
    select distinct on (category) category, sum(remaining)::numeric(38,12) as amount, expires_at as at from grants
    where account_id = ${accountId} and remaining > 0 and ended_at is null and expires_at is not null
    group by category, expires_at
    order by category, expires_at`;
  return new Map(
    rows.map(({ category, amount, at }) => [category, { amount: moneyFromDatabase(amount), at }]),
  );
}

/** The same of all categories together. */
export async function findNextExpiry(sql: SQL, accountId: string): Promise<Expiry | null> {
  let next: Expiry | null = null;
  for (const { amount, at } of (await findNextExpiries(sql, accountId)).values()) {
    if (next === null || at < next.at) next = { amount, at };
    else if (at.getTime() === next.at.getTime()) next = { amount: next.amount + amount, at };
  }
  return next;
}
