/**
 * Files of compressed lines, which any gzip can read. A file appears under its name only when all of it is on disk. Its
 * last line has the digest of the lines before it, so that a truncated or changed file is noticed.
 */
import {
  closeSync,
  createReadStream,
  fsyncSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { createGunzip } from 'node:zlib';
import { z } from 'zod';

/** Compressed at once: small enough for memory, large enough to compress well. */
const chunkCharacters = 1_000_000;

export type LineWriter = Readonly<{
  write: (line: string) => void;
  /** Makes the file durable and gives it its name. */
  finish: () => void;
  /** Removes what was written; harmless after `finish`. */
  abandon: () => void;
}>;

/** Only its owner can read the file. */
export function writeLines(file: string): LineWriter {
  const draft = `${file}.partial`;
  const descriptor = openSync(draft, 'w', 0o600);
  const digest = new Bun.CryptoHasher('sha256');
  let pending: string[] = [];
  let pendingCharacters = 0;
  let count = 0;
  let isOpen = true;

  function flush(): void {
    if (pending.length === 0) return;
    const bytes = Buffer.from(`${pending.join('\n')}\n`);
    digest.update(bytes);
    writeAll(descriptor, Bun.gzipSync(bytes));
    pending = [];
    pendingCharacters = 0;
  }

  return {
    write: (line) => {
      pending.push(line);
      count += 1;
      pendingCharacters += line.length;
      if (pendingCharacters >= chunkCharacters) flush();
    },
    finish: () => {
      flush();
      const end = { lines: count, sha256: digest.digest('hex') };
      writeAll(descriptor, Bun.gzipSync(Buffer.from(`${JSON.stringify({ end })}\n`)));
      fsyncSync(descriptor);
      closeSync(descriptor);
      isOpen = false;
      renameSync(draft, file);
      syncFolder(dirname(file));
    },
    abandon: () => {
      if (!isOpen) return;
      isOpen = false;
      closeSync(descriptor);
      rmSync(draft, { force: true });
    },
  };
}

function writeAll(descriptor: number, bytes: Uint8Array): void {
  for (let offset = 0; offset < bytes.length; )
    offset += writeSync(descriptor, bytes, offset, bytes.length - offset);
}

/** The name of a file is durable when its folder is. */
function syncFolder(folder: string): void {
  const descriptor = openSync(folder, 'r');
  fsyncSync(descriptor);
  closeSync(descriptor);
}

/** The file was cut short or changed, or is something else. */
export class DamagedFileError extends Error {}

const endSchema = z.object({ end: z.object({ lines: z.int(), sha256: z.string() }) });

/**
 * The lines of a file, without its last one. When there is something wrong with the file, this throws, at the latest after
 * the last line: a caller that must not act on half a file reads it twice.
 */
export async function* readLines(file: string): AsyncGenerator<string> {
  const digest = new Bun.CryptoHasher('sha256');
  let previous: string | null = null;
  let count = 0;
  for await (const line of splitLines(file)) {
    if (previous !== null) {
      digest.update(`${previous}\n`);
      count += 1;
      yield previous;
    }
    previous = line;
  }
  const end = parseEnd(previous);
  if (end === null) throw new DamagedFileError(`${file} is cut short, or was not written by Tollgate.`);
  if (end.lines !== count || end.sha256 !== digest.digest('hex'))
    throw new DamagedFileError(`${file} was changed after it was written.`);
}

function parseEnd(line: string | null): z.infer<typeof endSchema>['end'] | null {
  try {
    return endSchema.parse(JSON.parse(line ?? '')).end;
  } catch {
    return null;
  }
}

async function* splitLines(file: string): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  const source = createReadStream(file);
  const unpacked = createGunzip();
  source.on('error', (error) => unpacked.destroy(error));
  let rest = '';
  try {
    for await (const bytes of source.pipe(unpacked)) {
      const lines = (rest + decoder.decode(bytes as Uint8Array, { stream: true })).split('\n');
      rest = lines.pop() ?? '';
      yield* lines;
    }
  } catch (error) {
    if (error instanceof Error && 'syscall' in error) throw error;
    throw new DamagedFileError(`${file} is cut short, or was not written by Tollgate.`, { cause: error });
  } finally {
    source.destroy();
  }
  if (rest !== '') throw new DamagedFileError(`${file} is cut short.`);
}

export type FileFacts = Readonly<{ sizeBytes: number; sha256: string }>;

/** Of the file as it is on disk, so that `sha256sum` gives the same digest. */
export async function describeFile(file: string): Promise<FileFacts> {
  const digest = new Bun.CryptoHasher('sha256');
  for await (const bytes of createReadStream(file)) digest.update(bytes as Uint8Array);
  return { sizeBytes: statSync(file).size, sha256: digest.digest('hex') };
}
