/** How many requests of one key may wait on this node for a response, or be sent a stored one. */
import { ApiError } from '../errors.ts';
import { Tally } from '../lib/tally.ts';

export class KeySlots {
  readonly #max: number;
  readonly #taken = new Tally();

  constructor(max: number) {
    this.#max = max;
  }

  /** Returns a function that gives the slot back. Throws when the key has none left. */
  take(keyId: string): () => void {
    if (this.#taken.of(keyId) >= this.#max)
      throw new ApiError('rate_limit_exceeded', {
        message:
          'Too many requests of this API key are waiting for earlier ones with the same Idempotency-Key.',
        retryAfterSeconds: 1,
      });
    this.#taken.add(keyId, 1);
    return () => this.#taken.add(keyId, -1);
  }
}
