/**
 * How many refusals of a key and of an account are stored: some at once, and then a few a minute. Of fewer it is stored whom they
 * were for, because that takes up to a dozen rows. Each node counts for itself, in memory of fixed size; whoever is forgotten starts anew.
 */
import { RecentMap } from '../lib/recent-map.ts';
import { minuteMs } from '../lib/time-units.ts';

const maxSubjects = 10_000;

type Pace = Readonly<{ burst: number; perMinute: number }>;

const ofKey: Pace = { burst: 100, perMinute: 10 };
const ofAccount: Pace = { burst: 300, perMinute: 20 };
const labelled: Pace = { burst: 100, perMinute: 2 };

export class Allowances {
  /** When each would have stored all that it has, at its pace. */
  readonly #keys = new RecentMap<number>(maxSubjects);
  readonly #accounts = new RecentMap<number>(maxSubjects);
  readonly #labelled = new RecentMap<number>(maxSubjects);

  /** Whether one more may be stored, which then counts. */
  take(keyId: string, accountId: string, nowMs: number): boolean {
    const key = nextArrival(this.#keys.get(keyId), ofKey, nowMs);
    const account = nextArrival(this.#accounts.get(accountId), ofAccount, nowMs);
    if (key === null || account === null) return false;
    this.#keys.set(keyId, key);
    this.#accounts.set(accountId, account);
    return true;
  }

  /** Whether one more of those may be stored with whom it was for, which then counts. */
  takeLabels(accountId: string, nowMs: number): boolean {
    const next = nextArrival(this.#labelled.get(accountId), labelled, nowMs);
    if (next !== null) this.#labelled.set(accountId, next);
    return next !== null;
  }
}

/** Null when there are too many already. */
function nextArrival(
  arrivalMs: number | undefined,
  { burst, perMinute }: Pace,
  nowMs: number,
): number | null {
  const intervalMs = minuteMs / perMinute;
  const nextMs = Math.max(nowMs, arrivalMs ?? nowMs) + intervalMs;
  return nextMs > nowMs + burst * intervalMs ? null : nextMs;
}
