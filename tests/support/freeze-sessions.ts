import type { SQL } from 'bun';
import { within } from '../../src/lib/within.ts';

/**
 * Stops sessions of PostgreSQL by their process IDs, at a moment when none of them is at work: one that stops at work may hold a
 * lock that the whole server needs, and with it all other tests.
 */
export async function freezeSessions(sql: SQL, ids: readonly number[]): Promise<void> {
  for (;;) {
    for (const id of ids) process.kill(id, 'SIGSTOP');
    if (await areIdle(sql, ids)) return;
    for (const id of ids) process.kill(id, 'SIGCONT');
  }
}

async function areIdle(sql: SQL, ids: readonly number[]): Promise<boolean> {
  const looking = sql<{ pid: number }[]>`
    select pid from pg_stat_activity where state = 'idle' and wait_event = 'ClientRead'`;
  const idle = await within(1_000, looking).catch(() => []);
  return ids.every((id) => idle.some(({ pid }) => pid === id));
}
