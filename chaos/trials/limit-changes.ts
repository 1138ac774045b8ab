/**
 * Now and then an operator lowers the limit of a key for a moment. Gateways learn of it with the next hold, so they call the
 * provider early for requests whose holds are denied.
 */
import type { SQL } from 'bun';
import type { Random } from '../random.ts';
import type { ChaosDatabase } from '../world/database.ts';

const usual = 100_000;
const lowered = 1;
const minPauseMs = 1_000;
const maxPauseMs = 2_000;
const loweredMs = 200;

export function startLimitChanges(
  database: ChaosDatabase,
  keyId: string,
  random: Random,
): { stop: () => Promise<void> } {
  const sql = database.open(1);
  let isOver = false;

  async function changeAgainAndAgain(): Promise<void> {
    while (!isOver) {
      await Bun.sleep(random.between(minPauseMs, maxPauseMs));
      await setLimit(sql, keyId, lowered);
      await Bun.sleep(loweredMs);
      await setLimit(sql, keyId, usual);
    }
    await sql.close({ timeout: 1 });
  }

  const changing = changeAgainAndAgain();
  return {
    stop: async () => {
      isOver = true;
      await changing;
    },
  };
}

/** The database may be away; the next change finds it again. */
async function setLimit(sql: SQL, keyId: string, maxConcurrent: number): Promise<void> {
  await sql`update api_keys set max_concurrent = ${maxConcurrent} where id = ${keyId}`.catch(() => undefined);
}
