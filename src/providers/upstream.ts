/** What every kind of call to a provider has in common: where it goes, why it cannot, and how it fails. */
import type { ErrorCode } from '../errors.ts';
import type { Dialect } from './dialect.ts';

/** Where a call goes. */
export type Upstream = Readonly<{
  baseUrl: string;
  apiKey: string | null;
  model: string;
  /** The most the model can write, for formats that must be told; null when unpublished. */
  maxOutputTokens: number | null;
  dialect: Dialect;
  generationId: string;
}>;

export type UpstreamRequest = Readonly<{ url: string; headers: Record<string, string>; body: string }>;

/** A parameter of the client's that a provider cannot honour, and a sentence for the client. */
export type Refusal = Readonly<{ param: string; message: string }>;

/** A failure of a provider, in the codes of the catalogue. Its own words and addresses are never part of it. */
export class ProviderError extends Error {
  readonly code: ErrorCode;
  readonly upstreamStatus: number | null;
  readonly retryAfterSeconds: number | null;

  constructor(
    code: ErrorCode,
    upstreamStatus: number | null = null,
    retryAfterSeconds: number | null = null,
  ) {
    super(`The provider failed: ${code}.`);
    this.name = 'ProviderError';
    this.code = code;
    this.upstreamStatus = upstreamStatus;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}
