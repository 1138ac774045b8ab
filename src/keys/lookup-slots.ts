/**
 * How many requests may wait for the lookup of a key that this node has not seen yet, in total and from one network. One
 * query at a time looks up all of their keys together, so even a flood of made-up keys is handled as it comes. Only when
 * the database cannot keep up are requests turned away.
 */
import { ApiError } from '../errors.ts';
import { networkOfClient } from '../lib/ip-address.ts';
import { Tally } from '../lib/tally.ts';

const retryAfterSeconds = 1;

export class LookupSlots {
  readonly #max: number;
  readonly #maxPerNetwork: number;
  #taken = 0;
  readonly #networks = new Tally();

  constructor(max = 512, maxPerNetwork = 128) {
    this.#max = max;
    this.#maxPerNetwork = maxPerNetwork;
  }

  /** Throws 503 server_overloaded, not 401: nobody knows whether the key is valid. */
  async within<Result>(clientAddress: string | null, run: () => Promise<Result>): Promise<Result> {
    const network = networkOfClient(clientAddress);
    if (this.#taken >= this.#max || this.#networks.of(network) >= this.#maxPerNetwork)
      throw new ApiError('server_overloaded', { retryAfterSeconds });
    this.#taken += 1;
    this.#networks.add(network, 1);
    try {
      return await run();
    } finally {
      this.#taken -= 1;
      this.#networks.add(network, -1);
    }
  }
}
