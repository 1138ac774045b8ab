/**
 * A file for settlements that could not be stored yet, which survives this process. It is written only while the database is
 * unavailable, and read when a gateway starts on the same folder.
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
  /** How many settlements of this process are only there. */
  count: () => number;
  /** Settlements of processes that have ended. Malformed lines do not keep a gateway from starting. */
  leftBehind: () => Readonly<{ settlements: readonly Settlement[]; malformedCount: number }>;
  /** Once all of them have been settled. Malformed lines go to a file of their own for inspection. */
  clearLeftBehind: () => void;
}>;

/** Named differently from the others, so it is not read at the next start. */
const malformedFile = 'malformed.txt';

export function openSpool(dataFolder: string, processId: number, nodeId: string): Spool {
  const folder = join(dataFolder, 'spool');
  const ownFile = join(folder, `${processId}.${nodeId}.jsonl`);
  /** The last settlement written for each Generation. */
  const written = new Map<string, Settlement>();
  let foreignFiles: string[] = [];
  let malformed: string[] = [];

  function keep(settlement: Settlement): void {
    const { id } = settlement.generation;
    if (written.get(id) === settlement) return;
    // If this process dies, other nodes release its holds.
    if (settlement.cost === null && !written.has(id)) return;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    // Starts with a line break, because a crash may have left an unfinished line.
    appendDurably(ownFile, `\n${serializeSettlement(settlement)}\n`);
    written.set(id, settlement);
  }

  function forget(settlement: Settlement): void {
    if (written.delete(settlement.generation.id) && written.size === 0) rmSync(ownFile, { force: true });
  }

  function leftBehind() {
    foreignFiles = filesIn(folder)
      .filter((name) => !isRunning(Number.parseInt(name, 10), processId))
      .map((name) => join(folder, name));
    const lines = foreignFiles.flatMap((file) => readFileSync(file, 'utf8').split('\n'));
    // The last line of a Generation is what its client was told.
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
    count: () => written.size,
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

/** A file with our own process ID is from an earlier process, as in a restarted container. */
function isRunning(processId: number, ownProcessId: number): boolean {
  if (processId === ownProcessId) return false;
  try {
    process.kill(processId, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
