/**
 * How many calls a provider has in flight, and whose. One account alone may use every slot. While others ask, an account
 * with its fair share or more gets none of the slots owed to those turned away a moment ago. No call is ended for this.
 */
import type { Demand } from './allowance.ts';

/** The slots of one account. */
export type Share = {
  calls: number;
  /** How often it was turned away since it last got a slot. */
  turnedAway: number;
  turnedAwayAtMs: number;
};

/** An account that does not ask again within this time has given up. Clients are asked to come back after a second. */
const patienceMs = 5_000;
/** Accounts turned away beyond this number are not remembered. */
const maxWaiting = 1_000;
const fewShares = 1_000;

export class Slots {
  #taken = 0;
  /** This node's part of the provider's slots, while there are other nodes. */
  #allowance = Number.POSITIVE_INFINITY;
  /** Since the last report to the other nodes. */
  #maxTaken = 0;
  #turnedAwayCount = 0;
  /** How many accounts have calls in flight. */
  #busy = 0;
  readonly #shares = new Map<string, Share>();
  /** Those that were turned away recently. */
  readonly #waiting = new Set<Share>();
  #sweepAt = fewShares;

  get accountsKnown(): number {
    return this.#shares.size;
  }

  /** A slot for a call, to be given back with `leave`; null when there is none for this account. */
  take(account: string, max: number, nowMs: number): Share | null {
    const share = this.#shares.get(account) ?? this.#addShare(account);
    if (!this.#hasSlot(share, max, nowMs)) return null;
    this.#taken += 1;
    if (this.#taken > this.#maxTaken) this.#maxTaken = this.#taken;
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

  /** Reserves a slot for an account that got none, although money is held for its call. */
  turnAway(account: string, nowMs: number): void {
    const share = this.#shares.get(account) ?? this.#addShare(account);
    // Moved to the end, so that the first is always the one that was turned away longest ago.
    this.#waiting.delete(share);
    this.#turnedAwayCount += 1;
    if (this.#waiting.size >= maxWaiting) return;
    this.#waiting.add(share);
    share.turnedAway += 1;
    share.turnedAwayAtMs = nowMs;
  }

  /** How many calls this node may have in flight, whatever the provider as a whole takes. */
  allow(allowance: number): void {
    this.#allowance = allowance;
  }

  /** What other nodes should know about this one. The counts start over. */
  takeDemand(): Demand {
    const demand = { inFlight: this.#maxTaken, turnedAway: this.#turnedAwayCount };
    this.#maxTaken = this.#taken;
    this.#turnedAwayCount = 0;
    return demand;
  }

  hasSlotFor(account: string, max: number, nowMs: number): boolean {
    return this.#hasSlot(this.#shares.get(account) ?? newShare(), max, nowMs);
  }

  #hasSlot(share: Share, max: number, nowMs: number): boolean {
    const limit = Math.min(max, this.#allowance);
    if (this.#taken >= limit) return false;
    return this.#waiting.size === 0 || this.#isFair(share, limit, nowMs);
  }

  #isFair(share: Share, max: number, nowMs: number): boolean {
    this.#forgetGone(nowMs);
    const fairCalls = fairShare(max, this.#asking(share));
    if (share.calls < fairCalls) return true;
    let owed = 0;
    for (const other of this.#waiting) if (other !== share) owed += owedTo(other, fairCalls);
    return this.#taken + owed < max;
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

  #forgetGone(nowMs: number): void {
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

  /** There are many accounts, and those without calls are kept only to save the next call an allocation. */
  #sweep(): void {
    for (const [account, share] of this.#shares)
      if (share.calls === 0 && !this.#waiting.has(share)) this.#shares.delete(account);
    this.#sweepAt = Math.max(fewShares, this.#shares.size * 2);
  }
}

/** How many slots each of these accounts is entitled to. */
export function fairShare(max: number, accounts: number): number {
  return Math.max(1, Math.floor(max / accounts));
}

/** How many slots are reserved for an account that was turned away. */
function owedTo({ calls, turnedAway }: Share, fairCalls: number): number {
  return Math.max(0, Math.min(turnedAway, fairCalls - calls));
}

function newShare(): Share {
  return { calls: 0, turnedAway: 0, turnedAwayAtMs: 0 };
}
