/** Removes the meters of end users whose windows are over. */
import type { SQL } from 'bun';
import type { Log } from '../lib/log.ts';
import { removeOldMeters } from './limit-store.ts';

const everyMs = 10 * 60 * 1000;

/** Runs now and every ten minutes, on every node, a part at a time until none is left. */
export function keepLimitsTidy(sql: SQL, log: Log): () => void {
  let isStopped = false;
  const run = async () => {
    while (!isStopped && (await removeOldMeters(sql)) > 0);
  };
  const start = () => {
    run().catch((error: unknown) => log.warn('old meters of limits not removed yet', { error }));
  };
  const timer = setInterval(start, everyMs);
  start();
  return () => {
    isStopped = true;
    clearInterval(timer);
  };
}
