/**
 * A page of a list. `rows` holds one more than the limit when there is another page. That page begins after the last row
 * shown, whose cursor `cursorOf` makes.
 */
export function presentPage<Row, Item>(
  rows: readonly Row[],
  limit: number,
  present: (row: Row) => Item,
  cursorOf: (last: Row) => string,
): { data: Item[]; has_more: boolean; next_cursor: string | null } {
  const page = rows.slice(0, limit);
  const last = rows.length > limit ? page.at(-1) : undefined;
  return {
    data: page.map((row) => present(row)),
    has_more: last !== undefined,
    next_cursor: last === undefined ? null : cursorOf(last),
  };
}
