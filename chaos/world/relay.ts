/** One connection through the fault proxy: the request as it comes, the answer as the fault allows. */
import { connect, type Socket } from 'node:net';
import { type Fault, type FaultKind, nextStep, type Step } from './fault.ts';

/** A TCP port, or a Unix socket. */
export type Target = Readonly<{ host: string; port: number } | { path: string }>;

/** All connections together; the bytes are those that were passed on. */
export type Counters = { connections: number; requestBytes: number; answerBytes: number };

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
/** At most this much of an answer is buffered, delayed bytes included; beyond it the target has to wait. */
const maxWaitingBytes = 65_536;
const maxDelayedBytes = 16_777_216;
/** A client that gets a reset at once may never read what came before it. */
const beforeResetMs = 20;

export class Relay {
  readonly #client: Socket;
  /** Null if the target is never called. */
  readonly #upstream: Socket | null;
  readonly #surroundings: Surroundings;
  #fault: Fault;
  #passedBytes = 0;
  #passedAtMs = Number.NEGATIVE_INFINITY;
  /** The part of the answer that has arrived but not passed. */
  readonly #waiting: Piece[] = [];
  #waitingBytes = 0;
  /** The client reads more slowly than the answer arrives. */
  #isBlocked = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** `lost`: in a black hole. `closing`: nothing more is passed on; the client still has to read the end. */
  #state: 'open' | 'lost' | 'closing' | 'ended' = 'open';

  constructor(client: Socket, fault: Fault, surroundings: Surroundings) {
    const { target, open } = surroundings;
    this.#client = client;
    this.#fault = fault;
    this.#surroundings = surroundings;
    this.#upstream = isOpenAtFirst(fault) ? connect({ ...target, allowHalfOpen: true, noDelay: true }) : null;
    this.#listenToClient();
    this.#listenToUpstream();
    open.add(this);
    this.#pump();
  }

  /** Puts it under another fault. */
  strike(fault: Fault): void {
    // A black hole has swallowed bytes for good: such a connection can only be ended.
    if (this.#state === 'lost' && fault.kind === 'refuse') {
      this.#surroundings.onFault(fault.kind);
      this.#reset();
    }
    if (this.#state !== 'open') return;
    this.#fault = fault;
    this.#passedBytes = 0;
    this.#pump();
  }

  end(): void {
    if (this.#state === 'ended') return;
    this.#state = 'ended';
    clearTimeout(this.#timer);
    this.#client.destroy();
    this.#upstream?.destroy();
    this.#surroundings.open.delete(this);
  }

  #listenToClient(): void {
    const client = this.#client;
    client.on('data', (bytes: Buffer) => this.#sendOn(bytes));
    client.on('end', () => {
      if (this.#state === 'open') this.#upstream?.end();
      // The target will never learn that the client of a lost connection has gone; keeping both would help nobody.
      else this.end();
    });
    client.on('drain', () => {
      this.#isBlocked = false;
      this.#pump();
    });
    client.on('error', () => {
      this.#upstream?.resetAndDestroy();
      this.end();
    });
    client.on('close', () => this.end());
  }

  #listenToUpstream(): void {
    const upstream = this.#upstream;
    upstream?.on('data', (bytes: Buffer) => this.#take('bytes', bytes));
    upstream?.on('end', () => this.#take('end', nothing));
    upstream?.on('error', () => this.#take('reset', nothing));
    upstream?.on('drain', () => this.#client.resume());
  }

  #sendOn(bytes: Buffer): void {
    if (this.#state !== 'open' || this.#upstream === null) return;
    const { onRequest, counters } = this.#surroundings;
    onRequest(bytes);
    counters.requestBytes += bytes.length;
    if (!this.#upstream.write(bytes)) this.#client.pause();
  }

  #take(kind: Piece['kind'], bytes: Buffer): void {
    if (this.#state !== 'open') return;
    this.#waiting.push({ kind, bytes, arrivedAtMs: performance.now() });
    this.#waitingBytes += bytes.length;
    if (this.#waitingBytes > this.#room()) this.#upstream?.pause();
    this.#pump();
  }

  #room(): number {
    return this.#fault.kind === 'delay' ? maxDelayedBytes : maxWaitingBytes;
  }

  #pump(): void {
    clearTimeout(this.#timer);
    while (this.#state === 'open') {
      const [next = null] = this.#waiting;
      const passage = {
        passedBytes: this.#passedBytes,
        passedAtMs: this.#passedAtMs,
        next: next && { bytes: next.bytes.length, arrivedAtMs: next.arrivedAtMs },
      };
      const isDone = this.#follow(nextStep(this.#fault, passage, performance.now()));
      if (isDone) return;
    }
  }

  /** Whether there is nothing more to do for now. */
  #follow(step: Step): boolean {
    const { onFault } = this.#surroundings;
    if (step.act === 'rest') return true;
    if (step.act === 'wait') {
      onFault(this.#fault.kind);
      this.#timer = setTimeout(() => this.#pump(), step.ms);
      return true;
    }
    if (step.act === 'refuse') {
      onFault(this.#fault.kind);
      this.#reset();
      return true;
    }
    if (step.act === 'lose') {
      onFault(this.#fault.kind);
      this.#lose();
      return true;
    }
    // Everything passed on must have been sent before anything else happens to the client.
    if (this.#isBlocked) return true;
    if (step.act === 'pass') {
      this.#pass(step.bytes);
      return false;
    }
    onFault(this.#fault.kind);
    this.#state = 'closing';
    this.#upstream?.destroy();
    if (step.act === 'cut') this.#client.end();
    else this.#resetSoon();
    return true;
  }

  #pass(count: number): void {
    const piece = this.#waiting.shift();
    if (piece === undefined) return;
    if (piece.kind === 'end') {
      this.#client.end();
      return;
    }
    if (piece.kind === 'reset') {
      this.#state = 'closing';
      this.#resetSoon();
      return;
    }
    if (count < piece.bytes.length) this.#waiting.unshift({ ...piece, bytes: piece.bytes.subarray(count) });
    this.#waitingBytes -= count;
    this.#passedBytes += count;
    this.#passedAtMs = performance.now();
    this.#surroundings.counters.answerBytes += count;
    this.#isBlocked = !this.#client.write(piece.bytes.subarray(0, count));
    if (this.#waitingBytes <= this.#room()) this.#upstream?.resume();
  }

  /** A black hole does not stop the sender: it reads, and discards. */
  #lose(): void {
    this.#state = 'lost';
    this.#waiting.length = 0;
    this.#client.resume();
    this.#upstream?.resume();
  }

  /** In two steps: after a pause of the whole process the first is late, and the client has not read yet either. */
  #resetSoon(): void {
    this.#timer = setTimeout(() => {
      this.#timer = setTimeout(() => this.#reset(), beforeResetMs);
    }, beforeResetMs);
  }

  #reset(): void {
    this.#client.resetAndDestroy();
    this.end();
  }
}

function isOpenAtFirst(fault: Fault): boolean {
  return fault.kind !== 'refuse' && !(fault.kind === 'black-hole' && fault.afterBytes === 0);
}
