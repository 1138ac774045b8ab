/**
 * Now and then someone keeps the row of an account locked, as an operator's transaction might. Holds are slow then, although
 * nothing has failed: whoever does not wait for them is noticed.
 */
import type { Random } from '../random.ts';
import type { ChaosDatabase } from '../world/database.ts';

const minPauseMs = 1_000;
const maxPauseMs = 3_000;
const minLockedMs = 20;
/** With the 0.6 s after which no crash loses a hold, this is the second within which the loss of one is excused. */
const maxLockedMs = 400;

export function startRowLocks(
  database: ChaosDatabase,
  accountIds: readonly [string, ...string[]],
  random: Random,
): { stop: () => Promise<void> } {
  const sql = database.open(1);
  let isOver = false;

  /** In one statement, which ends by itself whatever becomes of this program. */
  async function lock(accountId: string, ms: number): Promise<void> {
    await sql`
      select pg_sleep(${ms}::float8 / 1000)
      from (select id from accounts where id = ${accountId} for update) as locked`;
  }

  async function lockAgainAndAgain(): Promise<void> {
    while (!isOver) {
      await Bun.sleep(random.between(minPauseMs, maxPauseMs));
      // The database may be away.
      await lock(random.pick(accountIds), random.between(minLockedMs, maxLockedMs)).catch(() => undefined);
    }
    await sql.close({ timeout: 1 });
  }

  const locking = lockAgainAndAgain();
  return {
    stop: async () => {
      isOver = true;
      await locking;
    },
  };
}
