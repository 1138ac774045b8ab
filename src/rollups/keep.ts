/** Keeps requests added up, on every node: whichever is first does the work. */
import type { SQL } from 'bun';
import type { Log } from '../lib/log.ts';
import { logSparingly } from '../lib/log-sparingly.ts';
import { repeatedly } from '../lib/repeatedly.ts';
import { RollUp } from './roll-up.ts';

const everyMs = 5_000;
const logLateEveryMs = 300_000;

export function keepRequestsRolledUp(sql: SQL, retentionDays: number | null, log: Log): () => Promise<void> {
  let isStopped = false;
  const onLate = logSparingly((fields) => log.warn('requests are added up late', fields), logLateEveryMs);
  const rollUp = new RollUp(sql, { retentionDays, isStopped: () => isStopped, onLate });
  const stop = repeatedly(
    everyMs,
    () => rollUp.run(),
    (fields) => log.warn('requests not added up yet', fields),
  );
  return async () => {
    isStopped = true;
    await stop();
  };
}
