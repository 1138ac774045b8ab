import { readFileSync } from 'node:fs';

/**
 * When a process started, in whatever unit the system has: with it, a process ID that was given to another process is
 * recognized. Null when there is no such process.
 */
export function processStart(processId: number): string | null {
  return process.platform === 'linux' ? startInProc(processId) : startFromPs(processId);
}

function startInProc(processId: number): string | null {
  try {
    const stat = readFileSync(`/proc/${processId}/stat`, 'utf8');
    // The name of the program, in parentheses, may contain spaces. The start is the 20th field after it.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? null;
  } catch {
    return null;
  }
}

function startFromPs(processId: number): string | null {
  const { stdout } = Bun.spawnSync(['ps', '-o', 'lstart=', '-p', `${processId}`], { env: { LC_ALL: 'C' } });
  const startedAtMs = Date.parse(stdout.toString().trim());
  return Number.isNaN(startedAtMs) ? null : `${startedAtMs}`;
}
