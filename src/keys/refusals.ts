/**
 * Limits how many requests are refused: those of one API key, and those without a valid key from one network. Reading and
 * checking a request takes time even if it is refused in the end, and no other limit counts it. Each node counts for
 * itself, in memory of fixed size; whoever is forgotten starts anew.
 */
import { ApiError, type ErrorCode } from '../errors.ts';
import { networkOfClient } from '../lib/ip-address.ts';
import { rateAt } from '../lib/rate-limit.ts';
import { RecentMap } from '../lib/recent-map.ts';
import { minuteMs } from '../lib/time-units.ts';
import type { ApiKey } from './key-store.ts';

/** Ten times what a key may send by default: tests of a client's errors stay below. A higher rate allows for more. */
const refusedPerMinute = 6_000;
/** A refused body counts once more per this many bytes, because reading and checking it takes that much longer. */
const weighedBytes = 16_384;
const maxSubjects = 10_000;

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
    const waitMs = this.#waitMs(refused, limitOf(key));
    if (refused === undefined || waitMs === 0) return;
    throw new ApiError('rate_limit_exceeded', {
      message:
        `Too many requests of this API key were refused within a minute, the last one with ${refused.code}. ` +
        'Correct them first: until fewer are refused, all of them have to wait.',
      docs: 'keys#refused-requests',
      retryAfterSeconds: Math.ceil(waitMs / 1_000),
    });
  }

  countKey(key: Caller, code: ErrorCode, bodyBytes: number): void {
    this.#count(this.#keys, key.id, limitOf(key), code, 1 + Math.floor(bodyBytes / weighedBytes));
  }

  /**
   * The error for a request without a valid key: `error` itself, or 429 rate_limit_exceeded. A valid key from the same
   * network never comes here, so nobody can be locked out by a neighbour.
   */
  ofNetwork(clientAddress: string | null, error: ApiError): ApiError {
    const network = networkOfClient(clientAddress);
    const refused = this.#networks.get(network);
    const waitMs = this.#waitMs(refused, refusedPerMinute);
    if (waitMs === 0) {
      this.#count(this.#networks, network, refusedPerMinute, error.code, 1);
      return error;
    }
    return new ApiError('rate_limit_exceeded', {
      message: `${error.message} A network may send ${refusedPerMinute} requests a minute without a valid key.`,
      docs: 'keys#refused-requests',
      retryAfterSeconds: Math.ceil(waitMs / 1_000),
    });
  }

  /** How long the next request has to wait; 0 when it need not. */
  #waitMs(refused: Refused | undefined, perMinute: number): number {
    if (refused === undefined) return 0;
    const { remaining, resetMs } = rateAt(perMinute, refused.arrivalMs, this.#nowMs());
    return remaining > 0 ? 0 : resetMs - minuteMs + minuteMs / perMinute;
  }

  #count(
    table: RecentMap<Refused>,
    subject: string,
    perMinute: number,
    code: ErrorCode,
    weight: number,
  ): void {
    const nowMs = this.#nowMs();
    const weightMs = (weight * minuteMs) / perMinute;
    const arrivalMs = Math.max(nowMs, table.get(subject)?.arrivalMs ?? 0) + weightMs;
    // Those that were being read when the limit was reached do not add to the wait.
    table.set(subject, { arrivalMs: Math.min(arrivalMs, nowMs + minuteMs + weightMs), code });
  }
}

function limitOf({ requestsPerMinute }: Caller): number {
  return Math.max(refusedPerMinute, requestsPerMinute);
}
