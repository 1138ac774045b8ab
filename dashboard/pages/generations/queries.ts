import { keepPreviousData } from '@tanstack/react-query';
import type { GenerationDetail, GenerationRow, Key, Model, Page } from '../../../src/console/contract.ts';
import { useAccountQuery } from '../../api/session.ts';
import type { GenerationFilter } from './filters.tsx';

const pageSize = 50;
const liveEveryMs = 2_000;
const listsStayMs = 300_000;

/** The first page is followed as it changes; older ones stand still. */
export function useGenerations(filter: GenerationFilter, cursor: string | null) {
  return useAccountQuery<Page<GenerationRow>>('generations', {
    query: { limit: pageSize, cursor, ...filter },
    placeholderData: keepPreviousData,
    ...(cursor === null ? { refetchInterval: liveEveryMs } : {}),
  });
}

/** Followed until it has ended. */
export function useGeneration(id: string) {
  return useAccountQuery<GenerationDetail>(['generations', id], {
    refetchInterval: ({ state }) => (state.data?.status === 'in_progress' ? liveEveryMs : false),
  });
}

export function useKeyNames() {
  return useAccountQuery<{ data: Key[] }>('keys', { staleTime: listsStayMs }).data?.data;
}

export function useModelIds(): readonly string[] | undefined {
  return useAccountQuery<{ data: Model[] }>('models', { staleTime: listsStayMs }).data?.data.map(
    ({ id }) => id,
  );
}
