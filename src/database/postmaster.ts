/** Starts and stops the server of a cluster. PostgreSQL itself makes sure that there is only one. */
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Cluster } from './cluster.ts';

/** Returns why it did not start, or null when it did. Safe while another process starts or stops the same server. */
export async function startServer({ folder, logFile, programs, user }: Cluster): Promise<string | null> {
  const loggedBytes = statSync(logFile, { throwIfNoEntry: false })?.size ?? 0;
  const { exitCode, message } = await user.runAsync([
    join(programs, 'pg_ctl'),
    'start',
    ...['-D', folder, '-l', logFile, '-w', '-t', '20', '-s'],
  ]);
  if (exitCode === 0) return null;
  const logged = readFrom(logFile, loggedBytes);
  const holder = /lock file "postmaster\.pid" already exists[\s\S]*?\(PID (\d+)\)/.exec(logged)?.[1];
  if (holder !== undefined)
    return (
      `${join(folder, 'postmaster.pid')} says that process ${holder} serves this folder, and a process with that ID ` +
      'is running but does not answer. If it is not a PostgreSQL, delete that file'
    );
  if (/pre-existing shared memory block .* is still in use/.test(logged))
    return 'processes of an earlier server in this folder are still running (ps shows them as postgres): end them';
  return [...logged.matchAll(/\b(?:FATAL|PANIC): +(.+)$/gm)].at(-1)?.[1] ?? message;
}

/**
 * Returns when the server that runs now has stopped. pg_ctl would wait for as long as any server runs in the folder, and
 * another process may start one as soon as this one is gone.
 */
export async function stopServer({ folder, programs, user }: Cluster): Promise<void> {
  const stopping = processIdIn(folder);
  if (stopping === null) return;
  await user.runAsync([join(programs, 'pg_ctl'), 'stop', '-D', folder, '-m', 'fast', '-W', '-s']);
  const deadlineMs = performance.now() + stopDeadlineMs;
  while (processIdIn(folder) === stopping && isRunning(stopping) && performance.now() < deadlineMs)
    await Bun.sleep(stopPollMs);
}

const stopDeadlineMs = 60_000;
const stopPollMs = 20;

/** The server removes the file when it has stopped, unless it was killed. In single-user mode it negates its ID there. */
export function processIdIn(folder: string): number | null {
  const processId = Number.parseInt(readFrom(join(folder, 'postmaster.pid'), 0), 10);
  return Number.isNaN(processId) ? null : Math.abs(processId);
}

function isRunning(processId: number): boolean {
  try {
    process.kill(processId, 0);
    return true;
  } catch (error) {
    // It may belong to another user.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

function readFrom(file: string, offsetBytes: number): string {
  try {
    return readFileSync(file).subarray(offsetBytes).toString();
  } catch {
    return '';
  }
}
