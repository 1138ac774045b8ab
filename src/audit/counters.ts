/**
 * Counters: figures that are stored with an account or a key although they follow from other rows, so that a decision
 * reads one row. A balance is not one: if it differs from its entries, a person has to find out why.
 */

export type Counter = Readonly<{
  invariant: string;
  column: 'held' | 'open_count' | 'month_spent';
  table: 'accounts' | 'api_key_meters';
  /** A query that returns account_id, key_id and month with the figure as it is `stored` and as it was `counted`. */
  rows: (archivedBefore: string | null) => string;
}>;

export const accountHeld: Counter = {
  invariant: 'the held amount of each account equals its open holds',
  column: 'held',
  table: 'accounts',
  rows: () => `
    select id as account_id, null::uuid as key_id, null::date as month, held as stored,
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
    select account_id, key_id, month, month_spent as stored, coalesce(total, 0) as counted
    from api_key_meters join api_keys on api_keys.id = key_id left join (
      select key_id, month, sum(cost - refunded) as total from usage_records where refunded_at is null group by 1, 2) as used
    using (key_id, month)
    ${archivedBefore === null ? '' : `where month >= '${archivedBefore}'`}`,
};

export const counters = [accountHeld, keyHeld, keyOpenCount, keyMonthSpent] as const;

function ofKeys(column: string, aggregate: string): string {
  return `
    select account_id, key_id, null::date as month, ${column} as stored,
           (select ${aggregate} from open_generations where open_generations.key_id = api_key_meters.key_id) as counted
    from api_key_meters join api_keys on api_keys.id = key_id`;
}

/** Whether `tollgate ledger repair` can make this invariant hold again. */
export function isRepairable(invariant: string): boolean {
  return counters.some((counter) => counter.invariant === invariant);
}
