/** Pages whose code is loaded on demand, or earlier while the browser is idle. */
import { type AnyRouter, lazyRouteComponent } from '@tanstack/react-router';
import { ApiProblem, queryClient, reportReachable } from './api/client.ts';
import { meQuery } from './api/session.ts';

/** For code that could not be loaded, or that a newer version of the gateway no longer has. */
export const codeOfMissingPage = 'page_not_loaded';

/**
 * The router reloads the app when code is missing, which would leave only the browser's own error page if the gateway is
 * unreachable. Another error is thrown instead, for which the app has a page.
 */
export function lazyPage<Module extends Record<string, unknown>, Name extends keyof Module>(
  fetchCode: () => Promise<Module>,
  name: Name,
) {
  return lazyRouteComponent(async () => {
    try {
      return await fetchCode();
    } catch {
      throw new ApiProblem('Its code could not be loaded. Check your connection and try again.', {
        status: 0,
        code: codeOfMissingPage,
      });
    }
  }, name);
}

/** Reloads the app, with the code of a newer version if there is one, but only if the gateway is reachable. */
export async function reloadApp(): Promise<void> {
  try {
    await fetch(location.href, { method: 'HEAD', cache: 'no-store' });
  } catch {
    reportReachable(false);
    return;
  }
  location.reload();
}

/**
 * One after the other, so that they do not delay what the reader asks for in the meantime. Those of operators are for operators
 * only.
 */
async function fetchPages(router: AnyRouter): Promise<void> {
  const isOperator = queryClient.getQueryData(meQuery.queryKey)?.user.is_operator === true;
  for (const route of Object.values(router.routesById))
    if (isOperator || !route.fullPath.startsWith('/operator')) await router.loadRouteChunk(route);
}

const idleAfterMs = 1_000;

/** After each page, because someone may have signed in. What is there already is not fetched again. */
export function fetchPagesWhenIdle(router: AnyRouter): void {
  const fetchAll = () => {
    fetchPages(router).catch(() => {});
  };
  router.subscribe('onRendered', () => {
    // Safari does not have this function.
    if ('requestIdleCallback' in window) requestIdleCallback(fetchAll);
    else setTimeout(fetchAll, idleAfterMs);
  });
}
