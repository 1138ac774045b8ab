/**
 * Caches keys for a few seconds, and separately which ones do not exist, so that made-up keys cannot evict real ones. The
 * database announces every change, so a revoked key is rejected on all nodes at once; the short life covers a lost
 * announcement. While the database is unreachable, a cached key stays valid for a while: whatever costs money checks it
 * again in its own transaction.
 */
import type { SQL } from 'bun';
import { GroupCommit } from '../lib/group-commit.ts';
import { within } from '../lib/within.ts';
import { type ApiKey, findKeysByHash } from './key-store.ts';
import { LookupSlots } from './lookup-slots.ts';

type Known = Readonly<{ key: ApiKey; staleAtMs: number }>;

export type KeyCache = Readonly<{
  /** Without a query: null for a key that has to be looked up. */
  known: (hash: Buffer) => ApiKey | null;
  /** `clientAddress` is called only for a key that has not been seen yet; without it lookups are not limited. */
  find: (hash: Buffer, clientAddress?: () => string | null) => Promise<ApiKey | null>;
  close: () => Promise<void>;
}>;

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

export async function openKeyCache(
  sql: SQL,
  nowMs: () => number = Date.now,
  size: Partial<CacheSize> = {},
  listen: SQL['listen'] = sql.listen,
): Promise<KeyCache> {
  const { maxKnown, maxUnknown, slots = new LookupSlots(), lookupPatienceMs } = { ...defaultSize, ...size };
  const known = new Map<string, Known>();
  /** Until when each of them need not be looked up again. */
  const unknown = new Map<string, number>();
  /** The lookups in flight, shared by all requests with the same key. */
  const lookups = new Map<string, Promise<ApiKey | null>>();
  // Two connections at most, and known keys never wait behind ones that may be made up.
  const ask = (hashes: readonly Buffer[]) => within(lookupPatienceMs, findKeysByHash(sql, hashes));
  const refreshes = new GroupCommit(ask);
  const firstLookups = new GroupCommit(ask);
  // Announcements are missed while the connection is down, so each new connection starts over.
  const subscription = await listen('tollgate_keys', forget, forgetAll);

  /** A lookup in flight is forgotten too: it may have read the row before the change. */
  function forget(announced: string): void {
    if (announced === '*') forgetAll();
    outdate(announced);
    unknown.delete(announced);
    lookups.delete(announced);
  }

  function forgetAll(): void {
    for (const name of known.keys()) outdate(name);
    unknown.clear();
    lookups.clear();
  }

  /** It has to be looked up again, but still counts as a known key. */
  function outdate(name: string): void {
    const entry = known.get(name);
    if (entry) known.set(name, { key: entry.key, staleAtMs: Number.NEGATIVE_INFINITY });
  }

  function freshKey(name: string): ApiKey | null {
    const entry = known.get(name);
    return entry !== undefined && entry.staleAtMs > nowMs() ? entry.key : null;
  }

  const isInGrace = (entry: Known) => entry.staleAtMs + graceMs > nowMs();

  async function find(hash: Buffer, clientAddress?: () => string | null): Promise<ApiKey | null> {
    const name = hash.toString('hex');
    const fresh = freshKey(name);
    if (fresh !== null) return fresh;
    const entry = known.get(name);
    if (entry === undefined) return await findFirst(name, hash, clientAddress);
    try {
      const refresh = lookups.get(name) ?? lookUp(name, hash, refreshes);
      return await (isInGrace(entry) ? within(refreshPatienceMs, refresh) : refresh);
    } catch (error) {
      if (isInGrace(entry)) return entry.key;
      throw error;
    }
  }

  async function findFirst(
    name: string,
    hash: Buffer,
    clientAddress: (() => string | null) | undefined,
  ): Promise<ApiKey | null> {
    if ((unknown.get(name) ?? 0) > nowMs()) return null;
    // Joining a lookup in flight costs the database nothing, and so needs no slot.
    const inFlight = lookups.get(name);
    if (inFlight !== undefined) return await inFlight;
    const lookup = () => lookUp(name, hash, firstLookups);
    return await (clientAddress === undefined ? lookup() : slots.within(clientAddress(), lookup));
  }

  async function lookUp(
    name: string,
    hash: Buffer,
    lane: GroupCommit<Buffer, ApiKey | null>,
  ): Promise<ApiKey | null> {
    // The lifetime starts before the query, so a change during it is not hidden for longer than the limit.
    const staleAtMs = nowMs() + lifeMs;
    const lookup = lane.submit(hash);
    lookups.set(name, lookup);
    const isCurrent = () => lookups.get(name) === lookup;
    try {
      const key = await lookup;
      if (isCurrent()) remember(name, key, staleAtMs);
      return key;
    } finally {
      if (isCurrent()) lookups.delete(name);
    }
  }

  function remember(name: string, key: ApiKey | null, staleAtMs: number): void {
    // Removed first, so that the maps stay in the order of the lookups and the first entry is the oldest.
    known.delete(name);
    unknown.delete(name);
    if (key === null) {
      unknown.set(name, staleAtMs);
      removeOldest(unknown, maxUnknown);
    } else {
      known.set(name, { key, staleAtMs });
      removeOldest(known, maxKnown);
    }
  }

  return {
    known: (hash) => freshKey(hash.toString('hex')),
    find,
    close: () => subscription.unlisten(),
  };
}

function removeOldest(map: Map<string, unknown>, max: number): void {
  if (map.size <= max) return;
  const [oldest = ''] = map.keys();
  map.delete(oldest);
}
