/** What a bad network does to the answers that pass through it, decided piece by piece. Pure: the clock is passed in. */

/**
 * Bytes are those of the answer, counted from the moment the fault takes hold of a connection.
 *
 * - `none`: everything passes.
 * - `delay`: every byte, and the end too, arrives this much later.
 * - `cut`, `reset`: this many bytes pass; where the next one would, the connection ends with FIN or with RST. With 0 the
 *   request arrives and none of its answer comes back. An answer of at most this length passes whole.
 * - `black-hole`: this many bytes pass, then nothing in either direction, without notice. With 0 the hole is there from
 *   the beginning, so the request is lost as well.
 * - `drip`: one byte at a time, this far apart; a second unless given.
 * - `refuse`: reset at once.
 */
export type Fault =
  | Readonly<{ kind: 'none' }>
  | Readonly<{ kind: 'delay'; delayMs: number }>
  | Readonly<{ kind: 'cut' | 'reset' | 'black-hole'; afterBytes: number }>
  | Readonly<{ kind: 'drip'; everyMs?: number }>
  | Readonly<{ kind: 'refuse' }>;

export type FaultKind = Fault['kind'];

/** The state of an answer. */
export type Passage = Readonly<{
  /** How much of it has passed since the fault took hold, and when the last of it did. */
  passedBytes: number;
  passedAtMs: number;
  /** The next piece; null while there is none. One without bytes is the answer's end. */
  next: Readonly<{ bytes: number; arrivedAtMs: number }> | null;
}>;

export type Step =
  | Readonly<{ act: 'pass'; bytes: number }>
  | Readonly<{ act: 'wait'; ms: number }>
  /** Nothing to do until something arrives. */
  | Readonly<{ act: 'rest' }>
  | Readonly<{ act: 'cut' | 'reset' | 'lose' | 'refuse' }>;

const defaultDripMs = 1_000;

export function nextStep(fault: Fault, { passedBytes, passedAtMs, next }: Passage, nowMs: number): Step {
  if (fault.kind === 'refuse') return { act: 'refuse' };
  if (fault.kind === 'black-hole' && passedBytes >= fault.afterBytes) return { act: 'lose' };
  if (next === null) return { act: 'rest' };
  switch (fault.kind) {
    case 'none':
      return { act: 'pass', bytes: next.bytes };
    case 'delay':
      return whenDue(next.arrivedAtMs + fault.delayMs, next.bytes, nowMs);
    case 'drip':
      return whenDue(passedAtMs + (fault.everyMs ?? defaultDripMs), Math.min(1, next.bytes), nowMs);
    case 'cut':
    case 'reset':
    case 'black-hole': {
      const bytes = Math.min(next.bytes, fault.afterBytes - passedBytes);
      if (bytes > 0 || next.bytes === 0) return { act: 'pass', bytes };
      return { act: fault.kind === 'cut' ? 'cut' : 'reset' };
    }
  }
}

function whenDue(dueAtMs: number, bytes: number, nowMs: number): Step {
  return nowMs >= dueAtMs ? { act: 'pass', bytes } : { act: 'wait', ms: dueAtMs - nowMs };
}
