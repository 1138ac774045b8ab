import { keepPreviousData, useQuery } from '@tanstack/react-query';
import type {
  RequestDetail,
  RequestGrouping,
  RequestGroups,
  RequestPage,
  RequestSeries,
} from '../../../src/console/request-contract.ts';
import { get } from '../../api/client.ts';
import { countRequests } from './figures.ts';
import { type Scope, useScope } from './scope.ts';
import { canGroup, filterQuery, isOpenEnded, isoOf, type Times, timesOf, type View } from './view.ts';

const pageSize = 50;
const listRefreshMs = 2_000;
const seriesRefreshMs = 10_000;
const runningRefreshMs = 1_000;
const beforeStaleMs = 300_000;
const minuteMs = 60_000;

export type ListedRequests = Readonly<{
  page: RequestPage;
  /** The range that was asked for. Its cursor belongs to it. */
  times: Times;
}>;

/** While it is tried again, what could not be loaded would look as if it were being loaded: that is left to the reader. */
function hasNothing({ status, data }: Readonly<{ status: string; data: unknown }>): boolean {
  return status === 'error' && data === undefined;
}

/** Only the first page is refreshed: the older ones do not change. */
export function useRequests(view: View) {
  const { queryKey, pathOf } = useScope();
  const { range, filters, cursor, since } = view;
  return useQuery<ListedRequests>({
    queryKey: [...queryKey, 'requests', { range, filters, cursor, since }],
    queryFn: async ({ signal }) => {
      const times = { ...timesOf(range, Date.now()), ...(since === null ? {} : { from: since }) };
      const query = { ...filterQuery(filters), ...times, limit: pageSize, cursor };
      return { page: await get<RequestPage>(pathOf('requests'), { query, signal }), times };
    },
    enabled: view.problem === null,
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) =>
      view.isLive && isOpenEnded(view) && !hasNothing(state) ? listRefreshMs : false,
  });
}

export function useSeries(view: View) {
  const { queryKey, pathOf } = useScope();
  const { range, filters } = view;
  return useQuery<RequestSeries>({
    queryKey: [...queryKey, 'requests', 'series', { range, filters }],
    queryFn: ({ signal }) => {
      const nowMs = Date.now();
      const endOfMinute = isoOf(Math.ceil(nowMs / minuteMs) * minuteMs);
      const query = { ...filterQuery(filters), to: endOfMinute, ...timesOf(range, nowMs) };
      return get<RequestSeries>(pathOf('requests', 'series'), { query, signal });
    },
    select: withoutEmptyBefore,
    enabled: view.problem === null,
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) =>
      view.isLive && isOpenEnded(view) && !hasNothing(state) ? seriesRefreshMs : false,
  });
}

/** A period without requests is nothing to compare with: neither a line of zeros, nor a change from nothing. */
function withoutEmptyBefore(series: RequestSeries): RequestSeries {
  const isEmpty = series.before !== null && countRequests(series.before) === 0;
  return isEmpty ? { ...series, before: null } : series;
}

/** The points of the period before, to draw behind those of this one. */
export function useSeriesBefore({ filters }: View, series: RequestSeries | undefined) {
  const { queryKey, pathOf } = useScope();
  const times = series === undefined ? null : periodBefore(series);
  return useQuery<RequestSeries>({
    queryKey: [...queryKey, 'requests', 'series', { filters, before: times }],
    queryFn: ({ signal }) =>
      get<RequestSeries>(pathOf('requests', 'series'), {
        query: { ...filterQuery(filters), ...times },
        signal,
      }),
    enabled: times !== null && series?.before !== null,
    placeholderData: keepPreviousData,
    staleTime: beforeStaleMs,
  });
}

const hourMs = 60 * 60 * 1000;
const dayMs = 24 * hourMs;

/**
 * The gateway widens a range to whole hours. Where it was of days, it is as many of them earlier, so that the same hours are compared:
 * otherwise the daily rise and fall would be drawn beside itself.
 */
function periodBefore({ from, to }: Readonly<{ from: string; to: string }>): Times {
  const [fromMs, toMs] = [Date.parse(from), Date.parse(to)];
  const lengthMs = toMs - fromMs;
  const isOfDays = lengthMs >= dayMs && lengthMs % dayMs <= 2 * hourMs;
  const shiftMs = isOfDays ? lengthMs - (lengthMs % dayMs) : lengthMs;
  return { from: isoOf(fromMs - shiftMs), to: isoOf(toMs - shiftMs) };
}

/** Which values of a filter occur in the range, whatever its own value is now. */
export function useGroups(
  { range, filters }: View,
  name: string,
  by: RequestGrouping | undefined,
  order: 'requests' | 'errors' = 'requests',
) {
  const { queryKey, pathOf } = useScope();
  const others = filters.filter((filter) => filter.name !== name && canGroup(filter.name));
  return useQuery<RequestGroups>({
    queryKey: [...queryKey, 'requests', 'groups', { by, order, range, others }],
    queryFn: ({ signal }) =>
      get<RequestGroups>(pathOf('requests', 'groups'), {
        query: { by, order, ...filterQuery(others), ...timesOf(range, Date.now()) },
        signal,
      }),
    enabled: by !== undefined,
  });
}

/** The refresh interval of a request, until it has ended. */
export function whileRunning({ state }: Readonly<{ state: Readonly<{ data: RequestDetail | undefined }> }>) {
  return state.data?.request.status === 'in_progress' ? runningRefreshMs : false;
}

export function useRequest(id: string, { queryKey, pathOf }: Scope) {
  return useQuery<RequestDetail>({
    queryKey: [...queryKey, 'requests', id],
    queryFn: ({ signal }) => get<RequestDetail>(pathOf('requests', id), { signal }),
    refetchInterval: whileRunning,
  });
}
