/**
 * Where requests wait for someone else's answer to the same name, on whichever node it is made. However many wait, they
 * cost one query every moment. An answer is for all of them; a name that has become free is offered to one at a time,
 * because only one can claim it.
 */
import type { SQL } from 'bun';
import { type ClaimState, type IdempotentRequest, identityOf, readStates } from './claim-store.ts';
import type { KeySlots } from './key-slots.ts';

const lookEveryMs = 100;

type Waiting = Readonly<{
  resolve: (state: ClaimState | null) => void;
  reject: (error: unknown) => void;
}>;

/** All that wait for one name, in the order in which they came. */
type Queue = Readonly<{ request: IdempotentRequest; waiting: Set<Waiting> }>;

export class WaitingRoom {
  readonly #sql: SQL;
  readonly #slots: KeySlots;
  /** By `identityOf`. No queue is empty. */
  readonly #queues = new Map<string, Queue>();
  #isLooking = false;
  #lookNow: () => void = () => undefined;

  constructor(sql: SQL, slots: KeySlots) {
    this.#sql = sql;
    this.#slots = slots;
  }

  /** The state once there is something to do about it; null when nobody claims the request any more. */
  async outcomeOf(request: IdempotentRequest, client: AbortSignal): Promise<ClaimState | null> {
    const leave = this.#slots.take(request.keyId);
    try {
      return await this.#wait(request, client);
    } finally {
      leave();
    }
  }

  /** The name is free again: the next in its queue is not kept until the next look. */
  noteRelease(request: IdempotentRequest): void {
    if (this.#queues.has(identityOf(request))) this.#lookNow();
  }

  #wait(request: IdempotentRequest, client: AbortSignal): Promise<ClaimState | null> {
    return new Promise((resolve, reject) => {
      const place = identityOf(request);
      const queue = this.#queues.get(place) ?? { request, waiting: new Set() };
      const waiting = { resolve, reject };
      queue.waiting.add(waiting);
      this.#queues.set(place, queue);
      client.addEventListener(
        'abort',
        () => {
          if (this.#remove(place, queue, waiting)) reject(new ClientGone());
        },
        { once: true },
      );
      if (!this.#isLooking) this.#lookUntilEmpty().catch(reject);
    });
  }

  #remove(place: string, queue: Queue, waiting: Waiting): boolean {
    const wasThere = queue.waiting.delete(waiting);
    if (wasThere && queue.waiting.size === 0) this.#queues.delete(place);
    return wasThere;
  }

  async #lookUntilEmpty(): Promise<void> {
    this.#isLooking = true;
    while (this.#queues.size > 0) {
      const looked = [...this.#queues];
      try {
        const states = await readStates(
          this.#sql,
          looked.map(([, { request }]) => request),
        );
        for (const [place, queue] of looked) this.#tell(place, queue, states.get(place) ?? null);
      } catch (error) {
        for (const [place, queue] of looked)
          this.#call(place, queue, queue.waiting.size, ({ reject }) => reject(error));
      }
      if (this.#queues.size > 0) await this.#pause();
    }
    this.#isLooking = false;
  }

  /** Should the one that is offered the name not claim it, say because its client has gone, the next look offers it again. */
  #tell(place: string, queue: Queue, state: ClaimState | null): void {
    const isAnswered = state?.isAnswered === true;
    if (state?.isInProgress === true && !isAnswered) return;
    this.#call(place, queue, isAnswered ? queue.waiting.size : 1, ({ resolve }) => resolve(state));
  }

  /** The first so many of a queue wait no longer. */
  #call(place: string, queue: Queue, count: number, tell: (waiting: Waiting) => void): void {
    for (const waiting of [...queue.waiting.values().take(count)]) {
      this.#remove(place, queue, waiting);
      tell(waiting);
    }
  }

  async #pause(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#lookNow = resolve;
    const timer = setTimeout(resolve, lookEveryMs);
    await promise;
    clearTimeout(timer);
  }
}

/** Nobody is there any more to be answered. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone';
}
