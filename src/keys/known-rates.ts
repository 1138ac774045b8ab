/**
 * What this node knows of the rates of keys, for the headers of answers that ask the database nothing: as the last request
 * of the key that was counted here left it, and as time has gone on since. Other nodes may have counted more.
 */

import { type RateLimit, rateAt } from '../lib/rate-limit.ts';
import type { ApiKey } from './key-store.ts';

const maxKeys = 10_000;

export class KnownRates {
  /** When each key will be back at its full rate, by `performance.now()`. Whoever was counted longest ago comes first. */
  readonly #arrivals = new Map<string, number>();

  note(keyId: string, { resetMs }: RateLimit): void {
    // Again at the end, so that the first is always the one that was counted longest ago.
    this.#arrivals.delete(keyId);
    this.#arrivals.set(keyId, performance.now() + resetMs);
    if (this.#arrivals.size <= maxKeys) return;
    const [oldest = ''] = this.#arrivals.keys();
    this.#arrivals.delete(oldest);
  }

  of({ id, requestsPerMinute }: Pick<ApiKey, 'id' | 'requestsPerMinute'>): RateLimit {
    return rateAt(requestsPerMinute, this.#arrivals.get(id) ?? 0, performance.now());
  }
}
