/** Error types, and the markers by which tests detect that a gateway leaks private details. */

/** In every error body. */
export const privateDetail = 'sandbox-private-detail';

/** On every answer. */
export const privateHeaders = { 'x-sandbox-private': 'sandbox-private-header' } as const;

/** In every thought of the model. */
export const privateThought = 'sandbox-private-thought';

export class BadRequest extends Error {
  constructor(
    message: string,
    readonly param: string | null,
  ) {
    super(message);
  }
}

/** An error before a format has serialised it. */
export type Failure = Readonly<{
  status: number;
  message: string;
  /** Google's name for the cause, if it has one. */
  reason?: string;
  /** The invalid field. */
  param?: string | null;
  /** The `retry-after` header, for formats that repeat it in the body. */
  retryAfter?: string | undefined;
}>;
