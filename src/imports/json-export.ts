/** One JSON file with the lists that a system's own API returns. */
import { JsonLimitError, parseBoundedJson } from '../json/bounded.ts';
import { OperatorError } from '../lib/operator-error.ts';
import type { Tables, Wanted } from './rows.ts';

/** The tables that the lists of the file stand for. */
export type JsonNames = ReadonlyMap<string, string>;

const limits = { values: 50_000_000, depth: 40, keys: 10_000_000 };

export function readJsonExport(text: string, wanted: Wanted, names: JsonNames, tables: Tables): void {
  const lists = asObject(parse(text));
  if (lists === null) throw new OperatorError('The JSON file must have an object with lists.');
  for (const [name, table] of names) {
    const list = lists.get(name);
    if (list === undefined) continue;
    if (!Array.isArray(list)) throw new OperatorError(`"${name}" in the JSON file must be a list.`);
    tables.found(table);
    for (const item of list) {
      const fields = asObject(item);
      if (fields === null) throw new OperatorError(`"${name}" in the JSON file must have objects only.`);
      const columns = wanted.get(table) ?? [];
      tables.add(table, new Map(columns.map((column) => [column, fields.get(column) ?? null])));
    }
  }
}

function parse(text: string): unknown {
  try {
    return parseBoundedJson(text, limits).value;
  } catch (error) {
    if (error instanceof JsonLimitError)
      throw new OperatorError('The JSON file is nested too deeply, or too large.');
    // The message of the parser repeats parts of the text, which is full of secrets.
    if (error instanceof SyntaxError) throw new OperatorError('The file is not valid JSON.');
    throw error;
  }
}

/** Names are the file's own, so an object becomes a map. */
export function asObject(value: unknown): ReadonlyMap<string, unknown> | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? new Map(Object.entries(value))
    : null;
}
