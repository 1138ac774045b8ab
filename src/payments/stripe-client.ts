import Stripe from 'stripe';
import { ApiError } from '../errors.ts';

export type StripeSettings = Readonly<{
  secretKey: string;
  webhookSecrets: readonly string[];
  /** Whether the key moves real money. */
  isLive: boolean;
  /** Null for Stripe's own address. */
  apiUrl: string | null;
  hasTax: boolean;
  suspendsDisputed: boolean;
  /** Where people return to after they have paid. */
  origin: string;
}>;

/** A look at an order makes a few calls, and has to end before its claim does. */
const timeoutMs = 15_000;

export function openStripe({ secretKey, apiUrl }: Pick<StripeSettings, 'secretKey' | 'apiUrl'>): Stripe {
  const url = apiUrl === null ? null : new URL(apiUrl);
  return new Stripe(secretKey, {
    // The version that the types of the package describe, whatever the account's own is.
    apiVersion: '2026-10-28.endive',
    httpClient: Stripe.createFetchHttpClient(),
    timeout: timeoutMs,
    // With the same idempotency key, so that a repeated call is one.
    maxNetworkRetries: 1,
    telemetry: false,
    ...(url === null
      ? {}
      : { host: url.hostname, port: url.port, protocol: url.protocol === 'http:' ? 'http' : 'https' }),
  });
}

/** What went wrong, in Stripe's word. Its sentences may quote what a customer typed. */
export function codeOfStripe(error: unknown): string {
  if (!(error instanceof Stripe.errors.StripeError)) return 'unknown';
  return error.decline_code ?? error.code ?? error.type;
}

/** What Stripe has refused is the operator's to repair. Its sentence goes to the log, not to the customer. */
export function asApiError(cause: unknown): unknown {
  if (cause instanceof ApiError || codeOfStripe(cause) === 'unknown') return cause;
  return new ApiError('payment_provider_error', { cause });
}

/** For the log: nothing of Stripe's sentences. */
export function describeFailure(error: unknown): Readonly<{ code: string } | { error: unknown }> {
  const code = codeOfStripe(error);
  return code === 'unknown' ? { error } : { code };
}

/** Stripe has refused; repeating the call would change nothing. */
export function isRefusedByStripe(error: unknown): boolean {
  if (error instanceof Stripe.errors.StripeCardError) return true;
  // A conflict is that of two calls at once.
  return error instanceof Stripe.errors.StripeInvalidRequestError && error.statusCode !== 409;
}

/** There is no such object; by its parameter, if it is not the one that the call is about. */
export function isMissing(error: unknown, param?: string): boolean {
  return (
    error instanceof Stripe.errors.StripeInvalidRequestError &&
    error.code === 'resource_missing' &&
    (param === undefined || error.param === param)
  );
}

/** The key is a restricted one that may not do this. */
export function isForbiddenByStripe(error: unknown): boolean {
  return error instanceof Stripe.errors.StripePermissionError;
}

/** The idempotency key was used for another request. */
export function isOtherRequest(error: unknown): boolean {
  return error instanceof Stripe.errors.StripeIdempotencyError;
}

export type { Stripe };
