/** Looks at the ledger all the time, not only at the end: what must hold at rest must hold at every moment. */
import type { SQL } from 'bun';
import type { ChaosDatabase } from '../world/database.ts';

const pauseMs = 50;

export type Watched = Readonly<{
  samples: number;
  uncoveredHolds: number;
  unmatchedHolds: number;
  unmatchedBalances: number;
  exceededLimits: number;
  /** The same of limits. Only steady ones can be judged by what was used of them. */
  unmatchedLimits: number;
  exceededSpendLimits: number;
  exceededConcurrency: number;
  /** Accounts with more than one automatic top-up in progress, and those with more in this month than their owner allows. */
  concurrentTopUps: number;
  exceededCaps: number;
}>;

type Sample = Record<
  | 'uncovered'
  | 'unmatched_holds'
  | 'unmatched_balances'
  | 'exceeded'
  | 'unmatched_limits'
  | 'exceeded_spend'
  | 'exceeded_concurrency'
  | 'concurrent_top_ups'
  | 'exceeded_caps',
  bigint
>;

export function startWatcher(
  database: ChaosDatabase,
  steadyLimits: readonly string[],
): { stop: () => Promise<Watched> } {
  const sql = database.open(1);
  const watched = {
    samples: 0,
    uncoveredHolds: 0,
    unmatchedHolds: 0,
    unmatchedBalances: 0,
    exceededLimits: 0,
    unmatchedLimits: 0,
    exceededSpendLimits: 0,
    exceededConcurrency: 0,
    concurrentTopUps: 0,
    exceededCaps: 0,
  };
  let isOver = false;

  async function look(): Promise<void> {
    const sample = await takeSample(sql, steadyLimits);
    if (!sample) return;
    watched.samples += 1;
    watched.uncoveredHolds += Number(sample.uncovered);
    watched.unmatchedHolds += Number(sample.unmatched_holds);
    watched.unmatchedBalances += Number(sample.unmatched_balances);
    watched.exceededLimits += Number(sample.exceeded);
    watched.unmatchedLimits += Number(sample.unmatched_limits);
    watched.exceededSpendLimits += Number(sample.exceeded_spend);
    watched.exceededConcurrency += Number(sample.exceeded_concurrency);
    watched.concurrentTopUps += Number(sample.concurrent_top_ups);
    watched.exceededCaps += Number(sample.exceeded_caps);
  }

  async function watch(): Promise<void> {
    while (!isOver) {
      // A database that is away has nothing to show; the next look finds it again.
      await look().catch(() => undefined);
      await Bun.sleep(pauseMs);
    }
    await sql.close({ timeout: 1 });
  }

  const watching = watch();
  return {
    stop: async () => {
      isOver = true;
      await watching;
      return watched;
    },
  };
}

/** One statement sees one moment. Settlements whose hold had been released may exceed a limit. */
async function takeSample(sql: SQL, steadyLimits: readonly string[]): Promise<Sample | undefined> {
  const [sample] = await sql<Sample[]>`
    select
      (select count(*) from accounts where held < 0 or held > balance) as uncovered,
      (select count(*) from accounts where held <> coalesce(
        (select sum(hold) from open_generations where account_id = accounts.id), 0)) as unmatched_holds,
      (select count(*) from accounts where balance <> coalesce(
        (select balance_after from ledger_entries where account_id = accounts.id order by number desc limit 1), 0)) as unmatched_balances,
      (select count(*) from api_key_meters join api_keys on api_keys.id = key_id
        where month_spent + held > monthly_limit and month_spent + held > monthly_limit + coalesce(
          (select sum(cost_total) from generations where generations.key_id = api_keys.id and hold is null), 0)) as exceeded,
      (select count(*) from limit_meters as meter join limits on limits.id = limit_id where held <> coalesce((
        select sum(case one ->> 'kind' when 'concurrent_requests' then 1 else hold end)
        from open_generations cross join jsonb_array_elements(open_generations.limits -> 'meters') as one
        where (one ->> 'id')::uuid = meter.id
          and (one ->> 'kind' = 'concurrent_requests' or one ->> 'kind' like 'spend%')), 0)) as unmatched_limits,
      (select count(*) from limit_meters as meter join limits on limits.id = limit_id
        where limit_id in ${sql(steadyLimits)} and kind like 'spend%' and window_start = limit_window(kind, now())
          and used + held > amount and used + held > amount + coalesce((
            select sum(greatest(cost_total - coalesce(hold, 0), 0)) from generations
            where generations.account_id = limits.account_id), 0)) as exceeded_spend,
      (select count(*) from limits where id in ${sql(steadyLimits)} and kind = 'concurrent_requests' and amount <
        (select count(*) from open_generations where open_generations.account_id = limits.account_id)) as exceeded_concurrency,
      (select count(*) from (
        select account_id from payment_orders where kind = 'automatic' and state in ('new', 'open', 'processing')
        group by account_id having count(*) > 1) as several) as concurrent_top_ups,
      (select count(*) from payment_customers as customer where monthly_cap < (
        select sum(amount) from payment_orders
        where payment_orders.account_id = customer.account_id and kind = 'automatic' and state <> 'failed')) as exceeded_caps`;
  return sample;
}
