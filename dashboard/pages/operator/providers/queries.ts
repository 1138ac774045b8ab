import type { Providers } from '../../../../src/console/operator-contract.ts';
import { useOperatorQuery } from '../operator-query.ts';

const liveEveryMs = 5_000;

export function useProviders() {
  return useOperatorQuery<Providers>(['providers'], { refetchInterval: liveEveryMs });
}
