/** The clocks of a call to a provider, and the set of calls in flight. */
import { type Deadline, Deadlines } from '../lib/deadlines.ts';
import type { Cancellation } from './cancellation.ts';
import type { ConnectWatchdog } from './connect-watchdog.ts';
import { EndedByGateway, EndedByShutdown, ProviderError } from './upstream.ts';

/**
 * How long each part of a call may take. They nest: connecting counts towards the first byte, and everything towards
 * the total. `idleMs` is the time between two chunks of a response.
 */
export type Timeouts = Readonly<{ connectMs: number; firstByteMs: number; idleMs: number; totalMs: number }>;

/** What calls to one provider share. */
export type Link = Readonly<{ calls: Calls; watchdog: ConnectWatchdog; timeouts: Timeouts }>;

/**
 * Why a call was ended before its response was complete. With `silence` the provider failed, and with `unconnected`
 * there was not even a connection; with `total` and `shutdown` the gateway itself stopped waiting, and with `cancelled` nobody
 * needs the answer.
 */
export type EarlyEnd = 'silence' | 'unconnected' | 'total' | 'shutdown' | 'cancelled';

/** The calls that this process has in flight. They share one timer, and all of them end when the process stops. */
export class Calls {
  readonly deadlines = new Deadlines();
  readonly #inFlight = new Set<Call>();
  #isOver = false;

  add(call: Call): void {
    this.#inFlight.add(call);
    if (this.#isOver) call.endEarly('shutdown');
  }

  delete(call: Call): void {
    this.#inFlight.delete(call);
  }

  /** Ends every call, and every later one as soon as it starts. */
  endAll(): void {
    this.#isOver = true;
    for (const call of this.#inFlight) call.endEarly('shutdown');
  }
}

/** One call: what can end it early, and why it ended. A provider's time runs only while the gateway waits for it. */
export class Call {
  readonly controller = new AbortController();
  endedBy: EarlyEnd | null = null;
  readonly #link: Link;
  readonly #deadline: Deadline;
  /** The time left for the whole call, as of `#waitingSinceMs`. */
  #leftMs: number;
  #waitingSinceMs: number | null;
  /** Whether the deadline is the end of that time, and not of the wait for a chunk. */
  #isLast: boolean;
  readonly #stopWatching: () => void;

  constructor(link: Link, cancellation: Cancellation | null = null) {
    const { connectMs, firstByteMs, totalMs } = link.timeouts;
    this.#link = link;
    this.#leftMs = totalMs;
    this.#waitingSinceMs = this.#nowMs();
    this.#isLast = totalMs < firstByteMs;
    this.#deadline = link.calls.deadlines.start(Math.min(firstByteMs, totalMs), () =>
      this.endEarly(this.#isLast ? 'total' : 'silence'),
    );
    this.#stopWatching = link.watchdog.watch(connectMs, () => this.endEarly('unconnected'));
    link.calls.add(this);
    cancellation?.add(this);
  }

  /** The provider has responded, with whatever status. */
  answered(): void {
    this.#stopWatching();
    this.#link.watchdog.heard();
  }

  /** Gives the provider time for the next chunk, within what the whole call may take. */
  awaitChunk(): void {
    const nowMs = this.#nowMs();
    this.#countWaiting(nowMs);
    this.#waitingSinceMs = nowMs;
    const { idleMs } = this.#link.timeouts;
    this.#isLast = this.#leftMs <= idleMs;
    this.#deadline.atMs = nowMs + Math.min(idleMs, this.#leftMs);
  }

  /** Stops the provider's clock while the gateway waits for the client. */
  rest(): void {
    this.#countWaiting(this.#nowMs());
    this.#deadline.atMs = Number.POSITIVE_INFINITY;
  }

  endEarly(reason: EarlyEnd): void {
    this.endedBy ??= reason;
    this.controller.abort();
  }

  /** The failure as the client sees it; null when nothing ended the call early. */
  earlyEnd(status: number | null, isStream: boolean): ProviderError | null {
    switch (this.endedBy) {
      case null:
        return null;
      case 'shutdown':
        return new EndedByShutdown(isStream, status);
      case 'total':
        return new EndedByGateway('provider_timeout', status);
      case 'cancelled':
        return new EndedByGateway('streaming_error', status);
      default:
        return new ProviderError('provider_timeout', {
          upstreamStatus: status,
          isUnreached: this.endedBy === 'unconnected',
        });
    }
  }

  close(): void {
    this.#stopWatching();
    this.#deadline.clear();
    this.#link.calls.delete(this);
  }

  cancel(): void {
    this.endedBy ??= 'cancelled';
    this.end();
  }

  /** Closes the connection too. */
  end(): void {
    this.close();
    this.controller.abort();
  }

  /** Time that this process itself lost does not count against the provider. */
  #nowMs(): number {
    return this.#link.calls.deadlines.nowMs();
  }

  #countWaiting(nowMs: number): void {
    if (this.#waitingSinceMs !== null) this.#leftMs -= nowMs - this.#waitingSinceMs;
    this.#waitingSinceMs = null;
  }
}
