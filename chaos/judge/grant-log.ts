/** What the database has of grants that are over, once all is quiet. */
import type { SQL } from 'bun';
import { moneyFromDatabase } from '../../src/lib/money.ts';

/** A grant that has expired, or was voided. */
export type EndedGrant = Readonly<{ accountId: string; number: number; remaining: bigint }>;

type GrantRow = { account_id: string; number: bigint; remaining: string };

export async function readEndedGrants(sql: SQL): Promise<EndedGrant[]> {
  const rows = await sql<GrantRow[]>`
    select account_id, number, remaining from grants where expires_at <= clock_timestamp() or voided_at is not null`;
  return rows.map((row) => ({
    accountId: row.account_id,
    number: Number(row.number),
    remaining: moneyFromDatabase(row.remaining),
  }));
}
