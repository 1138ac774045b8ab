/**
 * Where an export is written to. A file has its name only when it is complete; until then it is `FILE.part`, and
 * `FILE.part.json` says what it is a part of.
 */
import {
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  writeFileSync,
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

/** What a file is an export of. Times are RFC 3339. */
export type ExportContent = Readonly<{
  name: string;
  account: string | null;
  from: string;
  to: string;
  format: Format;
}>;

function pathsOf(file: string) {
  const path = resolve(file);
  const part = `${path}.part`;
  return { path, part, contentFile: `${part}.json` };
}

/** What was begun and is to be gone on with. */
export function readBegun(file: string): Readonly<Record<string, unknown>> {
  const { part, contentFile } = pathsOf(file);
  requireBegun(part);
  try {
    const content: unknown = JSON.parse(readFileSync(contentFile, 'utf8'));
    if (typeof content === 'object' && content !== null) return { ...content };
  } catch {
    // Without a file that says so, nobody knows what it is a part of.
  }
  throw new OperatorError(`${part} cannot be gone on with: there is no ${contentFile} that says what it is.`);
}

function requireBegun(part: string): void {
  if (!existsSync(part)) throw new OperatorError(`There is no ${part} to go on with.`);
}

const contentFields = ['name', 'account', 'from', 'to', 'format'] as const;

function requireSame(begun: Readonly<Record<string, unknown>>, content: ExportContent, part: string): void {
  for (const field of contentFields)
    if (begun[field] !== content[field])
      throw new OperatorError(
        `${part} is not a part of this export: its ${field} is ${begun[field]}, not ${content[field]}.`,
      );
}

type ExportFile = Readonly<{ file: string; content: ExportContent; header: string; isResumed: boolean }>;

/** Only its owner can read the file. */
export function openExportFile({ file, content, header, isResumed }: ExportFile): ExportOutput {
  const { path, part, contentFile } = pathsOf(file);
  if (existsSync(path)) throw new OperatorError(`${path} already exists.`);
  if (isResumed) requireSame(readBegun(file), content, part);
  else if (existsSync(part))
    throw new OperatorError(
      `${part} is there from an export that was interrupted: go on with --resume, or remove it.`,
    );
  let descriptor: number;
  try {
    // First, so that there is never a part of which nobody knows what it is.
    if (!isResumed) writeFileSync(contentFile, `${JSON.stringify(content)}\n`, { mode: 0o600 });
    descriptor = openSync(part, isResumed ? 'r+' : 'wx', 0o600);
  } catch (error) {
    throw explainFileError(error, part, 'written');
  }
  let end = isResumed ? cutAfterLastLine(descriptor) : 0;
  const after = lastCursor(descriptor, end, content.format, header, part);
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
      rmSync(contentFile, { force: true });
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
