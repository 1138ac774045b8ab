import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import type { Key, Overview } from '../../../src/console/contract.ts';
import type { RequestPage, RequestRow } from '../../../src/console/request-contract.ts';
import { accountKey, meQuery, useAccount, useAccountQuery } from '../../api/session.ts';
import { type ListedModel, useModels } from '../models/models.ts';

const overviewRefreshMs = 15_000;
const latestRefreshMs = 4_000;
const latestCount = 6;

export function useOverview() {
  return useAccountQuery<Overview>('overview', { refetchInterval: overviewRefreshMs });
}

export function useLatestRequests() {
  return useAccountQuery<RequestPage>('requests', {
    query: { limit: latestCount },
    refetchInterval: latestRefreshMs,
  });
}

export function useHasKey(): boolean | undefined {
  return useAccountQuery<{ data: Key[] }>('keys').data?.data.some(({ state }) => state === 'active');
}

/** A model for the first request that a key may call; undefined while the models are being loaded. */
export function useFirstChatModel(allowed: readonly string[] | null): string | undefined {
  const { data, isError } = useModels();
  const model = firstChatModel(data?.data ?? [], allowed);
  return data === undefined && !isError ? undefined : (model?.id ?? 'MODEL');
}

/** The sandbox costs nothing real; of other models, the cheapest, because little credit should be enough. */
export function firstChatModel(
  models: readonly ListedModel[],
  allowed: readonly string[] | null,
): ListedModel | undefined {
  const callable = models.filter(
    ({ id, workload }) => workload === 'chat' && (allowed?.includes(id) ?? true),
  );
  const priceOf = ({ pricing: { input, output } }: ListedModel) => (input ?? 0) + (output ?? 0);
  const [cheapest] = callable.toSorted((left, right) => priceOf(left) - priceOf(right));
  return callable.find(({ id }) => id.startsWith('sandbox')) ?? cheapest;
}

const verificationRefreshMs = 3_000;

/**
 * The link may be opened in another tab, and brings credit with it; the first request costs some. The overview follows at once.
 */
export function useFollowedSteps(mustVerify: boolean, first: RequestRow | undefined): void {
  const { id } = useAccount();
  const queryClient = useQueryClient();
  useQuery({ ...meQuery, refetchInterval: mustVerify ? verificationRefreshMs : false });
  const state = `${mustVerify} ${first?.status}`;
  const last = useRef(state);
  useEffect(() => {
    if (last.current === state) return;
    last.current = state;
    queryClient.invalidateQueries({ queryKey: accountKey(id, 'overview') }).catch(() => {});
  }, [state, id, queryClient]);
}
