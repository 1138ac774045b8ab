/** What was awaited did not come in time. It may still come, but nothing waits for it any more. */
export class LateError extends Error {
  override readonly name = 'LateError';
}

/** The outcome of a promise, or a LateError when it takes longer than this. */
export async function within<Result>(durationMs: number, promise: Promise<Result>): Promise<Result> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new LateError('It took too long.')), durationMs);
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
