/** Every route on one screen, and the one place where errors become responses. */
import { adminRoutes } from './admin/routes.ts';
import { completionsWith } from './chat/completions/dialect.ts';
import type { ChatExtension } from './chat/completions/extensions.ts';
import { CountingRates, countTokens, OpenCounts } from './chat/count-tokens.ts';
import { countedMessages, messages } from './chat/messages/dialect.ts';
import { countedResponses, responses } from './chat/responses/dialect.ts';
import { Signatures } from './chat/signatures.ts';
import { chatWorkload } from './chat/workload.ts';
import { consoleRoutes } from './console/routes.ts';
import { appPaths } from './dashboard/paths.ts';
import { dashboardPages } from './dashboard/serve.ts';
import { runDecision } from './decisions/handler.ts';
import { ApiError, type ErrorCode, errorTable } from './errors.ts';
import { getGeneration, listGenerations } from './generations/handler.ts';
import { streamOf } from './http/client-stream.ts';
import { type Handler, type Host, RequestContext } from './http/context.ts';
import { errorPresenter, isForMessagesClient } from './http/messages-error.ts';
import { knownRoutes, missingRoute } from './http/missing-route.ts';
import { pathOf } from './http/path.ts';
import { errorResponse, setRateLimitHeaders } from './http/response.ts';
import { imageWorkload } from './images/workload.ts';
import { Inference, type InferenceServices } from './inference/request.ts';
import { maxBodyBytes } from './json/body.ts';
import { getKey } from './keys/handler.ts';
import type { KnownRates } from './keys/known-rates.ts';
import { isDatabaseUnavailable } from './lib/database-unavailable.ts';
import type { IpNetwork } from './lib/ip-address.ts';
import { getModel, listModels } from './models/handler.ts';
import { referencePages } from './openapi/serve.ts';
import { reportHealth, reportReadiness } from './operations/health.ts';
import { defaultIdleSeconds } from './operations/listen.ts';
import { securityTxtPath, showSecurityTxt } from './operations/security-txt.ts';
import { receiveEvents, stripeEventsPath } from './payments/events-handler.ts';
import { signInRoutes } from './people/sign-in-handler.ts';
import type { RefusalRecorder } from './requests/refusal-recorder.ts';
import type { MetricsPage } from './telemetry/metrics-page.ts';
import type { RequestRecorder } from './telemetry/request-recorder.ts';
import { listUsage } from './usage/handler.ts';

/** What all handlers need together. Each declares the part that it uses. */
export type Services = InferenceServices &
  Parameters<typeof listGenerations>[0] &
  Parameters<typeof getGeneration>[0] &
  Parameters<typeof listModels>[0] &
  Parameters<typeof getKey>[0] &
  Parameters<typeof listUsage>[0] &
  Parameters<typeof runDecision>[0] &
  Parameters<typeof signInRoutes>[0] &
  Parameters<typeof consoleRoutes>[0] &
  Parameters<typeof adminRoutes>[0] &
  Parameters<typeof reportReadiness>[0] &
  Readonly<{
    rates: KnownRates;
    recorder: RequestRecorder;
    /** Keeps what was refused, for whoever asks why. */
    refusals: RefusalRecorder;
    metricsPage: MetricsPage | null;
    isDraining: () => boolean;
    /** The proxies whose X-Forwarded-For is trusted. */
    trustedProxies: readonly IpNetwork[];
    /** What chat completions take beyond the contract. */
    chatExtensions: ReadonlySet<ChatExtension>;
    /** Where to report vulnerabilities; null when nowhere. */
    securityContact: string | null;
  }>;

type Listener = (request: Request, host: Host) => Promise<Response>;
type Routes = Record<string, Record<string, Listener>>;

