import { ApiError, type ErrorCode } from '../errors.ts';

/** Looks something up. What fails unforeseen, mostly the database, becomes the code that the endpoint has for it. */
export async function lookUp<Result>(code: ErrorCode, ask: () => Promise<Result>): Promise<Result> {
  try {
    return await ask();
  } catch (cause) {
    if (cause instanceof ApiError) throw cause;
    throw new ApiError(code, { cause });
  }
}
