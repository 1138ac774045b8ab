import type { CatalogStatus } from '../../../../src/console/operator-contract.ts';
import { useOperatorQuery } from '../operator-query.ts';

const liveEveryMs = 5_000;

/** The file is read again whenever it changes, and whoever changes it looks here. */
export function useCatalog() {
  return useOperatorQuery<CatalogStatus>(['catalog'], { refetchInterval: liveEveryMs });
}
