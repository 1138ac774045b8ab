/**
 * A file for settlements that could not be stored yet, which survives this process. It is written only after an attempt has
 * failed, because the database is away or a row stays locked, and read when a gateway starts on the same folder.
 */
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { newId } from '../lib/ids.ts';
import { isProcessRunning, nameProcess } from '../lib/process-name.ts';
import { freeBytesAt, ReservedFile, wasRenamed, writeDurably } from '../lib/reserved-file.ts';
import type { Settlement } from './operations.ts';
import { parseSettlement, serializeSettlement } from './settlement.ts';

export type Spool = Readonly<{
  /** Throws when it cannot be written. */
  keep: (settlement: Settlement) => void;
  forget: (settlement: Settlement) => void;
  /** How many settlements of this process are only in the spool. */
  count: () => number;
  /** How many could not even be written to it, so that they exist in memory only. */
  unstoredCount: () => number;
  /** Reserves room on the disk if that has not been done, and says in words what is wrong; null when nothing is. */
  problem: () => string | null;
  /** How much can still be written: the reserved room, and what is free on the disk. Null when that is not known. */
  freeBytes: () => number | null;
  /** Settlements of processes that have ended. Malformed lines do not keep a gateway from starting. */
  leftBehind: () => LeftBehind;
  /** The same, for this process alone: of several that start at the same time, each gets different files. */
  takeLeftBehind: () => LeftBehind;
  /** For when all that were taken have been settled. Malformed lines go to a separate file for inspection. */
  clearTaken: () => void;
  /** Gives the room back. Settlements that have not been made stay. */
  close: () => void;
}>;

type LeftBehind = Readonly<{ settlements: readonly Settlement[]; malformedCount: number }>;

/** Enough for about 3,000 settlements. Without a database no request is admitted, so there will not be many more. */
export const reserveBytes = 4 * 1024 * 1024;

const linesEnding = '.jsonl';
/** The reserved room. It is read at the next start, too: a crash of the machine may undo its renaming to the file. */
const reserveEnding = '.reserve';
/** Named differently from the others, so it is not read at the next start. */
const malformedFile = 'malformed.txt';

export function openSpool(dataFolder: string, processId: number, nodeId: string): Spool {
  const folder = join(dataFolder, 'spool');
  const owner = nameProcess(processId);
  const ownPath = join(folder, `${owner}.${nodeId}`);
  const ownFile = new ReservedFile(`${ownPath}${linesEnding}`, `${ownPath}${reserveEnding}`, reserveBytes);
  /** The last settlement written for each Generation. */
  const written = new Map<string, Settlement>();
  /** Generations whose last settlement could not be written. */
  const unstored = new Set<string>();
  const others = new FilesLeftBehind(folder, owner, processId);

  function keep(settlement: Settlement): void {
    const { id } = settlement.generation;
    if (written.get(id) === settlement) return;
    // If this process dies, other nodes release its holds.
    if (settlement.cost === null && !written.has(id)) return;
    unstored.add(id);
    // Starts with a line break, because a crash may have left an unfinished line.
    ownFile.append(`\n${serializeSettlement(settlement)}\n`, { isDurable: true });
    unstored.delete(id);
    written.set(id, settlement);
  }

  /** A client may learn of the settlement next, so the file must no longer say that it is still to be made. */
  function forget({ generation: { id } }: Settlement): void {
    unstored.delete(id);
    const wasWritten = written.delete(id);
    if (written.size === 0) ownFile.clear();
    else if (wasWritten) ownFile.append(`\n${JSON.stringify({ settled: id } satisfies Settled)}\n`);
  }

  function problem(): string | null {
    if (unstored.size > 0) return `${unstored.size} settlements could not be written`;
    try {
      ownFile.reserve();
      return null;
    } catch (error) {
      return `no room can be set aside (${(error as NodeJS.ErrnoException).code ?? 'unknown'})`;
    }
  }

  function freeBytes(): number | null {
    const free = freeBytesAt(dataFolder);
    return free === null ? null : ownFile.reservedBytes + free;
  }

  return {
    keep,
    forget,
    count: () => written.size,
    unstoredCount: () => unstored.size,
    problem,
    freeBytes,
    leftBehind: () => others.read(),
    takeLeftBehind: () => others.take(),
    clearTaken: () => others.clearTaken(),
    close: () => ownFile.close(),
  };
}

/** The files of processes that have ended. */
class FilesLeftBehind {
  readonly #folder: string;
  readonly #owner: string;
  readonly #processId: number;
  #taken: string[] = [];
  #malformed: string[] = [];

  /** `owner` is the name of this process, under which it takes files. */
  constructor(folder: string, owner: string, processId: number) {
    this.#folder = folder;
    this.#owner = owner;
    this.#processId = processId;
  }

  read(): LeftBehind {
    return this.#readFiles(this.#find());
  }

  take(): LeftBehind {
    this.#taken = this.#find().flatMap((file) => {
      const taken = join(this.#folder, `${this.#owner}.${newId()}${linesEnding}`);
      return wasRenamed(file, taken) ? [taken] : [];
    });
    return this.#readFiles(this.#taken);
  }

  clearTaken(): void {
    if (this.#malformed.length > 0)
      writeDurably(join(this.#folder, malformedFile), Buffer.from(`${this.#malformed.join('\n')}\n`), 'a');
    for (const file of this.#taken) rmSync(file, { force: true });
  }

  #find(): string[] {
    return filesIn(this.#folder)
      .filter((name) => !isProcessRunning(name.split('.', 1)[0] ?? '', this.#processId))
      .map((name) => join(this.#folder, name));
  }

  #readFiles(files: readonly string[]): LeftBehind {
    const lines = files.flatMap((file) => readFileSync(file, 'utf8').split('\n'));
    // The last line of a Generation is what its client was told.
    const settlements = new Map<string, Settlement>();
    this.#malformed = [];
    for (const line of lines.filter((text) => text.trim() !== '')) {
      const settlement = parseSettlement(line);
      const settledId = settlement === null ? parseSettled(line) : null;
      if (settlement !== null) settlements.set(settlement.generation.id, settlement);
      else if (settledId !== null) settlements.delete(settledId);
      else this.#malformed.push(line);
    }
    return { settlements: [...settlements.values()], malformedCount: this.#malformed.length };
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

function filesIn(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => name.endsWith(linesEnding) || name.endsWith(reserveEnding));
  } catch {
    return [];
  }
}
