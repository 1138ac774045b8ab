import type { GenerationRow, Key, Model, Overview, Page } from '../../../src/console/contract.ts';
import { useAccountQuery } from '../../api/session.ts';

const overviewEveryMs = 15_000;
const latestEveryMs = 4_000;
const latestCount = 6;

export function useOverview() {
  return useAccountQuery<Overview>('overview', { refetchInterval: overviewEveryMs });
}

/** The same list as on the Generations page, and short. */
export function useLatestGenerations() {
  return useAccountQuery<Page<GenerationRow>>('generations', {
    query: { limit: latestCount },
    refetchInterval: latestEveryMs,
  });
}

export function useHasKey(): boolean | undefined {
  return useAccountQuery<{ data: Key[] }>('keys').data?.data.some(({ state }) => state === 'active');
}

/** A model for a first try; undefined while it is not known. */
export function useFirstChatModel(): string | undefined {
  const { data, isError } = useAccountQuery<{ data: Model[] }>('models', { staleTime: 300_000 });
  const models = data?.data.filter(({ workload }) => workload === 'chat') ?? [];
  const model = models.find(({ id }) => id.startsWith('sandbox')) ?? models[0];
  return data === undefined && !isError ? undefined : (model?.id ?? 'MODEL');
}
