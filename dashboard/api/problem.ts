/** A refusal or failure, in the words that the gateway chose for it. */
type Details = Readonly<{
  status: number;
  code: string;
  param?: string | null;
  requestId?: string | null;
  retryAfterSeconds?: number | null;
}>;

export class ApiProblem extends Error {
  /** 0 when there was no answer at all. */
  readonly status: number;
  readonly code: string;
  /** The field that is to blame, in the words of the wire. */
  readonly param: string | null;
  readonly requestId: string | null;
  readonly retryAfterSeconds: number | null;

  constructor(message: string, details: Details) {
    super(message);
    this.name = 'ApiProblem';
    this.status = details.status;
    this.code = details.code;
    this.param = details.param ?? null;
    this.requestId = details.requestId ?? null;
    this.retryAfterSeconds = details.retryAfterSeconds ?? null;
  }
}

/** Whatever was thrown, as something that can be shown. */
export function problemOf(thrown: unknown): ApiProblem {
  if (thrown instanceof ApiProblem) return thrown;
  return new ApiProblem('Something in this page went wrong. Loading it again may help.', {
    status: 0,
    code: 'page_error',
  });
}

export async function problemFrom(response: Response): Promise<ApiProblem> {
  const body: unknown = await response.json().catch(() => null);
  const error = fieldsOf(fieldsOf(body).error);
  const text = (value: unknown) => (typeof value === 'string' ? value : null);
  const retryAfter = Number(response.headers.get('retry-after') ?? Number.NaN);
  return new ApiProblem(text(error.message) ?? `The gateway answered with status ${response.status}.`, {
    status: response.status,
    code: text(error.code) ?? 'unknown_error',
    param: text(error.param),
    requestId: response.headers.get('x-service-request-id'),
    retryAfterSeconds: Number.isFinite(retryAfter) ? retryAfter : null,
  });
}

function fieldsOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
