/** Keeps requests added up, on every node: whichever is first does the work. */
import type { SQL } from 'bun';
import type { Log } from '../lib/log.ts';
import { RollUp } from './roll-up.ts';

const everyMs = 5_000;

export function keepRequestsRolledUp(sql: SQL, retentionDays: number | null, log: Log): () => Promise<void> {
  let inProgress: Promise<void> | null = null;
  let isStopped = false;
  const rollUp = new RollUp(sql, { retentionDays, isStopped: () => isStopped });

  function run(): void {
    inProgress ??= rollUp
      .run()
      .catch((error: unknown) => {
        if (!isStopped) log.warn('requests not added up yet', { error });
      })
      .finally(() => {
        inProgress = null;
      });
  }

  const timer = setInterval(run, everyMs);
  run();
  return async () => {
    isStopped = true;
    clearInterval(timer);
    await inProgress;
  };
}
