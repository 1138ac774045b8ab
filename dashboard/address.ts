/** The state of a page in its address: it survives a reload, and a link to it can be shared. */
import { type AnyRouter, useNavigate, useSearch } from '@tanstack/react-router';
import { useCallback } from 'react';

export type Search = Readonly<Record<string, unknown>>;

/** Search parameters stay strings, even those that look like numbers. */
export function parseSearch(search: string): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(search));
}

export function stringifySearch(search: Search): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(search)) {
    if (typeof value === 'string' && value !== '') parameters.set(name, value);
  }
  return parameters.size === 0 ? '' : `?${parameters}`;
}

export function useSearchParameters(): Search {
  return useSearch({ strict: false });
}

/** Replaces the search parameters and leaves the reader where they are on the page. */
export function useReplaceSearch(): (change: (before: Search) => Search) => void {
  const navigate = useNavigate();
  return useCallback(
    (change) => {
      navigate({ to: '.', replace: true, resetScroll: false, search: change }).catch(() => {});
    },
    [navigate],
  );
}

/** One search parameter, such as a filter. The default is left out of the address. */
export function useSearchValue(name: string, defaultValue = ''): [string, (value: string) => void] {
  const value = useSearchParameters()[name];
  const replace = useReplaceSearch();
  const change = useCallback(
    (next: string) => replace((before) => ({ ...before, [name]: next === defaultValue ? undefined : next })),
    [replace, name, defaultValue],
  );
  return [typeof value === 'string' ? value : defaultValue, change];
}

const maxSearchLength = 200;

/** The search text of a paged list. A new search starts at the first page, so it replaces the other parameters. */
export function useListSearch(): [string, (text: string) => void] {
  const { search } = useSearchParameters();
  const replace = useReplaceSearch();
  const change = useCallback(
    (text: string) => replace(() => (text === '' ? {} : { search: text.slice(0, maxSearchLength) })),
    [replace],
  );
  return [typeof search === 'string' ? search.slice(0, maxSearchLength) : '', change];
}

const signedOutPaths = new Set(['/sign-in', '/sign-up', '/forgot-password', '/reset-password']);

export function goToSignIn(router: AnyRouter): void {
  const { pathname, href } = router.state.location;
  if (signedOutPaths.has(pathname)) return;
  router.navigate({ to: '/sign-in', search: { next: href } }).catch(() => {});
}

/** Only a path within this app: a link that someone sent must not lead to another site after sign-in. */
export function placeAfterSignIn(next: unknown, origin: string): string {
  if (typeof next !== 'string' || !next.startsWith('/') || !URL.canParse(next, origin)) return '/';
  const url = new URL(next, origin);
  if (url.origin !== origin || signedOutPaths.has(url.pathname)) return '/';
  // Resolving dots can leave two leading slashes, which would name another host.
  return url.pathname.startsWith('//') ? '/' : `${url.pathname}${url.search}${url.hash}`;
}
