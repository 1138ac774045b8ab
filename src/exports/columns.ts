/** The columns of an export: one value for both formats, so that they cannot differ. */
import { jsonCell, lineOf, quoted, textCell } from '../lib/csv.ts';

type Value = string | number | bigint | boolean | Date | null | undefined;

export type Column<Row> = Readonly<{
  name: string;
  cell: (row: Row) => string;
  json: (row: Row) => unknown;
}>;

/** A value that the gateway itself makes: an ID, a number, an amount, a time, a word of a fixed list. */
export function plain<Row>(name: string, valueIn: (row: Row) => Value): Column<Row> {
  return {
    name,
    cell: (row) => textOf(valueIn(row)),
    json: (row) => {
      const value = valueIn(row);
      return typeof value === 'bigint' ? Number(value) : (value ?? null);
    },
  };
}

/** Text that people or programs chose, or that comes from elsewhere. */
export function text<Row>(name: string, textIn: (row: Row) => string | null): Column<Row> {
  return { name, cell: (row) => textCell(textIn(row)), json: textIn };
}

/** An ID that a spreadsheet must not take for a number, as it would 12345678e9…. */
export function id<Row>(name: string, idIn: (row: Row) => string | null): Column<Row> {
  return {
    name,
    cell: (row) => {
      const value = idIn(row);
      return value === null ? '' : quoted(value);
    },
    json: idIn,
  };
}

/** Several values under names of their own; null when there are none. As text it is JSON. */
export function nested<Row>(name: string, objectIn: (row: Row) => object | null): Column<Row> {
  return { name, cell: (row) => jsonCell(objectIn(row)), json: objectIn };
}

function textOf(value: Value): string {
  return value instanceof Date ? value.toISOString() : `${value ?? ''}`;
}

export const formats = ['csv', 'ndjson'] as const;
export type Format = (typeof formats)[number];

/** The first line of a file; empty for a format that has none. */
export function headerOf<Row>(format: Format, columns: readonly Column<Row>[]): string {
  return format === 'csv' ? lineOf(columns.map(({ name }) => name)) : '';
}

export function writeLine<Row>(format: Format, columns: readonly Column<Row>[], row: Row): string {
  if (format === 'csv') return lineOf(columns.map(({ cell }) => cell(row)));
  return `${JSON.stringify(Object.fromEntries(columns.map(({ name, json }) => [name, json(row)])))}\n`;
}
