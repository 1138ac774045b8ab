/** Where an export is written to. A file has its name only when it is complete; until then it is `FILE.part`. */
import {
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readSync,
  renameSync,
  writeSync,
} from 'node:fs';
import { resolve } from 'node:path';
import type { Format } from '../exports/columns.ts';
import { explainFileError } from '../lib/file-error.ts';
import { OperatorError } from '../lib/operator-error.ts';

export type ExportOutput = Readonly<{
  name: string;
  /** The cursor of the last line that is there already. */
  after: string | null;
  write: (text: string) => Promise<void>;
  /** Everything has been written. */
  finish: () => void;
  /** What has been written stays. */
  leave: () => void;
}>;

export function standardOutput(): ExportOutput {
  return {
    name: 'standard output',
    after: null,
    write: (text) =>
      new Promise((done, reject) => {
        process.stdout.write(text, (error) => (error ? reject(stopped()) : done()));
      }),
    finish: () => undefined,
    leave: () => undefined,
  };
}

function stopped(): OperatorError {
  return new OperatorError('The export is incomplete: nobody reads it any more.');
}

type ExportFile = Readonly<{ file: string; format: Format; header: string; isResumed: boolean }>;

/** Only its owner can read the file. */
export function openExportFile({ file, format, header, isResumed }: ExportFile): ExportOutput {
  const path = resolve(file);
  const part = `${path}.part`;
  if (existsSync(path)) throw new OperatorError(`${path} already exists.`);
  if (existsSync(part) !== isResumed)
    throw new OperatorError(
      isResumed
        ? `There is no ${part} to go on with.`
        : `${part} is there from an export that was interrupted: go on with --resume, or remove it.`,
    );
  let descriptor: number;
  try {
    descriptor = openSync(part, isResumed ? 'r+' : 'wx', 0o600);
  } catch (error) {
    throw explainFileError(error, part, 'written');
  }
  let end = isResumed ? cutAfterLastLine(descriptor) : 0;
  const after = lastCursor(descriptor, end, format, header, part);
  // Without a line it begins anew, with the header.
  if (after === null) end = 0;
  return {
    name: part,
    after,
    write: async (text) => {
      const bytes = Buffer.from(text);
      for (let written = 0; written < bytes.length; )
        written += writeSync(descriptor, bytes, written, bytes.length - written, end + written);
      end += bytes.length;
    },
    finish: () => {
      fsyncSync(descriptor);
      closeSync(descriptor);
      renameSync(part, path);
    },
    leave: () => closeSync(descriptor),
  };
}

/** A program that was killed may have left half a line. Returns where the last whole line ends. */
function cutAfterLastLine(descriptor: number): number {
  const { size } = fstatSync(descriptor);
  const end = lineEndBefore(descriptor, size) ?? 0;
  ftruncateSync(descriptor, end);
  return end;
}

const blockBytes = 64 * 1024;

/** Just after the last line feed before a position; null when there is none. */
function lineEndBefore(descriptor: number, position: number): number | null {
  const block = Buffer.alloc(blockBytes);
  for (let start = position; start > 0; ) {
    const length = Math.min(blockBytes, start);
    start -= length;
    readSync(descriptor, block, 0, length, start);
    const found = block.subarray(0, length).lastIndexOf('\n');
    if (found >= 0) return start + found + 1;
  }
  return null;
}

/** Null when there is no line but the header. */
function lastCursor(
  descriptor: number,
  end: number,
  format: Format,
  header: string,
  name: string,
): string | null {
  const first = Buffer.alloc(Math.min(end, Buffer.byteLength(header)));
  readSync(descriptor, first, 0, first.length, 0);
  if (end > 0 && first.toString() !== header)
    throw new OperatorError(`${name} is not a part of this export: its columns differ.`);
  if (end <= Buffer.byteLength(header)) return null;
  const start = lineEndBefore(descriptor, end - 1) ?? 0;
  const line = Buffer.alloc(end - start);
  readSync(descriptor, line, 0, line.length, start);
  return cursorIn(line.toString(), format) ?? badLine(name);
}

function badLine(name: string): never {
  throw new OperatorError(`${name} is not a part of this export: its last line has no ID.`);
}

function cursorIn(line: string, format: Format): string | null {
  const pattern = format === 'csv' ? /^([^",]+),/ : /^\{"\w+":"([^"\\]+)"/;
  return pattern.exec(line)?.[1] ?? null;
}
