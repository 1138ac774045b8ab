/** How limits are fetched and changed: by members and owners of their account, or by operators. */
import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { Limit, LimitChange, LimitDraft, Page } from '../../../src/console/contract.ts';
import { get, patch, post, type Query, remove } from '../../api/client.ts';
import { accountKey, accountPath, useAccount } from '../../api/session.ts';
import { operatorPath } from '../operator/operator-query.ts';

/** Where the limits of an account are. */
export type LimitSource = Readonly<{
  accountId: string;
  isOperator: boolean;
  /** Whether the viewer may set limits. */
  maySet: boolean;
}>;

/** Members see them, and owners set them. */
export function useOwnLimits(): LimitSource {
  const { id, role } = useAccount();
  return { accountId: id, isOperator: false, maySet: role === 'owner' };
}

function listPath({ accountId, isOperator }: LimitSource): string {
  return isOperator ? operatorPath('accounts', accountId, 'limits') : accountPath(accountId, 'limits');
}

function pathOf({ accountId, isOperator }: LimitSource, limitId: string): string {
  return isOperator ? operatorPath('limits', limitId) : accountPath(accountId, 'limits', limitId);
}

function keyOf({ accountId, isOperator }: LimitSource): readonly unknown[] {
  return isOperator ? ['operator', 'accounts', accountId, 'limits'] : accountKey(accountId, 'limits');
}

const pageSize = 50;
const refreshMs = 10_000;

/** What is used keeps changing. */
export function useLimits(source: LimitSource, filter: Query) {
  const query = { limit: pageSize, ...filter };
  return useQuery({
    queryKey: [...keyOf(source), query],
    queryFn: ({ signal }) => get<Page<Limit>>(listPath(source), { query, signal }),
    placeholderData: keepPreviousData,
    refetchInterval: refreshMs,
  });
}

function useLimitMutation<Input, Body>(source: LimitSource, call: (input: Input) => Promise<Body>) {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: call,
    onSettled: () =>
      Promise.all(
        // The keys say how many limits they have.
        [keyOf(source), ['account']].map((queryKey) => queryClient.invalidateQueries({ queryKey })),
      ),
  });
}

export function useCreateLimit(source: LimitSource) {
  return useLimitMutation(source, (draft: LimitDraft) => post<Limit>(listPath(source), draft));
}

export function useChangeLimit(source: LimitSource, limitId: string) {
  return useLimitMutation(source, (change: LimitChange) => patch<Limit>(pathOf(source, limitId), change));
}

export function useRemoveLimit(source: LimitSource, limitId: string) {
  return useLimitMutation<void, null>(source, () => remove(pathOf(source, limitId)));
}
