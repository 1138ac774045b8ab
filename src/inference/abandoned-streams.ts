/**
 * Streams whose client has gone are read on, because the provider goes on charging and tells the usage only at the end.
 * How long and how many at once is bounded.
 */
export type Abandoned = Readonly<{
  isOver: () => boolean;
  end: () => void;
}>;

const longestMs = 60_000;
const mostAtOnce = 1_000;

export class AbandonedStreams {
  readonly #giveUps = new Set<() => void>();
  #isGivenUp = false;

  /** `stop` ends the stream when its time is over. Null when as many as allowed are being read on already. */
  begin(stop: () => void): Abandoned | null {
    if (this.#isGivenUp || this.#giveUps.size >= mostAtOnce) return null;
    let isOver = false;
    const giveUp = () => {
      isOver = true;
      stop();
    };
    const timer = setTimeout(giveUp, longestMs);
    this.#giveUps.add(giveUp);
    return {
      isOver: () => isOver,
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
