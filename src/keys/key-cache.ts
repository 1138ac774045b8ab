/**
 * Keeps keys in memory for a few seconds, and apart from them which ones do not exist: invented keys cannot push out real
 * ones. The database announces every change, so a revoked key is refused on all nodes at once; the short life covers a
 * lost announcement. While the database is away, a key that was known goes on being known for a while: whatever costs
 * money checks it again in its own transaction.
 */
import type { SQL } from 'bun';
import { GroupCommit } from '../lib/group-commit.ts';
import { type ApiKey, findKeysByHash } from './key-store.ts';
import { LookupSlots } from './lookup-slots.ts';

type Known = Readonly<{ key: ApiKey; staleAtMs: number }>;

export type KeyCache = Readonly<{
  /** Without a query: null for a key that has to be looked up. */
  known: (hash: Buffer) => ApiKey | null;
  /** `clientAddress` is asked for only when the key has not been seen yet; without it nobody is kept from asking. */
  find: (hash: Buffer, clientAddress?: () => string | null) => Promise<ApiKey | null>;
  close: () => Promise<void>;
}>;

type CacheSize = Readonly<{ maxKnown: number; maxUnknown: number; slots: LookupSlots }>;

const lifeMs = 5_000;
const graceMs = 60_000;
const defaultSize = { maxKnown: 50_000, maxUnknown: 50_000 };

export async function openKeyCache(
  sql: SQL,
  nowMs: () => number = Date.now,
  size: Partial<CacheSize> = {},
): Promise<KeyCache> {
  const { maxKnown, maxUnknown, slots = new LookupSlots() } = { ...defaultSize, ...size };
  const known = new Map<string, Known>();
  /** Until when each of them need not be asked for again. */
  const unknown = new Map<string, number>();
  /** The questions under way, shared by everyone who asks the same. */
  const lookups = new Map<string, Promise<ApiKey | null>>();
  // Two connections at most, and customers never wait behind keys that may be invented.
  const ask = (hashes: readonly Buffer[]) => findKeysByHash(sql, hashes);
  const refreshes = new GroupCommit(ask);
  const firstLookups = new GroupCommit(ask);
  // Whatever was announced while the connection was away is unknown, so each new connection starts anew.
  const subscription = await sql.listen('tollgate_keys', forget, forgetAll);

  /** A lookup under way is forgotten too: it may have read the row before the change. */
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

  /** It is asked for again before it is believed, but among the keys that exist. */
  function outdate(name: string): void {
    const entry = known.get(name);
    if (entry) known.set(name, { key: entry.key, staleAtMs: Number.NEGATIVE_INFINITY });
  }

  function knownKey(hash: Buffer): ApiKey | null {
    const entry = known.get(hash.toString('hex'));
    return entry !== undefined && entry.staleAtMs > nowMs() ? entry.key : null;
  }

  async function find(hash: Buffer, clientAddress?: () => string | null): Promise<ApiKey | null> {
    const name = hash.toString('hex');
    const entry = known.get(name);
    if (entry === undefined) return await findFirst(name, hash, clientAddress);
    if (entry.staleAtMs > nowMs()) return entry.key;
    try {
      return await (lookups.get(name) ?? lookUp(name, hash, refreshes));
    } catch (error) {
      if (entry.staleAtMs + graceMs > nowMs()) return entry.key;
      throw error;
    }
  }

  async function findFirst(
    name: string,
    hash: Buffer,
    clientAddress: (() => string | null) | undefined,
  ): Promise<ApiKey | null> {
    if ((unknown.get(name) ?? 0) > nowMs()) return null;
    // Whoever asks what is being asked already costs the database nothing, and so needs no place.
    const underWay = lookups.get(name);
    if (underWay !== undefined) return await underWay;
    const asked = () => lookUp(name, hash, firstLookups);
    return await (clientAddress === undefined ? asked() : slots.within(clientAddress(), asked));
  }

  async function lookUp(
    name: string,
    hash: Buffer,
    lane: GroupCommit<Buffer, ApiKey | null>,
  ): Promise<ApiKey | null> {
    // The life is counted from before the question, so a change during it is not hidden for longer than the limit.
    const staleAtMs = nowMs() + lifeMs;
    const lookup = lane.submit(hash);
    lookups.set(name, lookup);
    const isStillGood = () => lookups.get(name) === lookup;
    try {
      const key = await lookup;
      if (isStillGood()) remember(name, key, staleAtMs);
      return key;
    } finally {
      if (isStillGood()) lookups.delete(name);
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

  return { known: knownKey, find, close: () => subscription.unlisten() };
}

function removeOldest(map: Map<string, unknown>, most: number): void {
  if (map.size <= most) return;
  const [oldest = ''] = map.keys();
  map.delete(oldest);
}
