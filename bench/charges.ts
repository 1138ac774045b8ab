import type { SQL } from 'bun';

export async function countCharges(sql: SQL): Promise<number> {
  const [row] = await sql<[{ charges: bigint }]>`
    select count(*) as charges from ledger_entries where kind = 'charge'`;
  return Number(row.charges);
}
