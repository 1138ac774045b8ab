/**
 * How many requests may wait for the lookup of a key that this node has not seen yet, in all and from one network. They
 * wait for one question to the database at a time, which asks for all of their keys together, so even a flood of invented
 * keys is answered as it comes. Only when the database cannot keep up are there too many, and then they are told so.
 */
import { ApiError } from '../errors.ts';
import { clientNetworkOf, parseAddress } from '../lib/ip-address.ts';

const retryAfterSeconds = 1;

export class LookupPlaces {
  readonly #most: number;
  readonly #mostOfNetwork: number;
  #taken = 0;
  /** Those with someone waiting; the others are forgotten. */
  readonly #networks = new Map<string, number>();

  constructor(most = 512, mostOfNetwork = 128) {
    this.#most = most;
    this.#mostOfNetwork = mostOfNetwork;
  }

  /** Throws 503 server_overloaded, and not 401: nobody knows whether the key is good. */
  async within<Result>(clientAddress: string | null, run: () => Promise<Result>): Promise<Result> {
    const network = networkOf(clientAddress);
    const ofNetwork = this.#networks.get(network) ?? 0;
    if (this.#taken >= this.#most || ofNetwork >= this.#mostOfNetwork)
      throw new ApiError('server_overloaded', { retryAfterSeconds });
    this.#taken += 1;
    this.#networks.set(network, ofNetwork + 1);
    try {
      return await run();
    } finally {
      this.#taken -= 1;
      this.#leave(network);
    }
  }

  #leave(network: string): void {
    const left = (this.#networks.get(network) ?? 0) - 1;
    if (left > 0) this.#networks.set(network, left);
    else this.#networks.delete(network);
  }
}

/** Clients whose address is not known share one. */
function networkOf(clientAddress: string | null): string {
  const address = clientAddress === null ? null : parseAddress(clientAddress);
  return address === null ? '' : clientNetworkOf(address);
}
