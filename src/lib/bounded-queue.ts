/** There is more to do than can be done in good time. */
export class OverloadError extends Error {
  override readonly name = 'OverloadError';
}

/** Lets `mostRunning` run at a time, and `mostWaiting` more wait their turn. Whoever comes then is refused at once. */
export function createQueue(
  mostRunning: number,
  mostWaiting: number,
): <Result>(run: () => Promise<Result>) => Promise<Result> {
  const waiting: (() => void)[] = [];
  let running = 0;

  return async (run) => {
    if (running >= mostRunning) {
      if (waiting.length >= mostWaiting) throw new OverloadError('Too much is waiting already.');
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting.push(resolve);
      await promise;
    } else {
      running += 1;
    }
    try {
      return await run();
    } finally {
      // Whoever is next takes over the place, so that nobody who comes now can slip in between.
      const next = waiting.shift();
      if (next) next();
      else running -= 1;
    }
  };
}
