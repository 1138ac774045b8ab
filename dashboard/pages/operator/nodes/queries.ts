import type { Nodes } from '../../../../src/console/operator-contract.ts';
import { useOperatorQuery } from '../operator-query.ts';

const liveEveryMs = 3_000;

export function useNodes() {
  return useOperatorQuery<Nodes>(['nodes'], { refetchInterval: liveEveryMs });
}
