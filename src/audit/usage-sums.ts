/** Compares usage and margins by day with the usage records that they were added up from. */

const usageColumns = [
  'requests',
  'input_tokens',
  'output_tokens',
  'images',
  'cost',
  'cache_read_tokens',
  'cache_write_tokens',
  'cache_saved',
] as const;

const list = (columns: readonly string[], write = (column: string) => column) =>
  columns.map(write).join(', ');
const sums = (columns: readonly string[]) =>
  list(columns, (column) => `coalesce(sum(${column}), 0) as ${column}`);

/** A charge counts, and a refund by the gateway counts against it. One by hand has a reference, and takes back money alone. */
const signed = `
    cross join lateral (
      select case when kind = 'charge' then 1 when reference is null then -1 else 0 end as sign,
             case kind when 'charge' then usage_records.cost else -amount end as paid) as signed`;

/** The usage of archived entries is in the database; all other entries are counted again. */
export const everyUsageDay = `
  with counted_rows as (
    select usage_records.account_id, (billed_at at time zone 'UTC')::date as day, model, key_id, sign::numeric as requests,
           sign * input_tokens::numeric as input_tokens, sign * output_tokens::numeric as output_tokens,
           case unit when 'images' then sign * units::numeric else 0 end as images, paid as cost,
           sign * coalesce(cache_read_tokens, 0)::numeric as cache_read_tokens,
           sign * coalesce(cache_write_tokens + cache_write_long_tokens, 0)::numeric as cache_write_tokens,
           sign * coalesce(cache_saved, 0) as cache_saved
    from usage_progress
    join ledger_entries on ledger_entries.account_id = usage_progress.account_id and number <= entry_number
    join usage_records on usage_records.id = generation_id ${signed}
    union all
    select account_id, day, model, key_id, ${list(usageColumns)} from ledger_archive_usage
  ), counted as (
    select account_id, day, model, key_id, ${sums(usageColumns)} from counted_rows group by 1, 2, 3, 4
  )
  select count(*) as checked,
         count(*) filter (where (${list(usageColumns, (column) => `days.${column}`)})
           is distinct from (${list(usageColumns, (column) => `counted.${column}`)})) as violations
  from usage_days as days full join counted using (account_id, day, model, key_id)`;

/**
 * Audits of earlier versions do not store the sums of these columns with their checkpoints, and leave those of a later
 * version as they were. Then only a full audit compares them.
 */
const isMetered = '(before.account_id is null or before.usage_metered_number = before.usage_entry_number)';
const laterColumns: readonly string[] = ['cache_read_tokens', 'cache_write_tokens', 'cache_saved'];

function expected(column: string): string {
  const sum = `coalesce(before.${column}, 0) + added.${column}`;
  return laterColumns.includes(column)
    ? `case when ${isMetered} then ${sum} else current.${column} end`
    : sum;
}

const entriesSince = `entry_usage(usage_progress.account_id, coalesce(before.usage_entry_number, 0) + 1,
    usage_progress.entry_number)`;

/** The sums of each account at its checkpoint, plus what was added up since, are its sums now. */
export const usageDaysSinceCheckpoint = `
  select count(*) as checked,
         count(*) filter (where (${list(usageColumns, (column) => `current.${column}`)})
           is distinct from (${list(usageColumns, expected)})) as violations
  from usage_progress left join ledger_checkpoints as before on before.account_id = usage_progress.account_id
  cross join lateral (select ${sums(usageColumns)} from usage_days
    where usage_days.account_id = usage_progress.account_id) as current
  cross join lateral (select ${sums(usageColumns)} from ${entriesSince}) as added
  where usage_progress.entry_number > coalesce(before.usage_entry_number, 0)`;

/** By day and model: the archives do not know who served a request. */
export const everyMarginDay = `
  with counted_rows as (
    select usage_records.account_id, (billed_at at time zone 'UTC')::date as day, model, sign::numeric as requests,
           paid as revenue, sign * coalesce(provider_cost, 0) as cost
    from usage_progress
    join ledger_entries on ledger_entries.account_id = usage_progress.account_id and number <= margin_entry_number
    join usage_records on usage_records.id = generation_id ${signed}
    union all
    select account_id, day, model, requests, cost, provider_cost
    from ledger_archive_usage join usage_progress using (account_id) where margin_entry_number is not null
  ), counted as (
    select account_id, day, model, ${sums(['requests', 'revenue', 'cost'])} from counted_rows group by 1, 2, 3
  ), days as (
    select account_id, day, model, ${sums(['requests', 'revenue', 'cost'])} from margin_days group by 1, 2, 3
  )
  select count(*) as checked, count(*) filter (where (days.requests, days.revenue, days.cost)
           is distinct from (counted.requests, counted.revenue, counted.cost)) as violations
  from days full join counted using (account_id, day, model)`;

/** An account whose margins are behind its usage is checked once they are not. */
export const marginDaysSinceCheckpoint = `
  select count(*) as checked,
         count(*) filter (where margins.requests <> used.requests or margins.revenue <> used.cost
           or ${isMetered} and margins.cost <> coalesce(before.provider_cost, 0) + added.provider_cost) as violations
  from usage_progress left join ledger_checkpoints as before on before.account_id = usage_progress.account_id
  cross join lateral (select ${sums(['requests', 'revenue', 'cost'])} from margin_days
    where margin_days.account_id = usage_progress.account_id) as margins
  cross join lateral (select ${sums(['requests', 'cost'])} from usage_days
    where usage_days.account_id = usage_progress.account_id) as used
  cross join lateral (select ${sums(['provider_cost'])} from ${entriesSince}) as added
  where usage_progress.entry_number > coalesce(before.usage_entry_number, 0)
    and usage_progress.margin_entry_number = usage_progress.entry_number`;
