/** One connection through the fault proxy: the request as it comes, the answer as the fault allows. */
import { connect, type Socket } from 'node:net';
import { type Fault, type FaultKind, nextStep, type Step } from './fault.ts';

/** A TCP port, or a Unix socket. */
export type Target = Readonly<{ host: string; port: number } | { path: string }>;

/** All connections together; the bytes are those that were passed on. */
export type Counters = { connections: number; requestBytes: number; answerBytes: number };

export type Relay = Readonly<{ strike: (fault: Fault) => void; end: () => void }>;

export type Surroundings = Readonly<{
  target: Target;
  counters: Counters;
  /** The relays that have not ended. */
  open: Set<Relay>;
  onRequest: (bytes: Buffer) => void;
  onFault: (kind: FaultKind) => void;
}>;

type Piece = Readonly<{ kind: 'bytes' | 'end' | 'reset'; bytes: Buffer; arrivedAtMs: number }>;

const nothing = Buffer.alloc(0);
/** No more of an answer than this is kept here; the target has to wait. What is delayed is on its way, and takes room. */
const maxWaitingBytes = 65_536;
const maxDelayedBytes = 16_777_216;
/** A client that is given a reset at once may never look at what came before it. */
const beforeResetMs = 20;

export function startRelay(client: Socket, first: Fault, surroundings: Surroundings): void {
  const { target, counters, open, onRequest, onFault } = surroundings;
  let fault = first;
  let passedBytes = 0;
  let passedAtMs = Number.NEGATIVE_INFINITY;
  /** The answer, as far as it has arrived and not passed. */
  const waiting: Piece[] = [];
  let waitingBytes = 0;
  /** The client reads slower than the answer comes. */
  let isBlocked = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  /** `lost`: in a black hole. `closing`: nothing is passed on any more, the client has its end to take. */
  let state: 'open' | 'lost' | 'closing' | 'ended' = 'open';

  /** Null where nothing will ever be asked of the target. */
  const upstream = isOpenAtFirst(first) ? connect({ ...target, allowHalfOpen: true, noDelay: true }) : null;

  const room = () => (fault.kind === 'delay' ? maxDelayedBytes : maxWaitingBytes);

  function take(kind: Piece['kind'], bytes: Buffer): void {
    if (state !== 'open') return;
    waiting.push({ kind, bytes, arrivedAtMs: performance.now() });
    waitingBytes += bytes.length;
    if (waitingBytes > room()) upstream?.pause();
    pump();
  }

  function pump(): void {
    clearTimeout(timer);
    while (state === 'open') {
      const [next = null] = waiting;
      const passage = {
        passedBytes,
        passedAtMs,
        next: next && { bytes: next.bytes.length, arrivedAtMs: next.arrivedAtMs },
      };
      const isDone = follow(nextStep(fault, passage, performance.now()));
      if (isDone) return;
    }
  }

  /** Whether there is nothing more to do for now. */
  function follow(step: Step): boolean {
    if (step.act === 'rest') return true;
    if (step.act === 'wait') {
      onFault(fault.kind);
      timer = setTimeout(pump, step.ms);
      return true;
    }
    if (step.act === 'refuse') {
      onFault(fault.kind);
      reset();
      return true;
    }
    if (step.act === 'lose') {
      onFault(fault.kind);
      lose();
      return true;
    }
    // What has passed must have left before anything else happens to the client.
    if (isBlocked) return true;
    if (step.act === 'pass') {
      pass(step.bytes);
      return false;
    }
    onFault(fault.kind);
    state = 'closing';
    upstream?.destroy();
    if (step.act === 'cut') client.end();
    else resetSoon();
    return true;
  }

  function pass(count: number): void {
    const piece = waiting.shift();
    if (piece === undefined) return;
    if (piece.kind === 'end') {
      client.end();
      return;
    }
    if (piece.kind === 'reset') {
      state = 'closing';
      resetSoon();
      return;
    }
    if (count < piece.bytes.length) waiting.unshift({ ...piece, bytes: piece.bytes.subarray(count) });
    waitingBytes -= count;
    passedBytes += count;
    passedAtMs = performance.now();
    counters.answerBytes += count;
    isBlocked = !client.write(piece.bytes.subarray(0, count));
    if (waitingBytes <= room()) upstream?.resume();
  }

  /** Who sends into a black hole is not stopped: it reads, and forgets. */
  function lose(): void {
    state = 'lost';
    waiting.length = 0;
    client.resume();
    upstream?.resume();
  }

  /** In two steps: after a pause of the whole process the first is late, and the client has not read yet either. */
  function resetSoon(): void {
    timer = setTimeout(() => {
      timer = setTimeout(reset, beforeResetMs);
    }, beforeResetMs);
  }

  function reset(): void {
    client.resetAndDestroy();
    end();
  }

  function end(): void {
    if (state === 'ended') return;
    state = 'ended';
    clearTimeout(timer);
    client.destroy();
    upstream?.destroy();
    open.delete(relay);
  }

  client.on('data', (bytes: Buffer) => {
    if (state !== 'open' || upstream === null) return;
    onRequest(bytes);
    counters.requestBytes += bytes.length;
    if (!upstream.write(bytes)) client.pause();
  });
  client.on('end', () => {
    if (state === 'open') upstream?.end();
    // The target will never know that the client of a lost connection has gone; keeping both would help nobody.
    else end();
  });
  client.on('drain', () => {
    isBlocked = false;
    pump();
  });
  client.on('error', () => {
    upstream?.resetAndDestroy();
    end();
  });
  client.on('close', end);

  upstream?.on('data', (bytes: Buffer) => take('bytes', bytes));
  upstream?.on('end', () => take('end', nothing));
  upstream?.on('error', () => take('reset', nothing));
  upstream?.on('drain', () => client.resume());

  const relay: Relay = {
    strike: (next) => {
      // What a black hole has swallowed is missing for ever: such a connection can only be ended.
      if (state === 'lost' && next.kind === 'refuse') {
        onFault(next.kind);
        reset();
      }
      if (state !== 'open') return;
      fault = next;
      passedBytes = 0;
      pump();
    },
    end,
  };
  open.add(relay);
  pump();
}

function isOpenAtFirst(fault: Fault): boolean {
  return fault.kind !== 'refuse' && !(fault.kind === 'black-hole' && fault.afterBytes === 0);
}
