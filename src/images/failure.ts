import { ProviderError } from '../providers/upstream.ts';

/**
 * The contract has one code for image providers that cannot be reached or understood. What the provider says of itself
 * with a status, and silence, keep the codes that they have elsewhere.
 */
export function imageFailure(problem: ProviderError): ProviderError {
  const { code, upstreamStatus, retryAfterSeconds, isProvoked, isUnreached } = problem;
  const isSaid = upstreamStatus !== null && upstreamStatus >= 500;
  const isTransport = code === 'provider_unknown_error' || (code === 'provider_unavailable' && !isSaid);
  return isTransport
    ? new ProviderError('provider_error', upstreamStatus, retryAfterSeconds, isProvoked, isUnreached)
    : problem;
}
