/**
 * Usage that could not be stored yet, kept in a file that survives this process. Written only while the database is
 * away; read again when a gateway starts on the same folder.
 */
import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import type { Settlement } from './operations.ts';
import { parseSettlement, serializeSettlement } from './settlement.ts';

export type Spool = Readonly<{
  keep: (settlement: Settlement) => void;
  forget: (settlement: Settlement) => void;
  /** Settlements that a gateway which is gone left behind. Lines that are none do not keep a gateway from starting. */
  leftBehind: () => Readonly<{ settlements: readonly Settlement[]; malformedCount: number }>;
  /** Says that all of them have been settled. Lines that were none go to a file of their own, for someone to look at. */
  clearLeftBehind: () => void;
}>;

/** Not named like the others, so it is never read again by itself. */
const malformedFile = 'malformed.txt';

export function openSpool(dataFolder: string, processId: number, nodeId: string): Spool {
  const folder = join(dataFolder, 'spool');
  const ownFile = join(folder, `${processId}.${nodeId}.jsonl`);
  /** What was written last for each Generation. */
  const kept = new Map<string, Settlement>();
  let foreignFiles: string[] = [];
  let malformed: string[] = [];

  function keep(settlement: Settlement): void {
    const { id } = settlement.generation;
    if (kept.get(id) === settlement) return;
    // A release that is lost with this process is made up for by the other nodes.
    if (settlement.cost === null && !kept.has(id)) return;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    // Begun on a line of its own: what a crash left unfinished before it must not spoil this one.
    appendDurably(ownFile, `\n${serializeSettlement(settlement)}\n`);
    kept.set(id, settlement);
  }

  function forget(settlement: Settlement): void {
    if (kept.delete(settlement.generation.id) && kept.size === 0) rmSync(ownFile, { force: true });
  }

  function leftBehind() {
    foreignFiles = filesIn(folder)
      .filter((name) => !isRunning(Number.parseInt(name, 10), processId))
      .map((name) => join(folder, name));
    const lines = foreignFiles.flatMap((file) => readFileSync(file, 'utf8').split('\n'));
    // What was written last for a Generation is what its client was told.
    const settlements = new Map<string, Settlement>();
    malformed = [];
    for (const line of lines.filter((text) => text !== '')) {
      const settlement = parseSettlement(line);
      if (settlement === null) malformed.push(line);
      else settlements.set(settlement.generation.id, settlement);
    }
    return { settlements: [...settlements.values()], malformedCount: malformed.length };
  }

  return {
    keep,
    forget,
    leftBehind,
    clearLeftBehind: () => {
      if (malformed.length > 0) appendDurably(join(folder, malformedFile), `${malformed.join('\n')}\n`);
      for (const file of foreignFiles) rmSync(file, { force: true });
    },
  };
}

function appendDurably(path: string, text: string): void {
  const file = openSync(path, 'a', 0o600);
  try {
    writeSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

function filesIn(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => name.endsWith('.jsonl'));
  } catch {
    return [];
  }
}

/** A process with our own ID that left a file is one that came before us, as in a container that was started again. */
function isRunning(processId: number, ownProcessId: number): boolean {
  if (processId === ownProcessId) return false;
  try {
    process.kill(processId, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
