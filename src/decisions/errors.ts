/** The errors of POST /api/decisions/run, which has its own error body and statuses. */
import type { SetbackKind } from '../providers/upstream.ts';

type DecisionErrorRow = Readonly<{ status: number; type: string; message: string }>;

// biome-ignore format: one line per error makes this table readable.
export const decisionErrorTable = {
  invalid_json: { status: 400, type: 'invalid_json', message: 'The request body is not valid JSON.' },
  validation_error: { status: 400, type: 'validation_error', message: 'The model, state, questions or criteria are not valid.' },
  authentication_error: { status: 401, type: 'authentication_error', message: 'Sign in to run decisions.' },
  invalid_origin: { status: 403, type: 'invalid_origin', message: 'Decisions can only be run from the dashboard itself.' },
  request_too_large: { status: 413, type: 'request_too_large', message: 'The request body is larger than 256 KB.' },
  request_rejected: { status: 422, type: 'provider_error', message: 'The decision provider rejected the request.' },
  rate_limit: { status: 429, type: 'rate_limit', message: 'The decision provider is limiting requests. Try again later.' },
  provider_authentication_error: { status: 502, type: 'provider_authentication_error', message: 'The decision provider refused the credentials of this gateway.' },
  provider_error: { status: 502, type: 'provider_error', message: 'The decision provider failed.' },
  connection_error: { status: 502, type: 'connection_error', message: 'The decision provider could not be reached.' },
  invalid_response: { status: 502, type: 'invalid_response', message: 'The decision provider sent an answer that does not fit the questions.' },
  not_configured: { status: 503, type: 'not_configured', message: 'No decision provider is configured.' },
  authentication_unavailable: { status: 503, type: 'authentication_unavailable', message: 'The session could not be verified at the moment.' },
  timeout: { status: 504, type: 'timeout', message: 'The decision provider did not answer in time.' },
  provider_overloaded: { status: 529, type: 'provider_overloaded', message: 'The decision provider is overloaded. Try again later.' },
} satisfies Record<string, DecisionErrorRow>;

export type DecisionErrorName = keyof typeof decisionErrorTable;

/** A call to the provider. The status is null without a response, and the ID when the provider sent none. */
export type UpstreamCall = Readonly<{ provider: string; status: number | null; requestId: string | null }>;
export type AnsweredCall = UpstreamCall & Readonly<{ status: number }>;

/** `cause` is for the log and never leaves the process. */
type ErrorDetails = Readonly<{
  message?: string;
  upstream?: UpstreamCall | null;
  retryAfterSeconds?: number | null;
  isUnreached?: boolean;
  /** What the provider says that only the operator can fix. */
  setback?: SetbackKind | null;
  cause?: unknown;
}>;

export class DecisionError extends Error {
  readonly reason: DecisionErrorName;
  readonly upstream: UpstreamCall | null;
  readonly retryAfterSeconds: number | null;
  /** Whether there never was a connection to the provider. */
  readonly isUnreached: boolean;
  readonly setback: SetbackKind | null;

  constructor(reason: DecisionErrorName, details: ErrorDetails = {}) {
    super(details.message ?? decisionErrorTable[reason].message, { cause: details.cause });
    this.name = 'DecisionError';
    this.reason = reason;
    this.upstream = details.upstream ?? null;
    this.retryAfterSeconds = details.retryAfterSeconds ?? null;
    this.isUnreached = details.isUnreached ?? false;
    this.setback = details.setback ?? null;
  }
}
