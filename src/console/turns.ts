/** How much of the gateway one person can occupy with the dashboard. */
import { ApiError } from '../errors.ts';
import { OverloadError } from '../lib/bounded-queue.ts';
import * as turns from '../lib/turns.ts';

export type InTurn = <Result>(run: () => Promise<Result>) => Promise<Result>;

const retryAfterSeconds = 1;

export function createTurns(mostRunning: number, mostWaiting: number) {
  const { inTurnOf, countPeople } = turns.createTurns(mostRunning, mostWaiting);
  return {
    inTurnOf: <Result>(userId: string, run: () => Promise<Result>): Promise<Result> =>
      inTurnOf(userId, run).catch((thrown: unknown) => {
        throw thrown instanceof OverloadError ? tooMany() : thrown;
      }),
    countPeople,
  };
}

function tooMany(): ApiError {
  return new ApiError('too_many_attempts', {
    retryAfterSeconds,
    message: 'You have too many requests under way. Wait until some of them have been answered.',
  });
}
