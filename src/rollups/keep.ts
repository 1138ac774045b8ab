/** Keeps requests added up, on every node: whichever is first does the work. */
import type { SQL } from 'bun';
import type { Log } from '../lib/log.ts';
import { logSparingly } from '../lib/log-sparingly.ts';
import { RollUp } from './roll-up.ts';

const everyMs = 5_000;
/** While it does not work. */
const logEveryMs = 300_000;

export function keepRequestsRolledUp(sql: SQL, retentionDays: number | null, log: Log): () => Promise<void> {
  let inProgress: Promise<void> | null = null;
  let isStopped = false;
  const warnLate = logSparingly((fields) => log.warn('requests are added up late', fields), logEveryMs);
  const warnFailed = logSparingly((fields) => log.warn('requests not added up yet', fields), logEveryMs);
  const rollUp = new RollUp(sql, { retentionDays, isStopped: () => isStopped, onLate: warnLate });

  function run(): void {
    inProgress ??= rollUp
      .run()
      .catch((error: unknown) => {
        if (!isStopped) warnFailed({ error });
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
