/** A limited number of tasks run at a time, some more wait, and the rest are rejected at once. */
import { Tally } from './tally.ts';

/** The queue is full. */
export class OverloadError extends Error {
  override readonly name = 'OverloadError';
}

/** A limit that is left out does not apply. */
type QueueLimits = Readonly<{
  maxRunning?: number;
  maxRunningPerOrigin?: number;
  maxWaiting?: number;
  maxWaitingPerOrigin?: number;
  /** How many of the places in the queue are reserved for preferred tickets. */
  reservedForPreferred?: number;
}>;

/** `origin` is whose share of the queue the task takes. A task whose signal is aborted while it waits leaves the queue. */
export type Ticket = Readonly<{ origin: string; isPreferred?: boolean; signal?: AbortSignal }>;

const unlimited = Number.POSITIVE_INFINITY;

/** Origins take turns, so that none of them delays the others by the number of its tasks. */
export class BoundedQueue {
  readonly #limits: Required<QueueLimits>;
  #runningCount = 0;
  #waitingCount = 0;
  readonly #running = new Tally();
  /** The waiting tasks by origin, oldest first. The origin whose turn is next comes first, and none is empty. */
  readonly #waiting = new Map<string, (() => void)[]>();

  constructor(limits: QueueLimits) {
    this.#limits = {
      maxRunning: unlimited,
      maxRunningPerOrigin: unlimited,
      maxWaiting: unlimited,
      maxWaitingPerOrigin: unlimited,
      reservedForPreferred: 0,
      ...limits,
    };
  }

  /** Throws an OverloadError when the queue is full, and the signal's reason when it is aborted before the task starts. */
  async run<Result>(ticket: Ticket, task: () => Promise<Result>): Promise<Result> {
    const { origin, signal } = ticket;
    signal?.throwIfAborted();
    if (this.#canStart(origin)) {
      this.#start(origin);
    } else {
      if (!this.#hasRoomFor(ticket)) throw new OverloadError('Too many tasks are waiting already.');
      await this.#wait(origin, signal);
    }
    try {
      return await task();
    } finally {
      this.#runningCount -= 1;
      this.#running.add(origin, -1);
      // The slot passes directly to the next task, so that no newcomer can take it first.
      this.#startNext();
    }
  }

  #canStart(origin: string): boolean {
    const { maxRunning, maxRunningPerOrigin } = this.#limits;
    return this.#runningCount < maxRunning && this.#running.of(origin) < maxRunningPerOrigin;
  }

  #hasRoomFor({ origin, isPreferred = false }: Ticket): boolean {
    const { maxWaiting, maxWaitingPerOrigin, reservedForPreferred } = this.#limits;
    const places = maxWaiting - (isPreferred ? 0 : reservedForPreferred);
    return this.#waitingCount < places && (this.#waiting.get(origin)?.length ?? 0) < maxWaitingPerOrigin;
  }

  #start(origin: string): void {
    this.#runningCount += 1;
    this.#running.add(origin, 1);
  }

  #startNext(): void {
    for (const [origin, tasks] of this.#waiting) {
      if (!this.#canStart(origin)) continue;
      this.#start(origin);
      tasks.shift()?.();
      this.#waitingCount -= 1;
      this.#waiting.delete(origin);
      if (tasks.length > 0) this.#waiting.set(origin, tasks);
      return;
    }
  }

  async #wait(origin: string, signal: AbortSignal | undefined): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const tasks = this.#waiting.get(origin) ?? [];
    tasks.push(resolve);
    this.#waiting.set(origin, tasks);
    this.#waitingCount += 1;
    const leave = () => {
      // A task that has already started goes on, and notices the signal itself.
      if (this.#remove(origin, resolve)) reject(signal?.reason);
    };
    signal?.addEventListener('abort', leave);
    try {
      await promise;
    } finally {
      signal?.removeEventListener('abort', leave);
    }
  }

  #remove(origin: string, start: () => void): boolean {
    const tasks = this.#waiting.get(origin) ?? [];
    const place = tasks.indexOf(start);
    if (place < 0) return false;
    tasks.splice(place, 1);
    if (tasks.length === 0) this.#waiting.delete(origin);
    this.#waitingCount -= 1;
    return true;
  }
}
