import { ApiError, type ErrorCode } from '../errors.ts';

/** An unexpected failure of a lookup, usually of the database, becomes the endpoint's own error code. */
export async function lookUp<Result>(code: ErrorCode, ask: () => Promise<Result>): Promise<Result> {
  try {
    return await ask();
  } catch (cause) {
    if (cause instanceof ApiError) throw cause;
    throw new ApiError(code, { cause });
  }
}
