/** A table of what a query fetches: its errors, its rows and, for a list in pages, the way to older and newer ones. */
import type { UseQueryResult } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { ChevronLeft, ChevronRight, SearchX } from 'lucide-react';
import { type Search, useSearchParameters } from '../address.ts';
import { ApiProblem } from '../api/client.ts';
import { Button } from './button.tsx';
import { isFocusShown } from './keep-focus.ts';
import { EmptyState, ErrorState } from './states.tsx';
import { Table, type TableProps } from './table.tsx';

type QueryTableProps<Row> = Omit<TableProps<Row>, 'isDimmed'> &
  Readonly<{
    query: UseQueryResult<unknown>;
    errorTitle?: string;
    /** For a list in pages; `nextCursor` is that of the page on the screen. */
    cursors?: Cursors;
    nextCursor?: string | null | undefined;
  }>;

export function QueryTable<Row>(props: QueryTableProps<Row>) {
  const { query, errorTitle, cursors, nextCursor = null, ...table } = props;
  if (query.data === undefined && query.isError)
    return cursors !== undefined && isMissingPage(query.error) ? (
      <MissingPage goToStart={cursors.goToStart} />
    ) : (
      <ErrorState error={query.error} title={errorTitle} onRetry={query.refetch} />
    );
  return (
    <>
      <Table {...table} isDimmed={query.isPlaceholderData} />
      {cursors !== undefined && (
        <Pager
          cursors={cursors}
          nextCursor={nextCursor}
          isBusy={query.isPlaceholderData}
          label={table.caption}
        />
      )}
    </>
  );
}

/** A link may name a page of the list that no longer exists. */
function isMissingPage(error: unknown): boolean {
  return error instanceof ApiProblem && error.code === 'invalid_cursor';
}

function MissingPage({ goToStart }: Pick<Cursors, 'goToStart'>) {
  return (
    <EmptyState
      icon={SearchX}
      title="This page of the list no longer exists"
      action={<Button onClick={goToStart}>Go to the newest</Button>}
    >
      The link to it is too old, or belongs to another list.
    </EmptyState>
  );
}

type PagerProps = Readonly<{ cursors: Cursors; nextCursor: string | null; isBusy: boolean; label: string }>;

function Pager({ cursors: { pageNumber, goOn, goBack }, nextCursor, isBusy, label }: PagerProps) {
  if (pageNumber === 1 && nextCursor === null) return null;
  return (
    <nav aria-label={`Pages of ${label}`} className="flex items-center justify-between gap-3 py-2.5">
      <span className="figures text-xs text-ink-faint">Page {pageNumber}</span>
      <span className="flex gap-2">
        <Button size="small" icon={ChevronLeft} disabled={pageNumber === 1 || isBusy} onClick={goBack}>
          Newer
        </Button>
        <Button
          size="small"
          disabled={nextCursor === null || isBusy}
          onClick={() => nextCursor !== null && goOn(nextCursor)}
        >
          Older
          <ChevronRight aria-hidden className="-mr-1 size-4" />
        </Button>
      </span>
    </nav>
  );
}

type Cursors = Readonly<{
  /** The cursor to ask for; null for the first page. */
  cursor: string | null;
  pageNumber: number;
  goOn: (nextCursor: string) => void;
  goBack: () => void;
  goToStart: () => void;
}>;

/** From the cursor of a page to that of the page before it; null is the first page. */
const previousCursors = new Map<string, string | null>();

/**
 * Keeps the page of a list in the address, for reloads and for the way back from one of its rows. The API only knows the
 * way to older pages. The way back is remembered while paging; from a page that was opened by a link it leads to the start.
 * A second list on the same page needs a `prefix`.
 */
export function useAddressCursors(prefix = ''): Cursors {
  const search = useSearchParameters();
  const navigate = useNavigate();
  const [cursorName, pageName] = [`${prefix}cursor`, `${prefix}page`];
  const given = search[cursorName];
  const cursor = typeof given === 'string' ? given : null;
  const pageNumber = cursor === null ? 1 : pageNumberOf(search[pageName]);
  const go = (nextCursor: string | null, nextNumber: number) => {
    navigate({
      to: '.',
      resetScroll: !isFocusShown(),
      search: (before: Search) => ({
        ...before,
        [cursorName]: nextCursor ?? undefined,
        [pageName]: nextCursor === null ? undefined : `${nextNumber}`,
      }),
    }).catch(() => {});
  };
  return {
    cursor,
    pageNumber,
    goOn: (nextCursor) => {
      previousCursors.set(nextCursor, cursor);
      go(nextCursor, pageNumber + 1);
    },
    goBack: () => go(cursor === null ? null : (previousCursors.get(cursor) ?? null), pageNumber - 1),
    goToStart: () => go(null, 1),
  };
}

/** A page with a cursor is never the first one, whatever else the address says. */
function pageNumberOf(text: unknown): number {
  const number = typeof text === 'string' && /^\d{1,6}$/.test(text) ? Number(text) : 2;
  return Math.max(2, number);
}
