/** Older and newer by cursor: the API knows the way on, and the address remembers the way back. */
import { useNavigate, useSearch } from '@tanstack/react-router';
import { ChevronLeft, ChevronRight } from 'lucide-react';
import { Button } from './button.tsx';

export type Cursors = Readonly<{
  /** What to ask for; null is the first page. */
  cursor: string | null;
  pageNumber: number;
  goOn: (nextCursor: string) => void;
  goBack: () => void;
}>;

type PagerProps = Readonly<{
  cursors: Cursors;
  /** Of the page that is shown; null or undefined when there is nothing further. */
  nextCursor: string | null | undefined;
  isBusy?: boolean;
  /** What is paged, such as "Generations". */
  label: string;
}>;

export function Pager({ cursors, nextCursor, isBusy = false, label }: PagerProps) {
  if (cursors.pageNumber === 1 && !nextCursor) return null;
  return (
    <nav
      aria-label={`Pages of ${label}`}
      className="flex items-center justify-between gap-3 border-t border-line px-4 py-2.5 sm:px-5"
    >
      <span className="figures text-xs text-ink-faint">Page {cursors.pageNumber}</span>
      <span className="flex gap-2">
        <Button
          size="small"
          icon={ChevronLeft}
          disabled={cursors.pageNumber === 1 || isBusy}
          onClick={cursors.goBack}
        >
          Newer
        </Button>
        <Button
          size="small"
          disabled={!nextCursor || isBusy}
          onClick={() => nextCursor && cursors.goOn(nextCursor)}
        >
          Older
          <ChevronRight aria-hidden className="-mr-1 size-4" />
        </Button>
      </span>
    </nav>
  );
}

/** From a page's cursor to that of the page before it; null is the first page. */
const pageBefore = new Map<string, string | null>();

/**
 * The pages of a list in the address: a reload stays on the page, and so does the way back from one of its rows. The way
 * to newer pages is known only as far as it was gone before; from a page that was opened by a link it leads to the start.
 */
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
