/**
 * What this node knows of keys' rates, for the headers of responses that need no query: as of the last request of the key
 * that was counted here, adjusted for the time since. Other nodes may have counted more.
 */
import { type RateLimit, rateAt } from '../lib/rate-limit.ts';
import { RecentMap } from '../lib/recent-map.ts';
import type { ApiKey } from './key-store.ts';

const maxKeys = 10_000;

export class KnownRates {
  /** When each key will be back at its full rate, by `performance.now()`. */
  readonly #arrivals = new RecentMap<number>(maxKeys);

  note(keyId: string, { resetMs }: RateLimit): void {
    this.#arrivals.set(keyId, performance.now() + resetMs);
  }

  of({ id, requestsPerMinute }: Pick<ApiKey, 'id' | 'requestsPerMinute'>): RateLimit {
    return rateAt(requestsPerMinute, this.#arrivals.get(id) ?? 0, performance.now());
  }
}
