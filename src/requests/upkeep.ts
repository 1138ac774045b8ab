/** Removes refusals after their retention period. */
import type { SQL } from 'bun';
import type { Log } from '../lib/log.ts';
import { removeOldRefusals } from './refusal-store.ts';

const everyMs = 10 * 60 * 1000;

/** Runs now and every ten minutes, on every node, a part at a time until none is left. */
export function keepRefusalsTidy(sql: SQL, retentionDays: number, log: Log): () => void {
  let isStopped = false;
  const run = async () => {
    while (!isStopped && (await removeOldRefusals(sql, retentionDays)) > 0);
  };
  const start = () => {
    run().catch((error: unknown) => log.warn('old refusals not removed yet', { error }));
  };
  const timer = setInterval(start, everyMs);
  start();
  return () => {
    isStopped = true;
    clearInterval(timer);
  };
}
