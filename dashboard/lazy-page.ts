/** Pages whose code is fetched when it is needed, or before, when the browser has nothing else to do. */
import { type AnyRouter, lazyRouteComponent } from '@tanstack/react-router';
import { ApiProblem, reportReachable } from './api/client.ts';

/** Of code that did not arrive, or that a newer version of the gateway no longer has. */
export const codeOfMissingPage = 'page_not_loaded';

/**
 * The router would load the whole app again when code is missing, and a gateway that is gone would then leave nothing but
 * the browser's own error. So it is told of another problem, for which the app has a page.
 */
export function lazyPage<Module extends Record<string, unknown>, Name extends keyof Module>(
  fetchCode: () => Promise<Module>,
  name: Name,
) {
  return lazyRouteComponent(async () => {
    try {
      return await fetchCode();
    } catch {
      throw new ApiProblem('Its code did not arrive. Check your connection and try again.', {
        status: 0,
        code: codeOfMissingPage,
      });
    }
  }, name);
}

/** A new start fetches the code anew, and that of a newer version too. It is made only if there is someone to answer. */
export async function startAgain(): Promise<void> {
  try {
    await fetch(location.href, { method: 'HEAD', cache: 'no-store' });
  } catch {
    reportReachable(false);
    return;
  }
  location.reload();
}

/** One after the other, so that what the reader asks for meanwhile does not wait. */
async function fetchAllPages(router: AnyRouter): Promise<void> {
  for (const route of Object.values(router.routesById)) await router.loadRouteChunk(route);
}

const idleAfterMs = 1_000;

export function fetchPagesWhenIdle(router: AnyRouter): void {
  const fetchAll = () => {
    fetchAllPages(router).catch(() => {});
  };
  const stop = router.subscribe('onRendered', () => {
    stop();
    // Safari has no such call.
    if ('requestIdleCallback' in window) requestIdleCallback(fetchAll);
    else setTimeout(fetchAll, idleAfterMs);
  });
}
