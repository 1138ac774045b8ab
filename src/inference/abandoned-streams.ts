/**
 * Streams whose client has gone are read on until their call's own deadline, because the provider goes on charging and
 * tells the usage only at the end. How many at once is bounded for the node, and shared fairly: when all slots are taken,
 * whoever has the most of them gives one up, so nobody can fill the node for the others.
 */
export type Abandoned = Readonly<{
  /** Whether it was ended early, to make room or because the process stops. */
  isOver: () => boolean;
  end: () => void;
}>;

const maxAtOnce = 4_000;

type Slot = { readonly accountId: string; readonly stop: () => void; isOver: boolean };

export class AbandonedStreams {
  readonly #most: number;
  /** The oldest of each account first. */
  readonly #byAccount = new Map<string, Set<Slot>>();
  #count = 0;
  #isGivenUp = false;

  constructor(most = maxAtOnce) {
    this.#most = most;
  }

  /** `stop` ends the stream, possibly at once. */
  begin(accountId: string, stop: () => void): Abandoned {
    const slot: Slot = { accountId, stop, isOver: false };
    const slots = this.#byAccount.get(accountId) ?? new Set();
    this.#byAccount.set(accountId, slots.add(slot));
    this.#count += 1;
    if (this.#isGivenUp) this.#giveUp(slot);
    else if (this.#count > this.#most) this.#makeRoom();
    return { isOver: () => slot.isOver, end: () => this.#remove(slot) };
  }

  /** Ends all of them now, and those that would begin: the process is about to stop. */
  giveUp(): void {
    this.#isGivenUp = true;
    for (const slots of this.#byAccount.values()) for (const slot of slots) this.#giveUp(slot);
  }

  /** Rare, and the accounts are few beside the streams. */
  #makeRoom(): void {
    let fullest = new Set<Slot>();
    for (const slots of this.#byAccount.values()) if (slots.size > fullest.size) fullest = slots;
    const [oldest] = fullest;
    if (oldest !== undefined) this.#giveUp(oldest);
  }

  #giveUp(slot: Slot): void {
    slot.isOver = true;
    this.#remove(slot);
    slot.stop();
  }

  #remove(slot: Slot): void {
    const slots = this.#byAccount.get(slot.accountId);
    if (!slots?.delete(slot)) return;
    this.#count -= 1;
    if (slots.size === 0) this.#byAccount.delete(slot.accountId);
  }
}
