import type { OperatorGeneration } from '../../../../src/console/operator-contract.ts';
import { useOperatorQuery } from '../operator-query.ts';

const liveEveryMs = 2_000;

/** Followed until it has ended. */
export function useAnyGeneration(id: string) {
  return useOperatorQuery<OperatorGeneration>(['generations', id], {
    refetchInterval: ({ state }) => (state.data?.status === 'in_progress' ? liveEveryMs : false),
  });
}
