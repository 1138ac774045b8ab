/**
 * Bounds what this node sends to one place, however many endpoints of however many accounts lead there: to a host, and to an
 * address, because many names can mean one. Whoever comes at a bad time is told when to come back, one after the other, so a
 * crowd costs little meanwhile and keeps no slot that others need.
 */
export type Bounds = Readonly<{ atOnce: number; perSecond: number }>;

/** A turn of an endpoint has up to two deliveries at once. */
export const boundsOfHost: Bounds = { atOnce: 4, perSecond: 50 };
export const boundsOfAddress: Bounds = { atOnce: 8, perSecond: 50 };

export type Entry = Readonly<{
  /** 0 when it may go on. */
  waitMs: number;
  leave: () => void;
}>;

type State = {
  inside: number;
  /** When the next one could enter, if all had come at the permitted rate. */
  nextAtMs: number;
  /** Until when those that had to wait come back. */
  awaitedUntilMs: number;
};

/** How many may enter at the same moment. */
const burst = 10;
const minWaitMs = 100;
const maxWaitMs = 10 * 60 * 1000;
/** Then those that nobody goes to any more are forgotten. */
const sweepAt = 1_000;

const nothing = () => undefined;

export class Targets {
  readonly #bounds: Bounds;
  readonly #now: () => number;
  readonly #states = new Map<string, State>();
  #sweepAt = sweepAt;

  constructor(bounds: Bounds, now: () => number = () => performance.now()) {
    this.#bounds = bounds;
    this.#now = now;
  }

  enter(name: string): Entry {
    const nowMs = this.#now();
    const state = this.#stateOf(name, nowMs);
    const everyMs = 1000 / this.#bounds.perSecond;
    if (state.inside < this.#bounds.atOnce && state.nextAtMs <= nowMs + (burst - 1) * everyMs) {
      state.inside += 1;
      state.nextAtMs = Math.max(state.nextAtMs, nowMs) + everyMs;
      return { waitMs: 0, leave: once(() => (state.inside -= 1)) };
    }
    state.awaitedUntilMs = Math.max(state.awaitedUntilMs, nowMs + minWaitMs) + everyMs;
    return { waitMs: Math.min(state.awaitedUntilMs - nowMs, maxWaitMs), leave: nothing };
  }

  /** How many are remembered. */
  get size(): number {
    return this.#states.size;
  }

  #stateOf(name: string, nowMs: number): State {
    const known = this.#states.get(name);
    if (known !== undefined) return known;
    if (this.#states.size >= this.#sweepAt) this.#sweep(nowMs);
    const state = { inside: 0, nextAtMs: nowMs, awaitedUntilMs: nowMs };
    this.#states.set(name, state);
    return state;
  }

  #sweep(nowMs: number): void {
    for (const [name, { inside, nextAtMs, awaitedUntilMs }] of this.#states)
      if (inside === 0 && nextAtMs <= nowMs && awaitedUntilMs <= nowMs) this.#states.delete(name);
    // Twice as many as are in use, so that sweeping costs little on the whole.
    this.#sweepAt = Math.max(sweepAt, 2 * this.#states.size);
  }
}

function once(run: () => void): () => void {
  let isDone = false;
  return () => {
    if (!isDone) run();
    isDone = true;
  };
}
