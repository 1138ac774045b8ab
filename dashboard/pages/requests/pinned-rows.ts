/** New rows appear at the top of the list, unless the reader has scrolled down: then they are only counted. */
import { useState, useSyncExternalStore } from 'react';

const scrolledPixels = 120;

function subscribe(listener: () => void): () => void {
  window.addEventListener('scroll', listener, { passive: true });
  return () => window.removeEventListener('scroll', listener);
}

type Identified = Readonly<{ id: string }>;

/** `list` names the list: the rows of another list are shown immediately. */
export function usePinnedRows<Row extends Identified>(fetched: readonly Row[] | undefined, list: string) {
  const isScrolled = useSyncExternalStore(subscribe, () => window.scrollY > scrolledPixels);
  const [shown, setShown] = useState({ list, rows: fetched });
  const isPinned = isScrolled && shown.list === list;
  if (!isPinned && (shown.rows !== fetched || shown.list !== list)) setShown({ list, rows: fetched });
  if (!isPinned || fetched === undefined || shown.rows === undefined) return { rows: fetched, newCount: 0 };
  return pinRows(shown.rows, fetched);
}

/**
 * Keeps the shown rows in place, each with its newest content, and counts the rows that were added above them. Rows that
 * are no longer on the fetched page keep their last content.
 */
export function pinRows<Row extends Identified>(
  shown: readonly Row[],
  fetched: readonly Row[],
): { rows: Row[]; newCount: number } {
  const byId = new Map(fetched.map((row) => [row.id, row]));
  const known = new Set(shown.map(({ id }) => id));
  const newest = shown[0];
  return {
    rows: shown.map((row) => byId.get(row.id) ?? row),
    // IDs sort by time. With a status filter, rows leave the list and older ones move up: those are not new.
    newCount: fetched.filter((row) => !known.has(row.id) && (newest === undefined || row.id > newest.id))
      .length,
  };
}
