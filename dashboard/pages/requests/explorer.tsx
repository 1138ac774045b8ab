/** Every request of an account, or for operators of all: what happened, to whom, why, and what it cost. */
import { useQueries } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { ArrowUp, ChevronLeft, ChevronRight, ListTree, SearchX } from 'lucide-react';
import { useEffect, useRef } from 'react';
import type { RequestPage, RequestRow } from '../../../src/console/request-contract.ts';
import { type Search, useReplaceSearch, useSearchParameters } from '../../address.ts';
import { ApiProblem, get, problemOf } from '../../api/client.ts';
import { Button } from '../../kit/button.tsx';
import { Callout } from '../../kit/callout.tsx';
import { UtcClock } from '../../kit/figures.tsx';
import { formatTime } from '../../kit/format-figures.ts';
import { isFocusShown, useKeptFocus } from '../../kit/keep-focus.ts';
import { Page } from '../../kit/page.tsx';
import { EmptyState, ErrorState } from '../../kit/states.tsx';
import { ErrorCodes } from './error-codes.tsx';
import { FilterBar } from './filter-bar.tsx';
import { Histogram, Totals } from './histogram.tsx';
import { useExplorerKeys } from './keyboard.ts';
import { Panel } from './panel.tsx';
import { usePinnedRows } from './pinned-rows.ts';
import { type ListedRequests, useRequests, useSeries } from './queries.ts';
import type { Extras } from './request-content.tsx';
import { Rows } from './rows.tsx';
import { type Scope, ScopeContext } from './scope.ts';
import { Toolbar } from './toolbar.tsx';
import {
  isOpenEnded,
  longestRange,
  type View,
  viewIn,
  withoutFilter,
  withoutFilters,
  withRange,
} from './view.ts';

type ExplorerProps = Readonly<{ scope: Scope; extras: Extras }>;

export function Explorer({ scope, extras }: ExplorerProps) {
  const view = viewIn(useSearchParameters(), scope.isOperator);
  return (
    <ScopeContext value={scope}>
      <UtcClock value={view.isUtc}>
        <Page title="Requests">
          <Contents scope={scope} view={view} extras={extras} />
        </Page>
      </UtcClock>
    </ScopeContext>
  );
}

function Contents({ scope, view, extras }: ExplorerProps & Readonly<{ view: View }>) {
  const list = useRequests(view);
  const series = useSeries(view);
  const { range, filters, cursor } = view;
  const fetched = list.data?.page.data;
  const { rows, newCount } = usePinnedRows(fetched, JSON.stringify([range, filters, cursor]));
  const names = useNames(scope, view, rows);
  const problem = problemIn(view, list.error);
  return (
    <div className="space-y-4">
      <Toolbar view={view} times={list.data?.times} />
      <FilterBar view={view} names={names} wrong={problem?.param ?? null} />
      {problem !== null ? (
        <WrongAddress problem={problem} view={view} />
      ) : (
        <>
          <Histogram
            view={view}
            series={series.data}
            isBusy={series.isPlaceholderData}
            replacement={
              series.isError ? <ErrorState error={series.error} onRetry={series.refetch} /> : undefined
            }
          />
          {!series.isError && <Totals series={series.data} />}
          {series.data !== undefined && <ErrorCodes view={view} totals={series.data.totals} />}
          {list.data === undefined && list.isError ? (
            <ListProblem error={list.error} onRetry={list.refetch} />
          ) : (
            <Listed view={view} rows={rows} listed={list.data} isBusy={list.isPlaceholderData} />
          )}
        </>
      )}
      <NewRows count={newCount} />
      <Selected view={view} rows={rows ?? []} extras={extras} />
    </div>
  );
}

type Problem = Readonly<{ message: string; param: string | null }>;

/** An unknown value is never ignored: the list would look as if it were filtered by it. */
function problemIn(view: View, error: unknown): Problem | null {
  if (view.problem !== null) return { message: view.problem, param: null };
  if (!(error instanceof ApiProblem) || error.status < 400 || error.status >= 500) return null;
  return error.param === null || error.param === 'cursor'
    ? null
    : { message: error.message, param: error.param };
}

function WrongAddress({ problem: { message, param }, view }: Readonly<{ problem: Problem; view: View }>) {
  const replace = useReplaceSearch();
  useKeptFocus();
  const isFilter = view.filters.some(({ name }) => name === param);
  return (
    <Callout
      tone="bad"
      isUrgent
      title="The address of this page asks for something unknown"
      actions={
        <Button
          size="small"
          onClick={() =>
            replace((before) => {
              if (isFilter && param !== null) return withoutFilter(before, param);
              const { account } = before;
              return account === undefined ? {} : { account };
            })
          }
        >
          {isFilter ? 'Remove this filter' : 'Start anew'}
        </Button>
      }
    >
      {message}
    </Callout>
  );
}

