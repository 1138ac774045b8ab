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
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { newId } from '../lib/ids.ts';
import { isProcessRunning, nameProcess } from '../lib/process-name.ts';
import type { Settlement } from './operations.ts';
import { parseSettlement, serializeSettlement } from './settlement.ts';

export type Spool = Readonly<{
  keep: (settlement: Settlement) => void;
  forget: (settlement: Settlement) => void;
  /** How many settlements of this process are only there. */
  count: () => number;
  /** Settlements of processes that have ended. Malformed lines do not keep a gateway from starting. */
  leftBehind: () => LeftBehind;
  /** The same, for this process alone: of several that start at the same time, each gets other files. */
  takeLeftBehind: () => LeftBehind;
  /** Once all that were taken have been settled. Malformed lines go to a file of their own for inspection. */
  clearTaken: () => void;
}>;

type LeftBehind = Readonly<{ settlements: readonly Settlement[]; malformedCount: number }>;

/** Named differently from the others, so it is not read at the next start. */
const malformedFile = 'malformed.txt';

export function openSpool(dataFolder: string, processId: number, nodeId: string): Spool {
  const folder = join(dataFolder, 'spool');
  const owner = nameProcess(processId);
  const ownFile = join(folder, `${owner}.${nodeId}.jsonl`);
  /** The last settlement written for each Generation. */
  const written = new Map<string, Settlement>();
  let takenFiles: string[] = [];
  let malformed: string[] = [];

  function keep(settlement: Settlement): void {
    const { id } = settlement.generation;
    if (written.get(id) === settlement) return;
    // If this process dies, other nodes release its holds.
    if (settlement.cost === null && !written.has(id)) return;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    // Starts with a line break, because a crash may have left an unfinished line.
    append(ownFile, `\n${serializeSettlement(settlement)}\n`, { isDurable: true });
    written.set(id, settlement);
  }

  /** A client may learn of the settlement next, so the file must not be taken to say that it is still to be made. */
  function forget({ generation: { id } }: Settlement): void {
    if (!written.delete(id)) return;
    if (written.size === 0) rmSync(ownFile, { force: true });
    else append(ownFile, `\n${JSON.stringify({ settled: id } satisfies Settled)}\n`);
  }

  function findLeftBehind(): string[] {
    return filesIn(folder)
      .filter((name) => !isProcessRunning(name.split('.', 1)[0] ?? '', processId))
      .map((name) => join(folder, name));
  }

  function readFiles(files: readonly string[]): LeftBehind {
    const lines = files.flatMap((file) => readFileSync(file, 'utf8').split('\n'));
    // The last line of a Generation is what its client was told.
    const settlements = new Map<string, Settlement>();
    malformed = [];
    for (const line of lines.filter((text) => text !== '')) {
      const settlement = parseSettlement(line);
      const settledId = settlement === null ? parseSettled(line) : null;
      if (settlement !== null) settlements.set(settlement.generation.id, settlement);
      else if (settledId !== null) settlements.delete(settledId);
      else malformed.push(line);
    }
    return { settlements: [...settlements.values()], malformedCount: malformed.length };
  }

  return {
    keep,
    forget,
    count: () => written.size,
    leftBehind: () => readFiles(findLeftBehind()),
    takeLeftBehind: () => {
      takenFiles = findLeftBehind().flatMap((file) => {
        const taken = join(folder, `${owner}.${newId()}.jsonl`);
        return wasRenamed(file, taken) ? [taken] : [];
      });
      return readFiles(takenFiles);
    },
    clearTaken: () => {
      if (malformed.length > 0)
        append(join(folder, malformedFile), `${malformed.join('\n')}\n`, { isDurable: true });
      for (const file of takenFiles) rmSync(file, { force: true });
    },
  };
}

/** False when another process has done it before. */
function wasRenamed(from: string, to: string): boolean {
  try {
    renameSync(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

/** A line that says that the settlement of a Generation, written before, has been made. */
type Settled = Readonly<{ settled: string }>;

function parseSettled(line: string): string | null {
  try {
    const { settled } = JSON.parse(line) as Partial<Settled>;
    return typeof settled === 'string' ? settled : null;
  } catch {
    return null;
  }
}

/** Without `isDurable` it survives this process, but perhaps not the machine. */
function append(path: string, text: string, { isDurable = false } = {}): void {
  const file = openSync(path, 'a', 0o600);
  try {
    writeSync(file, text);
    if (isDurable) fsyncSync(file);
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
