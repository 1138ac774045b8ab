/** One kept-alive connection that asks again as soon as it is answered, until it is told to stop. */
import type { Socket } from 'bun';
import { sharedMs } from './child.ts';
import { EventCounter } from './event-counter.ts';
import { HttpScanner } from './http-scanner.ts';
import type { Format, Target } from './scenarios.ts';

export type Tally = {
  completed: number;
  chunks: number;
  reads: number;
  /** By the clock that all processes share. */
  sentAtMs: number[];
  latenciesMs: number[];
  firstBytesMs: number[];
  errors: Map<string, number>;
};

export function newTally(): Tally {
  return {
    completed: 0,
    chunks: 0,
    reads: 0,
    sentAtMs: [],
    latenciesMs: [],
    firstBytesMs: [],
    errors: new Map(),
  };
}

/** The format of a stream, null for a JSON answer, and how many events a good one has; null for any number. */
export type Expected = Readonly<{ format: Format | null; events: number | null }>;

export class LoadConnection {
  readonly #target: Pick<Target, 'hostname' | 'port'>;
  readonly #nextRequest: () => Buffer;
  readonly #expected: Expected;
  readonly #counter: EventCounter;
  readonly #scanner: HttpScanner;
  #socket: Socket<undefined> | null = null;
  #tally: Tally = newTally();
  #status = '';
  #sentAtMs = 0;
  #firstByteAtMs = 0;
  #isAsking = false;
  #askAgainUntilMs = 0;
  #idle = Promise.withResolvers<void>();
  #firstByte = Promise.withResolvers<void>();

  constructor(target: Pick<Target, 'hostname' | 'port'>, nextRequest: () => Buffer, expected: Expected) {
    this.#target = target;
    this.#nextRequest = nextRequest;
    this.#expected = expected;
    this.#counter = new EventCounter(expected.format ?? 'chat');
    this.#scanner = new HttpScanner({
      head: (text) => {
        this.#status = text.slice(9, 12);
      },
      body: (bytes, start, end) => this.#readBody(bytes, start, end),
      end: () => this.#finish(),
    });
  }

  async connect(): Promise<void> {
    const { hostname, port } = this.#target;
    this.#socket = await Bun.connect({
      hostname,
      port,
      socket: {
        data: (_, bytes) => this.#read(bytes),
        close: () => this.#fail('connection closed'),
        error: (_, error) => this.#fail(error.message),
      },
    });
  }

  /** Asks, and asks again after each answer until the time is over. Resolves with the last answer. */
  run(tally: Tally, untilMs: number): Promise<void> {
    this.#tally = tally;
    this.#askAgainUntilMs = untilMs;
    this.#idle = Promise.withResolvers();
    this.#firstByte = Promise.withResolvers();
    this.#ask();
    return this.#idle.promise;
  }

  /** Asks no more after the answer under way. */
  stop(): void {
    this.#askAgainUntilMs = 0;
  }

  /** Resolves when the answer under way has begun, or has failed. */
  whenBegun(): Promise<void> {
    return this.#firstByte.promise;
  }

  /** Gives up on an answer that does not come. */
  abandon(): void {
    this.#fail('no answer in time');
    this.#socket?.end();
  }

  /** Asks once. The latency counts from a moment that may lie before, if the request had to wait for a connection. */
  askOnce(tally: Tally, sinceMs: number): Promise<void> {
    this.#tally = tally;
    this.#askAgainUntilMs = 0;
    this.#idle = Promise.withResolvers();
    this.#ask(sinceMs);
    return this.#idle.promise;
  }

  #ask(sinceMs = performance.now()): void {
    this.#isAsking = true;
    this.#firstByteAtMs = 0;
    this.#counter.reset();
    this.#sentAtMs = sinceMs;
    const request = this.#nextRequest();
    const written = this.#socket?.write(request) ?? -1;
    if (written !== request.length) this.#fail('request not sent');
  }

  #read(bytes: Buffer): void {
    this.#tally.reads += 1;
    try {
      this.#scanner.push(bytes);
    } catch (error) {
      this.#fail(error instanceof Error ? error.message : String(error));
    }
  }

  #readBody(bytes: Buffer, start: number, end: number): void {
    if (this.#firstByteAtMs === 0) {
      this.#firstByteAtMs = performance.now();
      this.#firstByte.resolve();
    }
    if (this.#expected.format !== null) this.#counter.push(bytes, start, end);
  }

  #finish(): void {
    if (!this.#isAsking) return;
    const nowMs = performance.now();
    const problem = this.#problem();
    if (problem !== null) {
      this.#fail(problem);
      return;
    }
    this.#isAsking = false;
    this.#tally.completed += 1;
    this.#tally.chunks += this.#counter.events;
    this.#tally.sentAtMs.push(sharedMs(this.#sentAtMs));
    this.#tally.latenciesMs.push(nowMs - this.#sentAtMs);
    this.#tally.firstBytesMs.push(this.#firstByteAtMs - this.#sentAtMs);
    if (nowMs < this.#askAgainUntilMs) this.#ask();
    else this.#idle.resolve();
  }

  #problem(): string | null {
    if (this.#status !== '200') return `status ${this.#status}`;
    const { format, events } = this.#expected;
    if (format === null) return null;
    if (this.#counter.errors > 0) return 'error event';
    if (!this.#counter.isDone) return 'stream without end marker';
    if (events === null || this.#counter.events === events) return null;
    return `${this.#counter.events} events instead of ${events}`;
  }

  /** A connection that failed is not used again: a run with an error in it is void anyway. */
  #fail(reason: string): void {
    if (!this.#isAsking) return;
    this.#isAsking = false;
    this.#tally.errors.set(reason, (this.#tally.errors.get(reason) ?? 0) + 1);
    this.#firstByte.resolve();
    this.#idle.resolve();
  }
}
