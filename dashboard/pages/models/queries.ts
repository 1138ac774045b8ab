import { useAccountQuery } from '../../api/session.ts';
import type { ListedModel } from './listed-model.ts';

/** As long as the server lets a copy be kept. */
const keptMs = 300_000;

export function useModels() {
  return useAccountQuery<{ data: ListedModel[] }>('models', { staleTime: keptMs });
}
