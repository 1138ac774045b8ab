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

const longestMs = 60_000;
const mostAtOnce = 1_000;

export class AbandonedStreams {
  readonly #giveUps = new Set<() => void>();
  #isGivenUp = false;

  /** Null when as many as allowed are being read on already. */
  begin(): Abandoned | null {
    if (this.#isGivenUp || this.#giveUps.size >= mostAtOnce) return null;
    const { promise: over, resolve } = Promise.withResolvers<null>();
    let isOver = false;
    const giveUp = () => {
      isOver = true;
      resolve(null);
    };
    const timer = setTimeout(giveUp, longestMs);
    this.#giveUps.add(giveUp);
    return {
      isOver: () => isOver,
      within: (promise) => Promise.race([promise, over]),
      end: () => {
        clearTimeout(timer);
        this.#giveUps.delete(giveUp);
      },
    };
  }

  /** Ends all of them now, and begins no more: the process is about to stop. */
  giveUp(): void {
    this.#isGivenUp = true;
    for (const giveUp of this.#giveUps) giveUp();
  }
}
