/**
 * Keeps keys in memory for a few seconds, the unknown ones too. The database announces every change, so a revoked key
 * is refused on all nodes at once; the short life covers a lost announcement.
 */
import type { SQL } from 'bun';
import { type ApiKey, findKeyByHash } from './key-store.ts';

type Entry = Readonly<{ key: ApiKey | null; staleAtMs: number }>;

export type KeyCache = Readonly<{
  find: (hash: Buffer) => Promise<ApiKey | null>;
  close: () => Promise<void>;
}>;

const lifeMs = 5_000;
const mostEntries = 50_000;

export async function openKeyCache(sql: SQL, nowMs: () => number = Date.now): Promise<KeyCache> {
  const entries = new Map<string, Entry>();
  // Whatever was announced while the connection was away is unknown, so each new connection starts empty.
  const subscription = await sql.listen('tollgate_keys', forget, () => entries.clear());

  function forget(announced: string): void {
    if (announced === '*') entries.clear();
    else entries.delete(announced);
  }

  async function find(hash: Buffer): Promise<ApiKey | null> {
    const name = hash.toString('hex');
    const known = entries.get(name);
    if (known && known.staleAtMs > nowMs()) return known.key;
    // The life is counted from before the question, so a change during it is not hidden for longer than the limit.
    const staleAtMs = nowMs() + lifeMs;
    const key = await findKeyByHash(sql, hash);
    if (entries.size >= mostEntries) entries.clear();
    entries.set(name, { key, staleAtMs });
    return key;
  }

  return { find, close: () => subscription.unlisten() };
}
