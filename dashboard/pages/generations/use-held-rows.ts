/** New rows appear by themselves at the top of the page. Whoever has scrolled down is told of them instead. */
import { useState, useSyncExternalStore } from 'react';
import { holdRows } from './hold-rows.ts';

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
