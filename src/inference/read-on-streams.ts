/**
 * Streams that are still read although nothing more is delivered, because the client has disconnected or was told of a
 * failure: until the call's deadline the provider keeps charging, and it reports usage only at the end. Their number is
 * bounded per node and shared fairly: when all slots are taken, the account with the most of them gives one up, so no
 * account can crowd out the others.
 */
export type ReadOn = Readonly<{
  /** Whether it was ended early, to make room or because the process is stopping. */
  isOver: () => boolean;
  end: () => void;
}>;

const maxAtOnce = 4_000;

type Slot = { readonly accountId: string; readonly stop: () => void; isOver: boolean };

export class ReadOnStreams {
  readonly #max: number;
  /** Oldest first within each account. */
  readonly #byAccount = new Map<string, Set<Slot>>();
  #count = 0;
  #isStopping = false;

  constructor(max = maxAtOnce) {
    this.#max = max;
  }

  get count(): number {
    return this.#count;
  }

  /** `stop` ends the stream, possibly at once. */
  begin(accountId: string, stop: () => void): ReadOn {
    const slot: Slot = { accountId, stop, isOver: false };
    const slots = this.#byAccount.get(accountId) ?? new Set();
    this.#byAccount.set(accountId, slots.add(slot));
    this.#count += 1;
    if (this.#isStopping) this.#giveUp(slot);
    else if (this.#count > this.#max) this.#makeRoom();
    return { isOver: () => slot.isOver, end: () => this.#remove(slot) };
  }

  /** Ends all of them now, and any later one at once: the process is about to stop. */
  giveUp(): void {
    this.#isStopping = true;
    for (const slots of this.#byAccount.values()) for (const slot of slots) this.#giveUp(slot);
  }

  /** Rare, and there are far fewer accounts than streams. */
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
