/**
 * Runs something now and again and again, never twice at a time. The function returned ends that and waits for a run in
 * progress, whose failure then says nothing.
 */
export function repeatedly(
  everyMs: number,
  run: () => Promise<void>,
  onFailure: (error: unknown) => void,
): () => Promise<void> {
  let inProgress: Promise<void> | null = null;
  let isStopped = false;
  const runOnce = () => {
    inProgress ??= run()
      .catch((error: unknown) => {
        if (!isStopped) onFailure(error);
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
