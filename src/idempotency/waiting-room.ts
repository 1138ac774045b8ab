/**
 * Where requests wait for someone else's answer to the same name, on whichever node it is made. However many wait, they
 * cost one query every moment.
 */
import type { SQL } from 'bun';
import { type ClaimState, type NamedRequest, placeOf, readStates } from './claim-store.ts';
import type { Places } from './places.ts';

const lookEveryMs = 100;

type Waiting = Readonly<{
  request: NamedRequest;
  resolve: (state: ClaimState | null) => void;
  reject: (error: unknown) => void;
}>;

export class WaitingRoom {
  readonly #sql: SQL;
  readonly #places: Places;
  #waiting = new Set<Waiting>();
  #isLooking = false;

  constructor(sql: SQL, places: Places) {
    this.#sql = sql;
    this.#places = places;
  }

  /** The state once there is something to do about it; null when nobody claims the request any more. */
  async outcomeOf(request: NamedRequest, client: AbortSignal): Promise<ClaimState | null> {
    const leave = this.#places.take(request.keyId);
    try {
      return await this.#wait(request, client);
    } finally {
      leave();
    }
  }

  #wait(request: NamedRequest, client: AbortSignal): Promise<ClaimState | null> {
    return new Promise((resolve, reject) => {
      const waiting = { request, resolve, reject };
      this.#waiting.add(waiting);
      client.addEventListener(
        'abort',
        () => {
          if (this.#waiting.delete(waiting)) reject(new ClientGone());
        },
        { once: true },
      );
      if (!this.#isLooking) this.#lookUntilEmpty().catch(reject);
    });
  }

  async #lookUntilEmpty(): Promise<void> {
    this.#isLooking = true;
    while (this.#waiting.size > 0) {
      const looked = [...this.#waiting];
      try {
        const states = await readStates(this.#sql, distinct(looked));
        for (const waiting of looked) this.#tell(waiting, states.get(placeOf(waiting.request)) ?? null);
      } catch (error) {
        for (const waiting of looked) if (this.#waiting.delete(waiting)) waiting.reject(error);
      }
      if (this.#waiting.size > 0) await Bun.sleep(lookEveryMs);
    }
    this.#isLooking = false;
  }

  #tell(waiting: Waiting, state: ClaimState | null): void {
    if (state !== null && !state.isAnswered && state.isUnderWay) return;
    if (this.#waiting.delete(waiting)) waiting.resolve(state);
  }
}

/** Nobody is there any more to be answered. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone';
}

function distinct(waiting: readonly Waiting[]): NamedRequest[] {
  return [...new Map(waiting.map(({ request }) => [placeOf(request), request])).values()];
}
