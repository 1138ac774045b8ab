/**
 * Adds up usage by day, so that a page about a year does not have to count every request. What has not been added up yet is
 * counted in the query, so progress affects only what a query costs, never its result.
 */
import type { SQL } from 'bun';
import type { Log } from '../lib/log.ts';
import { repeatedly } from '../lib/repeatedly.ts';
import { type AddingUp, addUpEntries } from './add-up.ts';
import { addUpStatements } from './statement-days.ts';

const everyMs = 60_000;
export const usageLock = 7_012_018_006;

/** Usage by day is sorted by these three. */
export type UsagePosition = Readonly<{ day: string; model: string; keyId: string }>;

/**
 * The query of an account's usage by day, model and key, after a position and up to a day, for other queries to include. It
 * combines what has been added up and what has not been yet, in one snapshot. Without `rowCount` there is no limit.
 */
export function usageQuery(
  sql: SQL,
  accountId: string,
  after: UsagePosition,
  to: string,
  rowCount: number | null,
) {
  const position = sql`(${after.day}::text::date, ${after.model}::text, ${after.keyId}::uuid)`;
  const figures = sql`day, model, key_id, requests, input_tokens, output_tokens, images, cost, cache_read_tokens,
    cache_write_tokens, cache_saved`;
  const isWanted = sql`(day, model, key_id) > ${position} and day <= ${to}::text::date`;
  return sql`
    select day, model, key_id, sum(requests)::bigint as requests, sum(input_tokens) as input_tokens,
           sum(output_tokens) as output_tokens, sum(images) as images, sum(cost) as cost,
           sum(cache_read_tokens) as cache_read_tokens, sum(cache_write_tokens) as cache_write_tokens,
           sum(cache_saved) as cache_saved
    from (
      (select ${figures} from usage_days
       where account_id = ${accountId} and ${isWanted}
       order by day, model, key_id limit ${rowCount}::int)
      union all
      select ${figures} from accounts left join usage_progress on account_id = accounts.id
      cross join lateral entry_usage(accounts.id, coalesce(entry_number, 0) + 1, entry_count) as fresh
      where accounts.id = ${accountId} and ${isWanted}
    ) as usage
    group by day, model, key_id
    order by day, model, key_id
    limit ${rowCount}::int`;
}

/** Runs now and every minute, for statements as well. */
export function keepUsageAddedUp(sql: SQL, log: Log): () => Promise<void> {
  let isStopped = false;
  const stop = repeatedly(
    everyMs,
    async () => {
      await addUpUsage(sql, () => isStopped);
      await addUpStatements(sql, () => isStopped);
    },
    (fields) => log.warn('usage not added up yet', fields),
  );
  return async () => {
    isStopped = true;
    await stop();
  };
}

const usage: AddingUp = {
  lock: usageLock,
  findAccounts: (sql) => sql`
    select id from accounts left join usage_progress on account_id = id
    where entry_count > coalesce(least(entry_number, margin_entry_number), 0)`,
  addUp: (sql, accountId, maxEntries) => sql`
    select add_up_usage(${accountId}::uuid, ${maxEntries}::int)::int as count`,
};

export async function addUpUsage(sql: SQL, isStopped: () => boolean = () => false): Promise<void> {
  await addUpEntries(sql, usage, isStopped);
}
