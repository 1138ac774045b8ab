/** What a refusal is, and the marks by which a test sees whether a gateway lets private things through. */

/** Is in every error body. */
export const privateDetail = 'sandbox-private-detail';

/** Is on every answer. */
export const privateHeaders = { 'x-sandbox-private': 'sandbox-private-header' } as const;

/** Is in whatever a model is said to have thought. */
export const privateThought = 'sandbox-private-thought';

export class BadRequest extends Error {
  constructor(
    message: string,
    readonly param: string | null,
  ) {
    super(message);
  }
}

/** An error to be told, before a format has put it into its own shape. */
export type Failure = Readonly<{
  status: number;
  message: string;
  /** Google's own word for the cause, where it gives one. */
  reason?: string;
  /** The field at fault, if one is. */
  param?: string | null;
  /** What the `retry-after` header says, for formats that say it in the body too. */
  retryAfter?: string | undefined;
}>;
