/**
 * Counters: figures that are stored with an account or a key although they follow from other rows, so that a decision
 * reads one row. A balance is not one: if it differs from its entries, a person has to find out why.
 */

export type Counter = Readonly<{
  invariant: string;
  column: 'held' | 'open_count' | 'month_spent';
  table: 'accounts' | 'api_key_meters' | 'limit_meters';
  /**
   * A query that returns account_id, key_id, month and the row_id with the figure as it is `stored` and as it was `counted`.
   */
  rows: (archivedBefore: string | null) => string;
}>;

export const accountHeld: Counter = {
  invariant: 'the held amount of each account equals its open holds',
  column: 'held',
  table: 'accounts',
  rows: () => `
    select id as account_id, null::uuid as key_id, null::date as month, id as row_id, held as stored,
           coalesce((select sum(hold) from open_generations where account_id = accounts.id), 0) as counted
    from accounts`,
};

export const keyHeld: Counter = {
  invariant: 'the held amount of each key equals its open holds',
  column: 'held',
  table: 'api_key_meters',
  rows: () => ofKeys('held', 'coalesce(sum(hold), 0)'),
};

export const keyOpenCount: Counter = {
  invariant: 'the number of open Generations that is stored with each key is right',
  column: 'open_count',
  table: 'api_key_meters',
  rows: () => ofKeys('open_count', 'count(*)'),
};

export const keyMonthSpent: Counter = {
  invariant: 'what each key spent in its month equals its usage records of that month, less refunds',
  column: 'month_spent',
  table: 'api_key_meters',
  rows: (archivedBefore) => `
    select account_id, key_id, month, key_id as row_id, month_spent as stored, coalesce(total, 0) as counted
    from api_key_meters join api_keys on api_keys.id = key_id left join (
      select key_id, month, sum(cost - refunded) as total from usage_records where refunded_at is null group by 1, 2) as used
    using (key_id, month)
    ${archivedBefore === null ? '' : `where month >= '${archivedBefore}'`}`,
};

export const limitHeld: Counter = {
  invariant: 'what is held of each limit equals the open Generations that count towards it',
  column: 'held',
  table: 'limit_meters',
  rows: () => `
    select account_id, key_id, null::date as month, meter.id as row_id, meter.held as stored, coalesce(counted, 0) as counted
    from limit_meters as meter join limits on limits.id = limit_id left join (
      select (one ->> 'id')::uuid as meter_id,
             sum(case when one ->> 'kind' = 'concurrent_requests' then 1 when one ->> 'kind' like 'spend%' then hold else 0 end)
               as counted
      from open_generations cross join jsonb_array_elements(open_generations.limits -> 'meters') as one group by 1) as open
    on open.meter_id = meter.id`,
};

export const counters = [accountHeld, keyHeld, keyOpenCount, keyMonthSpent, limitHeld] as const;

function ofKeys(column: string, aggregate: string): string {
  return `
    select account_id, key_id, null::date as month, key_id as row_id, ${column} as stored,
           (select ${aggregate} from open_generations where open_generations.key_id = api_key_meters.key_id) as counted
    from api_key_meters join api_keys on api_keys.id = key_id`;
}

/** Whether `tollgate ledger repair` can make this invariant hold again. */
export function isRepairable(invariant: string): boolean {
  return counters.some((counter) => counter.invariant === invariant);
}
