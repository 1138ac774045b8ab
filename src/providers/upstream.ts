/** What every kind of call to a provider has in common: where it goes, what is unsupported, and how it fails. */
import type { ErrorCode } from '../errors.ts';
import type { Cancellation } from './cancellation.ts';
import type { ReasoningSupport } from './effort.ts';
import type { EndUser } from './end-user.ts';

/** Where a call goes. */
export type Upstream = Readonly<{
  baseUrl: string;
  apiKey: string | null;
  model: string;
  /** How long the answer may get, which is what the hold covers; null for other workloads. */
  maxOutputTokens: number | null;
  dialect: Dialect;
  /** Whether to mark what the provider should write to its cache. Left out: no. */
  marksCache?: boolean;
  /** The same for all turns of a conversation. It is sent only where the dialect has a place for it. */
  cacheKey?: string | null;
  /** Whether the client sees what the model shows of its reasoning. Left out: no. */
  showsReasoning?: boolean;
  /** What the model can be told about its reasoning. Left out or null: nothing. */
  reasoning?: ReasoningSupport | null;
  /** Whether the model can be told how much to write. Left out: no. */
  takesVerbosity?: boolean;
  /** Tells apart who made a signature: the provider and its model. */
  maker?: string;
  /** Left out for a provider that is not told. */
  endUser?: EndUser | null;
  requestId: string;
  /** Left out unless traces are exported. */
  traceparent?: string | null;
  /** Left out for a call that nobody cancels. */
  cancellation?: Cancellation | null;
}>;

/**
 * The request on whose behalf a provider is called. `traceparent` is null unless traces are exported, `cacheKey` unless the
 * request is part of a conversation that caches matter for.
 */
export type CallOrigin = Readonly<{
  requestId: string;
  traceparent: string | null;
  cacheKey: string | null;
  /** Stands for whom the call is for. Left out: the provider is not told. */
  endUserId?: string | null;
  /** Left out for a call that nobody cancels. */
  cancellation?: Cancellation | null;
}>;

/** The headers of every call. `credentials` carry the key, as the format wants it. */
export function requestHeaders(
  { requestId, traceparent }: Upstream,
  credentials: Readonly<Record<string, string>>,
): Record<string, string> {
  return {
    'content-type': 'application/json',
    // The size of a compressed body could not be bounded by its announced length.
    'accept-encoding': 'identity',
    'x-client-request-id': requestId,
    ...(traceparent && { traceparent }),
    ...credentials,
  };
}

/** What the body of an error response adds to its status, in our own terms; its text is not passed on. */
export type ErrorDetails = Readonly<{
  code: ErrorCode;
  retryAfterSeconds: number | null;
  /** Left out where the code and the status say it. */
  setback?: SetbackKind;
}>;

/** What only the operator can fix: the key at the provider, the credit there, or the name of the model. */
export const setbackKinds = ['key', 'credit', 'model'] as const;
export type SetbackKind = (typeof setbackKinds)[number];

export type UpstreamRequest = Readonly<{
  url: string;
  headers: Record<string, string>;
  body: string;
  /** For a format whose statuses are ambiguous. Returns null when the status is enough. */
  readError?: (status: number, body: unknown) => ErrorDetails | null;
  cancellation?: Cancellation;
}>;

/** The same request, which can be cancelled if its call can be. */
export function cancellable(request: UpstreamRequest, { cancellation }: Upstream): UpstreamRequest {
  return cancellation ? { ...request, cancellation } : request;
}

/** A parameter that a provider cannot honour, and a sentence for the client. */
export type Unsupported = Readonly<{ param: string; message: string }>;

type FailureDetails = Readonly<{
  upstreamStatus: number | null;
  retryAfterSeconds: number | null;
  /** Whether the client's request may have caused it: then it proves nothing about the provider. */
  isProvoked: boolean;
  /** Whether there never was a connection: then no request can have caused it. */
  isUnreached: boolean;
  /** The system's name for what broke the connection, such as ENOTFOUND, for the operator's log. */
  reason: string | null;
  /** What the body of the response says that only the operator can fix. */
  setback: SetbackKind | null;
}>;

