/**
 * Limits how many decisions of one user run at a time. The contract has no quota, so the rest wait, until the decision's
 * deadline or until the client leaves.
 */
import { BoundedQueue, OverloadError } from '../lib/bounded-queue.ts';
import { DecisionError } from './errors.ts';
import { deadlineMs } from './retries.ts';

/** `run` gets the time that the decision has waited. */
export type InSlotOf = <Result>(
  userId: string,
  client: AbortSignal,
  run: (waitedMs: number) => Promise<Result>,
) => Promise<Result>;

export function createDecisionSlots(maxRunning = 4, maxWaiting = 100, maxMs = deadlineMs): InSlotOf {
  const queue = new BoundedQueue({ maxRunningPerOrigin: maxRunning, maxWaitingPerOrigin: maxWaiting });
  return async (userId, client, run) => {
    const startedAtMs = performance.now();
    const waiting = new AbortController();
    const giveUp = () => waiting.abort(new DecisionError('timeout'));
    const timer = setTimeout(giveUp, maxMs);
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
      return await queue.run({ origin: userId, signal: waiting.signal }, begin);
    } catch (thrown) {
      throw thrown instanceof OverloadError ? tooMany() : thrown;
    } finally {
      stopWaiting();
    }
  };
}

/** Without Retry-After, because nobody knows when there will be room. */
function tooMany(): DecisionError {
  return new DecisionError('rate_limit', {
    message: 'You have too many decisions in progress. Wait until some of them have finished.',
  });
}