export function createRoutes(services: Services, origin: () => string): { routes: Routes; fetch: Listener } {
  const on =
    (route: string, handler: Handler): Listener =>
    (request, host) =>
      serve(route, handler, request, new RequestContext(request, host, services.trustedProxies), services);
  const dashboard = dashboardPages(origin, services.log, (method, path) => missingRoute(method, path, known));
  const reference = referencePages(origin, services.publicUrl, dashboard.fontRules);
  const signatures = new Signatures(services.deriveKey('signatures'));
  // Both endpoints share them.
  const counting = [new CountingRates(), new OpenCounts()] as const;
  const handlers: Record<string, Record<string, Handler>> = {
    '/v1/chat/completions': {
      POST: new Inference(chatWorkload(completionsWith(services.chatExtensions)), services).handle,
    },
    '/v1/messages': { POST: new Inference(chatWorkload(messages(signatures)), services).handle },
    '/v1/messages/count_tokens': { POST: countTokens(countedMessages(signatures), services, ...counting) },
    '/v1/responses': { POST: new Inference(chatWorkload(responses(signatures)), services).handle },
    '/v1/responses/input_tokens': {
      POST: countTokens(countedResponses(signatures), services, ...counting),
    },
    '/v1/images/generations': { POST: new Inference(imageWorkload, services).handle },
    '/v1/generations': { GET: listGenerations(services) },
    '/v1/generations/:id': { GET: getGeneration(services) },
    '/v1/models': { GET: listModels(services) },
    // The ID of a model may contain slashes.
    '/v1/models/*': { GET: getModel(services) },
    '/v1/key': { GET: getKey(services) },
    '/v1/usage': { GET: listUsage(services) },
    '/api/decisions/run': { POST: runDecision(services) },
    ...signInRoutes(services),
    ...consoleRoutes(services, reference.adminDocument),
    ...(services.payments === null
      ? {}
      : { [stripeEventsPath]: { POST: receiveEvents({ ...services, payments: services.payments }) } }),
    ...adminRoutes(services, reference.adminDocument),
    '/openapi.json': { GET: reference.showDocument },
    '/docs': { GET: reference.showPage },
    '/docs/*': {
      GET: async (request, context) =>
        (await reference.showGuide(request)) ?? (await dashboard.showMissing(request, context)),
    },
    '/docs.css': { GET: reference.showStyle },
    '/docs.js': { GET: reference.showScript },
    ...Object.fromEntries(appPaths.map((path) => [path, { GET: dashboard.showApp }])),
    // Some clients look whether there is anything at their base URL.
    '/': { GET: dashboard.showApp, HEAD: () => new Response(null) },
    '/assets/:name': { GET: dashboard.showAsset },
    '/healthz': { GET: reportHealth },
    '/readyz': { GET: reportReadiness(services) },
    ...(services.metricsPage?.forToken && { '/metrics': { GET: services.metricsPage.forToken } }),
    ...(services.securityContact === null
      ? {}
      : { [securityTxtPath]: { GET: showSecurityTxt(services.securityContact, services.publicUrl) } }),
  };
  const known = knownRoutes(handlers);
  const listeners = Object.entries(handlers).map(([path, methods]) => [
    path,
    Object.fromEntries(Object.entries(methods).map(([method, handler]) => [method, on(path, handler)])),
  ]);
  return {
    routes: Object.fromEntries(listeners) as Routes,
    // Wrong methods come here too: a route is a method and a path.
    fetch: on('(none)', (request, context) => {
      rejectWebSocket(request);
      return dashboard.showMissing(request, context);
    }),
  };
}

