/** How much of the gateway one person can occupy with the dashboard. */
import { ApiError } from '../errors.ts';
import { BoundedQueue, OverloadError } from '../lib/bounded-queue.ts';

export type InTurn = <Result>(run: () => Promise<Result>) => Promise<Result>;

const retryAfterSeconds = 1;

export function createTurns(mostRunning: number, mostWaiting: number) {
  const queue = new BoundedQueue({ maxRunningPerOrigin: mostRunning, maxWaitingPerOrigin: mostWaiting });
  return {
    inTurnOf: <Result>(userId: string, run: () => Promise<Result>): Promise<Result> =>
      queue.run({ origin: userId }, run).catch((thrown: unknown) => {
        throw thrown instanceof OverloadError ? tooMany() : thrown;
      }),
  };
}

function tooMany(): ApiError {
  return new ApiError('too_many_attempts', {
    retryAfterSeconds,
    message: 'You have too many requests under way. Wait until some of them have been answered.',
  });
}
