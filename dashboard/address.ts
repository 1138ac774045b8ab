import { type AnyRouter, useNavigate, useSearch } from '@tanstack/react-router';
import { useCallback } from 'react';

/** The part of an address behind the question mark, as plain texts: what looks like a number stays what was written. */
export function parseSearch(search: string): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(search));
}

export function stringifySearch(search: Record<string, unknown>): string {
  const words = new URLSearchParams();
  for (const [name, value] of Object.entries(search)) {
    if (typeof value === 'string' && value !== '') words.set(name, value);
  }
  return words.size === 0 ? '' : `?${words}`;
}

/** A value in the address of the page, such as a filter: it survives a reload, and a link to it can be sent. */
export function useSearchValue(name: string, otherwise = ''): [string, (value: string) => void] {
  const search: Readonly<Record<string, unknown>> = useSearch({ strict: false });
  const navigate = useNavigate();
  const value = search[name];
  const change = useCallback(
    (next: string) => {
      navigate({
        to: '.',
        replace: true,
        resetScroll: false,
        search: (before: Record<string, unknown>) => ({
          ...before,
          [name]: next === otherwise ? undefined : next,
        }),
      }).catch(() => {});
    },
    [navigate, name, otherwise],
  );
  return [typeof value === 'string' ? value : otherwise, change];
}

/** What is searched for in a long list, in the address. Another search begins at the first page. */
export const longestSearch = 200;

export function useListSearch(): [string, (words: string) => void] {
  const search: Readonly<Record<string, unknown>> = useSearch({ strict: false });
  const navigate = useNavigate();
  const change = useCallback(
    (words: string) => {
      navigate({
        to: '.',
        replace: true,
        resetScroll: false,
        search: words === '' ? {} : { search: words.slice(0, longestSearch) },
      }).catch(() => {});
    },
    [navigate],
  );
  return [typeof search.search === 'string' ? search.search.slice(0, longestSearch) : '', change];
}

const openPaths = new Set(['/sign-in', '/sign-up', '/forgot-password', '/reset-password']);

/** The way to the sign-in and back to where one wanted to be. */
export function goToSignIn(router: AnyRouter): void {
  const { pathname, href } = router.state.location;
  if (openPaths.has(pathname)) return;
  router.navigate({ to: '/sign-in', search: { next: href } }).catch(() => {});
}

/** Only a place within this app: a link that someone sent must not lead away after the sign-in. */
export function placeAfterSignIn(next: unknown, origin: string): string {
  if (typeof next !== 'string' || !next.startsWith('/') || !URL.canParse(next, origin)) return '/';
  const url = new URL(next, origin);
  if (url.origin !== origin || openPaths.has(url.pathname)) return '/';
  // Dots that are resolved away can leave two slashes, and what begins so names another host.
  return url.pathname.startsWith('//') ? '/' : `${url.pathname}${url.search}${url.hash}`;
}
