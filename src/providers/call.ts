/** The clocks of a call to a provider, whatever it asks for. */
import { type Deadline, Deadlines } from '../lib/deadlines.ts';
import type { Line } from './line.ts';

/**
 * How long each part of a call may take. They nest: connecting counts towards the first byte, and everything towards
 * the total. `idleMs` is the time between two pieces of an answer.
 */
export type Timeouts = Readonly<{ connectMs: number; firstByteMs: number; idleMs: number; totalMs: number }>;

/** The way to a provider. */
export type Link = Readonly<{ line: Line; timeouts: Timeouts }>;

/**
 * Why a call was ended before its answer was whole. With `silence` the provider has failed, and with `unconnected` nobody
 * even picked up; with `total` and `shutdown` the gateway itself would not wait any longer.
 */
export type EarlyEnd = 'silence' | 'unconnected' | 'total' | 'shutdown';

const deadlines = new Deadlines();

/** The calls under way, to be ended when the process stops. */
const underWay = new Set<Call>();
let isOver = false;

/** Ends every call, and those that would begin. */
export function endAllCalls(): void {
  isOver = true;
  for (const call of underWay) call.endEarly('shutdown');
}

/** One call: what can end it early, and why it ended. Only the time in which the provider is waited for is its own. */
export class Call {
  readonly controller = new AbortController();
  endedBy: EarlyEnd | null = null;
  readonly #link: Link;
  readonly #deadline: Deadline;
  /** What is left of the whole call's time, as of `#waitingSinceMs`. */
  #leftMs: number;
  #waitingSinceMs: number | null = performance.now();
  /** Whether the deadline is the end of that time, and not that of a silence. */
  #isLast: boolean;
  readonly #stopWatching: () => void;

  constructor(link: Link) {
    const { connectMs, firstByteMs, totalMs } = link.timeouts;
    this.#link = link;
    this.#leftMs = totalMs;
    this.#isLast = totalMs < firstByteMs;
    this.#deadline = deadlines.start(Math.min(firstByteMs, totalMs), () =>
      this.endEarly(this.#isLast ? 'total' : 'silence'),
    );
    this.#stopWatching = link.line.watch(connectMs, () => this.endEarly('unconnected'));
    underWay.add(this);
    if (isOver) this.endEarly('shutdown');
  }

  /** The provider has answered, whatever it says. */
  answered(): void {
    this.#stopWatching();
    this.#link.line.heard();
  }

  /** Gives the provider time for the next piece, within what the whole call may take. */
  awaitPiece(): void {
    this.#countWaiting();
    this.#waitingSinceMs = performance.now();
    const { idleMs } = this.#link.timeouts;
    this.#isLast = this.#leftMs <= idleMs;
    this.#deadline.extend(Math.min(idleMs, this.#leftMs));
  }

  /** Stops the provider's clock: it is the client who is waited for now. */
  rest(): void {
    this.#countWaiting();
    this.#deadline.extend(Number.POSITIVE_INFINITY);
  }

  endEarly(reason: EarlyEnd): void {
    this.endedBy ??= reason;
    this.controller.abort();
  }

  close(): void {
    this.#stopWatching();
    this.#deadline.clear();
    underWay.delete(this);
  }

  /** Closes the connection too. */
  end(): void {
    this.close();
    this.controller.abort();
  }

  #countWaiting(): void {
    if (this.#waitingSinceMs !== null) this.#leftMs -= performance.now() - this.#waitingSinceMs;
    this.#waitingSinceMs = null;
  }
}
