/**
 * How long a provider that sent `Retry-After` to one account is not called for the others. The operator's key there is
 * shared, so it may concern all of them; but an account may have caused it alone, say by asking for too much at once, and
 * must not keep the others waiting by doing so again and again. Pure: the clock is passed in.
 */
export type Pause = Readonly<{
  /** Until when it is not called for anyone. */
  untilMs: number;
  /** Since when pauses are counted, and how much more this minute allows. */
  sinceMs: number;
  leftMs: number;
}>;

const minuteMs = 60_000;
const maxInAMinuteMs = 10_000;

export const noPause: Pause = { untilMs: 0, sinceMs: Number.NEGATIVE_INFINITY, leftMs: 0 };

/** The pause for everyone after an account was asked to wait this long. */
export function pausedFor(pause: Pause, durationMs: number, nowMs: number): Pause {
  const { sinceMs, leftMs } =
    nowMs < pause.sinceMs + minuteMs ? pause : { sinceMs: nowMs, leftMs: maxInAMinuteMs };
  const fromMs = Math.max(pause.untilMs, nowMs);
  const addedMs = Math.min(Math.max(0, nowMs + durationMs - fromMs), leftMs);
  return { untilMs: fromMs + addedMs, sinceMs, leftMs: leftMs - addedMs };
}
