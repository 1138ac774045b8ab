/** A trial that judges itself, in a world of its own. The ledger is audited at its end; the logs stay if anything is wrong. */
import type { SQL } from 'bun';
import { tollgate } from '../world/program.ts';
import { createWorld, type World, type WorldOptions } from '../world/world.ts';

/** `summary` says what was seen, whether it is good or not. */
export type Verdict = Readonly<{ wrong: readonly string[]; summary: string }>;

export async function runTrial(
  options: WorldOptions,
  trial: (world: World, sql: SQL) => Promise<Verdict>,
): Promise<number> {
  const world = await createWorld(options);
  let isGood = false;
  try {
    const sql = world.database.open(2);
    const { wrong, summary } = await trial(world, sql);
    await sql.close({ timeout: 1 });
    const audit = await tollgate(['ledger', 'audit', '--full'], world.environment);
    const unsound = audit.exitCode === 0 ? [] : [`the audit fails: ${audit.stdout}${audit.stderr}`];
    const allWrong = [...wrong, ...unsound];
    isGood = allWrong.length === 0;
    for (const each of allWrong) console.log(`  WRONG  ${each}`);
    console.log(`${isGood ? 'holds ' : 'BROKEN'}  ${summary}`);
    if (!isGood) console.log(`The logs of this run are in ${world.folder}`);
    return isGood ? 0 : 1;
  } finally {
    await world.stop();
    if (isGood) world.remove();
  }
}
