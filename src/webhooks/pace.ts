/** How patient deliveries are. It can be replaced, because chaos cannot wait for days. */

const secondMs = 1_000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;

export const pace = {
  /** Before the second attempt, the third, and so on. */
  pausesMs: [
    5 * secondMs,
    5 * minuteMs,
    30 * minuteMs,
    2 * hourMs,
    5 * hourMs,
    10 * hourMs,
    14 * hourMs,
    20 * hourMs,
    24 * hourMs,
  ],
  /** An endpoint that fails gets one delivery at a time, and then this pause. */
  failingPauseMs: 10_000,
  /** For the answer to a delivery. */
  timeoutMs: 15_000,
  /** Nothing new is sent to an endpoint after this: with the last answer, it is well below a claim. */
  maxTurnMs: 30_000,
  claimSeconds: 90,
};
