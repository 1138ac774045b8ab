/**
 * A failure that the person at the terminal can fix: its message is one clear sentence, shown without a stack trace.
 * Anything else that escapes is a defect and is shown in full.
 */
export class OperatorError extends Error {
  override readonly name: string = 'OperatorError';
}

/** How a failure that ends the program is printed. A file-system error names its file, and needs no trace either. */
export function describeFailure(error: unknown): string {
  const isPlain =
    error instanceof OperatorError || (error instanceof Error && 'syscall' in error && 'path' in error);
  return isPlain ? `tollgate: ${error.message}` : Bun.inspect(error);
}