function ListProblem({ error, onRetry }: Readonly<{ error: unknown; onRetry: () => unknown }>) {
  const replace = useReplaceSearch();
  if (problemOf(error).code !== 'invalid_cursor') return <ErrorState error={error} onRetry={onRetry} />;
  return (
    <EmptyState
      icon={SearchX}
      title="This page of the list no longer exists"
      action={
        <Button onClick={() => replace(({ cursor: _cursor, since: _since, page: _page, ...rest }) => rest)}>
          Go to the newest
        </Button>
      }
    >
      The link to it is too old, or belongs to another list.
    </EmptyState>
  );
}

type ListedProps = Readonly<{
  view: View;
  rows: readonly RequestRow[] | undefined;
  listed: ListedRequests | undefined;
  /** While another page or range is being loaded. */
  isBusy: boolean;
}>;

function Listed({ view, rows, listed, isBusy }: ListedProps) {
  const page = listed?.page;
  return (
    <div>
      {rows?.length === 0 ? (
        <NothingListed view={view} hasMore={page?.has_more === true} />
      ) : (
        <Rows
          rows={rows}
          selected={view.request}
          isUtc={view.isUtc}
          isDimmed={isBusy}
          isOfOneAccount={view.filters.some(({ name }) => name === 'account')}
        />
      )}
      {page !== undefined && <ScannedTo page={page} isUtc={view.isUtc} />}
      {listed !== undefined && <Pager view={view} listed={listed} isBusy={isBusy} />}
    </div>
  );
}

function NothingListed({ view, hasMore }: Readonly<{ view: View; hasMore: boolean }>) {
  const replace = useReplaceSearch();
  useKeptFocus();
  const { filters, range } = view;
  if (hasMore)
    return (
      <EmptyState icon={ListTree} title="None of the last 10,000 match all filters">
        Go on with “Older”, or use fewer filters.
      </EmptyState>
    );
  return (
    <EmptyState
      icon={ListTree}
      title={filters.length > 0 ? 'No requests match these filters' : 'No requests in this range'}
      action={
        <>
          {range.kind !== longestRange && (
            <Button onClick={() => replace((before) => withRange(before, longestRange))}>
              Look at 30 days
            </Button>
          )}
          {filters.length > 0 && (
            <Button onClick={() => replace((before) => withoutFilters(before, filters))}>
              Clear filters
            </Button>
          )}
        </>
      }
    >
      {isOpenEnded(view)
        ? `${filters.length > 0 ? 'New ones' : 'Requests to models'} appear here within two seconds, with their cost and outcome.`
        : 'Choose another range, or other filters.'}
    </EmptyState>
  );
}

/** With several filters, a page looks at a limited number of requests. */
function ScannedTo({ page: { scanned_to: to }, isUtc }: Readonly<{ page: RequestPage; isUtc: boolean }>) {
  if (to === null) return null;
  return (
    <p role="status" className="border-t border-line px-2 py-2 text-xs text-ink-faint">
      All from {formatTime(new Date(to), 'exact', isUtc ? 'UTC' : undefined)} on were looked at. Go on with
      “Older”.
    </p>
  );
}

/** From the cursor of a page to that of the page before it; null is the first page. */
const previousCursors = new Map<string, string | null>();

type PagerProps = Readonly<{ view: View; listed: ListedRequests; isBusy: boolean }>;

/** The way back is remembered while paging; from a page that was opened by a link it leads to the start. */
function Pager({ view, listed, isBusy }: PagerProps) {
  const navigate = useNavigate();
  const { cursor, page: number } = view;
  const { next_cursor: next } = listed.page;
  if (cursor === null && next === null) return null;
  const go = (to: string | null, page: number) => {
    navigate({
      to: '.',
      resetScroll: !isFocusShown(),
      search: ({ request: _request, ...before }: Search) => ({
        ...before,
        cursor: to ?? undefined,
        page: to === null ? undefined : `${page}`,
        // A cursor belongs to its range, which must not move on with the clock.
        since: to === null ? undefined : listed.times.from,
      }),
    }).catch(() => {});
  };
  return (
    <nav
      aria-label="Pages of requests"
      className="flex items-center justify-between gap-3 border-t border-line px-2 py-2.5"
    >
      <span className="figures text-xs text-ink-faint">Page {number}</span>
      <span className="flex gap-2">
        <Button
          size="small"
          icon={ChevronLeft}
          disabled={cursor === null || isBusy}
          onClick={() => go(cursor === null ? null : (previousCursors.get(cursor) ?? null), number - 1)}
        >
          Newer
        </Button>
        <Button
          size="small"
          disabled={next === null || isBusy}
          onClick={() => {
            if (next === null) return;
            previousCursors.set(next, cursor);
            go(next, number + 1);
          }}
        >
          Older
          <ChevronRight aria-hidden className="-mr-1 size-4" />
        </Button>
      </span>
    </nav>
  );
}

