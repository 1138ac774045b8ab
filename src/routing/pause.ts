/**
 * How long nobody calls a provider that sent `Retry-After`. The operator's key there is shared, so what one
 * customer is told concerns all; but a customer may have brought it about alone, say by asking for too much at once, and
 * must not keep the others waiting by doing so again and again. Pure: the clock is passed in.
 */
export type Pause = Readonly<{
  /** Until when nobody calls. */
  untilMs: number;
  /** The last account that was told to wait, until when, and when its word alone counts again. */
  witness: Readonly<{ account: string; untilMs: number; againAtMs: number }> | null;
}>;

export const noPause: Pause = { untilMs: 0, witness: null };

/** What one account alone can bring about for the others, and how often. */
const maxAloneMs = 10_000;
const aloneAgainMs = 60_000;

/** After `account` was told to wait for so long. In full when another account is still waiting on the same word. */
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
