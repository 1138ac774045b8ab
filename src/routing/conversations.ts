/**
 * Which provider holds the cache of a conversation. A conversation that moves to another one pays for all of its input
 * again, so it stays where it was served last, for as long as its cache is likely to be there, and at most for an hour.
 * Each process remembers its own, and forgets what it has no room for, first of the account with the most: that costs
 * money, never correctness.
 */
import { createHmac } from 'node:crypto';
import { SharedRecentMap } from '../lib/shared-recent-map.ts';
import type { ProviderConnection } from './connections.ts';

/** What most caches promise after they were last read. */
const cacheLifeMs = 300_000;
/**
 * One that never pauses for as long as its cache lives would otherwise never return from a fallback. One full price of its
 * input in an hour is little.
 */
const maxStayMs = 3_600_000;
/** A few megabytes. */
const maxConversations = 20_000;

type Callable = Readonly<{ connection: ProviderConnection }>;

/** `sinceMs` is when it came to that provider. */
type Served = Readonly<{ providerId: string; sinceMs: number; atMs: number }>;

export class Conversations {
  readonly #key: Buffer;
  readonly #nowMs: () => number;
  readonly #served = new SharedRecentMap<Served>(maxConversations);

  /** `key` keeps what is sent to providers from being guessed, and so from being chosen, by another account. */
  constructor(key: Buffer, nowMs: () => number = () => performance.now()) {
    this.#key = key;
    this.#nowMs = nowMs;
  }

  get size(): number {
    return this.#served.size;
  }

  /**
   * The conversation that a request of an account continues. `beginning` is what all its requests have in common; null when
   * no further one is expected. Null when nothing depends on it.
   */
  of(
    accountId: string,
    model: string,
    beginning: (() => string) | null,
    candidates: readonly Callable[],
  ): Conversation | null {
    if (beginning === null) return null;
    const isUsed = candidates.length > 1 || candidates.some(takesCacheKey);
    if (!isUsed) return null;
    const key = createHmac('sha256', this.#key)
      .update(JSON.stringify([accountId, model]))
      .update(beginning())
      .digest('base64url');
    return new Conversation(key, accountId, this.#served, this.#nowMs);
  }
}

function takesCacheKey({ connection }: Callable): boolean {
  return connection.provider.dialect.cacheKey !== 'none';
}

/** As one request sees it. */
export class Conversation {
  /** Names it to providers, and says nothing else about it. */
  readonly key: string;
  readonly #accountId: string;
  readonly #served: SharedRecentMap<Served>;
  readonly #nowMs: () => number;
  /** Where this request is to stay; null when it goes where new ones go. */
  #stay: Served | null = null;

  constructor(key: string, accountId: string, served: SharedRecentMap<Served>, nowMs: () => number) {
    this.key = key;
    this.#accountId = accountId;
    this.#served = served;
    this.#nowMs = nowMs;
  }

  /** The provider that is likely to hold its cache comes first; the others keep their order. */
  inOrder<Choice extends Callable>(candidates: readonly Choice[]): readonly Choice[] {
    const served = this.#served.get(this.#accountId, this.key);
    if (served === undefined || isOver(served, this.#nowMs())) return candidates;
    this.#stay = served;
    const holder = candidates.find(({ connection }) => connection.provider.id === served.providerId);
    if (holder === undefined || holder === candidates[0]) return candidates;
    return [holder, ...candidates.filter((candidate) => candidate !== holder)];
  }

  servedBy({ connection }: Callable): void {
    const { id: providerId } = connection.provider;
    const atMs = this.#nowMs();
    // A stay that ended while this request was under way has ended: otherwise it would begin again each time.
    const sinceMs = this.#stay?.providerId === providerId ? this.#stay.sinceMs : atMs;
    this.#served.set(this.#accountId, this.key, { providerId, sinceMs, atMs });
  }
}

function isOver({ sinceMs, atMs }: Served, nowMs: number): boolean {
  return nowMs - atMs >= cacheLifeMs || nowMs - sinceMs >= maxStayMs;
}
