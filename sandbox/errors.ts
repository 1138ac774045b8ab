/** Error bodies in the shape OpenAI gives them. */

/** Text that the sandbox puts into every error, so that a test can see whether a gateway lets it through. */
export const privateDetail = 'sandbox-private-detail';

export class BadRequest extends Error {
  constructor(
    message: string,
    readonly param: string | null,
  ) {
    super(message);
  }
}

export type ErrorDetail = { type: string; code: string | null; param?: string | null };

export function errorBody(message: string, { type, code, param = null }: ErrorDetail): string {
  return JSON.stringify({ error: { message: `${message} (${privateDetail})`, type, param, code } });
}

export function detailOf(status: number): ErrorDetail {
  if (status === 401) return { type: 'invalid_request_error', code: 'invalid_api_key' };
  if (status === 403) return { type: 'invalid_request_error', code: 'access_denied' };
  if (status === 404) return { type: 'invalid_request_error', code: 'not_found' };
  if (status === 429) return { type: 'requests', code: 'rate_limit_exceeded' };
  if (status === 529) return { type: 'overloaded_error', code: 'overloaded' };
  if (status >= 500) return { type: 'server_error', code: null };
  return { type: 'invalid_request_error', code: null };
}
