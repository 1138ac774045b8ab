/** The way to the sign-in and back to where one wanted to be. */
import type { AnyRouter } from '@tanstack/react-router';

const openPaths = new Set(['/sign-in', '/sign-up', '/forgot-password', '/reset-password']);

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
