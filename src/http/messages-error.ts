/**
 * Errors in the form of Anthropic's API, for the endpoints that its clients call. The statuses are our own; so are the code
 * and the parameter, which clients of that API do not look for.
 */
import { type ApiError, type ErrorCode, errorTable, type PresentError, presentError } from '../errors.ts';
import { pathOf } from './path.ts';

/** Whether the client of this request speaks that API. The paths of models are those of other APIs too. */
export function isForMessagesClient({ url, headers }: Request): boolean {
  const path = pathOf(url);
  if (path === '/v1/messages' || path.startsWith('/v1/messages/')) return true;
  return /^\/v1\/models(?:\/|$)/.test(path) && headers.has('anthropic-version');
}

/** Presents errors in the form that the client of this request knows. It may live as long as a stream, so it keeps nothing. */
export function errorPresenter(request: Request): PresentError {
  return isForMessagesClient(request) ? presentMessagesError : presentUsualError;
}

const presentUsualError: PresentError = (error, _, origin) => presentError(error, origin);

export function presentMessagesError(error: ApiError, requestId: string, origin = '') {
  const { message, code, param = null } = presentError(error, origin).error;
  return {
    type: 'error',
    error: { type: typeOf(error.code), message: withTime(message, error.retryAfterSeconds), code, param },
    request_id: requestId,
  };
}

/** People read it in Claude Code, which does not show them the header that says when to try again. */
function withTime(message: string, seconds: number | undefined): string {
  if (seconds === undefined || message.includes('Try again')) return message;
  return `${message} Try again in ${seconds} second${seconds === 1 ? '' : 's'}.`;
}

const types: ReadonlyMap<number, string> = new Map([
  [400, 'invalid_request_error'],
  [401, 'authentication_error'],
  [402, 'billing_error'],
  [403, 'permission_error'],
  [404, 'not_found_error'],
  [429, 'rate_limit_error'],
  [503, 'overloaded_error'],
  [504, 'timeout_error'],
]);

/** Codes that occur only inside streams have no status. */
function typeOf(code: ErrorCode): string {
  return types.get(errorTable[code].status ?? 500) ?? 'api_error';
}
