import { keepPreviousData } from '@tanstack/react-query';
import type { GenerationDetail, GenerationRow, Key, Page } from '../../../src/console/contract.ts';
import { useAccountQuery } from '../../api/session.ts';
import { type GenerationFilter, queryOf } from './filter.ts';

const pageSize = 50;
const listRefreshMs = 2_000;
const runningRefreshMs = 1_000;
const keysStaleMs = 300_000;

/** Only the first page is refreshed: the older ones do not change. */
export function useGenerations(filter: GenerationFilter, cursor: string | null) {
  return useAccountQuery<Page<GenerationRow>>('generations', {
    query: { limit: pageSize, cursor, ...queryOf(filter) },
    placeholderData: keepPreviousData,
    refetchInterval: cursor === null ? listRefreshMs : false,
  });
}

/** The refresh interval of a request, until it has ended. */
export function whileRunning({
  state,
}: Readonly<{ state: Readonly<{ data: GenerationDetail | undefined }> }>) {
  return state.data?.status === 'in_progress' ? runningRefreshMs : false;
}

export function useGeneration(id: string) {
  return useAccountQuery<GenerationDetail>(['generations', id], { refetchInterval: whileRunning });
}

export function useKeyNames() {
  return useAccountQuery<{ data: Key[] }>('keys', { staleTime: keysStaleMs }).data?.data;
}
