/**
 * How long a provider that sent `Retry-After` is not called. The operator's key there is shared, so a pause for one
 * customer concerns all; but a customer may have caused it alone, say by asking for too much at once, and must not keep
 * the others waiting by doing so again and again. Pure: the clock is passed in.
 */
export type Pause = Readonly<{
  /** Until when it is not called for anyone. */
  untilMs: number;
  /** The last account that was asked to wait, until when, and when it alone can cause a pause again. */
  witness: Readonly<{ account: string; untilMs: number; againAtMs: number }> | null;
}>;

export const noPause: Pause = { untilMs: 0, witness: null };

/** How long a pause one account alone can cause for the others, and how often. */
const maxAloneMs = 10_000;
const aloneAgainMs = 60_000;

/** The pause after `account` was asked to wait this long. It applies in full when another account is waiting as well. */
export function pausedFor(pause: Pause, account: string, durationMs: number, nowMs: number): Pause {
  const { witness } = pause;
  const isFirst = witness === null || nowMs >= witness.untilMs;
  const isConfirmed = !isFirst && witness.account !== account;
  const isTooSoon = witness?.account === account && nowMs < witness.againAtMs;
  const forEveryoneMs = isConfirmed ? durationMs : isTooSoon ? 0 : Math.min(durationMs, maxAloneMs);
  return {
    untilMs: Math.max(pause.untilMs, nowMs + forEveryoneMs),
    witness: {
      account,
      untilMs: nowMs + durationMs,
      againAtMs: isTooSoon ? witness.againAtMs : nowMs + aloneAgainMs,
    },
  };
}
