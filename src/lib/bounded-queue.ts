/** There is more to do than can be done in good time. */
export class OverloadError extends Error {
  override readonly name = 'OverloadError';
}

type QueueSize = Readonly<{
  mostRunning: number;
  mostWaiting: number;
  /** Of the places to wait in, those that only the preferred get. */
  keptForPreferred: number;
  mostWaitingOfOneOrigin: number;
}>;

/** Whose turn it is to be. */
export type Claim = Readonly<{ origin: string; isPreferred: boolean }>;

/** Lets `mostRunning` run at a time, and `mostWaiting` more wait their turn. Whoever comes then is refused at once. */
export function createQueue(
  mostRunning: number,
  mostWaiting: number,
): <Result>(run: () => Promise<Result>) => Promise<Result> {
  const take = createSharedQueue({
    mostRunning,
    mostWaiting,
    keptForPreferred: 0,
    mostWaitingOfOneOrigin: mostWaiting,
  });
  return (run) => take({ origin: '', isPreferred: false }, run);
}

/** The same for several who are to get a turn each: no origin gets all the places, however much comes from it. */
export function createSharedQueue(
  size: QueueSize,
): <Result>(claim: Claim, run: () => Promise<Result>) => Promise<Result> {
  const waiting: Readonly<{ origin: string; start: () => void }>[] = [];
  let running = 0;

  function hasPlace({ origin, isPreferred }: Claim): boolean {
    const places = size.mostWaiting - (isPreferred ? 0 : size.keptForPreferred);
    const ofOrigin = waiting.filter((other) => other.origin === origin);
    return waiting.length < places && ofOrigin.length < size.mostWaitingOfOneOrigin;
  }

  return async (claim, run) => {
    if (running >= size.mostRunning) {
      if (!hasPlace(claim)) throw new OverloadError('Too much is waiting already.');
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting.push({ origin: claim.origin, start: resolve });
      await promise;
    } else {
      running += 1;
    }
    try {
      return await run();
    } finally {
      // Whoever is next takes over the place, so that nobody who comes now can slip in between.
      const next = waiting.shift();
      if (next) next.start();
      else running -= 1;
    }
  };
}
