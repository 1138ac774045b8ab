/** What a gate tells of, for the log. */

/**
 * A provider is no longer called for a model, for so long, or is back; for one account, or for everyone when that is
 * null. Or it could not be called because this machine is short of something.
 */
export type GateEvent = Readonly<{ provider: string; model: string }> &
  (
    | Readonly<{ kind: 'opened' | 'paused' | 'closed'; pauseMs: number; account: string | null }>
    | Readonly<{ kind: 'short'; shortage: string }>
  );

export type GateObserver = (event: GateEvent) => void;
