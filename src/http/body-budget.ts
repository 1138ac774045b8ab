/**
 * How many bytes of request bodies this node takes in at a time, in all and from one account. Room is taken
 * as a body comes, so that a slow one keeps no more than it has sent, and given back when its response begins.
 */
import { ApiError } from '../errors.ts';

/** A body of this size costs no more than the connection that brings it, so no account is kept of it. */
export const freeBodyBytes = 65_536;

/** What one account gets of the whole. */
const accountShare = 1 / 4;
const retryAfterSeconds = 2;

export class BodyBudget {
  readonly #mostBytes: number;
  readonly #mostOfAccountBytes: number;
  #takenBytes = 0;
  /** Those that have taken something; whoever has given all of it back is forgotten. */
  readonly #accounts = new Map<string, number>();
  readonly #rooms = new WeakMap<Request, BodyRoom>();

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
    this.#mostOfAccountBytes = mostBytes * accountShare;
  }

  get takenBytes(): number {
    return this.#takenBytes;
  }

  /** The room of one request, which is empty at first. It is given back with `release`. */
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
    if ((this.#accounts.get(accountId) ?? 0) + bytes > this.#mostOfAccountBytes)
      throw overloaded(
        'Your account has too many large requests under way. Wait until some have been answered.',
      );
    if (this.#takenBytes + bytes > this.#mostBytes)
      throw overloaded('The gateway has too many large requests under way. Try again in a moment.');
  }

  /** Gives back when `bytes` is negative. */
  #take(accountId: string, bytes: number): void {
    const ofAccountBytes = (this.#accounts.get(accountId) ?? 0) + bytes;
    this.#takenBytes += bytes;
    if (ofAccountBytes > 0) this.#accounts.set(accountId, ofAccountBytes);
    else this.#accounts.delete(accountId);
  }
}

/** What has been taken for one body. */
export class BodyRoom {
  readonly freeBytes = freeBodyBytes;
  readonly #check: (bytes: number) => void;
  readonly #take: (bytes: number) => void;
  #bytes = 0;
  #isClosed = false;

  constructor(check: (bytes: number) => void, take: (bytes: number) => void) {
    this.#check = check;
    this.#take = take;
  }

  /** Throws 503 server_overloaded when it could not be made so large now. */
  checkGrowthTo(bytes: number): void {
    if (!this.#isClosed && bytes > this.#bytes) this.#check(bytes - this.#bytes);
  }

  /** Makes it so large. What does not fit is refused and closes it at once, for the good of bodies that grow beside it. */
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
