/** How the operator's pages fetch and change data. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { DeadLetters } from '../../../src/console/operator-contract.ts';
import { get } from '../../api/client.ts';
import { type FetchOptions, meQuery } from '../../api/session.ts';

/** The path of something that only operators can access: `operatorPath('accounts', account.id, 'credit')`. */
export function operatorPath(...segments: readonly string[]): string {
  return ['/api/console/operator', ...segments.map(encodeURIComponent)].join('/');
}

export function useOperatorQuery<Body>(
  segments: readonly string[],
  { query = {}, ...options }: FetchOptions<Body> = {},
) {
  return useQuery<Body>({
    queryKey: ['operator', ...segments, query],
    queryFn: ({ signal }) => get<Body>(operatorPath(...segments), { query, signal }),
    ...options,
  });
}

/** Operators may change their own accounts and users, so everything about either is fetched again. */
export function useOperatorMutation<Input, Body>(call: (input: Input) => Promise<Body>) {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: call,
    onSettled: () =>
      Promise.all(
        [['operator'], ['account'], meQuery.queryKey].map((queryKey) =>
          queryClient.invalidateQueries({ queryKey }),
        ),
      ),
  });
}

const deadLettersRefreshMs = 60_000;

/** Here and not with the ledger page, because the sidebar shows their number on every page. */
export function useDeadLetters() {
  return useOperatorQuery<DeadLetters>(['dead-letters'], { refetchInterval: deadLettersRefreshMs });
}