/** Fixed to the window, so that it does not shift the page. */
function NewRows({ count }: Readonly<{ count: number }>) {
  return (
    <div
      role="status"
      className="pointer-events-none fixed inset-x-0 bottom-6 z-20 flex justify-center lg:pl-52"
    >
      {count > 0 && (
        <span className="pointer-events-auto rounded-md shadow-float">
          <NewRowsButton count={count} />
        </span>
      )}
    </div>
  );
}

/** It is gone once the list is at its top. */
function NewRowsButton({ count }: Readonly<{ count: number }>) {
  useKeptFocus();
  return (
    <Button variant="primary" icon={ArrowUp} onClick={() => window.scrollTo({ top: 0 })}>
      {count === 1 ? '1 new request' : `${count} new requests`}
    </Button>
  );
}

type SelectedProps = Readonly<{ view: View; rows: readonly RequestRow[]; extras: Extras }>;

/** The panel, and the keys that move from request to request, with it or without. */
function Selected({ view: { request: id }, rows, extras }: SelectedProps) {
  const replace = useReplaceSearch();
  const at = rows.findIndex((row) => row.id === id);
  const goTo = (row: RequestRow | undefined) => {
    if (row === undefined) return;
    if (id === null) return linkOf(row.id)?.focus();
    replace((before) => ({ ...before, request: row.id }));
    return linkOf(row.id)?.scrollIntoView({ block: 'nearest' });
  };
  const closed = useRef<string | null>(null);
  const leave = () => replace(({ request: _request, ...rest }) => rest);
  const close = () => {
    closed.current = id;
    leave();
  };
  // Once the panel has gone, because the browser then returns the focus to where it was before the panel came.
  useEffect(() => {
    if (id !== null || closed.current === null) return;
    linkOf(closed.current)?.focus({ preventScroll: true });
    closed.current = null;
  }, [id]);
  const next = (step: 1 | -1) => rows[(id === null ? focusedAt(rows) : at) + step];
  useExplorerKeys({
    older: () => goTo(next(1)),
    newer: () => goTo(next(-1)),
    close: id === null ? null : close,
  });
  if (id === null) return null;
  return (
    <Panel
      id={id}
      extras={extras}
      goToNewer={at > 0 ? () => goTo(next(-1)) : null}
      goToOlder={at < rows.length - 1 ? () => goTo(next(1)) : null}
      onClose={close}
      onLeave={leave}
    />
  );
}

function linkOf(id: string): HTMLElement | null {
  return document.querySelector<HTMLElement>(`[data-request="${CSS.escape(id)}"] [data-open]`);
}

/** −1 if none has the focus. */
function focusedAt(rows: readonly RequestRow[]): number {
  return rows.findIndex(({ id }) => linkOf(id) === document.activeElement);
}

type Named = Readonly<{ id: string; name: string }>;

/** The names of keys and accounts that filters name by ID. Whatever the rows do not name is looked up. */
function useNames(
  { queryKey, pathOf }: Scope,
  { filters }: View,
  rows: readonly RequestRow[] | undefined,
): ReadonlyMap<string, string> {
  const named: readonly Named[] = (rows ?? []).flatMap(({ key, account }) =>
    account === undefined ? [key] : [key, account],
  );
  const unnamed = filters.filter(
    ({ name, value }) =>
      (name === 'key' || name === 'account') && rows !== undefined && !named.some(({ id }) => id === value),
  );
  const found = useQueries({
    queries: unnamed.map(({ value: q }) => ({
      queryKey: [...queryKey, 'find', { q }],
      queryFn: ({ signal }: Readonly<{ signal: AbortSignal }>) =>
        get<Readonly<{ keys: readonly Named[]; accounts?: readonly Named[] }>>(pathOf('find'), {
          query: { q },
          signal,
        }),
    })),
  });
  const lookedUp = found.flatMap(({ data }) => [...(data?.keys ?? []), ...(data?.accounts ?? [])]);
  return new Map([...named, ...lookedUp].map(({ id, name }) => [id, name]));
}
