import type { RateLimit } from '../lib/rate-limit.ts';

/** The names that SDKs of the OpenAI kind read. */
export function setRateLimitHeaders(headers: Headers, { limit, remaining, resetMs }: RateLimit): void {
  headers.set('x-ratelimit-limit-requests', `${limit}`);
  headers.set('x-ratelimit-remaining-requests', `${remaining}`);
  headers.set('x-ratelimit-reset-requests', `${Math.ceil(resetMs) / 1000}s`);
}
