import type { SQL } from 'bun';
import { within } from '../../src/lib/within.ts';

/**
 * Stops sessions of PostgreSQL, at a moment when none of them is at work: one that stops at work may hold a lock that the whole
 * server needs, and with it all other tests. They are looked for anew each time: some may have ended.
 */
export async function freezeSessions<Session extends Readonly<{ pid: number }>>(
  sql: SQL,
  find: () => Promise<readonly Session[]>,
): Promise<readonly Session[]> {
  for (;;) {
    const sessions = await find();
    const ids = sessions.map(({ pid }) => pid);
    for (const id of ids) signal(id, 'SIGSTOP');
    if (await areIdle(sql, ids)) return sessions;
    for (const id of ids) signal(id, 'SIGCONT');
  }
}

function signal(id: number, name: 'SIGSTOP' | 'SIGCONT'): void {
  try {
    process.kill(id, name);
  } catch (error) {
    if ((error as { code?: string }).code !== 'ESRCH') throw error;
  }
}

async function areIdle(sql: SQL, ids: readonly number[]): Promise<boolean> {
  const looking = sql<{ pid: number }[]>`
    select pid from pg_stat_activity where state = 'idle' and wait_event = 'ClientRead'`;
  const idle = await within(1_000, looking).catch(() => []);
  return ids.every((id) => idle.some(({ pid }) => pid === id));
}
