/**
 * Limits how many requests are refused: those of one API key, and those without a valid key from one network. Reading and
 * checking a request takes time even if it is refused in the end, and no other limit counts it. Each node counts for
 * itself, in memory of fixed size; whoever is forgotten starts anew.
 */
import { ApiError, type ErrorCode } from '../errors.ts';
import { networkOfClient } from '../lib/ip-address.ts';
import { minuteMs, rateAt } from '../lib/rate-limit.ts';
import { RecentMap } from '../lib/recent-map.ts';
import type { ApiKey } from './key-store.ts';

/** A key may have as many refused as it may send, if that is more. */
const refusedPerMinute = 600;
const maxSubjects = 10_000;
const retryAfterSeconds = 1;

type Refused = Readonly<{ arrivalMs: number; code: ErrorCode }>;
type Caller = Pick<ApiKey, 'id' | 'requestsPerMinute'>;

export class Refusals {
  readonly #nowMs: () => number;
  readonly #keys = new RecentMap<Refused>(maxSubjects);
  readonly #networks = new RecentMap<Refused>(maxSubjects);

  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  /** Throws 429 rate_limit_exceeded for a key whose requests keep being refused. Comes before its body is read. */
  checkKey(key: Caller): void {
    const refused = this.#keys.get(key.id);
    if (refused === undefined || !this.#isExhausted(refused, limitOf(key))) return;
    throw new ApiError('rate_limit_exceeded', {
      message:
        `More than ${limitOf(key)} requests of this API key were refused within a minute, ` +
        `the last one with ${refused.code}. Correct them first: until fewer are refused, all of them have to wait.`,
      docs: 'keys#refused-requests',
      retryAfterSeconds,
    });
  }

  countKey(key: Caller, code: ErrorCode): void {
    this.#count(this.#keys, key.id, limitOf(key), code);
  }

  /**
   * The error for a request without a valid key: `error` itself, or 429 rate_limit_exceeded. A valid key from the same
   * network never comes here, so nobody can be locked out by a neighbour.
   */
  ofNetwork(clientAddress: string | null, error: ApiError): ApiError {
    const network = networkOfClient(clientAddress);
    const refused = this.#networks.get(network);
    if (refused === undefined || !this.#isExhausted(refused, refusedPerMinute)) {
      this.#count(this.#networks, network, refusedPerMinute, error.code);
      return error;
    }
    return new ApiError('rate_limit_exceeded', {
      message: `${error.message} A network may send ${refusedPerMinute} requests a minute without a valid key.`,
      docs: 'keys#refused-requests',
      retryAfterSeconds,
    });
  }

  #isExhausted({ arrivalMs }: Refused, perMinute: number): boolean {
    return rateAt(perMinute, arrivalMs, this.#nowMs()).remaining === 0;
  }

  #count(table: RecentMap<Refused>, subject: string, perMinute: number, code: ErrorCode): void {
    const nowMs = this.#nowMs();
    const arrivalMs = Math.max(nowMs, table.get(subject)?.arrivalMs ?? 0) + minuteMs / perMinute;
    // Those that were being read when the limit was reached do not add to the wait.
    table.set(subject, { arrivalMs: Math.min(arrivalMs, nowMs + minuteMs), code });
  }
}

function limitOf({ requestsPerMinute }: Caller): number {
  return Math.max(refusedPerMinute, requestsPerMinute);
}
