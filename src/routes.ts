/** Every route on one screen, and the one place where errors become responses. */

import { createChatCompletion } from './chat/handler.ts';
import { ApiError, errorTable, presentError } from './errors.ts';
import { getGeneration } from './generations/handler.ts';
import type { Handler, Services } from './http/context.ts';
import { setRateLimitHeaders } from './http/rate-limit-headers.ts';
import { newId, requestIdFromUuid } from './lib/ids.ts';
import { listModels } from './models/handler.ts';
import { reportHealth, reportReadiness } from './operations/health.ts';
import { showStartStyle, startPage } from './start-page.ts';

type Listener = (request: Request) => Promise<Response>;

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
  return {
    routes: {
      '/v1/chat/completions': { POST: on('/v1/chat/completions', createChatCompletion) },
      '/v1/generations/:id': { GET: on('/v1/generations/:id', getGeneration) },
      '/v1/models': { GET: on('/v1/models', listModels) },
      '/': { GET: on('/', startPage(origin)) },
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
  response.headers.set('x-service-request-id', requestId);
  response.headers.set('x-request-id', requestId);
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
  const { status, type, retryable } = errorTable[error.code];
  if (status === null || status >= 500)
    services.log.error('request failed', { requestId, route, code: error.code, error });
  const headers = new Headers();
  if (error.rate !== null) setRateLimitHeaders(headers, error.rate);
  if (error.retryAfterSeconds !== undefined) headers.set('retry-after', `${error.retryAfterSeconds}`);
  // SDKs retry every 5xx unless told not to. After a failure of billing, usage is to be looked at first.
  const mustNotRetry = retryable === 'no' || type === 'billing_error';
  if (status !== null && status >= 500 && mustNotRetry) headers.set('x-should-retry', 'false');
  return Response.json(presentError(error), { status: status ?? 500, headers });
}
