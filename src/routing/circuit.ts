/**
 * Stops calling a provider that keeps failing, and finds out with a single call whether it is back. Pure: every function
 * takes a state and returns the next one, and the clock is passed in. The same state machine serves single accounts and
 * everyone together.
 */
import { backOffMs } from '../lib/back-off.ts';
import type { CircuitSettings } from '../models/model.ts';

/**
 * `era` identifies the state in which a call began: the outcome of a call from before the circuit opened proves nothing
 * about the provider since.
 */
export type Circuit =
  | Readonly<{
      state: 'closed';
      era: number;
      /** The number of outcomes since the first failure that is still remembered. */
      count: number;
      /** The numbers of the failures among them, oldest first. */
      failures: readonly number[];
    }>
  | Readonly<{ state: 'open'; era: number; untilMs: number; openings: number }>
  | Readonly<{ state: 'half_open'; era: number; openings: number }>;

/** What a call proves about its provider: nothing, when the client left or the request itself was at fault. */
export type Verdict = 'success' | 'failure' | 'nothing';

const maxOpenMs = 300_000;
/** With a limit of five failures in a row, the last twenty outcomes are considered. */
const windowPerFailure = 4;

export const closedCircuit: Circuit = { state: 'closed', era: 0, count: 0, failures: [] };

/** The circuit, opened for the first time, until `untilMs`. */
export function openUntil({ era }: Circuit, untilMs: number): Circuit {
  return { state: 'open', era: era + 1, untilMs, openings: 1 };
}

export function canBegin(circuit: Circuit, nowMs: number): boolean {
  return circuit.state === 'closed' || (circuit.state === 'open' && nowMs >= circuit.untilMs);
}

/** The state once a permitted call has begun. */
export function beginCall(circuit: Circuit): Circuit {
  if (circuit.state !== 'open') return circuit;
  return { state: 'half_open', era: circuit.era + 1, openings: circuit.openings };
}

/** Whether the call that began in this era is the probe. */
export function isProbe(circuit: Circuit, era: number): boolean {
  return circuit.state === 'half_open' && circuit.era === era;
}

/** The state after a call that began in `era` has ended. */
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
  const { openings } = circuit;
  switch (verdict) {
    case 'success':
      return { ...closedCircuit, era: era + 1 };
    case 'failure':
      return opened(era + 1, openings + 1, settings, nowMs);
    case 'nothing':
      // The next call is the probe instead.
      return { state: 'open', era: era + 1, untilMs: nowMs, openings };
  }
}

/** How long no call can begin; 0 when one may. While a probe is in flight the time is unknown: look again in a moment. */
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
  const { era } = circuit;
  // Nearly every call: a success where nothing has failed changes nothing.
  if (verdict === 'nothing' || (verdict === 'success' && circuit.failures.length === 0)) return circuit;
  const count = circuit.count + 1;
  const oldest = count - settings.failures * windowPerFailure;
  const remembered = circuit.failures.filter((number) => number > oldest);
  if (verdict === 'success') {
    return remembered.length === 0 ? { ...closedCircuit, era } : { ...circuit, count, failures: remembered };
  }
  const failures = [...remembered, count];
  return isTooMany(failures, count, settings)
    ? opened(era + 1, 1, settings, nowMs)
    : { ...circuit, count, failures };
}

/** The limit in a row, or half of the window. */
function isTooMany(
  failures: readonly number[],
  newest: number,
  { failures: limit }: CircuitSettings,
): boolean {
  const isInARow = failures.at(-limit) === newest - limit + 1;
  return isInARow || failures.length >= (limit * windowPerFailure) / 2;
}

function opened(era: number, openings: number, { openMs }: CircuitSettings, nowMs: number): Circuit {
  const durationMs = backOffMs(openings - 1, openMs, Math.max(openMs, maxOpenMs));
  return { state: 'open', era, untilMs: nowMs + durationMs, openings };
}
