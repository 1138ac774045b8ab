/** A unique name for a process. Its ID alone is not enough, because another process may get it later. */
import { readFileSync } from 'node:fs';

/** The ID and the start of the process, or the ID alone when there is no such process. */
export function nameProcess(processId: number): string {
  const start = startOf(processId);
  return start === null ? `${processId}` : `${processId}-${start}`;
}

/** Names from older versions have no start. One with our own ID was an earlier process, as in a restarted container. */
export function isProcessRunning(name: string, ownProcessId: number): boolean {
  const [id, start] = name.split('-');
  const found = startOf(Number(id));
  return start === undefined ? found !== null && Number(id) !== ownProcessId : found === start;
}

/** In whatever unit the system uses; null when there is no such process. */
function startOf(processId: number): string | null {
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
