import { keepPreviousData } from '@tanstack/react-query';
import type { Providers } from '../../../../src/console/operator-contract.ts';
import type { ProviderSeries } from '../../../../src/console/request-contract.ts';
import { isoOf, type Range, timesOf } from '../../requests/view.ts';
import { useOperatorQuery } from '../operator-query.ts';

const refreshMs = 5_000;
const seriesRefreshMs = 30_000;
const minuteMs = 60_000;

export function useProviders() {
  return useOperatorQuery<Providers>(['providers'], { refetchInterval: refreshMs });
}

/** By the name under which its calls are recorded. */
export function useProviderSeries(name: string | undefined, range: Range) {
  const nowMs = Math.ceil(Date.now() / minuteMs) * minuteMs;
  return useOperatorQuery<ProviderSeries>(['providers', name ?? '', 'series'], {
    query: { to: isoOf(nowMs), ...timesOf(range, nowMs) },
    enabled: name !== undefined,
    placeholderData: keepPreviousData,
    staleTime: seriesRefreshMs,
    refetchInterval: seriesRefreshMs,
  });
}
