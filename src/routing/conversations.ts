/**
 * Which provider holds the cache of a conversation. A conversation that moves to another one pays for all of its input
 * again, so it stays where it was served last, for as long as its cache is likely to be there. Each process remembers its
 * own, and forgets what it has no room for: that costs money, never correctness.
 */
import { createHmac } from 'node:crypto';
import { RecentMap } from '../lib/recent-map.ts';
import type { ProviderConnection } from './connections.ts';

/** What most caches promise after they were last read. */
const cacheLifeMs = 300_000;
/** A few megabytes. */
const maxConversations = 20_000;

type Callable = Readonly<{ connection: ProviderConnection }>;

type Served = Readonly<{ providerId: string; atMs: number }>;

export class Conversations {
  readonly #key: Buffer;
  readonly #nowMs: () => number;
  readonly #served = new RecentMap<Served>(maxConversations);

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
    return new Conversation(key, this.#served, this.#nowMs);
  }
}

function takesCacheKey({ connection }: Callable): boolean {
  return connection.provider.dialect.cacheKey !== 'none';
}

export class Conversation {
  /** Names it to providers, and says nothing else about it. */
  readonly key: string;
  readonly #served: RecentMap<Served>;
  readonly #nowMs: () => number;

  constructor(key: string, served: RecentMap<Served>, nowMs: () => number) {
    this.key = key;
    this.#served = served;
    this.#nowMs = nowMs;
  }

  /** The provider that is likely to hold its cache comes first; the others keep their order. */
  inOrder<Choice extends Callable>(candidates: readonly Choice[]): readonly Choice[] {
    const served = this.#served.get(this.key);
    if (served === undefined || this.#nowMs() - served.atMs >= cacheLifeMs) return candidates;
    const holder = candidates.find(({ connection }) => connection.provider.id === served.providerId);
    if (holder === undefined || holder === candidates[0]) return candidates;
    return [holder, ...candidates.filter((candidate) => candidate !== holder)];
  }

  servedBy({ connection }: Callable): void {
    this.#served.set(this.key, { providerId: connection.provider.id, atMs: this.#nowMs() });
  }
}
