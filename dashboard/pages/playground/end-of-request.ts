/** What requests of the playground have in common when they end. */
import type { QueryClient } from '@tanstack/react-query';
import { problemOf } from '../../api/client.ts';
import { accountKey } from '../../api/session.ts';
import type { Ending } from './conversation.ts';

type Ended = Readonly<{ ending: Ending | null; requestId: string | null }>;

export function endOf(error: unknown, signal: AbortSignal, { requestId, ending }: Ended): Ended {
  if (ending !== null) return { ending, requestId };
  if (signal.aborted) return { ending: { kind: 'stopped' }, requestId };
  const problem = problemOf(error);
  return { ending: { kind: 'failed', problem }, requestId: requestId ?? problem.requestId };
}

/** A request changes what a key has spent, the balance, and the list of Generations. */
export function refreshAfterRequest(queryClient: QueryClient, accountId: string): void {
  for (const what of ['keys', 'overview', 'requests'])
    queryClient.invalidateQueries({ queryKey: accountKey(accountId, what) }).catch(() => {});
}
