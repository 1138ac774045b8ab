/**
 * Processes that a killed server has left behind. They end by themselves when they notice, but one that was just starting,
 * or stands still, may never: and as long as it holds the server's memory, PostgreSQL refuses to start in the folder. While
 * there is one, no server can run there, so nobody needs it any more.
 *
 * Only Linux shows what it takes to be sure of them. Elsewhere they are left alone, and the operator reads what to do.
 */
import { readdirSync, readFileSync, readlinkSync, realpathSync } from 'node:fs';
import { basename } from 'node:path';
import type { Log } from '../lib/log.ts';
import { processIdIn } from './postmaster.ts';

/** What ends by itself has done so by then. */
export const leftoverPatienceMs = 3_000;

type LeftoverProcess = Readonly<{ id: number; startedAt: string }>;

/**
 * To be called again and again while the server does not start: ends those that have been there for a few seconds. Returns
 * whether there were any.
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

/** The server and its processes work in the folder of the cluster, which nobody else has a reason to. */
function worksIn(id: number, folder: string): boolean {
  try {
    if (readlinkSync(`/proc/${id}/cwd`) !== realpathSync(folder)) return false;
    // In another container a folder of the same name is another one, and a process has another ID than its file says.
    if (readlinkSync(`/proc/${id}/ns/pid`) !== readlinkSync('/proc/self/ns/pid')) return false;
    // The program may have been replaced by another version meanwhile.
    return basename(readlinkSync(`/proc/${id}/exe`).replace(/ \(deleted\)$/, '')) === 'postgres';
  } catch {
    // It has ended, or belongs to someone else.
    return false;
  }
}

/** The parent of a process and when it was started, in ticks since the machine was. */
export function statusOf(id: number): { parent: number; startedAt: string } | null {
  try {
    const text = readFileSync(`/proc/${id}/stat`, 'utf8');
    // The program's name stands in brackets and may contain anything.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return { parent: Number(fields[1]), startedAt: fields[19] ?? '' };
  } catch {
    return null;
  }
}

/** It may stand still, and then no other signal reaches it. What it had begun, the next server recovers from its log. */
function end(id: number): boolean {
  try {
    return process.kill(id, 'SIGKILL');
  } catch {
    return false;
  }
}
