/** How the operator's pages ask for things, and what is asked for anew when an operator has changed something. */
import { type UseQueryOptions, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { get } from '../../api/client.ts';
import { meQuery } from '../../api/session.ts';

/** The address of something that only operators see: `operatorPath('accounts', account.id, 'credit')`. */
export function operatorPath(...words: readonly string[]): string {
  return ['/api/console/operator', ...words.map(encodeURIComponent)].join('/');
}

type OperatorQueryOptions<Answer> = Readonly<{
  query?: Readonly<Record<string, string | number | null | undefined>>;
}> &
  Pick<UseQueryOptions<Answer>, 'enabled' | 'refetchInterval' | 'placeholderData'>;

export function useOperatorQuery<Answer>(
  words: readonly string[],
  { query = {}, ...options }: OperatorQueryOptions<Answer> = {},
) {
  return useQuery<Answer>({
    queryKey: ['operator', ...words, query],
    queryFn: ({ signal }) => get<Answer>(operatorPath(...words), { query, signal }),
    ...options,
  });
}

/** Operators change accounts and people that may be their own, so all that is known of either is asked for again. */
export function useOperatorMutation<Input, Answer>(call: (input: Input) => Promise<Answer>) {
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
