/** Finds processes through /proc: who listens on a port, and what they have started. Finds none outside Linux. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

const listening = '0A';

/** The inodes of the sockets that listen on a port, from the text of /proc/net/tcp or tcp6. */
export function listeningInodes(table: string, port: number): Set<string> {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  return new Set(
    table
      .split('\n')
      .slice(1)
      .map((line) => line.trim().split(/\s+/))
      .filter(([, local = '', , state]) => local.endsWith(suffix) && state === listening)
      .map((fields) => fields[9] ?? ''),
  );
}

/** Several when the workers of a program share the port. */
export function listenersOn(port: number): number[] {
  const inodes = new Set(
    ['/proc/net/tcp', '/proc/net/tcp6'].flatMap((file) => [...listeningInodes(read(file), port)]),
  );
  if (inodes.size === 0) return [];
  const sockets = new Set([...inodes].map((inode) => `socket:[${inode}]`));
  return list('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((processId) =>
      list(`/proc/${processId}/fd`).some((fd) => sockets.has(linkOf(`/proc/${processId}/fd/${fd}`))),
    )
    .map(Number);
}

export function childrenOf(processId: number): number[] {
  return list(`/proc/${processId}/task`)
    .flatMap((thread) => read(`/proc/${processId}/task/${thread}/children`).split(' '))
    .filter((child) => child.trim() !== '')
    .map(Number);
}

/** The processes, their children, the children of those, and so on, each once. */
export function withDescendants(roots: readonly number[]): number[] {
  const found = new Set<number>();
  const pending = [...roots];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (found.has(next)) continue;
    found.add(next);
    pending.push(...childrenOf(next));
  }
  return [...found];
}

export function programName(processId: number): string {
  return read(`/proc/${processId}/comm`).trim();
}

// A process may end while it is looked at, and those of other users cannot be read.

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

function list(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function linkOf(file: string): string {
  try {
    return readlinkSync(file);
  } catch {
    return '';
  }
}
