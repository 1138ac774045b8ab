/** Exports whose rows are in the order of their IDs, which are times. */
import { firstIdAt } from '../lib/ids.ts';
import type { ExportOrder, ExportPage } from './source.ts';

/** From the first ID of the range up to the first one after it. */
export function idsOf({ from, to }: Pick<ExportOrder, 'from' | 'to'>): Readonly<{
  first: string;
  end: string;
}> {
  return { first: firstIdAt(from.getTime()), end: firstIdAt(to.getTime()) };
}

export function isIdWithin(id: string | null, range: Pick<ExportOrder, 'from' | 'to'>): boolean {
  const { first, end } = idsOf(range);
  return id !== null && id >= first && id < end;
}

export function pageOfIds<Row extends Readonly<{ id: string }>>(
  rows: readonly Row[],
  rowCount: number,
  cursorOf: (row: Row) => string,
): ExportPage<Row> {
  const last = rows.at(-1);
  return { rows, next: last === undefined || rows.length < rowCount ? null : cursorOf(last) };
}
