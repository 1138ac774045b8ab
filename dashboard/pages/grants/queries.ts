/** How grants are fetched: by members of their account, or by operators. */
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import type { Grants } from '../../../src/console/grant-contract.ts';
import { get } from '../../api/client.ts';
import { accountKey, accountPath } from '../../api/session.ts';
import { operatorPath } from '../operator/operator-query.ts';

export type GrantSource = Readonly<{ accountId: string; isOperator: boolean }>;

const pageSize = 20;
const refreshMs = 15_000;

export function useGrants({ accountId, isOperator }: GrantSource, cursor: string | null) {
  const path = isOperator ? operatorPath('accounts', accountId, 'grants') : accountPath(accountId, 'grants');
  const key = isOperator ? ['operator', 'accounts', accountId, 'grants'] : accountKey(accountId, 'grants');
  const query = { limit: pageSize, cursor };
  return useQuery({
    queryKey: [...key, query],
    queryFn: ({ signal }) => get<Grants>(path, { query, signal }),
    placeholderData: keepPreviousData,
    refetchInterval: refreshMs,
  });
}
