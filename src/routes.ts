/** Every route on one screen, and the one place where errors become responses. */

import { createChatCompletion } from './chat/handler.ts';
import { consoleRoutes } from './console/routes.ts';
import { appPaths } from './dashboard/paths.ts';
import { dashboardPages } from './dashboard/serve.ts';
import { runDecision } from './decisions/handler.ts';
import { ApiError, errorTable } from './errors.ts';
import { getGeneration, listGenerations } from './generations/handler.ts';
import { isStream } from './http/client-stream.ts';
import type { Handler, Services } from './http/context.ts';
import { maxBodyBytes } from './http/json-body.ts';
import { lookUp } from './http/lookup.ts';
import { errorResponse, setRateLimitHeaders } from './http/response.ts';
import { createImages } from './images/handler.ts';
import { authenticate } from './keys/authenticate.ts';
import type { ApiKey } from './keys/key-store.ts';
import { newId, requestIdFromUuid } from './lib/ids.ts';
import type { RateLimit } from './lib/rate-limit.ts';
import { listModels } from './models/handler.ts';
import { referencePages } from './openapi/serve.ts';
import { clientAddressOf } from './operations/client-address.ts';
import { reportHealth, reportReadiness } from './operations/health.ts';
import { usualIdleSeconds } from './operations/listen.ts';
import { signInRoutes } from './sign-in/handler.ts';
import { listUsage } from './usage/handler.ts';

/** What a listener may ask of the server it is called by. */
type Host = Readonly<{
  timeout: (request: Request, seconds: number) => void;
  requestIP: (request: Request) => { address: string } | null;
}>;
type Listener = (request: Request, host: Host) => Promise<Response>;

export function createRoutes(
  services: Services,
  origin: () => string,
): {
  routes: Record<string, Record<string, Listener>>;
  fetch: Listener;
} {
  const on =
    (route: string, handler: Handler): Listener =>
    (request, host) =>
      answer(route, handler, request, host, services);
  const reference = referencePages(origin);
  const dashboard = dashboardPages(origin, services.log);
  return {
    routes: {
      '/v1/chat/completions': { POST: on('/v1/chat/completions', createChatCompletion) },
      '/v1/images/generations': { POST: on('/v1/images/generations', createImages) },
      '/v1/generations': {
        GET: on('/v1/generations', listGenerations(services)),
      },
      '/v1/generations/:id': { GET: on('/v1/generations/:id', getGeneration(services)) },
      '/v1/models': { GET: on('/v1/models', listModels(services)) },
      '/v1/usage': { GET: on('/v1/usage', listUsage(services)) },
      '/api/decisions/run': { POST: on('/api/decisions/run', runDecision(services)) },
      ...listenersOf(signInRoutes(services), on),
      ...listenersOf(consoleRoutes, on),
      '/openapi.json': { GET: on('/openapi.json', reference.showDocument) },
      '/docs': { GET: on('/docs', reference.showPage) },
      '/docs.css': { GET: on('/docs.css', reference.showStyle) },
      ...Object.fromEntries(appPaths.map((path) => [path, { GET: on(path, dashboard.showApp) }])),
      '/assets/:name': { GET: on('/assets/:name', dashboard.showAsset) },
      '/healthz': { GET: on('/healthz', reportHealth) },
      '/readyz': { GET: on('/readyz', reportReadiness(services)) },
    },
    // Wrong methods come here too: a route is a method and a path.
    fetch: on('(none)', dashboard.showMissing),
  };
}

type On = (route: string, handler: Handler) => Listener;

function listenersOf(routes: typeof consoleRoutes, on: On): Record<string, Record<string, Listener>> {
  const listening = (path: string, methods: object): Record<string, Listener> =>
    Object.fromEntries(Object.entries(methods).map(([method, handler]) => [method, on(path, handler)]));
  return Object.fromEntries(
    Object.entries(routes).map(([path, methods]) => [path, listening(path, methods)]),
  );
}

async function answer(
  route: string,
  handler: Handler,
  request: Request,
  host: Host,
  services: Services,
): Promise<Response> {
  const startedAt = performance.now();
  const id = newId();
  const requestId = requestIdFromUuid(id);
  const clientAddress = () =>
    clientAddressOf(
      host.requestIP(request)?.address ?? null,
      request.headers.get('x-forwarded-for'),
      services.trustedProxies,
    );
  let isPatient = false;
  const waitPatiently = () => {
    isPatient = true;
    host.timeout(request, 0);
  };
  let caller: ApiKey | null = null;
  let rate: RateLimit | null = null;
  let response: Response;
  try {
    refuseTwoHosts(request);
    response = await handler(request, {
      id,
      requestId,
      services,
      clientAddress,
      authenticate: async (failure) => {
        caller = await lookUp(failure, () =>
          authenticate(request.headers.get('authorization'), services.keys, clientAddress),
        );
        return caller;
      },
      noteCaller: (key) => {
        caller = key;
      },
      noteRate: (counted) => {
        rate = counted;
      },
      waitPatiently,
    });
  } catch (thrown) {
    response = refuse(thrown, requestId, route, services);
  }
  if (caller !== null) setRateLimitHeaders(response.headers, rate ?? services.admitter.rateOf(caller));
  // All of a provider's answer is there by now, or its stream is open: nobody needs the body again.
  services.bodies.release(request);
  if (response.status >= 400 && hasEndlessBody(request)) response.headers.set('connection', 'close');
  // After it the connection waits for a next request, and that must not be for ever. A stream is still under way.
  if (isPatient && !isStream(response)) host.timeout(request, usualIdleSeconds);
  // What one person is told must not be kept for the next one at the same browser.
  if (route.startsWith('/api/')) {
    if (!response.headers.has('cache-control')) response.headers.set('cache-control', 'no-store');
    response.headers.set('x-content-type-options', 'nosniff');
  }
  // An answer that is given again keeps the ID of the request that it was made for.
  if (!response.headers.has('x-service-request-id')) {
    response.headers.set('x-service-request-id', requestId);
    response.headers.set('x-request-id', requestId);
  }
  const latencyMs = Math.round(performance.now() - startedAt);
  services.log.info('request', {
    requestId,
    method: request.method,
    route,
    status: response.status,
    latencyMs,
  });
  return response;
}

/** They arrive as one, joined by a comma. Whoever is in front of the gateway may have gone by the other one. */
function refuseTwoHosts({ headers }: Request): void {
  if (headers.get('host')?.includes(',') === true)
    throw new ApiError('invalid_request', { message: 'The request has more than one Host header.' });
}

/**
 * What is left of a refused body is read and dropped, so that the client gets to see its answer. Of one that is too large,
 * or may be, the connection is closed instead.
 */
function hasEndlessBody({ headers }: Request): boolean {
  return headers.has('transfer-encoding') || Number(headers.get('content-length')) > maxBodyBytes;
}

function refuse(thrown: unknown, requestId: string, route: string, services: Services): Response {
  const error = thrown instanceof ApiError ? thrown : new ApiError('internal_error', { cause: thrown });
  const { status } = errorTable[error.code];
  if (status === null || status >= 500)
    services.log.error('request failed', {
      requestId,
      route,
      code: error.code,
      ...(error.cause === undefined ? {} : { error: error.cause }),
    });
  return errorResponse(error);
}
