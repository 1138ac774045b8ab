/** Looks at the ledger all the time, not only at the end: what must hold at rest must hold at every moment. */
import type { ChaosDatabase } from '../world/database.ts';

const pauseMs = 50;

export type Watched = Readonly<{
  samples: number;
  uncoveredHolds: number;
  unmatchedHolds: number;
  unmatchedBalances: number;
  exceededLimits: number;
}>;

type Sample = { uncovered: bigint; unmatched_holds: bigint; unmatched_balances: bigint; exceeded: bigint };

export function startWatcher(database: ChaosDatabase): { stop: () => Promise<Watched> } {
  const sql = database.open(1);
  const watched = {
    samples: 0,
    uncoveredHolds: 0,
    unmatchedHolds: 0,
    unmatchedBalances: 0,
    exceededLimits: 0,
  };
  let isOver = false;

  /** One statement sees one moment. Settlements whose hold had been released may exceed a limit. */
  async function look(): Promise<void> {
    const [sample] = await sql<Sample[]>`
      select
        (select count(*) from accounts where held < 0 or held > balance) as uncovered,
        (select count(*) from accounts where held <> coalesce(
          (select sum(hold) from open_generations where account_id = accounts.id), 0)) as unmatched_holds,
        (select count(*) from accounts where balance <> coalesce(
          (select balance_after from ledger_entries where account_id = accounts.id order by number desc limit 1), 0)) as unmatched_balances,
        (select count(*) from api_key_meters join api_keys on api_keys.id = key_id
          where month_spent + held > monthly_limit and month_spent + held > monthly_limit + coalesce(
            (select sum(cost_total) from generations where generations.key_id = api_keys.id and hold is null), 0)) as exceeded`;
    if (!sample) return;
    watched.samples += 1;
    watched.uncoveredHolds += Number(sample.uncovered);
    watched.unmatchedHolds += Number(sample.unmatched_holds);
    watched.unmatchedBalances += Number(sample.unmatched_balances);
    watched.exceededLimits += Number(sample.exceeded);
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
