/**
 * Stops calling a provider that keeps failing, and finds out with a single call whether it is back. Pure: every function
 * takes a state and returns the next one, and the clock is passed in.
 *
 * The same state machine serves single accounts and everyone together. In the latter, a failure that a request may have
 * caused is attributed to its account, and failures of one account alone decide nothing.
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
      /** The failures among them, oldest first. */
      failures: readonly Failure[];
    }>
  | Readonly<{ state: 'open'; era: number; untilMs: number; openings: number; doubtedBy: Witness }>
  | Readonly<{ state: 'half_open'; era: number; openings: number; doubtedBy: Witness }>;

/** The account whose request may itself be to blame for a failure; null when no request can have caused it. */
export type Witness = string | null;

type Failure = Readonly<{ number: number; by: Witness }>;

/** What a call proves about its provider: nothing, when the client left or the request itself was at fault. */
export type Verdict = 'success' | 'failure' | 'nothing';

const maxOpenMs = 300_000;
/** With a limit of five failures in a row, the last twenty outcomes are considered. */
const windowPerFailure = 4;

export const closedCircuit: Circuit = { state: 'closed', era: 0, count: 0, failures: [] };

export function canBegin(circuit: Circuit, nowMs: number): boolean {
  return circuit.state === 'closed' || (circuit.state === 'open' && nowMs >= circuit.untilMs);
}

/** The state once a permitted call has begun. */
export function beginCall(circuit: Circuit): Circuit {
  if (circuit.state !== 'open') return circuit;
  const { era, openings, doubtedBy } = circuit;
  return { state: 'half_open', era: era + 1, openings, doubtedBy };
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
  by: Witness,
  settings: CircuitSettings,
  nowMs: number,
): Circuit {
  if (era !== circuit.era) return circuit;
  if (circuit.state === 'closed') return noteOutcome(circuit, verdict, by, settings, nowMs);
  if (circuit.state === 'open') return circuit;
  const { openings, doubtedBy } = circuit;
  switch (verdict) {
    case 'success':
      return { ...closedCircuit, era: era + 1 };
    case 'failure':
      // A probe that its own request may have failed is not believed until one of another account fails too.
      return by === null || (doubtedBy !== null && doubtedBy !== by)
        ? opened(era + 1, openings + 1, settings, nowMs)
        : { state: 'open', era: era + 1, untilMs: nowMs, openings, doubtedBy: by };
    case 'nothing':
      // The next call is the probe instead.
      return { state: 'open', era: era + 1, untilMs: nowMs, openings, doubtedBy };
  }
}

/** Opened at once, whatever was known before. */
export function shutCircuit(
  { era }: Circuit,
  openings: number,
  settings: CircuitSettings,
  nowMs: number,
): Circuit {
  return opened(era + 1, openings, settings, nowMs);
}

/** How long no call can begin; 0 when one may. While a probe is in flight the time is unknown: look again in a moment. */
export function waitMs(circuit: Circuit, nowMs: number): number {
  if (circuit.state === 'closed') return 0;
  return circuit.state === 'open' ? Math.max(0, circuit.untilMs - nowMs) : 1_000;
}

function noteOutcome(
  circuit: Extract<Circuit, { state: 'closed' }>,
  verdict: Verdict,
  by: Witness,
  settings: CircuitSettings,
  nowMs: number,
): Circuit {
  const { era } = circuit;
  // Nearly every call: a success where nothing has failed changes nothing.
  if (verdict === 'nothing' || (verdict === 'success' && circuit.failures.length === 0)) return circuit;
  const count = circuit.count + 1;
  const oldest = count - settings.failures * windowPerFailure;
  const remembered = circuit.failures.filter(({ number }) => number > oldest);
  if (verdict === 'success') {
    return remembered.length === 0 ? { ...closedCircuit, era } : { ...circuit, count, failures: remembered };
  }
  const failures = [...remembered, { number: count, by }];
  return isTooMany(failures, settings)
    ? opened(era + 1, 1, settings, nowMs)
    : { ...circuit, count, failures };
}

/** The limit in a row, or half of the window. One account counts for at most half of either. */
function isTooMany(failures: readonly Failure[], { failures: limit }: CircuitSettings): boolean {
  const inWindow = (limit * windowPerFailure) / 2;
  return weightOf(inARow(failures), limit) >= limit || weightOf(failures, inWindow) >= inWindow;
}

/** The latest failures, without a success between them. */
function inARow(failures: readonly Failure[]): readonly Failure[] {
  const last = failures.length - 1;
  const newest = failures[last]?.number ?? 0;
  const before = failures.findLastIndex(({ number }, index) => number !== newest - (last - index));
  return failures.slice(before + 1);
}

/** How many failures count towards `needed`. Those of one account count for at most half of it, and alone for nothing. */
function weightOf(failures: readonly Failure[], needed: number): number {
  const accounts = new Map<string, number>();
  let certain = 0;
  for (const { by } of failures) {
    if (by === null) certain += 1;
    else accounts.set(by, (accounts.get(by) ?? 0) + 1);
  }
  if (certain === 0 && accounts.size < 2) return 0;
  const max = Math.ceil(needed / 2);
  return accounts.values().reduce((weight, count) => weight + Math.min(count, max), certain);
}

function opened(era: number, openings: number, { openMs }: CircuitSettings, nowMs: number): Circuit {
  const durationMs = backOffMs(openings - 1, openMs, Math.max(openMs, maxOpenMs));
  return { state: 'open', era, untilMs: nowMs + durationMs, openings, doubtedBy: null };
}
