/**
 * The pages of a list in the address: a reload stays on the page, and so does the way back from one of its rows. The way
 * to newer pages is known only as far as it was gone before; from a page that was opened by a link it leads to the start.
 */
import { useNavigate, useSearch } from '@tanstack/react-router';
import type { Cursors } from './pager.tsx';

/** From a page's cursor to that of the page before it; null is the first page. */
const pageBefore = new Map<string, string | null>();

export function useAddressCursors(): Cursors & Readonly<{ goToStart: () => void }> {
  const search: Readonly<Record<string, unknown>> = useSearch({ strict: false });
  const navigate = useNavigate();
  const cursor = typeof search.cursor === 'string' ? search.cursor : null;
  const pageNumber = cursor === null ? 1 : pageNumberOf(search.page);
  const go = (nextCursor: string | null, nextNumber: number) => {
    navigate({
      to: '.',
      search: (before: Record<string, unknown>) => ({
        ...before,
        cursor: nextCursor ?? undefined,
        page: nextCursor === null ? undefined : `${nextNumber}`,
      }),
    }).catch(() => {});
  };
  return {
    cursor,
    pageNumber,
    goOn: (nextCursor) => {
      pageBefore.set(nextCursor, cursor);
      go(nextCursor, pageNumber + 1);
    },
    goBack: () => go(cursor === null ? null : (pageBefore.get(cursor) ?? null), pageNumber - 1),
    goToStart: () => go(null, 1),
  };
}

/** A cursor is never the first page, whatever else the address says. */
function pageNumberOf(text: unknown): number {
  const number = typeof text === 'string' && /^\d{1,6}$/.test(text) ? Number(text) : 2;
  return Math.max(2, number);
}
