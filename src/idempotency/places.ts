/** How many requests of one key this node lets wait for an answer, or has a stored one on the way to. */
import { ApiError } from '../errors.ts';

export class Places {
  readonly #most: number;
  readonly #taken = new Map<string, number>();

  constructor(most: number) {
    this.#most = most;
  }

  /** Returns what gives the place back, once. Throws when the key has none left. */
  take(keyId: string): () => void {
    const taken = this.#taken.get(keyId) ?? 0;
    if (taken >= this.#most)
      throw new ApiError('rate_limit_exceeded', {
        message:
          'Too many requests of this API key wait for answers to requests with the same Idempotency-Key.',
        retryAfterSeconds: 1,
      });
    this.#taken.set(keyId, taken + 1);
    return () => this.#giveBack(keyId);
  }

  #giveBack(keyId: string): void {
    const left = (this.#taken.get(keyId) ?? 0) - 1;
    if (left > 0) this.#taken.set(keyId, left);
    else this.#taken.delete(keyId);
  }
}
