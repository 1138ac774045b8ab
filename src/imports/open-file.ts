/** Reads the wanted tables of a file, whatever kind of file it is. Nothing of it is copied, kept or printed. */
import { closeSync, openSync, readSync } from 'node:fs';
import { explainFileError } from '../lib/file-error.ts';
import { OperatorError } from '../lib/operator-error.ts';
import { readDump } from './dump.ts';
import { type JsonNames, readJsonExport } from './json-export.ts';
import { Tables, type Wanted } from './rows.ts';
import { readSqliteFile } from './sqlite-file.ts';

/** JSON is parsed as a whole. Larger installations have a dump. */
const maxJsonBytes = 256 * 1024 * 1024;

/** What an import can read. */
export type Readable = Readonly<{ wanted: Wanted; jsonNames: JsonNames | null; isSqlite: boolean }>;

/** `-` is the standard input. */
export async function readTables(file: string, readable: Readable): Promise<Tables> {
  const tables = new Tables();
  try {
    const kind = file === '-' ? null : kindOf(file);
    if (kind === 'sqlite') {
      if (!readable.isSqlite)
        throw new OperatorError(`${file} is a SQLite database, which this system does not use.`);
      readSqliteFile(file, readable.wanted, tables);
    } else await readText(file, readable, tables);
  } catch (error) {
    throw explainFileError(error, file, 'read');
  }
  return tables;
}

const startBytes = 16;

function kindOf(file: string): 'sqlite' | 'text' {
  const descriptor = openSync(file, 'r');
  try {
    const bytes = Buffer.alloc(startBytes);
    readSync(descriptor, bytes, 0, startBytes, 0);
    const start = bytes.toString('latin1');
    if (start.startsWith('SQLite format 3\0')) return 'sqlite';
    if (start.startsWith('PGDMP'))
      throw new OperatorError(`${file} is in the custom format of pg_dump. Make a dump with --format=plain.`);
    if (/^(\u00ff\u00fe|\u00fe\u00ff)/.test(start))
      throw new OperatorError(`${file} is in UTF-16, as PowerShell writes files. Make it in UTF-8.`);
    if (start.startsWith('\u001f\u008b')) throw new OperatorError(`${file} is compressed. Unpack it first.`);
    return 'text';
  } finally {
    closeSync(descriptor);
  }
}

async function readText(file: string, { wanted, jsonNames }: Readable, tables: Tables): Promise<void> {
  const source = file === '-' ? Bun.stdin : Bun.file(file);
  const decoder = new TextDecoder();
  const dump = readDump(wanted, tables);
  const json: string[] = [];
  let isJson: boolean | null = null;
  let size = 0;
  for await (const bytes of source.stream()) {
    const text = decoder.decode(bytes, { stream: true });
    isJson ??= /^\s*$/.test(text) ? null : /^\s*\{/.test(text);
    if (isJson !== true) {
      dump.feed(text);
      continue;
    }
    size += bytes.length;
    if (size > maxJsonBytes)
      throw new OperatorError('The JSON file is larger than 256 MB. Import a dump of the database instead.');
    json.push(text);
  }
  if (isJson !== true) return dump.finish();
  if (jsonNames === null)
    throw new OperatorError('This is a JSON file. Import the database or a dump of it.');
  readJsonExport(json.join(''), wanted, jsonNames, tables);
}
