/**
 * A file of lines for which room on the disk is set aside beforehand, so that they fit even when the disk is full. The
 * room is a file of blank lines. When it is needed, it is renamed and overwritten, which takes no new space, except on file
 * systems that copy on write.
 */
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  statfsSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';

/** Readers skip them. They are long, so that there are few. */
function blankLines(bytes: number): Buffer {
  return Buffer.alloc(bytes, `${' '.repeat(4095)}\n`);
}

export class ReservedFile {
  readonly #path: string;
  readonly #reservePath: string;
  readonly #reserveBytes: number;
  #isReserved = false;
  /** Whether there are lines in it. */
  #isInUse = false;
  #end = 0;

  constructor(path: string, reservePath: string, reserveBytes: number) {
    this.#path = path;
    this.#reservePath = reservePath;
    this.#reserveBytes = reserveBytes;
  }

  /** How much can be written even when the disk is full. */
  get reservedBytes(): number {
    return this.#isReserved ? Math.max(0, this.#reserveBytes - this.#end) : 0;
  }

  /** Sets the room aside, unless that has been done. Throws when there is none. */
  reserve(): void {
    if (this.#isInUse || (this.#isReserved && existsSync(this.#reservePath))) return;
    this.#isReserved = false;
    makeFolderOf(this.#reservePath);
    // Checked first, because a failed attempt would leave nothing for others for a moment.
    const freeBytes = freeBytesAt(dirname(this.#reservePath));
    if (freeBytes !== null && freeBytes < this.#reserveBytes)
      throw Object.assign(new Error('The disk is full.'), { code: 'ENOSPC' });
    try {
      writeDurably(this.#reservePath, blankLines(this.#reserveBytes), 'w');
    } catch (error) {
      rmSync(this.#reservePath, { force: true });
      throw error;
    }
    this.#isReserved = true;
  }

  /** Without `isDurable` the text survives a crash of this process, but perhaps not of the machine. */
  append(text: string, { isDurable = false } = {}): void {
    makeFolderOf(this.#path);
    if (!this.#isInUse && this.#isReserved) this.#isReserved = wasRenamed(this.#reservePath, this.#path);
    const file = openSync(this.#path, constants.O_WRONLY | constants.O_CREAT, 0o600);
    this.#isInUse = true;
    const start = Math.min(this.#end, fstatSync(file).size);
    try {
      this.#end = start + writeAll(file, Buffer.from(text), start);
      if (isDurable) fsyncSync(file);
    } catch (error) {
      // Nothing may follow half a line, and what is cut off is no longer reserved.
      this.#isReserved = false;
      this.#end = start;
      ftruncateSync(file, start);
      throw error;
    } finally {
      closeSync(file);
    }
  }

  /** To be called once nothing in it is needed any more. */
  clear(): void {
    if (!this.#isInUse) return;
    this.#isInUse = false;
    const used = Math.min(this.#end, this.#reserveBytes);
    this.#end = 0;
    try {
      if (this.#isReserved) this.#blank(used);
    } catch {
      this.#isReserved = false;
    }
    if (!this.#isReserved) rmSync(this.#path, { force: true });
  }

  #blank(used: number): void {
    const file = openSync(this.#path, constants.O_WRONLY);
    try {
      writeAll(file, blankLines(used), 0);
      ftruncateSync(file, this.#reserveBytes);
    } finally {
      closeSync(file);
    }
    renameSync(this.#path, this.#reservePath);
  }

  /** Gives the room back. What was written stays. */
  close(): void {
    if (this.#isReserved && !this.#isInUse) rmSync(this.#reservePath, { force: true });
    this.#isReserved = false;
  }
}

/** The free space on a folder's disk; null when it is unknown. */
export function freeBytesAt(folder: string): number | null {
  try {
    const { blocks, bavail, bsize } = statfsSync(folder);
    // Some network file systems report nothing.
    return blocks === 0 ? null : bavail * bsize;
  } catch {
    return null;
  }
}

/** False when the file is not there, for instance because another process has already renamed it. */
export function wasRenamed(from: string, to: string): boolean {
  try {
    renameSync(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

function makeFolderOf(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
}

/** Replaces a file, or adds to it. */
export function writeDurably(path: string, bytes: Buffer, mode: 'w' | 'a'): void {
  const file = openSync(path, mode, 0o600);
  try {
    writeAll(file, bytes, null);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/**
 * A disk that is nearly full takes a part of the bytes, and reports that it is full at the next write. Without a `start`
 * the system decides where they are written: appending must not overwrite anything.
 */
function writeAll(file: number, bytes: Buffer, start: number | null): number {
  let done = 0;
  while (done < bytes.length) {
    const at = start === null ? null : start + done;
    done += writeSync(file, bytes, done, bytes.length - done, at);
  }
  return done;
}
