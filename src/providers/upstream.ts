/** What every kind of call to a provider has in common: where it goes, why it cannot, and how it fails. */
import type { ErrorCode } from '../errors.ts';

/** Where a call goes. */
export type Upstream = Readonly<{
  baseUrl: string;
  apiKey: string | null;
  model: string;
  /** How long the answer may get, which is what money is held for; null where nothing is. */
  maxOutputTokens: number | null;
  dialect: Dialect;
  generationId: string;
}>;

/** The headers of every call. `credentials` carry the key, in the form of the format. */
export function requestHeaders(
  { generationId }: Upstream,
  credentials: Readonly<Record<string, string>>,
): Record<string, string> {
  return {
    'content-type': 'application/json',
    // What is compressed cannot be bounded by the length it announces.
    'accept-encoding': 'identity',
    'x-client-request-id': generationId,
    ...credentials,
  };
}

/** What the body of an error response adds to its status, in our own terms; its words are not passed on. */
export type ErrorDetails = Readonly<{ code: ErrorCode; retryAfterSeconds: number | null }>;

export type UpstreamRequest = Readonly<{
  url: string;
  headers: Record<string, string>;
  body: string;
  /** For a format whose status is not enough. Null when it is. */
  readError?: (status: number, body: unknown) => ErrorDetails | null;
}>;

/** A parameter of the client's that a provider cannot honour, and a sentence for the client. */
export type Unsupported = Readonly<{ param: string; message: string }>;

/** A failure of a provider, in the codes of the catalogue. Its own words and addresses are never part of it. */
export class ProviderError extends Error {
  readonly code: ErrorCode;
  readonly upstreamStatus: number | null;
  readonly retryAfterSeconds: number | null;
  /** Whether what the client asked for brought it about: then it says nothing about the provider. */
  readonly isProvoked: boolean;
  /** Whether there never was a connection: then no request can have brought it about. */
  readonly isUnreached: boolean;

  constructor(
    code: ErrorCode,
    upstreamStatus: number | null = null,
    retryAfterSeconds: number | null = null,
    isProvoked = false,
    isUnreached = false,
  ) {
    super(`The provider failed: ${code}.`);
    this.name = 'ProviderError';
    this.code = code;
    this.upstreamStatus = upstreamStatus;
    this.retryAfterSeconds = retryAfterSeconds;
    this.isProvoked = isProvoked;
    this.isUnreached = isUnreached;
  }
}

/** A response exceeds a limit of the gateway's own, which proves nothing about the provider. */
export function beyondLimit(): ProviderError {
  return new ProviderError('malformed_stream_chunk', null, null, true);
}

/** The same in a non-streamed response: a client can have a model call a tool with anything. */
export function unreadableArguments(): ProviderError {
  return new ProviderError('provider_unknown_error', null, null, true);
}

/** The gateway ended the call itself: at the end of all the time it may take, or because the process stops. */
export class EndedByGateway extends ProviderError {
  constructor(code: 'provider_timeout' | 'streaming_error', upstreamStatus: number | null) {
    super(code, upstreamStatus, null, true);
    this.name = 'EndedByGateway';
  }
}

/**
 * Where servers that speak OpenAI's format differ from each other. A provider's entry in the catalogue says which it
 * is, so that one more compatible vendor needs no code.
 */
export type Dialect = Readonly<{
  /** What the limit on the answer is called. */
  maxTokens: 'max_tokens' | 'max_completion_tokens';
  seed: 'seed' | 'random_seed';
  /** Whether a stream tells its usage only when `stream_options` asks for it, or always and refuses that field. */
  streamUsage: 'asked' | 'always';
  /** Whether images may be named by an https address or must be sent along. */
  images: 'any' | 'data';
}>;

export const defaultDialect: Dialect = {
  maxTokens: 'max_tokens',
  seed: 'seed',
  streamUsage: 'asked',
  images: 'any',
};
