/** What the readers of dumps and exports produce, within bounds. */
import { OperatorError } from '../lib/operator-error.ts';

/** Values by column. Those of a dump are texts; those of JSON have their own kinds. */
export type Row = ReadonlyMap<string, unknown>;

/** The tables that an import reads, and their columns. Nothing else of a file is kept, or even looked at. */
export type Wanted = ReadonlyMap<string, readonly string[]>;

const maxRows = 2_000_000;

/** The rows of a file by table. A table that the file has is here even if it is empty. */
export class Tables {
  readonly #rows = new Map<string, Row[]>();
  #count = 0;

  has(table: string): boolean {
    return this.#rows.has(table);
  }

  of(table: string): readonly Row[] {
    return this.#rows.get(table) ?? [];
  }

  found(table: string): void {
    if (!this.#rows.has(table)) this.#rows.set(table, []);
  }

  add(table: string, row: Row): void {
    this.#count += 1;
    if (this.#count > maxRows)
      throw new OperatorError(
        `The file has more than ${maxRows} rows to import. Split it by table and tenant.`,
      );
    this.found(table);
    this.#rows.get(table)?.push(row);
  }
}
