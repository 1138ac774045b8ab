/**
 * Streams whose client has gone are read on until their call's own deadline, because the provider goes on charging and
 * tells the usage only at the end. How many at once is bounded for the node, and shared fairly: when all places are taken,
 * whoever has the most of them gives one up, so nobody can fill the node for the others.
 */
export type Abandoned = Readonly<{
  /** Whether it was ended early, to make room or because the process stops. */
  isOver: () => boolean;
  end: () => void;
}>;

const maxAtOnce = 4_000;

type Place = { readonly accountId: string; readonly stop: () => void; isOver: boolean };

export class AbandonedStreams {
  readonly #most: number;
  /** The oldest of each account first. */
  readonly #byAccount = new Map<string, Set<Place>>();
  #count = 0;
  #isGivenUp = false;

  constructor(most = maxAtOnce) {
    this.#most = most;
  }

  /** `stop` ends the stream, possibly at once. */
  begin(accountId: string, stop: () => void): Abandoned {
    const place: Place = { accountId, stop, isOver: false };
    const places = this.#byAccount.get(accountId) ?? new Set();
    this.#byAccount.set(accountId, places.add(place));
    this.#count += 1;
    if (this.#isGivenUp) this.#giveUp(place);
    else if (this.#count > this.#most) this.#makeRoom();
    return { isOver: () => place.isOver, end: () => this.#remove(place) };
  }

  /** Ends all of them now, and those that would begin: the process is about to stop. */
  giveUp(): void {
    this.#isGivenUp = true;
    for (const places of this.#byAccount.values()) for (const place of places) this.#giveUp(place);
  }

  /** Rare, and the accounts are few beside the streams. */
  #makeRoom(): void {
    let fullest = new Set<Place>();
    for (const places of this.#byAccount.values()) if (places.size > fullest.size) fullest = places;
    const [oldest] = fullest;
    if (oldest !== undefined) this.#giveUp(oldest);
  }

  #giveUp(place: Place): void {
    place.isOver = true;
    this.#remove(place);
    place.stop();
  }

  #remove(place: Place): void {
    const places = this.#byAccount.get(place.accountId);
    if (!places?.delete(place)) return;
    this.#count -= 1;
    if (places.size === 0) this.#byAccount.delete(place.accountId);
  }
}
