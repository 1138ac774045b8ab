/** The usage of an account by day, model and key. The queries check who reads it. */
import type { SQL } from 'bun';
import { nilId } from '../lib/ids.ts';
import { type Money, moneyFromDatabase } from '../lib/money.ts';
import { type UsagePosition, usageQuery } from '../usage/usage-days.ts';
import { type AccountReader, type Found, readableAccount, rowsForReader } from './access.ts';

export type Figures = Readonly<{
  requests: bigint;
  inputTokens: bigint;
  outputTokens: bigint;
  images: bigint;
  cost: Money;
  /** Parts of the input. */
  cacheReadTokens: bigint;
  cacheWriteTokens: bigint;
  /** How much less the input cost than at its full price; negative if it cost more. */
  cacheSaved: Money;
}>;
export type DayUsage = Figures & Readonly<{ day: string; model: string; keyId: string; keyName: string }>;

/** Sums are strings, because they may exceed a bigint. */
type UsageRow = Pick<DayUsage, 'day' | 'model' | 'keyId' | 'keyName' | 'requests'> &
  Readonly<Record<Exclude<keyof Figures, 'requests'>, string>>;

/** No model and no key sorts before these, so a day starts here. */
export function beginningOf(day: string): UsagePosition {
  return { day, model: '', keyId: nilId };
}

/** The first `rowCount` rows after a position up to a day, in one snapshot. */
export async function findUsage(
  sql: SQL,
  reader: AccountReader,
  after: UsagePosition,
  to: string,
  rowCount: number,
): Promise<DayUsage[]> {
  const rows = await sql<Found<UsageRow, 'day'>[]>`
    select to_char(usage.day, 'YYYY-MM-DD') as day, usage.model, usage.key_id as "keyId",
           (select name from api_keys where id = usage.key_id) as "keyName",
           requests, input_tokens as "inputTokens", output_tokens as "outputTokens", images, cost,
           cache_read_tokens as "cacheReadTokens", cache_write_tokens as "cacheWriteTokens", cache_saved as "cacheSaved"
    from ${readableAccount(sql, reader)} as readable
    left join lateral (${usageQuery(sql, reader.accountId, after, to, rowCount)}) as usage on true
    order by usage.day, usage.model, usage.key_id`;
  return rowsForReader(rows, 'day').map((row) => ({
    ...row,
    inputTokens: BigInt(row.inputTokens),
    outputTokens: BigInt(row.outputTokens),
    images: BigInt(row.images),
    cost: moneyFromDatabase(row.cost),
    cacheReadTokens: BigInt(row.cacheReadTokens),
    cacheWriteTokens: BigInt(row.cacheWriteTokens),
    cacheSaved: moneyFromDatabase(row.cacheSaved),
  }));
}
