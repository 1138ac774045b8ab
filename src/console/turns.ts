/** How much of the gateway one person can occupy: so many calls run at a time, some more wait, and the rest is refused. */
import { ApiError } from '../errors.ts';

export type InTurn = <Result>(run: () => Promise<Result>) => Promise<Result>;

const retryAfterSeconds = 1;

export function createTurns(mostRunning: number, mostWaiting: number) {
  /** Those with something under way; whoever has nothing left is forgotten. */
  const people = new Map<string, { running: number; waiting: (() => void)[] }>();

  async function inTurnOf<Result>(userId: string, run: () => Promise<Result>): Promise<Result> {
    const person = people.get(userId) ?? { running: 0, waiting: [] };
    people.set(userId, person);
    if (person.running >= mostRunning) {
      if (person.waiting.length >= mostWaiting) throw tooMany();
      const { promise, resolve } = Promise.withResolvers<void>();
      person.waiting.push(resolve);
      await promise;
    } else {
      person.running += 1;
    }
    try {
      return await run();
    } finally {
      // Whoever is next takes over the place, so that nobody who comes now can slip in between.
      const next = person.waiting.shift();
      if (next) next();
      else person.running -= 1;
      if (person.running === 0) people.delete(userId);
    }
  }

  return { inTurnOf, countPeople: () => people.size };
}

function tooMany(): ApiError {
  return new ApiError('too_many_attempts', {
    retryAfterSeconds,
    message: 'You have too many requests under way. Wait until some of them have been answered.',
  });
}
