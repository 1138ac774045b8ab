/** Older and newer by cursor: the API knows the way on, and the address remembers the way back. */
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
