/**
 * Where requests wait for the response to an earlier one with the same idempotency key, on whichever node it runs.
 * However many wait, they share one query at a time. A response is for all of them; a key that has become free is offered
 * to one at a time, because only one can claim it.
 */
import type { SQL } from 'bun';
import { type ClaimState, type IdempotentRequest, identityOf, readStates } from './claim-store.ts';
import type { KeySlots } from './key-slots.ts';

const lookEveryMs = 100;

type Waiting = Readonly<{
  resolve: (state: ClaimState | null) => void;
  reject: (error: unknown) => void;
}>;

/** All that wait for one idempotency key, in order of arrival. */
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

  /** The state once the request is no longer in progress; null when it is no longer claimed. */
  async outcomeOf(request: IdempotentRequest, client: AbortSignal): Promise<ClaimState | null> {
    const leave = this.#slots.take(request.keyId);
    try {
      return await this.#wait(request, client);
    } finally {
      leave();
    }
  }

  /** The key is free again: the next in its queue need not wait for the next look. */
  noteRelease(request: IdempotentRequest): void {
    if (this.#queues.has(identityOf(request))) this.#lookNow();
  }

  #wait(request: IdempotentRequest, client: AbortSignal): Promise<ClaimState | null> {
    return new Promise((resolve, reject) => {
      const identity = identityOf(request);
      const queue = this.#queues.get(identity) ?? { request, waiting: new Set() };
      const waiting = { resolve, reject };
      queue.waiting.add(waiting);
      this.#queues.set(identity, queue);
      client.addEventListener(
        'abort',
        () => {
          if (this.#remove(identity, queue, waiting)) reject(new ClientGone());
        },
        { once: true },
      );
      if (!this.#isLooking) this.#lookUntilEmpty().catch(reject);
    });
  }

  #remove(identity: string, queue: Queue, waiting: Waiting): boolean {
    const wasThere = queue.waiting.delete(waiting);
    if (wasThere && queue.waiting.size === 0) this.#queues.delete(identity);
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
        for (const [identity, queue] of looked) this.#offer(identity, queue, states.get(identity) ?? null);
      } catch (error) {
        for (const [identity, queue] of looked)
          this.#wake(identity, queue, queue.waiting.size, ({ reject }) => reject(error));
      }
      if (this.#queues.size > 0) await this.#pause();
    }
    this.#isLooking = false;
  }

  /** If the one that is offered the key does not claim it, say because its client left, the next look offers it again. */
  #offer(identity: string, queue: Queue, state: ClaimState | null): void {
    const hasResponse = state?.hasResponse === true;
    if (state?.isInProgress === true && !hasResponse) return;
    this.#wake(identity, queue, hasResponse ? queue.waiting.size : 1, ({ resolve }) => resolve(state));
  }

  /** Ends the wait of the first `count` in a queue. */
  #wake(identity: string, queue: Queue, count: number, wake: (waiting: Waiting) => void): void {
    for (const waiting of [...queue.waiting.values().take(count)]) {
      this.#remove(identity, queue, waiting);
      wake(waiting);
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

/** The client left while its request was waiting. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone';
}
