/**
 * How many decisions of one person are asked for at a time. The contract knows no quota, so whoever asks for more waits,
 * within the deadline that the decision has anyway, and as long as the client does.
 */
import { OverloadError } from '../lib/bounded-queue.ts';
import { createTurns } from '../lib/turns.ts';
import { DecisionError } from './errors.ts';
import { deadlineMs } from './retries.ts';

/** `run` is told for how long the decision has waited. */
export type InTurnOf = <Result>(
  userId: string,
  client: AbortSignal,
  run: (waitedMs: number) => Promise<Result>,
) => Promise<Result>;

export function createDecisionTurns(mostRunning = 4, mostWaiting = 100, longestMs = deadlineMs): InTurnOf {
  const turns = createTurns(mostRunning, mostWaiting);
  return async (userId, client, run) => {
    const startedAtMs = performance.now();
    const waiting = new AbortController();
    const giveUp = () => waiting.abort(new DecisionError('timeout'));
    const timer = setTimeout(giveUp, longestMs);
    client.addEventListener('abort', giveUp);
    const stopWaiting = () => {
      clearTimeout(timer);
      client.removeEventListener('abort', giveUp);
    };
    const begin = () => {
      stopWaiting();
      return run(performance.now() - startedAtMs);
    };
    try {
      return await turns.inTurnOf(userId, begin, waiting.signal);
    } catch (thrown) {
      throw thrown instanceof OverloadError ? tooMany() : thrown;
    } finally {
      stopWaiting();
    }
  };
}

/** Nobody can say when there will be room, so there is no Retry-After. */
function tooMany(): DecisionError {
  return new DecisionError('rate_limit', {
    message: 'You have too many decisions under way. Wait until some of them have been answered.',
  });
}
