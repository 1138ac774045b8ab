/**
 * What a reader sees while the list behind it grows: the same rows in the same places, each as it is now, and how many
 * have been added above since. Rows that have left the fetched page stay as they were last.
 */
type Row = Readonly<{ id: string }>;

export function holdRows<Of extends Row>(
  shown: readonly Of[],
  fetched: readonly Of[],
): { rows: Of[]; newCount: number } {
  const byId = new Map(fetched.map((row) => [row.id, row]));
  const known = new Set(shown.map(({ id }) => id));
  const newest = shown[0];
  return {
    rows: shown.map((row) => byId.get(row.id) ?? row),
    // IDs sort by time. With a filter on its status a row leaves the list when it changes, and older ones move up from the next page.
    newCount: fetched.filter((row) => !known.has(row.id) && (newest === undefined || row.id > newest.id))
      .length,
  };
}
