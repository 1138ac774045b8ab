/**
 * Keeps keys in memory for a few seconds, the unknown ones too. The database announces every change, so a revoked key
 * is refused on all nodes at once; the short life covers a lost announcement. While the database is away, a key that was
 * known goes on being known for a while: whatever costs money checks it again in its own transaction.
 */
import type { SQL } from 'bun';
import { type ApiKey, findKeyByHash } from './key-store.ts';

type Entry = Readonly<{ key: ApiKey | null; staleAtMs: number }>;

export type KeyCache = Readonly<{
  find: (hash: Buffer) => Promise<ApiKey | null>;
  close: () => Promise<void>;
}>;

const lifeMs = 5_000;
const graceMs = 60_000;

export async function openKeyCache(
  sql: SQL,
  nowMs: () => number = Date.now,
  mostEntries = 50_000,
): Promise<KeyCache> {
  const entries = new Map<string, Entry>();
  /** The questions under way, shared by everyone who asks the same. */
  const lookups = new Map<string, Promise<ApiKey | null>>();
  // Whatever was announced while the connection was away is unknown, so each new connection starts empty.
  const subscription = await sql.listen('tollgate_keys', forget, forgetAll);

  /** A lookup under way is forgotten too: it may have read the row before the change. */
  function forget(announced: string): void {
    if (announced === '*') forgetAll();
    entries.delete(announced);
    lookups.delete(announced);
  }

  function forgetAll(): void {
    entries.clear();
    lookups.clear();
  }

  async function find(hash: Buffer): Promise<ApiKey | null> {
    const name = hash.toString('hex');
    const known = entries.get(name);
    if (known && known.staleAtMs > nowMs()) return known.key;
    try {
      return await (lookups.get(name) ?? ask(name, hash));
    } catch (error) {
      if (known && known.staleAtMs + graceMs > nowMs()) return known.key;
      throw error;
    }
  }

  async function ask(name: string, hash: Buffer): Promise<ApiKey | null> {
    // The life is counted from before the question, so a change during it is not hidden for longer than the limit.
    const staleAtMs = nowMs() + lifeMs;
    const lookup = findKeyByHash(sql, hash);
    lookups.set(name, lookup);
    const isStillGood = () => lookups.get(name) === lookup;
    try {
      const key = await lookup;
      if (isStillGood()) keep(name, { key, staleAtMs });
      return key;
    } finally {
      if (isStillGood()) lookups.delete(name);
    }
  }

  function keep(name: string, entry: Entry): void {
    // Removed first, so that the map stays in the order of the lookups and its first entry is the oldest.
    entries.delete(name);
    entries.set(name, entry);
    if (entries.size <= mostEntries) return;
    const [oldest = ''] = entries.keys();
    entries.delete(oldest);
  }

  return { find, close: () => subscription.unlisten() };
}
