/**
 * Tells what was charged, by day and model, when a day (UTC) is over and all of it has been added up. A charge that is stored
 * late, and a refund, change a day that was told before: then the difference is told, so that the events of a day always add
 * up to its usage.
 */
import type { SQL, TransactionSQL } from 'bun';
import { shortTransaction } from '../lib/short-transaction.ts';

const usageToldLock = 7_012_018_022;
/** A charge that was on its way at midnight has been committed by then. */
const graceMinutes = 10;
/** How long a day is looked at again. */
const daysLookedAt = 31;

/** One day at a time, so that a gateway that was off for days catches up. */
export async function tellUsage(sql: SQL): Promise<void> {
  let isMore = true;
  while (isMore) isMore = await tellNextDay(sql);
}

/** Whether a day was told. */
async function tellNextDay(sql: SQL): Promise<boolean> {
  const [due] = await sql<{ day: string }[]>`
    select (usage_day + 1)::text as day from event_progress
    where (usage_day + 2)::timestamp at time zone 'UTC' + make_interval(mins => ${graceMinutes}::int) <= now()`;
  if (due === undefined) return false;
  return await shortTransaction(sql, async (transaction) => {
    const [{ is_mine: isMine }] = await transaction<[{ is_mine: boolean }]>`
      select pg_try_advisory_xact_lock(${usageToldLock}) as is_mine`;
    if (!isMine) return false;
    const [progress] = await transaction<[{ is_due: boolean }]>`
      select usage_day + 1 = ${due.day}::text::date as is_due from event_progress`;
    if (!progress.is_due || (await isBehind(transaction, due.day))) return false;
    await tellDifferences(transaction, due.day);
    await transaction`update event_progress set usage_day = ${due.day}::text::date`;
    await transaction`delete from usage_told where day <= ${due.day}::text::date - ${2 * daysLookedAt}::int`;
    return true;
  });
}

async function tellDifferences(transaction: TransactionSQL, day: string): Promise<void> {
  await transaction`
    with used as materialized (
      select account_id, day, model, sum(requests)::bigint as requests, sum(input_tokens) as input_tokens,
             sum(output_tokens) as output_tokens, sum(images) as images, sum(cache_read_tokens) as cache_read_tokens,
             sum(cache_write_tokens) as cache_write_tokens, sum(cost) as cost
      from usage_days where day > ${day}::text::date - ${daysLookedAt}::int and day <= ${day}::text::date
      group by account_id, day, model
    ), differing as materialized (
      select account_id, day, model, told.account_id is not null as is_correction,
             used.requests - coalesce(told.requests, 0) as requests,
             used.input_tokens - coalesce(told.input_tokens, 0) as input_tokens,
             used.output_tokens - coalesce(told.output_tokens, 0) as output_tokens,
             used.images - coalesce(told.images, 0) as images,
             used.cache_read_tokens - coalesce(told.cache_read_tokens, 0) as cache_read_tokens,
             used.cache_write_tokens - coalesce(told.cache_write_tokens, 0) as cache_write_tokens,
             used.cost - coalesce(told.cost, 0) as cost
      from used left join usage_told as told using (account_id, day, model)
      where (used.requests, used.input_tokens, used.output_tokens, used.images, used.cache_read_tokens,
             used.cache_write_tokens, used.cost)
        is distinct from (coalesce(told.requests, 0), coalesce(told.input_tokens, 0), coalesce(told.output_tokens, 0),
             coalesce(told.images, 0), coalesce(told.cache_read_tokens, 0), coalesce(told.cache_write_tokens, 0),
             coalesce(told.cost, 0))
    ), stored as (
      insert into usage_told (account_id, day, model, requests, input_tokens, output_tokens, images, cache_read_tokens,
        cache_write_tokens, cost)
      select account_id, day, model, used.requests, used.input_tokens, used.output_tokens, used.images,
             used.cache_read_tokens, used.cache_write_tokens, used.cost
      from used join differing using (account_id, day, model)
      on conflict (account_id, day, model) do update
      set requests = excluded.requests, input_tokens = excluded.input_tokens, output_tokens = excluded.output_tokens,
          images = excluded.images, cache_read_tokens = excluded.cache_read_tokens,
          cache_write_tokens = excluded.cache_write_tokens, cost = excluded.cost
    )
    insert into events (account_id, type, data)
    select account_id, 'usage.charged', jsonb_build_object('day', day::text, 'model', model, 'is_correction', is_correction,
      'requests', requests, 'input_tokens', input_tokens, 'output_tokens', output_tokens,
      'cache_read_tokens', cache_read_tokens, 'cache_write_tokens', cache_write_tokens, 'images', images,
      'cost', cost::numeric(38,12)::text)
    from differing order by account_id, day, model`;
}

/** Whether an entry from before the end of the day is still to be added up. Entries of an account are in the order of time. */
async function isBehind(sql: SQL, day: string): Promise<boolean> {
  const behind = await sql`
    select 1 from accounts left join usage_progress on usage_progress.account_id = accounts.id
    where entry_count > coalesce(entry_number, 0)
      and exists (
        select 1 from ledger_entries as next
        where next.account_id = accounts.id and next.number = coalesce(entry_number, 0) + 1
          and next.created_at < (${day}::text::date + 1)::timestamp at time zone 'UTC')
    limit 1`;
  return behind.length > 0;
}
