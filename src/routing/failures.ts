/**
 * What the failure of a call proves about its provider. A request can cause many failures by itself, and what one
 * customer can cause must not shut a provider for the others.
 */
import type { ProviderError, SetbackKind } from '../providers/upstream.ts';

/** For whom a failure counts against the provider. `account` is the one that asked. */
export type CountsFor = 'everyone' | 'account' | 'nobody';

export type CallFailure = Pick<
  ProviderError,
  'code' | 'upstreamStatus' | 'retryAfterSeconds' | 'isProvoked' | 'isUnreached' | 'setback'
>;

type Row = Readonly<{
  /** As docs/catalog.md words it. */
  failure: string;
  countsFor: CountsFor;
  isIt: (failure: CallFailure) => boolean;
}>;

/** The first row that matches decides, and the last one always does. */
export const failureTable: readonly Row[] = [
  {
    failure: 'no connection: refused, unknown host, no route, TLS, or not within `connect_ms`',
    countsFor: 'everyone',
    isIt: ({ isUnreached }) => isUnreached,
  },
  {
    failure:
      'a failure that the adapter attributes to the request, such as a malformed tool call by Gemini, or no image at all',
    countsFor: 'nobody',
    isIt: ({ isProvoked }) => isProvoked,
  },
  {
    failure: 'an answer that repeats itself endlessly',
    countsFor: 'nobody',
    isIt: ({ code }) => code === 'repeated_streaming_chunk_limit',
  },
  {
    failure:
      '400, 413, 422 and every other 4xx that is not listed here, unless its body says that your account there is at fault',
    countsFor: 'nobody',
    isIt: rejectsRequest,
  },
  {
    failure: '429 with `Retry-After`, which is a pause',
    countsFor: 'nobody',
    isIt: (failure) => failure.code === 'provider_rate_limit' && pauseSecondsOf(failure) > 0,
  },
  {
    failure: '401, or another status whose body says that the key is invalid',
    countsFor: 'everyone',
    // Firewalls and moderation answer 403 to what a request says.
    isIt: ({ code, upstreamStatus }) => code === 'provider_authentication_error' && upstreamStatus !== 403,
  },
  {
    failure:
      'anything else: your account at fault, 402, 403, 404, 408, 410, 429 without a time, 5xx, silence, a broken connection or stream, an unreadable answer',
    countsFor: 'account',
    isIt: () => true,
  },
];

export function countsFor(failure: CallFailure): CountsFor {
  return failureTable.find(({ isIt }) => isIt(failure))?.countsFor ?? 'account';
}

/** The operator's credit is used up (402), or the model is retired or misnamed (404, 410): other providers may serve it. */
const operatorStatuses: ReadonlySet<number | null> = new Set([402, 404, 410]);

/** Whether the provider rejected the request itself, as the others would too. Then it is up. */
export function rejectsRequest({
  code,
  upstreamStatus,
  setback,
}: Pick<CallFailure, 'code' | 'upstreamStatus' | 'setback'>): boolean {
  return code === 'provider_bad_request' && setback === null && !operatorStatuses.has(upstreamStatus);
}

/** How long the provider asks not to be called; 0 when it does not, or only for this call. */
export function pauseSecondsOf({ code, retryAfterSeconds }: CallFailure): number {
  return code === 'provider_rate_limit' || code === 'provider_unavailable' ? (retryAfterSeconds ?? 0) : 0;
}

export function setbackOf({ code, upstreamStatus, setback }: CallFailure): SetbackKind | null {
  if (setback !== null) return setback;
  if (code === 'provider_authentication_error') return 'key';
  if (code !== 'provider_bad_request' || !operatorStatuses.has(upstreamStatus)) return null;
  return upstreamStatus === 402 ? 'credit' : 'model';
}
