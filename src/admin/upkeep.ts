/** Removes the stored responses that no retry gets any more. */
import type { SQL } from 'bun';
import type { Log } from '../lib/log.ts';
import { forgetOldRequests } from './once.ts';

const everyMs = 10 * 60 * 1000;

/** Runs now and every ten minutes, on every node. */
export function keepAdminTidy(sql: SQL, log: Log): () => void {
  const run = () => {
    forgetOldRequests(sql).catch((error: unknown) =>
      log.warn('old admin requests not removed yet', { error }),
    );
  };
  const timer = setInterval(run, everyMs);
  run();
  return () => clearInterval(timer);
}
