import { minuteMs } from './time-units.ts';

/** The state of a limit of requests per minute, for the headers of a response. */
export type RateLimit = Readonly<{ limit: number; remaining: number; resetMs: number }>;

/** GCRA: requests arrive one interval apart in theory, and a key may be ahead of that by one minute's worth. */
export function rateAt(requestsPerMinute: number, theoreticalArrivalMs: number, nowMs: number): RateLimit {
  const aheadMs = Math.max(0, theoreticalArrivalMs - nowMs);
  const remaining = Math.floor(((minuteMs - aheadMs) * requestsPerMinute) / minuteMs + 0.001);
  return { limit: requestsPerMinute, remaining: Math.max(0, remaining), resetMs: aheadMs };
}
