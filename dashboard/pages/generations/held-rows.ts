/** New rows appear by themselves at the top of the page. Whoever has scrolled down is told of them instead. */
import { useState, useSyncExternalStore } from 'react';

const scrolledPixels = 120;

function subscribe(listener: () => void): () => void {
  window.addEventListener('scroll', listener, { passive: true });
  return () => window.removeEventListener('scroll', listener);
}

type Held<Row> = Readonly<{ rows: readonly Row[] | undefined; newCount: number }>;

/** `list` names what is listed: rows of another list are shown at once. */
export function useHeldRows<Row extends Readonly<{ id: string }>>(
  fetched: readonly Row[] | undefined,
  list: string,
): Held<Row> {
  const isScrolled = useSyncExternalStore(subscribe, () => window.scrollY > scrolledPixels);
  const [shown, setShown] = useState({ list, rows: fetched });
  const isHeld = isScrolled && shown.list === list;
  if (!isHeld && (shown.rows !== fetched || shown.list !== list)) setShown({ list, rows: fetched });
  if (!isHeld || fetched === undefined || shown.rows === undefined) return { rows: fetched, newCount: 0 };
  return holdRows(shown.rows, fetched);
}

/**
 * What a reader sees while the list behind it grows: the same rows in the same places, each as it is now, and how many
 * have been added above since. Rows that have left the fetched page stay as they were last.
 */
type HeldRow = Readonly<{ id: string }>;

export function holdRows<Of extends HeldRow>(
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
