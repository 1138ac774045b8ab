/**
 * A failure that the person at the terminal can fix: its message is one clear sentence, shown without a stack trace.
 * Anything else that escapes is a defect and is shown in full.
 */
export class OperatorError extends Error {
  override readonly name: string = 'OperatorError';
}