async function serve(
  route: string,
  handler: Handler,
  request: Request,
  context: RequestContext,
  services: Services,
): Promise<Response> {
  const startedAt = performance.now();
  const { requestId } = context;
  services.recorder.start(context, request.headers);
  let response: Response;
  try {
    rejectTwoHosts(request);
    response = await handler(request, context);
  } catch (thrown) {
    response = errorResponseTo(thrown, request, context, route, services);
  }
  const { headers, status } = response;
  const { ended, opening } = streamOf(response) ?? noStream;
  const { caller } = context;
  const rate = context.rate ?? (caller === null ? null : services.rates.of(caller));
  if (rate !== null) setRateLimitHeaders(headers, rate);
  if (context.tokenRate !== null) setRateLimitHeaders(headers, context.tokenRate, 'tokens');
  // Once the provider has answered in full, or its stream is open, the body is no longer needed.
  const release = () => services.bodies.release(request);
  if (opening === null) release();
  else opening.then(release, release);
  // A client that keeps its connection to a draining gateway would lose the next request on it.
  if (services.isDraining() || (status >= 400 && hasEndlessBody(request))) headers.set('connection', 'close');
  // The connection now waits for the next request, which must not take forever. A stream is still being sent.
  if (context.isPatient && ended === null) context.waitAsUsual(defaultIdleSeconds);
  // What one person gets must not be cached for the next one in the same browser.
  if (route.startsWith('/api/') || route.startsWith('/admin/')) {
    if (!headers.has('cache-control')) headers.set('cache-control', 'no-store');
    headers.set('x-content-type-options', 'nosniff');
  }
  // A replayed response keeps the ID of the request that it was made for.
  if (!headers.has('x-service-request-id')) {
    headers.set('x-service-request-id', requestId);
    headers.set('x-request-id', requestId);
  }
  // The name that Anthropic's SDKs read.
  if (isForMessagesClient(request))
    headers.set('request-id', headers.get('x-service-request-id') ?? requestId);
  const { method } = request;
  const { recorder } = services;
  if (ended === null) recorder.end(route, method, status, startedAt, false, context);
  else recorder.endWith(ended, route, method, status, startedAt, context);
  return response;
}

const noStream = { ended: null, opening: null };

/** They arrive joined by a comma. A proxy in front of the gateway may have used the other one. */
function rejectTwoHosts({ headers }: Request): void {
  if (headers.get('host')?.includes(',') === true)
    throw new ApiError('invalid_request', { message: 'The request has more than one Host header.' });
}

/** Codex tries it first when it takes the gateway for its vendor's own server, and then uses HTTP. */
function rejectWebSocket({ method, headers, url }: Request): void {
  const isAsked = method === 'GET' && headers.get('upgrade')?.toLowerCase() === 'websocket';
  if (isAsked && pathOf(url) === '/v1/responses') throw new ApiError('websocket_not_supported');
}

/**
 * The rest of a rejected body is read and dropped, so that the client sees the response. If it is or may be too large,
 * the connection is closed instead.
 */
function hasEndlessBody({ headers }: Request): boolean {
  return headers.has('transfer-encoding') || Number(headers.get('content-length')) > maxBodyBytes;
}

function errorResponseTo(
  thrown: unknown,
  request: Request,
  context: RequestContext,
  route: string,
  services: Services,
): Response {
  const error = thrown instanceof ApiError ? thrown : withoutCode(thrown);
  context.errorCode = error.code;
  const { status } = errorTable[error.code];
  if (isRefusal(error.code)) context.onRefusal?.(error.code);
  services.refusals.record(context, error);
  if (status === null || status >= 500)
    services.log.error('request failed', {
      requestId: context.requestId,
      route,
      code: error.code,
      ...(error.cause === undefined ? {} : { error: error.cause }),
    });
  const retryAfterSeconds = isDatabaseUnavailable(error.cause) ? databaseRetrySeconds : undefined;
  const origin = services.publicUrl ?? '';
  const body = errorPresenter(request)(error, context.requestId, origin);
  return errorResponse(error, origin, retryAfterSeconds, body);
}

/**
 * Whether the gateway itself refused the request, before it called anything else. Its body was read and checked all the
 * same, even if the reason is the rate of the key, or something that the operator has not configured.
 */
function isRefusal(code: ErrorCode): boolean {
  if (code === 'provider_not_configured' || code === 'configuration_error') return true;
  const { status } = errorTable[code];
  return status !== null && status < 500 && code !== 'provider_rate_limit';
}

const databaseRetrySeconds = 1;

/** An endpoint with its own code for a database that is away throws that instead. */
function withoutCode(cause: unknown): ApiError {
  if (!isDatabaseUnavailable(cause)) return new ApiError('internal_error', { cause });
  return new ApiError('server_overloaded', { message: databaseAway, cause });
}

const databaseAway = 'The gateway cannot reach its database at the moment. Try again later.';
