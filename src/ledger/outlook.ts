/**
 * What this process expects to become of a hold, so that a provider can be called while the hold is still being committed.
 * It is a hint and decides nothing: what was left when a request was last admitted, minus what was submitted since and has
 * no answer yet. Others may have taken some of it, so a hold is expected only where much is left.
 */
import { type Money, moneyFromDatabase } from '../lib/money.ts';
import { RecentMap } from '../lib/recent-map.ts';
import { minuteMs } from '../lib/time-units.ts';
import type { Admitted, AdmittedKey } from './batch-rows.ts';
import { type AccountState, decideHold, type KeyState } from './decide.ts';
import type { DenialCode, Hold, HoldResult } from './operations.ts';

/** So many times the amount of a hold must be free. */
export const timesFree = 8n;
/** This part of a key's rate, and of its concurrent requests, must be left beyond the request itself. */
const reservedShare = 4;
/** For so long after a hold that was denied or not committed, and until the next is granted, none is expected. */
const surpriseMs = 5_000;
const maxSurprises = 10_000;
/** About 20 MB. */
const maxRows = 20_000;

/** Holds that were submitted and have no answer yet, each at its maximum. */
export type Pending = Readonly<{ count: number; amount: Money }>;

const nothing: Pending = { count: 0, amount: 0n };

export class Outlook {
  /** What is free of accounts. As the database wrote it: most are never asked for. */
  readonly #accounts = new RecentMap<string>(maxRows);
  readonly #keys = new RecentMap<AdmittedKey>(maxRows);
  readonly #surprisedUntilMs = new RecentMap<number>(maxSurprises);
  /** By account and by key. */
  readonly #pending = new Map<string, Pending>();
  /** The database's time minus this process's. */
  #offsetMs = 0;

  saw({ keys, nowMs }: Pick<Admitted, 'keys' | 'nowMs'>): void {
    this.#offsetMs = nowMs - performance.now();
    for (const key of keys) {
      this.#accounts.set(key.accountId, key.free);
      this.#keys.set(key.keyId, key);
    }
  }

  /** The amount that a hold will be granted; null when that is not certain enough. To be asked before it is submitted. */
  expected({ generation, max }: Pick<Hold, 'generation' | 'max'>): Money | null {
    const { accountId, keyId, limits } = generation;
    // What is left of them is not known here.
    if (limits && limits.meters.length > 0) return null;
    const free = this.#accounts.get(accountId);
    const key = this.#keys.get(keyId);
    if (free === undefined || key === undefined) return null;
    const nowMs = performance.now();
    if (this.#isSurprised(accountId, nowMs) || this.#isSurprised(keyId, nowMs)) return null;
    const pending = {
      ofAccount: this.#pending.get(accountId) ?? nothing,
      ofKey: this.#pending.get(keyId) ?? nothing,
    };
    const left = leftFrom(free, key);
    return isExpected(left, pending, max, nowMs + this.#offsetMs) ? max : null;
  }

  #isSurprised(id: string, nowMs: number): boolean {
    const untilMs = this.#surprisedUntilMs.get(id);
    if (untilMs === undefined) return false;
    if (nowMs < untilMs) return true;
    this.#surprisedUntilMs.delete(id);
    return false;
  }

  /** Counts a hold that is submitted, until it has its answer. */
  follow(hold: Hold, answer: Promise<HoldResult>): Promise<HoldResult> {
    const { accountId, keyId } = hold.generation;
    this.#count(accountId, 1, hold.max);
    this.#count(keyId, 1, hold.max);
    const end = () => {
      this.#count(accountId, -1, -hold.max);
      this.#count(keyId, -1, -hold.max);
    };
    answer.then(
      (result) => {
        end();
        if (result.outcome !== 'denied') return;
        this.#forget(this.#keys, keyId);
        if (!concernsKeyOnly.has(result.code)) this.#forget(this.#accounts, accountId);
      },
      () => {
        end();
        this.surprised(hold);
      },
    );
    return answer;
  }

  #count(id: string, count: number, amount: Money): void {
    const before = this.#pending.get(id) ?? nothing;
    const after = { count: before.count + count, amount: before.amount + amount };
    if (after.count > 0) this.#pending.set(id, after);
    else this.#pending.delete(id);
  }

  /** A call was started that should not have been. The next ones wait for their holds, until one is committed again. */
  surprised({ generation: { accountId, keyId } }: Pick<Hold, 'generation'>): void {
    this.#forget(this.#accounts, accountId);
    this.#forget(this.#keys, keyId);
  }

  #forget(seen: RecentMap<unknown>, id: string): void {
    seen.delete(id);
    this.#surprisedUntilMs.set(id, performance.now() + surpriseMs);
  }
}

/** Other keys of the account may still be served. */
const concernsKeyOnly: ReadonlySet<DenialCode> = new Set([
  'expired_api_key',
  'rate_limit_exceeded',
  'monthly_spend_limit_exceeded',
]);

/** What is left for a hold: of the account's balance, of the key's month if that is limited, and of the key's other limits. */
export type Left = Readonly<{ free: Money; ofMonth: Money | null }> &
  Pick<KeyState, 'requestsPerMinute' | 'maxConcurrent' | 'openCount' | 'theoreticalArrivalMs'>;

function leftFrom(free: string, key: AdmittedKey): Left {
  const ofMonth = key.left === null ? null : moneyFromDatabase(key.left);
  return { ...key, free: moneyFromDatabase(free), ofMonth };
}

/**
 * Whether a hold will be granted its maximum, `max`: a hold of several times as much would be, after everything that is
 * pending and with part of the key's limits to spare. What a key spent in a month that is over counts as spent.
 */
export function isExpected(
  { free, ofMonth, requestsPerMinute, maxConcurrent, openCount, theoreticalArrivalMs }: Left,
  { ofAccount, ofKey }: Readonly<{ ofAccount: Pending; ofKey: Pending }>,
  max: Money,
  nowMs: number,
): boolean {
  const aheadMs = (ofKey.count + requestsPerMinute / reservedShare) * (minuteMs / requestsPerMinute);
  const account: AccountState = {
    balance: free,
    held: ofAccount.amount,
    entryCount: 0n,
    isSuspended: false,
  };
  const key: KeyState = {
    held: ofKey.amount,
    monthSpent: 0n,
    monthlyLimit: ofMonth,
    requestsPerMinute,
    maxConcurrent,
    openCount: openCount + ofKey.count + Math.floor(maxConcurrent / reservedShare),
    theoreticalArrivalMs: Math.max(theoreticalArrivalMs, nowMs) + aheadMs,
    isRevoked: false,
    isExpired: false,
  };
  const much = max * timesFree;
  return decideHold(account, key, { min: much, max: much }, nowMs).result.outcome === 'held';
}
