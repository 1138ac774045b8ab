/** What responses of every endpoint have in common. */
import { type ApiError, errorTable, presentError } from '../errors.ts';
import type { RateLimit } from '../lib/rate-limit.ts';

/**
 * `origin` is for links to the documentation, `retryAfterSeconds` for errors that name no time of their own. `body` is the
 * error in another form than the standard one.
 */
export function errorResponse(
  error: ApiError,
  origin = '',
  retryAfterSeconds?: number,
  body: object = presentError(error, origin),
): Response {
  const { status, type, retryable } = errorTable[error.code];
  const headers = new Headers();
  const waitSeconds = error.retryAfterSeconds ?? retryAfterSeconds;
  if (waitSeconds !== undefined) headers.set('retry-after', `${waitSeconds}`);
  if (error.endsConnection) headers.set('connection', 'close');
  // Without this header SDKs retry every 5xx. After a billing error the client has to check its usage first.
  const mustNotRetry = retryable === 'no' || type === 'billing_error';
  if (status !== null && status >= 500 && mustNotRetry) headers.set('x-should-retry', 'false');
  return Response.json(body, { status: status ?? 500, headers });
}

/** The names that OpenAI-compatible SDKs read. */
export function setRateLimitHeaders(
  headers: Headers,
  { limit, remaining, resetMs }: RateLimit,
  of: 'requests' | 'tokens' = 'requests',
): void {
  headers.set(`x-ratelimit-limit-${of}`, `${limit}`);
  headers.set(`x-ratelimit-remaining-${of}`, `${remaining}`);
  headers.set(`x-ratelimit-reset-${of}`, `${Math.ceil(resetMs) / 1000}s`);
}
