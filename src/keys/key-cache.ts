/**
 * Caches keys for a few seconds, and separately which ones do not exist, so that made-up keys cannot evict real ones. The
 * database announces every change, so a revoked key is rejected on all nodes at once; the short lifetime covers a lost
 * announcement. While the database is unreachable, a cached key stays valid for a while: every operation that costs money
 * checks it again in its own transaction.
 */
import type { SQL } from 'bun';
import { GroupCommit } from '../lib/group-commit.ts';
import { within } from '../lib/within.ts';
import { ImportWatch } from './import-watch.ts';
import { type ApiKey, findKeysByHash, hasImportedKeys } from './key-store.ts';
import { LookupSlots } from './lookup-slots.ts';

type Known = Readonly<{ key: ApiKey; staleAtMs: number }>;

type Lane = GroupCommit<Buffer, ApiKey | null>;

type CacheSize = Readonly<{
  maxKnown: number;
  maxUnknown: number;
  slots: LookupSlots;
  /** One query that hangs must not hold up the lookups behind it. */
  lookupPatienceMs: number;
}>;

const lifeMs = 5_000;
const graceMs = 60_000;
/** How long a request with a key that is still valid waits for a newer reading: the hold may need the rest of its time. */
const refreshPatienceMs = 750;
const defaultSize = { maxKnown: 50_000, maxUnknown: 50_000, lookupPatienceMs: 3_000 };

/** Follows the announcements of the database that `listen` brings. */
export async function openKeyCache(
  sql: SQL,
  nowMs: () => number = Date.now,
  size: Partial<CacheSize> = {},
  listen: SQL['listen'] = sql.listen,
): Promise<KeyCache> {
  const cache = new KeyCache(sql, nowMs, { slots: new LookupSlots(), ...defaultSize, ...size });
  await cache.follow(listen);
  return cache;
}

export class KeyCache {
  readonly #nowMs: () => number;
  readonly #size: CacheSize;
  readonly #known = new Map<string, Known>();
  /** Until when each of them need not be looked up again. */
  readonly #unknown = new Map<string, number>();
  /** The lookups in flight, shared by all requests with the same key. */
  readonly #lookups = new Map<string, Promise<ApiKey | null>>();
  // Two connections at most, and known keys never wait behind ones that may be made up.
  readonly #refreshes: Lane;
  readonly #firstLookups: Lane;
  #subscription: Awaited<ReturnType<SQL['listen']>> | null = null;
  readonly #imports: ImportWatch;

  constructor(sql: SQL, nowMs: () => number, size: CacheSize) {
    const ask = (hashes: readonly Buffer[]) => within(size.lookupPatienceMs, findKeysByHash(sql, hashes));
    this.#nowMs = nowMs;
    this.#size = size;
    this.#refreshes = new GroupCommit(ask);
    this.#firstLookups = new GroupCommit(ask);
    this.#imports = new ImportWatch(() => within(size.lookupPatienceMs, hasImportedKeys(sql)), nowMs);
  }

  async follow(listen: SQL['listen']): Promise<void> {
    // Announcements are missed while the connection is down, so each new connection starts over.
    this.#subscription = await listen(
      'tollgate_keys',
      (announced) => this.#forget(announced),
      () => this.#forgetAll(),
    );
    await this.#imports.read();
  }

  readonly close = async (): Promise<void> => {
    await this.#subscription?.unlisten();
  };

  /** Without a query. Unless there are some, keys that are not of our form need not be looked up. */
  hasImportedKeys(): boolean {
    return this.#imports.found();
  }

  /** Without a query: null for a key that has to be looked up. */
  known(hash: Buffer): ApiKey | null {
    return this.#freshKey(hash.toString('hex'));
  }

  /** `clientAddress` is called only for a key that has not been seen yet; without it lookups are not limited. */
  async find(hash: Buffer, clientAddress?: () => string | null): Promise<ApiKey | null> {
    const name = hash.toString('hex');
    const fresh = this.#freshKey(name);
    if (fresh !== null) return fresh;
    const entry = this.#known.get(name);
    if (entry === undefined) return await this.#findFirst(name, hash, clientAddress);
    try {
      const refresh = this.#lookups.get(name) ?? this.#lookUp(name, hash, this.#refreshes);
      return await (this.#isInGrace(entry) ? within(refreshPatienceMs, refresh) : refresh);
    } catch (error) {
      if (this.#isInGrace(entry)) return entry.key;
      throw error;
    }
  }

  #freshKey(name: string): ApiKey | null {
    const entry = this.#known.get(name);
    return entry !== undefined && entry.staleAtMs > this.#nowMs() ? entry.key : null;
  }

  #isInGrace({ staleAtMs }: Known): boolean {
    return staleAtMs + graceMs > this.#nowMs();
  }

  async #findFirst(
    name: string,
    hash: Buffer,
    clientAddress: (() => string | null) | undefined,
  ): Promise<ApiKey | null> {
    if ((this.#unknown.get(name) ?? 0) > this.#nowMs()) return null;
    // Joining a lookup in flight costs the database nothing, and so needs no slot.
    const inFlight = this.#lookups.get(name);
    if (inFlight !== undefined) return await inFlight;
    const lookup = () => this.#lookUp(name, hash, this.#firstLookups);
    return await (clientAddress === undefined ? lookup() : this.#size.slots.within(clientAddress(), lookup));
  }

  async #lookUp(name: string, hash: Buffer, lane: Lane): Promise<ApiKey | null> {
    // The lifetime starts before the query, so a change during it is not hidden for longer than the limit.
    const staleAtMs = this.#nowMs() + lifeMs;
    const lookup = lane.submit(hash);
    this.#lookups.set(name, lookup);
    const isCurrent = () => this.#lookups.get(name) === lookup;
    try {
      const key = await lookup;
      if (isCurrent()) this.#remember(name, key, staleAtMs);
      return key;
    } finally {
      if (isCurrent()) this.#lookups.delete(name);
    }
  }

  #remember(name: string, key: ApiKey | null, staleAtMs: number): void {
    // Removed first, so that the maps stay in the order of the lookups and the first entry is the oldest.
    this.#known.delete(name);
    this.#unknown.delete(name);
    if (key === null) {
      this.#unknown.set(name, staleAtMs);
      removeOldest(this.#unknown, this.#size.maxUnknown);
    } else {
      this.#known.set(name, { key, staleAtMs });
      removeOldest(this.#known, this.#size.maxKnown);
    }
  }

  /** A lookup in flight is forgotten too: it may have read the row before the change. */
  #forget(announced: string): void {
    this.#imports.note();
    if (announced === '*') this.#forgetAll();
    this.#outdate(announced);
    this.#unknown.delete(announced);
    this.#lookups.delete(announced);
  }

  #forgetAll(): void {
    this.#imports.note();
    for (const name of this.#known.keys()) this.#outdate(name);
    this.#unknown.clear();
    this.#lookups.clear();
  }

  /** It has to be looked up again, but still counts as a known key. */
  #outdate(name: string): void {
    const entry = this.#known.get(name);
    if (entry) this.#known.set(name, { key: entry.key, staleAtMs: Number.NEGATIVE_INFINITY });
  }
}

function removeOldest(map: Map<string, unknown>, max: number): void {
  if (map.size <= max) return;
  const [oldest = ''] = map.keys();
  map.delete(oldest);
}
