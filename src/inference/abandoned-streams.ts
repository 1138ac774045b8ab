/**
 * Streams whose client has gone are read on, because the provider goes on charging and tells the usage only at the end.
 * How long and how many at once is bounded.
 */
export type Abandoned = Readonly<{
  isOver: () => boolean;
  /** What was to be awaited, or null when the time is over first. */
  within: <Result>(promise: Promise<Result>) => Promise<Result | null>;
  end: () => void;
}>;

export type AbandonLimits = Readonly<{ longestMs: number; mostAtOnce: number }>;

export const abandonLimits: AbandonLimits = { longestMs: 60_000, mostAtOnce: 1_000 };

export class AbandonedStreams {
  readonly #limits: AbandonLimits;
  #count = 0;

  constructor(limits: AbandonLimits = abandonLimits) {
    this.#limits = limits;
  }

  /** Null when as many as allowed are being read on already. */
  begin(): Abandoned | null {
    if (this.#count >= this.#limits.mostAtOnce) return null;
    this.#count += 1;
    const endsAtMs = performance.now() + this.#limits.longestMs;
    return {
      isOver: () => performance.now() >= endsAtMs,
      within: (promise) => orNull(promise, endsAtMs - performance.now()),
      end: () => {
        this.#count -= 1;
      },
    };
  }
}

function orNull<Result>(promise: Promise<Result>, withinMs: number): Promise<Result | null> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => resolve(null), Math.max(0, withinMs));
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
