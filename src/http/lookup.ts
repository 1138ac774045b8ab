import { ApiError, type ErrorCode } from '../errors.ts';
import { isDatabaseUnavailable } from '../lib/database-unavailable.ts';
import { reasonNotConnected, ShortageError } from '../lib/shortage.ts';
import { within } from '../lib/within.ts';

/** For the client. The resource becomes free when another request ends. */
const retryAfterSeconds = 1;

/** The error for a lookup or a hold that failed. A shortage on this machine is not the database's fault. */
export function lookupFailed(code: ErrorCode, cause: unknown): ApiError {
  if (cause instanceof ShortageError) return new ApiError('server_overloaded', { cause, retryAfterSeconds });
  return new ApiError(code, { cause });
}

/** A client learns within five seconds that the database is away. */
const patienceMs = 4_000;

/** A lookup that fails unexpectedly or takes too long, usually in the database, becomes the endpoint's own error code. */
export async function lookUp<Result>(code: ErrorCode, ask: () => Promise<Result>): Promise<Result> {
  try {
    return await within(patienceMs, ask());
  } catch (cause) {
    if (cause instanceof ApiError) throw cause;
    const reason = isDatabaseUnavailable(cause) ? reasonNotConnected(cause) : cause;
    throw lookupFailed(code, reason);
  }
}
