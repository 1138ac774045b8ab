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
  return [...logged.matchAll(/\b(?:FATAL|PANIC): +(.+)$/gm)].at(-1)?.[1] ?? message;
}

export async function stopServer({ folder, programs, user }: Cluster): Promise<void> {
  await user.runAsync([join(programs, 'pg_ctl'), 'stop', '-D', folder, '-m', 'fast', '-w', '-s']);
}

function readFrom(file: string, offsetBytes: number): string {
  try {
    return readFileSync(file).subarray(offsetBytes).toString();
  } catch {
    return '';
  }
}
