/** Pages of a list that is here as a whole. */
import { ChevronLeft, ChevronRight } from 'lucide-react';
import { Button } from './button.tsx';
import { formatCount } from './format-figures.ts';

export type PageOfList<Item> = Readonly<{
  items: readonly Item[];
  /** From 1. A number beyond the last page means the last one, because the list may have become shorter. */
  number: number;
  pageCount: number;
  total: number;
  /** The place of the first item in the list, from 0. */
  start: number;
}>;

export function pageOfList<Item>(list: readonly Item[], wanted: number, size: number): PageOfList<Item> {
  const pageCount = Math.max(1, Math.ceil(list.length / size));
  const number = Math.min(pageCount, Math.max(1, wanted));
  const start = (number - 1) * size;
  return { items: list.slice(start, start + size), number, pageCount, total: list.length, start };
}

type PagerProps = Readonly<{ page: PageOfList<unknown>; label: string; onChange: (number: number) => void }>;

export function Pager({ page, label, onChange }: PagerProps) {
  const { items, number, pageCount, total, start } = page;
  return (
    <nav aria-label={`Pages of ${label}`} className="flex items-center justify-between gap-3 py-2.5">
      <span role="status" className="figures text-xs text-ink-faint">
        {formatCount(start + 1)}–{formatCount(start + items.length)} of {formatCount(total)}
      </span>
      {pageCount > 1 && (
        <span className="flex gap-2">
          <Button
            size="small"
            icon={ChevronLeft}
            disabled={number === 1}
            onClick={() => onChange(number - 1)}
          >
            Previous
          </Button>
          <Button size="small" disabled={number === pageCount} onClick={() => onChange(number + 1)}>
            Next
            <ChevronRight aria-hidden className="-mr-1 size-4" />
          </Button>
        </span>
      )}
    </nav>
  );
}
