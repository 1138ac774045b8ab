import { ApiError, type ErrorCode } from '../errors.ts';
import { within } from '../lib/within.ts';

/** A client learns within five seconds that the database is away. */
const patienceMs = 4_000;

/** A lookup that fails unexpectedly or takes too long, usually in the database, becomes the endpoint's own error code. */
export async function lookUp<Result>(code: ErrorCode, ask: () => Promise<Result>): Promise<Result> {
  try {
    return await within(patienceMs, ask());
  } catch (cause) {
    if (cause instanceof ApiError) throw cause;
    throw new ApiError(code, { cause });
  }
}
