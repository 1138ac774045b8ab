/** Every route on one screen, and the one place where errors become responses. */

import { createChatCompletion } from './chat/handler.ts';
import { ApiError, errorTable } from './errors.ts';
import { getGeneration, listGenerations } from './generations/handler.ts';
import type { Handler, Services } from './http/context.ts';
import { errorResponse } from './http/error-response.ts';
import { createImages } from './images/handler.ts';
import { newId, requestIdFromUuid } from './lib/ids.ts';
import { listModels } from './models/handler.ts';
import { referencePages } from './openapi/serve.ts';
import { reportHealth, reportReadiness } from './operations/health.ts';
import { showStartStyle, startPage } from './start-page.ts';
import { listUsage } from './usage/handler.ts';

/** What a listener may ask of the server it is called by. */
type Host = Readonly<{ timeout: (request: Request, seconds: number) => void }>;
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
    (request) =>
      answer(route, handler, request, services);
  const reference = referencePages(origin);
  /** A provider may be silent for longer than a connection may be idle; its own deadlines end that. */
  const onPatiently =
    (route: string, handler: Handler): Listener =>
    (request, host) => {
      host.timeout(request, 0);
      return answer(route, handler, request, services);
    };
  return {
    routes: {
      '/v1/chat/completions': { POST: onPatiently('/v1/chat/completions', createChatCompletion) },
      '/v1/images/generations': { POST: onPatiently('/v1/images/generations', createImages) },
      '/v1/generations': {
        GET: on('/v1/generations', listGenerations(services.deriveKey('cursor'))),
      },
      '/v1/generations/:id': { GET: on('/v1/generations/:id', getGeneration) },
      '/v1/models': { GET: on('/v1/models', listModels) },
      '/v1/usage': { GET: on('/v1/usage', listUsage) },
      '/': { GET: on('/', startPage(origin)) },
      '/openapi.json': { GET: on('/openapi.json', reference.showDocument) },
      '/docs': { GET: on('/docs', reference.showPage) },
      '/docs.css': { GET: on('/docs.css', reference.showStyle) },
      '/start.css': { GET: on('/start.css', showStartStyle) },
      '/healthz': { GET: on('/healthz', reportHealth) },
      '/readyz': { GET: on('/readyz', reportReadiness) },
    },
    fetch: on('(none)', refuseUnknownRoute),
  };
}

/** Wrong methods come here too: a route is a method and a path. */
function refuseUnknownRoute(): never {
  throw new ApiError('not_found');
}

async function answer(
  route: string,
  handler: Handler,
  request: Request,
  services: Services,
): Promise<Response> {
  const startedAt = performance.now();
  const id = newId();
  const requestId = requestIdFromUuid(id);
  let response: Response;
  try {
    response = await handler(request, { id, requestId, services });
  } catch (thrown) {
    response = refuse(thrown, requestId, route, services);
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
