/** What tests of a gateway with several worker processes look at. */
import { eventually } from './eventually.ts';
import type { Gateway } from './gateway.ts';

/** The process IDs of its workers. The sandbox is a child too. */
export function workerProcesses({ process: { pid } }: Gateway): number[] {
  const { stdout } = Bun.spawnSync(['ps', '-A', '-o', 'pid=,ppid=,args=']);
  return stdout
    .toString()
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(([, parent, ...words]) => Number(parent) === pid && !words.includes('--with-parent'))
    .map(([id]) => Number(id));
}

export function isRunning(processId: number): boolean {
  return Bun.spawnSync(['ps', '-p', `${processId}`]).exitCode === 0;
}

/** Waits until this many workers have been replaced and accept connections. */
export async function replaced(gateway: Gateway, count: number): Promise<void> {
  await eventually('a worker is replaced', () => logged(gateway, 'a worker was replaced').length === count);
}

/** What a gateway logged under this name. */
export function logged({ output }: Gateway, event: string): Record<string, unknown>[] {
  const lines = output().split('\n');
  return lines.filter((line) => line.includes(`"event":"${event}"`)).map((line) => JSON.parse(line));
}

/** On its own connection, so that the system chooses a worker for it. */
export function fetchAnew(url: string, init: RequestInit = {}): Promise<Response> {
  return fetch(url, {
    ...init,
    headers: { ...(init.headers as Record<string, string>), connection: 'close' },
    keepalive: false,
  });
}

export function askAnew(
  { origin }: Gateway,
  key: string,
  model: string,
  content: string,
  stream = false,
): Promise<Response> {
  return fetchAnew(`${origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, stream, messages: [{ role: 'user', content }] }),
  });
}

/** The first of this many consecutive free ports, below those that the system assigns by itself. */
export function freePorts(count: number): number {
  for (;;) {
    const first = 20_000 + Math.floor(Math.random() * 10_000);
    if (Array.from({ length: count }, (_, index) => first + index).every(isFree)) return first;
  }
}

function isFree(port: number): boolean {
  try {
    Bun.listen({ hostname: '127.0.0.1', port, socket: { data: () => undefined } }).stop(true);
    return true;
  } catch {
    return false;
  }
}
