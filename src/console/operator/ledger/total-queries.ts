import type { SQL } from 'bun';

export type LedgerTotals = { balance: string; held: string; written_off: string };

/** What customers have paid and not used, what of it is reserved, and what was lost for good. */
export async function findTotals(sql: SQL): Promise<LedgerTotals> {
  const [totals] = await sql<[LedgerTotals]>`
    select coalesce(sum(balance), 0)::numeric(38,12) as balance, coalesce(sum(held), 0)::numeric(38,12) as held,
           (select coalesce(sum(amount), 0) from write_offs)::numeric(38,12) as written_off
    from accounts`;
  return totals;
}
