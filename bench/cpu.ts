/** The CPU time of a process so far, as the operating system counts it: all its threads, in user and kernel mode. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { processClockMicroseconds } from './process-clock.ts';
import { childrenOf } from './process-tree.ts';

/** Microseconds of a subject's own processes and of its PostgreSQL; NaN for what cannot be measured. */
export type CpuReading = Readonly<{ own: number; postgres: number }>;

const isLinux = process.platform === 'linux';
/** Linux reports times in hundredths of a second, whatever its own clock does. */
const microsecondsPerTick = 10_000;

export function cpuMicroseconds(processId: number): number {
  const precise = processClockMicroseconds(processId);
  if (precise !== null) return precise;
  if (!isLinux) return parseDuration(ask(processId, 'time')) * 1e6;
  const [user = 0, kernel = 0] = statistics(processId);
  return (user + kernel) * microsecondsPerTick;
}

/** The process and its children that are still running. Only Linux lists them. */
export function cpuWithChildren(processId: number): number {
  if (!isLinux) return Number.NaN;
  return cpuOfAll([processId, ...childrenOf(processId)]);
}

/** Processes that have ended in the meantime count as nothing. */
export function cpuOfAll(processIds: readonly number[]): number {
  return processIds.reduce((sum, processId) => sum + (processClockMicroseconds(processId) ?? 0), 0);
}

export function residentBytes(processId: number): number {
  if (!isLinux) return Number(ask(processId, 'rss')) * 1024;
  const text = readFileSync(`/proc/${processId}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(text)?.[1]) * 1024;
}

/** The PostgreSQL of a data folder with all its processes, including those that have ended; NaN where it cannot be read. */
export function postgresCpuMicroseconds(dataFolder: string): number {
  if (!isLinux) return Number.NaN;
  try {
    const postmaster = Number.parseInt(readFileSync(join(dataFolder, 'postgres/postmaster.pid'), 'utf8'), 10);
    const ofRunning = [postmaster, ...childrenOf(postmaster)].reduce(
      (sum, processId) => sum + cpuMicroseconds(processId),
      0,
    );
    const [userOfEnded = 0, kernelOfEnded = 0] = statistics(postmaster).slice(2);
    return ofRunning + (userOfEnded + kernelOfEnded) * microsecondsPerTick;
  } catch {
    return Number.NaN;
  }
}

/** User and kernel ticks of the process, then those of children it has waited for. */
function statistics(processId: number): number[] {
  const text = readFileSync(`/proc/${processId}/stat`, 'utf8');
  // The name is in parentheses and may itself contain anything.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return fields.slice(11, 15).map(Number);
}

function ask(processId: number, column: string): string {
  const { stdout } = Bun.spawnSync(['ps', '-o', `${column}=`, '-p', `${processId}`]);
  return stdout.toString().trim();
}

/** `[[hours:]minutes:]seconds`, with a fraction. */
function parseDuration(text: string): number {
  return text.split(':').reduce((seconds, part) => seconds * 60 + Number(part), 0);
}
