import { type ApiError, errorTable, presentError } from '../errors.ts';

/** A refusal or failure as the client gets it. */
export function errorResponse(error: ApiError): Response {
  const { status, type, retryable } = errorTable[error.code];
  const headers = new Headers();
  if (error.retryAfterSeconds !== undefined) headers.set('retry-after', `${error.retryAfterSeconds}`);
  if (error.endsConnection) headers.set('connection', 'close');
  // SDKs retry every 5xx unless told not to. After a failure of billing, usage is to be looked at first.
  const mustNotRetry = retryable === 'no' || type === 'billing_error';
  if (status !== null && status >= 500 && mustNotRetry) headers.set('x-should-retry', 'false');
  return Response.json(presentError(error), { status: status ?? 500, headers });
}
