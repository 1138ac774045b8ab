/** Audits in the background of a gateway. The database knows which one is running, on any node, and how far it is. */
import type { SQL } from 'bun';
import type { Log } from '../lib/log.ts';
import { type RunningAudit, startAudit } from './run.ts';

export type AuditJobs = Readonly<{
  /** False when an audit is running on any node. */
  start: (order: Readonly<{ operatorId: string; isFull: boolean }>) => Promise<boolean>;
  /** Aborts an audit that is running here; another one can begin at once. */
  close: () => Promise<void>;
}>;

export function openAuditJobs(sql: SQL, openDedicated: () => SQL, log: Log): AuditJobs {
  let running: RunningAudit | null = null;
  let isClosed = false;

  async function report(audit: RunningAudit): Promise<void> {
    try {
      const { isSound, findings } = await audit.result;
      if (isSound) log.info('the ledger is sound');
      else
        log.error('the ledger is broken', {
          count: findings.filter(({ violations }) => violations > 0).length,
        });
    } catch (error) {
      if (!isClosed) log.error('an audit failed', { error });
    } finally {
      running = null;
    }
  }

  return {
    start: async (order) => {
      const audit = isClosed ? null : await startAudit(sql, openDedicated, order);
      if (audit === null) return false;
      running = audit;
      report(audit).catch(() => undefined);
      return true;
    },
    close: async () => {
      isClosed = true;
      await running?.stop();
    },
  };
}
