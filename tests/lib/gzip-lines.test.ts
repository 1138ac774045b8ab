/** Files of compressed lines: what is written can be read, and no part of it can be missing or different. */
import { expect, test } from 'bun:test';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DamagedFileError, describeFile, readLines, writeLines } from '../../src/lib/gzip-lines.ts';
import { temporaryFolder } from '../support/gateway.ts';

const file = () => join(temporaryFolder(), 'lines.gz');

function write(path: string, lines: readonly string[]): void {
  const writer = writeLines(path);
  for (const line of lines) writer.write(line);
  writer.finish();
}

async function read(path: string): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of readLines(path)) lines.push(line);
  return lines;
}

test('lines come back as they were, also when they are compressed in several parts', async () => {
  const path = file();
  const lines = [
    '',
    '{"a":1}',
    'ä€😀',
    'x'.repeat(1_500_000),
    ...Array.from({ length: 300 }, (_, n) => `${n} ${'€'.repeat(5_000)}`),
  ];
  write(path, lines);
  expect(await read(path)).toEqual(lines);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  const { stdout } = Bun.spawnSync([
    'sh',
    '-c',
    `gzip -dc ${path} | head -c 9 | tail -c 8; sha256sum < ${path}`,
  ]);
  const { sha256, sizeBytes } = await describeFile(path);
  expect(stdout.toString()).toBe(`{"a":1}\n${sha256}  -\n`);
  expect(sizeBytes).toBe(statSync(path).size);
  const empty = file();
  write(empty, []);
  expect(await read(empty)).toEqual([]);
});

test('a file that is cut short at any place, or changed in any byte, is refused', async () => {
  const path = file();
  write(
    path,
    Array.from({ length: 20 }, (_, n) => `line ${n}`),
  );
  const whole = readFileSync(path);
  for (let length = 0; length < whole.length; length += 1) {
    writeFileSync(path, whole.subarray(0, length));
    expect(await read(path).catch((error: unknown) => error)).toBeInstanceOf(DamagedFileError);
  }
  // Bytes 4 to 9 of each part are its time and system, which mean nothing.
  const headers = [0, whole.indexOf(Buffer.from([0x1f, 0x8b]), 2)];
  for (let place = 0; place < whole.length; place += 1) {
    if (headers.some((start) => place >= start + 3 && place < start + 10)) continue;
    const changed = Buffer.from(whole);
    changed[place] = (changed[place] ?? 0) ^ 1;
    writeFileSync(path, changed);
    expect(await read(path).catch((error: unknown) => error)).toBeInstanceOf(Error);
  }
});

test('the file gets its name only when it is complete, and nothing is left of one that was given up', () => {
  const path = file();
  const writer = writeLines(path);
  writer.write('a');
  expect(existsSync(path)).toBe(false);
  writer.abandon();
  expect([existsSync(path), existsSync(`${path}.partial`)]).toEqual([false, false]);
  expect(async () => await read(path)).toThrow('ENOENT');
});
