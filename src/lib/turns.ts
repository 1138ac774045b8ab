/** How much one person can occupy: so many runs at a time, some more wait their turn, and the rest is refused. */
import { OverloadError } from './bounded-queue.ts';

type Person = { running: number; readonly waiting: (() => void)[] };

export type Turns = Readonly<{
  /** Throws an OverloadError when too many wait already, and the reason of the signal when it is aborted before the turn. */
  inTurnOf: <Result>(person: string, run: () => Promise<Result>, signal?: AbortSignal) => Promise<Result>;
  countPeople: () => number;
}>;

export function createTurns(mostRunning: number, mostWaiting: number): Turns {
  /** Those with something under way; whoever has nothing left is forgotten. */
  const people = new Map<string, Person>();

  async function inTurnOf<Result>(
    name: string,
    run: () => Promise<Result>,
    signal?: AbortSignal,
  ): Promise<Result> {
    const person = people.get(name) ?? { running: 0, waiting: [] };
    if (person.running >= mostRunning) {
      if (person.waiting.length >= mostWaiting) throw new OverloadError('Too much is waiting already.');
      await turnOf(person, signal);
    } else {
      person.running += 1;
      people.set(name, person);
    }
    try {
      return await run();
    } finally {
      // Whoever is next takes over the place, so that nobody who comes now can slip in between.
      const next = person.waiting.shift();
      if (next) next();
      else person.running -= 1;
      if (person.running === 0) people.delete(name);
    }
  }

  return { inTurnOf, countPeople: () => people.size };
}

async function turnOf({ waiting }: Person, signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const leave = () => {
    const place = waiting.indexOf(resolve);
    // Who has been called already takes the turn, and finds out then.
    if (place < 0) return;
    waiting.splice(place, 1);
    reject(signal?.reason);
  };
  waiting.push(resolve);
  signal?.addEventListener('abort', leave);
  try {
    await promise;
  } finally {
    signal?.removeEventListener('abort', leave);
  }
}
