/**
 * How many calls a provider has in flight, and whose. An account alone may have every slot. While others ask, whoever
 * has its share or more leaves those slots alone that were refused to the others a moment ago. No call is ended for it.
 */

/** The slots of one account. */
export type Share = {
  calls: number;
  /** How often it was turned away since it last got a slot. */
  turnedAway: number;
  turnedAwayAtMs: number;
};

/** Who has not asked again by then does not want the slot any more. Clients are asked to come back after a second. */
const patienceMs = 5_000;
/** Who is turned away beyond this is not remembered. */
const maxWaiting = 1_000;
const fewShares = 1_000;

export class Slots {
  #taken = 0;
  /** How many accounts have calls in flight. */
  #busy = 0;
  readonly #shares = new Map<string, Share>();
  /** Those that were turned away lately. */
  readonly #waiting = new Set<Share>();
  #sweepAt = fewShares;

  /** How many accounts are remembered, for whatever reason. */
  get accountsKnown(): number {
    return this.#shares.size;
  }

  /** A slot for a call, to be left when it ends; null when there is none for this account. */
  take(account: string, most: number, nowMs: number): Share | null {
    const share = this.#shares.get(account) ?? this.#addShare(account);
    if (!this.#hasSlot(share, most, nowMs)) return null;
    this.#taken += 1;
    share.calls += 1;
    if (share.calls === 1) this.#busy += 1;
    if (share.turnedAway > 0) this.#serve(share);
    return share;
  }

  leave(share: Share): void {
    this.#taken -= 1;
    share.calls -= 1;
    if (share.calls === 0) this.#busy -= 1;
  }

  /** Keeps a slot for an account that got none, and that could have paid for its call. */
  turnAway(account: string, nowMs: number): void {
    const share = this.#shares.get(account) ?? this.#addShare(account);
    // Again at the end, so that the first is always the one that was turned away longest ago.
    this.#waiting.delete(share);
    if (this.#waiting.size >= maxWaiting) return;
    this.#waiting.add(share);
    share.turnedAway += 1;
    share.turnedAwayAtMs = nowMs;
  }

  hasSlotFor(account: string, most: number, nowMs: number): boolean {
    return this.#hasSlot(this.#shares.get(account) ?? newShare(), most, nowMs);
  }

  #hasSlot(share: Share, most: number, nowMs: number): boolean {
    if (this.#taken >= most) return false;
    return this.#waiting.size === 0 || this.#isFair(share, most, nowMs);
  }

  #isFair(share: Share, most: number, nowMs: number): boolean {
    this.#forgetWhoLeft(nowMs);
    const fairCalls = fairShare(most, this.#asking(share));
    if (share.calls < fairCalls) return true;
    let owed = 0;
    for (const other of this.#waiting) if (other !== share) owed += owedTo(other, fairCalls);
    return this.#taken + owed < most;
  }

  /** How many accounts want slots, this one included. */
  #asking(share: Share): number {
    let count = this.#busy + (share.calls === 0 && !this.#waiting.has(share) ? 1 : 0);
    for (const { calls } of this.#waiting) if (calls === 0) count += 1;
    return count;
  }

  #serve(share: Share): void {
    share.turnedAway -= 1;
    if (share.turnedAway === 0) this.#waiting.delete(share);
  }

  #forgetWhoLeft(nowMs: number): void {
    for (const share of this.#waiting) {
      if (nowMs - share.turnedAwayAtMs <= patienceMs) return;
      share.turnedAway = 0;
      this.#waiting.delete(share);
    }
  }

  #addShare(account: string): Share {
    if (this.#shares.size >= this.#sweepAt) this.#sweep();
    const share = newShare();
    this.#shares.set(account, share);
    return share;
  }

  /** Accounts are many, and those without calls are kept only to spare the next call the making. */
  #sweep(): void {
    for (const [account, share] of this.#shares)
      if (share.calls === 0 && !this.#waiting.has(share)) this.#shares.delete(account);
    this.#sweepAt = Math.max(fewShares, this.#shares.size * 2);
  }
}

/** What each of so many accounts is entitled to. */
export function fairShare(most: number, accounts: number): number {
  return Math.max(1, Math.floor(most / accounts));
}

/** How many slots are kept for an account that was turned away. */
function owedTo({ calls, turnedAway }: Share, fairCalls: number): number {
  return Math.max(0, Math.min(turnedAway, fairCalls - calls));
}

function newShare(): Share {
  return { calls: 0, turnedAway: 0, turnedAwayAtMs: 0 };
}
