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

/** Whose turn it is to be. Whoever is gone by the signal before it leaves the queue, with the reason of the signal. */
export type Claim = Readonly<{ origin: string; isPreferred: boolean; signal?: AbortSignal }>;

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

/**
 * The same for several who are to get a turn each: no origin gets all the places, however much comes from it, and those
 * that wait are served in rotation.
 */
export function createSharedQueue(
  size: QueueSize,
): <Result>(claim: Claim, run: () => Promise<Result>) => Promise<Result> {
  const waiting = new Rotation();
  let running = 0;

  function hasPlace({ origin, isPreferred }: Claim): boolean {
    const places = size.mostWaiting - (isPreferred ? 0 : size.keptForPreferred);
    return waiting.size < places && waiting.sizeOf(origin) < size.mostWaitingOfOneOrigin;
  }

  return async (claim, run) => {
    claim.signal?.throwIfAborted();
    if (running >= size.mostRunning) {
      if (!hasPlace(claim)) throw new OverloadError('Too much is waiting already.');
      await waiting.turnOf(claim);
    } else {
      running += 1;
    }
    try {
      return await run();
    } finally {
      // Whoever is next takes over the place, so that nobody who comes now can slip in between.
      const next = waiting.takeNext();
      if (next) next();
      else running -= 1;
    }
  };
}

/** Those who wait: of each origin in the order they came, and one of each origin after the other. */
class Rotation {
  size = 0;
  /** The origin whose turn is next comes first. None of them is empty. */
  readonly #origins = new Map<string, (() => void)[]>();

  sizeOf(origin: string): number {
    return this.#origins.get(origin)?.length ?? 0;
  }

  async turnOf({ origin, signal }: Claim): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const ofOrigin = this.#origins.get(origin) ?? [];
    ofOrigin.push(resolve);
    this.#origins.set(origin, ofOrigin);
    this.size += 1;
    const leave = () => {
      // Who has been called already takes the turn, and finds out then.
      if (this.#remove(origin, resolve)) reject(signal?.reason);
    };
    signal?.addEventListener('abort', leave);
    try {
      await promise;
    } finally {
      signal?.removeEventListener('abort', leave);
    }
  }

  takeNext(): (() => void) | undefined {
    const [first] = this.#origins;
    if (first === undefined) return undefined;
    const [origin, ofOrigin] = first;
    const start = ofOrigin.shift();
    this.size -= 1;
    this.#origins.delete(origin);
    if (ofOrigin.length > 0) this.#origins.set(origin, ofOrigin);
    return start;
  }

  #remove(origin: string, start: () => void): boolean {
    const ofOrigin = this.#origins.get(origin) ?? [];
    const place = ofOrigin.indexOf(start);
    if (place < 0) return false;
    ofOrigin.splice(place, 1);
    if (ofOrigin.length === 0) this.#origins.delete(origin);
    this.size -= 1;
    return true;
  }
}
