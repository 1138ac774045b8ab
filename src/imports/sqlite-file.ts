/** The wanted tables of a SQLite database. */
import { Database } from 'bun:sqlite';
import { OperatorError } from '../lib/operator-error.ts';
import type { Tables, Wanted } from './rows.ts';

export function readSqliteFile(file: string, wanted: Wanted, tables: Tables): void {
  let database: Database | null = null;
  try {
    database = new Database(file, { readonly: true });
    for (const [table, columns] of wanted) readTable(database, table, columns, tables);
  } catch (error) {
    if (error instanceof OperatorError) throw error;
    const code = error instanceof Error && 'code' in error ? ` (${String(error.code)})` : '';
    throw new OperatorError(`${file} cannot be read as a SQLite database${code}.`);
  } finally {
    database?.close();
  }
}

/** The names of tables and columns are our own; only those that the file has are read. */
function readTable(database: Database, table: string, wanted: readonly string[], tables: Tables): void {
  const existing = database
    .query<{ name: string }, [string]>('select name from pragma_table_info(?)')
    .all(table)
    .map(({ name }) => name);
  if (existing.length === 0) return;
  tables.found(table);
  const columns = wanted.filter((column) => existing.includes(column));
  const list = columns.map((column) => `cast("${column}" as text) as "${column}"`).join(', ');
  const rows = database.query<Record<string, string | null>, []>(`select ${list} from "${table}"`);
  for (const row of rows.iterate()) tables.add(table, new Map(Object.entries(row)));
}
