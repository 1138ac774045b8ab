/** When a failed delivery is tried again: ten attempts in about three days. */

import { pace } from './pace.ts';

export const maxAttempts = pace.pausesMs.length + 1;
/** About as long as all attempts take. An endpoint that nothing has reached for so long is given up, whatever is sent to it. */
export const maxFailingHours = 76;
export const maxPauseMs = 24 * 60 * 60 * 1_000;
/** How much sooner or later, at most, so that what failed together does not come back together. */
const jitter = 0.1;

/**
 * The pause after a number of attempts that failed; null after the last one. `random` is from 0 to 1. What the receiver asked
 * for can only make it longer, up to a day.
 */
export function pauseAfterMs(
  attempts: number,
  retryAfterSeconds: number | null,
  random: number,
): number | null {
  const usual = pace.pausesMs[attempts - 1];
  if (usual === undefined) return null;
  const spread = usual * (1 + jitter * (2 * random - 1));
  return Math.min(maxPauseMs, Math.round(Math.max(spread, (retryAfterSeconds ?? 0) * 1000)));
}