/** A failure of a provider, as one of our error codes. The provider's own text and addresses are never part of it. */
export class ProviderError extends Error implements FailureDetails {
  readonly code: ErrorCode;
  readonly upstreamStatus: number | null;
  readonly retryAfterSeconds: number | null;
  readonly isProvoked: boolean;
  readonly isUnreached: boolean;
  readonly reason: string | null;
  readonly setback: SetbackKind | null;

  constructor(code: ErrorCode, details: Partial<FailureDetails> = {}) {
    super(`The provider failed: ${code}.`);
    this.name = 'ProviderError';
    this.code = code;
    this.upstreamStatus = details.upstreamStatus ?? null;
    this.retryAfterSeconds = details.retryAfterSeconds ?? null;
    this.isProvoked = details.isProvoked ?? false;
    this.isUnreached = details.isUnreached ?? false;
    this.reason = details.reason ?? null;
    this.setback = details.setback ?? null;
  }
}

/**
 * The provider refused a request that was passed on as the client wrote it. The client can change it, and some clients do:
 * they leave out what is new and ask again.
 */
export class RefusedOriginal extends ProviderError {
  constructor(upstreamStatus: number | null) {
    super('provider_bad_request', { upstreamStatus });
    this.name = 'RefusedOriginal';
  }
}

/** A response exceeds one of the gateway's own limits, which proves nothing about the provider. */
export function beyondLimit(): ProviderError {
  return new ProviderError('malformed_stream_chunk', { isProvoked: true });
}

/** The same in a non-streamed response: a client can make a model call tools with anything, and any number of them. */
export function unreadableArguments(): ProviderError {
  return new ProviderError('provider_unknown_error', { isProvoked: true });
}

/** Adds the status to an error of an adapter, which does not know it. */
export function withStatus(error: unknown, status: number): unknown {
  return error instanceof ProviderError && error.upstreamStatus === null
    ? new ProviderError(error.code, { ...error, upstreamStatus: status })
    : error;
}

/** The gateway ended the call itself: its total time was up, its stream grew too long, or the process is stopping. */
export class EndedByGateway extends ProviderError {
  constructor(
    code: 'provider_timeout' | 'malformed_stream_chunk' | 'streaming_error' | 'server_overloaded',
    upstreamStatus: number | null,
  ) {
    super(code, { upstreamStatus, isProvoked: true });
    this.name = 'EndedByGateway';
  }
}

/** The process is stopping and could not wait any longer. No other provider is called. */
export class EndedByShutdown extends EndedByGateway {
  constructor(isStream: boolean, upstreamStatus: number | null) {
    super(isStream ? 'streaming_error' : 'server_overloaded', upstreamStatus);
    this.name = 'EndedByShutdown';
  }
}

/**
 * Where servers that speak OpenAI's format differ from each other. It is configured in the catalogue, so that another
 * compatible vendor needs no code.
 */
export type Dialect = Readonly<{
  /** The name of the output limit. */
  maxTokens: 'max_tokens' | 'max_completion_tokens';
  seed: 'seed' | 'random_seed';
  /** Whether a stream reports usage only when `stream_options` asks for it, or always and rejects that field. */
  streamUsage: 'asked' | 'always';
  /** Whether images may be https URLs or must be sent inline. */
  images: 'any' | 'data';
  /** Whether `strict` in a tool makes calls match its schema. Servers that do not know it may ignore it silently. */
  strictTools: 'unsupported' | 'supported';
  /** Where to send the key by which the vendor chooses the machine, and so the cache, for a conversation. */
  cacheKey: 'none' | 'prompt_cache_key' | 'x-grok-conv-id';
  /** Where the server wants to get the reasoning of earlier turns back. */
  reasoning: 'none' | 'reasoning_content';
}>;

export const defaultDialect: Dialect = {
  maxTokens: 'max_tokens',
  seed: 'seed',
  streamUsage: 'asked',
  images: 'any',
  strictTools: 'unsupported',
  cacheKey: 'none',
  reasoning: 'none',
};
