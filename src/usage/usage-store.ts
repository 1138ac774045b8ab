/** The usage of an account, and its charges. */
import type { SQL } from 'bun';
import { type Money, moneyFromDatabase } from '../lib/money.ts';

/** One billed Generation, under its ID. */
export type UsageRecord = Readonly<{
  id: string;
  billedAt: Date;
  model: string;
  inputTokens: bigint;
  outputTokens: bigint;
  /** What was refunded of its cost by hand. */
  refunded: Money;
}>;

/** The newest first. */
export async function findRecentUsage(sql: SQL, accountId: string, limit: number): Promise<UsageRecord[]> {
  const rows = await sql<(Omit<UsageRecord, 'refunded'> & { refunded: string })[]>`
    ${recentUsageQuery(sql, accountId, limit)}`;
  return rows.map((row) => ({ ...row, refunded: moneyFromDatabase(row.refunded) }));
}

/**
 * Usage whose charge the gateway took back does not count. The planner assumes a tenth of the table for an unknown limit,
 * hence the constant one, which `limit` never exceeds.
 */
export function recentUsageQuery(sql: SQL, accountId: string, limit: number) {
  return sql`
    select * from (
      select id, billed_at as "billedAt", model, input_tokens as "inputTokens", output_tokens as "outputTokens",
             refunded
      from usage_records
      where account_id = ${accountId} and refunded_at is null
      order by billed_at desc, id desc limit 500
    ) as newest limit ${limit}::int`;
}

export type BilledUsage = Omit<UsageRecord, 'refunded'> & Readonly<{ cost: Money }>;

/** Adds the charge from the ledger to each record, less what was refunded; null when a record has no charge. */
export async function withCharges(sql: SQL, records: readonly UsageRecord[]): Promise<BilledUsage[] | null> {
  const ids = records.map(({ id }) => id);
  const rows = await sql<{ generation_id: string; amount: string }[]>`${chargesQuery(sql, ids)}`;
  const amounts = new Map(rows.map((row) => [row.generation_id, moneyFromDatabase(row.amount)]));
  const billed = records.flatMap(({ refunded, ...record }) => {
    const amount = amounts.get(record.id);
    return amount === undefined ? [] : [{ ...record, cost: -amount - refunded }];
  });
  return billed.length === records.length ? billed : null;
}

export function chargesQuery(sql: SQL, generationIds: string[]) {
  return sql`
    select generation_id, amount from ledger_entries
    where generation_id = any (${sql.array(generationIds, 'uuid')}) and kind = 'charge'`;
}
