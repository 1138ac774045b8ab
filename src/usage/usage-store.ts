/** What an account used, and what it was charged for it. */
import type { SQL } from 'bun';
import { type Money, moneyFromDatabase } from '../lib/money.ts';

/** One billed Generation, under its ID. */
export type UsageRecord = Readonly<{
  id: string;
  billedAt: Date;
  model: string;
  inputTokens: bigint;
  outputTokens: bigint;
}>;

type RecordRow = { id: string; billed_at: Date; model: string; input_tokens: bigint; output_tokens: bigint };

/** The newest records of an account, the newest first. */
export async function findRecentUsage(sql: SQL, accountId: string, limit: number): Promise<UsageRecord[]> {
  const rows = await sql<RecordRow[]>`${recentUsageQuery(sql, accountId, limit)}`;
  return rows.map((row) => ({
    id: row.id,
    billedAt: row.billed_at,
    model: row.model,
    inputTokens: row.input_tokens,
    outputTokens: row.output_tokens,
  }));
}

/**
 * What was refunded is no usage. A limit that the planner does not know counts as a tenth of the table, hence the
 * constant one, which `limit` never exceeds.
 */
export function recentUsageQuery(sql: SQL, accountId: string, limit: number) {
  return sql`
    select * from (
      select id, billed_at, model, input_tokens, output_tokens from usage_records
      where account_id = ${accountId} and refunded_at is null
      order by billed_at desc, id desc limit 500
    ) as newest limit ${limit}::int`;
}

/** A record with what was debited for it. */
export type BilledUsage = UsageRecord & Readonly<{ cost: Money }>;

/** Adds to each record what the ledger says of it. A record without a charge is an error: no cost is made up. */
export async function withCharges(sql: SQL, records: readonly UsageRecord[]): Promise<BilledUsage[]> {
  const ids = records.map(({ id }) => id);
  const rows = await sql<{ generation_id: string; amount: string }[]>`${chargesQuery(sql, ids)}`;
  const amounts = new Map(rows.map((row) => [row.generation_id, moneyFromDatabase(row.amount)]));
  return records.map((record) => {
    const amount = amounts.get(record.id);
    if (amount === undefined) throw new Error(`The usage record ${record.id} has no charge.`);
    return { ...record, cost: -amount };
  });
}

export function chargesQuery(sql: SQL, generationIds: string[]) {
  return sql`
    select generation_id, amount from ledger_entries
    where generation_id = any (${sql.array(generationIds, 'uuid')}) and kind = 'charge'`;
}
