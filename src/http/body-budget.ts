/**
 * How many bytes of request bodies this node holds at a time, in total and per account. Room is taken as a body arrives,
 * so that a slow one occupies no more than it has sent, and given back when its response begins.
 */
import { ApiError } from '../errors.ts';
import { Tally } from '../lib/tally.ts';

/** A body of this size costs no more than its connection, so it is not counted. */
export const freeBodyBytes = 65_536;

/** The share of the total that one account can take. */
const accountShare = 1 / 4;
const retryAfterSeconds = 2;

export class BodyBudget {
  readonly #maxBytes: number;
  readonly #maxAccountBytes: number;
  #takenBytes = 0;
  readonly #accounts = new Tally();
  readonly #rooms = new WeakMap<Request, BodyRoom>();

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
    this.#maxAccountBytes = maxBytes * accountShare;
  }

  get takenBytes(): number {
    return this.#takenBytes;
  }

  /** The room of one request, empty at first. `release` gives it back. */
  roomFor(request: Request, accountId: string): BodyRoom {
    const room = new BodyRoom(
      (bytes) => this.#check(accountId, bytes),
      (bytes) => this.#take(accountId, bytes),
    );
    this.#rooms.set(request, room);
    return room;
  }

  /** Gives back what was taken for a request, if anything was. */
  release(request: Request): void {
    this.#rooms.get(request)?.close();
    this.#rooms.delete(request);
  }

  #check(accountId: string, bytes: number): void {
    if (this.#accounts.of(accountId) + bytes > this.#maxAccountBytes)
      throw overloaded(
        'Your account has too many large requests in progress. Wait until some of them have finished.',
      );
    if (this.#takenBytes + bytes > this.#maxBytes)
      throw overloaded('The gateway has too many large requests in progress. Try again in a moment.');
  }

  /** Gives back when `bytes` is negative. */
  #take(accountId: string, bytes: number): void {
    this.#takenBytes += bytes;
    this.#accounts.add(accountId, bytes);
  }
}

/** The room taken for one body. */
class BodyRoom {
  readonly freeBytes = freeBodyBytes;
  readonly #check: (bytes: number) => void;
  readonly #take: (bytes: number) => void;
  #bytes = 0;
  #isClosed = false;

  constructor(check: (bytes: number) => void, take: (bytes: number) => void) {
    this.#check = check;
    this.#take = take;
  }

  /** Throws 503 server_overloaded when there is not enough room at the moment. */
  checkGrowthTo(bytes: number): void {
    if (!this.#isClosed && bytes > this.#bytes) this.#check(bytes - this.#bytes);
  }

  /** Takes more room. If there is none, the body is rejected and its room given back at once, for bodies still growing. */
  growTo(bytes: number): void {
    if (this.#isClosed || bytes <= this.#bytes) return;
    try {
      this.#check(bytes - this.#bytes);
    } catch (error) {
      this.close();
      throw error;
    }
    this.#take(bytes - this.#bytes);
    this.#bytes = bytes;
  }

  close(): void {
    this.#isClosed = true;
    this.#take(-this.#bytes);
    this.#bytes = 0;
  }
}

function overloaded(message: string): ApiError {
  return new ApiError('server_overloaded', { message, retryAfterSeconds });
}
