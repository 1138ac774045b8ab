/**
 * Leaves a provider alone that keeps failing, and finds out with a single call whether it is back. Pure: every function
 * takes a state and gives the next one, and the clock is passed in.
 */
import type { CircuitSettings } from '../models/model.ts';

/**
 * `era` tells calls apart by the state they began in: what a call from before the circuit opened finds out later says
 * nothing about the provider since.
 */
export type Circuit =
  | Readonly<{
      state: 'closed';
      era: number;
      /** How many outcomes there were since the first failure that is still remembered. */
      count: number;
      /** Which of them were failures, by their number, oldest first. */
      failedAt: readonly number[];
    }>
  | Readonly<{ state: 'open'; era: number; untilMs: number; openings: number }>
  | Readonly<{ state: 'half_open'; era: number; openings: number }>;

/** What a call says about its provider. Nothing, when the client left or the request itself was at fault. */
export type Verdict = 'success' | 'failure' | 'nothing';

const longestOpenMs = 300_000;
/** With five failures in a row as the limit, the last twenty outcomes are looked at. */
const windowPerFailure = 4;

export const closedCircuit: Circuit = { state: 'closed', era: 0, count: 0, failedAt: [] };

/** Whether a call may begin now, and the state once it has. */
export function beginCall(
  circuit: Circuit,
  nowMs: number,
): Readonly<{ circuit: Circuit; isAllowed: boolean }> {
  if (circuit.state === 'closed') return { circuit, isAllowed: true };
  if (circuit.state === 'half_open' || nowMs < circuit.untilMs) return { circuit, isAllowed: false };
  const { era, openings } = circuit;
  return { circuit: { state: 'half_open', era: era + 1, openings }, isAllowed: true };
}

/** The state after a call that began in `era` has told something about the provider. */
export function endCall(
  circuit: Circuit,
  era: number,
  verdict: Verdict,
  settings: CircuitSettings,
  nowMs: number,
): Circuit {
  if (era !== circuit.era) return circuit;
  if (circuit.state === 'closed') return noteOutcome(circuit, verdict, settings, nowMs);
  if (circuit.state === 'open') return circuit;
  switch (verdict) {
    case 'success':
      return { ...closedCircuit, era: era + 1 };
    case 'failure':
      return opened(era + 1, circuit.openings + 1, settings, nowMs);
    case 'nothing':
      // The next call is the probe instead.
      return { state: 'open', era: era + 1, untilMs: nowMs, openings: circuit.openings };
  }
}

/** How long no call can begin; 0 when one may. A probe under way gives no time, so the next look is a moment away. */
export function waitMs(circuit: Circuit, nowMs: number): number {
  if (circuit.state === 'closed') return 0;
  return circuit.state === 'open' ? Math.max(0, circuit.untilMs - nowMs) : 1_000;
}

function noteOutcome(
  circuit: Extract<Circuit, { state: 'closed' }>,
  verdict: Verdict,
  settings: CircuitSettings,
  nowMs: number,
): Circuit {
  const { era, failedAt } = circuit;
  // Nearly every call: a success where nothing has failed changes nothing.
  if (verdict === 'nothing' || (verdict === 'success' && failedAt.length === 0)) return circuit;
  const count = circuit.count + 1;
  const remembered = failedAt.filter((number) => number > count - settings.failures * windowPerFailure);
  if (verdict === 'success') {
    return remembered.length === 0 ? { ...closedCircuit, era } : { ...circuit, count, failedAt: remembered };
  }
  const failures = [...remembered, count];
  return isTooMany(failures, count, settings)
    ? opened(era + 1, 1, settings, nowMs)
    : { ...circuit, count, failedAt: failures };
}

function isTooMany(failedAt: readonly number[], count: number, { failures }: CircuitSettings): boolean {
  const isInARow = failedAt.at(-failures) === count - failures + 1;
  return isInARow || failedAt.length * 2 >= failures * windowPerFailure;
}

function opened(era: number, openings: number, { openMs }: CircuitSettings, nowMs: number): Circuit {
  const durationMs = Math.min(openMs * 2 ** (openings - 1), Math.max(openMs, longestOpenMs));
  return { state: 'open', era, untilMs: nowMs + durationMs, openings };
}
