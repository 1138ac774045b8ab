import { keepPreviousData, useQuery } from '@tanstack/react-query';
import type {
  RequestGrouping,
  RequestGroups,
  RequestProblems,
} from '../../../src/console/request-contract.ts';
import { get } from '../../api/client.ts';
import { useScope } from '../requests/scope.ts';
import { timesOf, type View } from '../requests/view.ts';

const refreshMs = 30_000;

/** What the requests of a range have in common, the most of it first: 50, unless fewer are enough. */
export function useTop(
  { range }: View,
  by: RequestGrouping,
  order: 'requests' | 'cost' | 'errors',
  limit = 50,
) {
  const { queryKey, pathOf } = useScope();
  return useQuery<RequestGroups>({
    queryKey: [...queryKey, 'requests', 'groups', { by, order, limit, range }],
    queryFn: ({ signal }) =>
      get<RequestGroups>(pathOf('requests', 'groups'), {
        query: { by, order, limit, ...timesOf(range, Date.now()) },
        signal,
      }),
    placeholderData: keepPreviousData,
    refetchInterval: refreshMs,
  });
}

/** What went wrong in a range, by error code. */
export function useProblems({ range }: View) {
  const { queryKey, pathOf } = useScope();
  return useQuery<RequestProblems>({
    queryKey: [...queryKey, 'requests', 'problems', { range }],
    queryFn: ({ signal }) =>
      get<RequestProblems>(pathOf('requests', 'problems'), { query: timesOf(range, Date.now()), signal }),
    placeholderData: keepPreviousData,
    refetchInterval: refreshMs,
  });
}
