/** Removes refusals after their retention period. */
import type { SQL } from 'bun';
import type { Log } from '../lib/log.ts';
import { repeatedly } from '../lib/repeatedly.ts';
import { removeOldRefusals } from './refusal-store.ts';

const everyMs = 10 * 60 * 1000;

/** On every node, a part at a time until none is left. */
export function keepRefusalsTidy(sql: SQL, retentionDays: number, log: Log): () => Promise<void> {
  let isStopped = false;
  const stop = repeatedly(
    everyMs,
    async () => {
      while (!isStopped && (await removeOldRefusals(sql, retentionDays)) > 0);
    },
    (fields) => log.warn('old refusals not removed yet', fields),
  );
  return async () => {
    isStopped = true;
    await stop();
  };
}
