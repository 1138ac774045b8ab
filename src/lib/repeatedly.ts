/**
 * Runs something now and again and again, never twice at a time. Failures are reported once a minute, because what failed
 * now usually fails for a while. The function returned ends all that and waits for a run in progress, whose failure then
 * says nothing.
 */
import type { LogFields } from './log.ts';
import { logSparingly } from './log-sparingly.ts';

const reportEveryMs = 60_000;

export function repeatedly(
  everyMs: number,
  run: () => Promise<void>,
  onFailure: (fields: LogFields) => void,
): () => Promise<void> {
  const report = logSparingly(onFailure, reportEveryMs);
  let inProgress: Promise<void> | null = null;
  let isStopped = false;
  const runOnce = () => {
    inProgress ??= run()
      .catch((error: unknown) => {
        if (!isStopped) report({ error });
      })
      .finally(() => {
        inProgress = null;
      });
  };
  const timer = setInterval(runOnce, everyMs);
  runOnce();
  return async () => {
    isStopped = true;
    clearInterval(timer);
    await inProgress;
  };
}
