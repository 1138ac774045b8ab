/** Runs periodically, never twice at once. */
export function repeat(pauseMs: number, run: () => Promise<void>): { stop: () => void } {
  let isRunning = false;
  const timer = setInterval(() => {
    if (isRunning) return;
    isRunning = true;
    const ended = () => {
      isRunning = false;
    };
    run().then(ended, ended);
  }, pauseMs);
  return { stop: () => clearInterval(timer) };
}
