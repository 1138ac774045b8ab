/** What a request became: its cost is known once it has ended. */
import type { GenerationDetail } from '../../../src/console/contract.ts';
import { useAccountQuery } from '../../api/session.ts';

const lookAgainMs = 1_000;

export function useGeneration(requestId: string) {
  return useAccountQuery<GenerationDetail>(['generations', requestId], {
    refetchInterval: ({ state }) => (state.data?.status === 'in_progress' ? lookAgainMs : false),
  });
}
