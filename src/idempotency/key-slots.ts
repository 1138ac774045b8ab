/** How many requests of one key this node lets wait for an answer, or has a stored one on the way to. */
import { ApiError } from '../errors.ts';
import { Tally } from '../lib/tally.ts';

export class KeySlots {
  readonly #most: number;
  readonly #taken = new Tally();

  constructor(most: number) {
    this.#most = most;
  }

  /** Returns what gives the place back, once. Throws when the key has none left. */
  take(keyId: string): () => void {
    if (this.#taken.of(keyId) >= this.#most)
      throw new ApiError('rate_limit_exceeded', {
        message:
          'Too many requests of this API key wait for answers to requests with the same Idempotency-Key.',
        retryAfterSeconds: 1,
      });
    this.#taken.add(keyId, 1);
    return () => this.#taken.add(keyId, -1);
  }
}
