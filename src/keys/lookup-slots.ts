/**
 * How many requests may wait for the lookup of a key that this node has not seen yet, in all and from one network. They
 * wait for one question to the database at a time, which asks for all of their keys together, so even a flood of invented
 * keys is answered as it comes. Only when the database cannot keep up are there too many, and then they are told so.
 */
import { ApiError } from '../errors.ts';
import { clientNetworkOf, parseAddress } from '../lib/ip-address.ts';
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

  /** Throws 503 server_overloaded, and not 401: nobody knows whether the key is good. */
  async within<Result>(clientAddress: string | null, run: () => Promise<Result>): Promise<Result> {
    const network = networkOf(clientAddress);
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

/** Clients whose address is not known share one. */
function networkOf(clientAddress: string | null): string {
  const address = clientAddress === null ? null : parseAddress(clientAddress);
  return address === null ? '' : clientNetworkOf(address);
}
