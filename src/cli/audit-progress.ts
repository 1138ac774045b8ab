/** Runs an audit for someone who waits for it, with a progress bar on a terminal. */
import type { SQL } from 'bun';
import { invariantCount } from '../audit/audit.ts';
import { type AuditResult, startAudit } from '../audit/run.ts';
import { progressBar } from './progress-bar.ts';

const retryMs = 500;

/** Another audit in the deployment is waited for: this one then has less left to do. */
export async function runAudit(sql: SQL, openDedicated: () => SQL, isFull: boolean): Promise<AuditResult> {
  const bar = progressBar(process.stderr);
  const onStep = (done: number, next: string) => bar.show(done, invariantCount, next);
  try {
    for (;;) {
      const running = await startAudit(sql, openDedicated, { isFull, operatorId: null, onStep });
      if (running !== null) return await running.result;
      bar.show(0, invariantCount, 'waiting for another audit to finish');
      await Bun.sleep(retryMs);
    }
  } finally {
    bar.clear();
  }
}

export function describeScope(since: Date | null): string {
  return since === null
    ? 'Everything in the database was checked.'
    : `Only what is new since the sound audit of ${since.toISOString()} was checked; --full checks everything.`;
}
