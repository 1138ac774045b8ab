import type { GenerationRow, Key, Overview, Page } from '../../../src/console/contract.ts';
import { useAccountQuery } from '../../api/session.ts';
import { useModels } from '../models/models.ts';

const overviewRefreshMs = 15_000;
const latestRefreshMs = 4_000;
const latestCount = 6;

export function useOverview() {
  return useAccountQuery<Overview>('overview', { refetchInterval: overviewRefreshMs });
}

export function useLatestGenerations() {
  return useAccountQuery<Page<GenerationRow>>('generations', {
    query: { limit: latestCount },
    refetchInterval: latestRefreshMs,
  });
}

export function useHasKey(): boolean | undefined {
  return useAccountQuery<{ data: Key[] }>('keys').data?.data.some(({ state }) => state === 'active');
}

/** A model for the first request; undefined while the models are being loaded. */
export function useFirstChatModel(): string | undefined {
  const { data, isError } = useModels();
  const models = data?.data.filter(({ workload }) => workload === 'chat') ?? [];
  const model = models.find(({ id }) => id.startsWith('sandbox')) ?? models[0];
  return data === undefined && !isError ? undefined : (model?.id ?? 'MODEL');
}
