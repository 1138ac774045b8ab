/**
 * Processes that a killed server has left behind. They end by themselves when they notice, but one that was just
 * starting, or is suspended, may never notice. As long as it holds the server's memory, PostgreSQL refuses to start in
 * the folder. While there is one, no server can run there, so nobody needs it any more.
 *
 * Only Linux shows enough to be sure of them. Elsewhere they are left alone, and the operator is told what to do.
 */
import { readdirSync, readFileSync, readlinkSync, realpathSync } from 'node:fs';
import { basename } from 'node:path';
import type { Log } from '../lib/log.ts';
import { processIdIn } from './postmaster.ts';

/** A process that ends by itself does so within this time. */
export const leftoverPatienceMs = 3_000;

type LeftoverProcess = Readonly<{ id: number; startedAt: string }>;

/**
 * To be called again and again while the server does not start: ends those that have been there for a few seconds.
 * Returns whether it ended any.
 */
export function leftoverEnder(folder: string, log?: Log): () => boolean {
  const firstSeenMs = new Map<string, number>();
  return () => {
    const nowMs = performance.now();
    let hasEnded = false;
    for (const { id, startedAt } of findLeftoverProcesses(folder)) {
      // An ID alone may belong to another process by now.
      const name = `${id} ${startedAt}`;
      const seenMs = firstSeenMs.get(name) ?? nowMs;
      firstSeenMs.set(name, seenMs);
      if (nowMs - seenMs < leftoverPatienceMs || !end(id)) continue;
      hasEnded = true;
      log?.warn('ended a process that a killed database server left behind', { folder, processId: id });
    }
    return hasEnded;
  };
}

/** The processes of PostgreSQL that work in this folder, unless one of them is its server. */
export function findLeftoverProcesses(folder: string): LeftoverProcess[] {
  const found = processIds().flatMap((id) => (worksIn(id, folder) ? [id] : []));
  const server = processIdIn(folder);
  if (server !== null && found.includes(server)) return [];
  return found.flatMap((id) => {
    const status = statusOf(id);
    return status === null || found.includes(status.parent) ? [] : [{ id, startedAt: status.startedAt }];
  });
}

function processIds(): number[] {
  try {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map(Number);
  } catch {
    return [];
  }
}

/** The server and its processes run in the folder of the cluster, where no others have a reason to. */
function worksIn(id: number, folder: string): boolean {
  try {
    if (readlinkSync(`/proc/${id}/cwd`) !== realpathSync(folder)) return false;
    // In another container the same path is another folder, and a process has another ID than its file says.
    if (readlinkSync(`/proc/${id}/ns/pid`) !== readlinkSync('/proc/self/ns/pid')) return false;
    // The program may have been replaced by another version meanwhile.
    return basename(readlinkSync(`/proc/${id}/exe`).replace(/ \(deleted\)$/, '')) === 'postgres';
  } catch {
    // It has ended, or belongs to someone else.
    return false;
  }
}

/** The parent of a process, and when it was started, in ticks since the machine started. */
export function statusOf(id: number): { parent: number; startedAt: string } | null {
  try {
    const text = readFileSync(`/proc/${id}/stat`, 'utf8');
    // The program's name is in parentheses and may contain anything.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return { parent: Number(fields[1]), startedAt: fields[19] ?? '' };
  } catch {
    return null;
  }
}

/** No other signal reaches a suspended process. The next server recovers what it had begun from the log. */
function end(id: number): boolean {
  try {
    return process.kill(id, 'SIGKILL');
  } catch {
    return false;
  }
}
